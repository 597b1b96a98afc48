"""Reads bytes as a source would be read."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from labext.sandbox.nb.errors import UnreadableError
from labext.sandbox.nb.ingestion import reading
from labext.sandbox.nb.ingestion.reading import Document, SourceFile

Read = Callable[..., Document]


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Read:
    """Read `content` as a file that was called `name`."""
    path = tmp_path_factory.mktemp("read") / "original"

    def read(content: bytes, name: str = "file", **options: object) -> Document:
        stages: list[str] = options.pop("stages", [])
        path.write_bytes(content)
        return reading.read_file(SourceFile(path, name, **options), stages.append)

    return read


@pytest.fixture(scope="module")
def read_error(read: Read) -> Callable[..., str]:
    """Why `content` can't be read, in one line."""

    def read_error(content: bytes, name: str = "file", **options: object) -> str:
        with pytest.raises(UnreadableError) as caught:
            read(content, name, **options)
        reason = str(caught.value)
        assert reason.strip()
        assert "\n" not in reason
        return reason

    return read_error
