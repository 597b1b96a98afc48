"""Read bytes like a source."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from labext.sandbox.nb.errors import UnreadableError
from labext.sandbox.nb.ingestion import reading
from labext.sandbox.nb.ingestion.reading import Document, SourceFile

Read = Callable[..., Document]


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Read:
    """Read `content` as a file with this name."""
    path = tmp_path_factory.mktemp("read") / "original"

    def read(content: bytes, name: str = "file", **options: object) -> Document:
        stages: list[str] = options.pop("stages", [])
        path.write_bytes(content)
        return reading.read_file(SourceFile(path, name, **options), stages.append)

    return read


@pytest.fixture(scope="module")
def read_error(read: Read) -> Callable[..., str]:
    """Return the one-line reason why `content` can't be read."""

    def read_error(content: bytes, name: str = "file", **options: object) -> str:
        with pytest.raises(UnreadableError) as caught:
            read(content, name, **options)
        reason = str(caught.value)
        assert reason.strip()
        assert "\n" not in reason
        return reason

    return read_error
