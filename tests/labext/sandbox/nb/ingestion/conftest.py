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

    def read(content: bytes, name: str = "file", **said: object) -> Document:
        stages: list[str] = said.pop("stages", [])
        path.write_bytes(content)
        return reading.read_file(SourceFile(path, name, **said), stages.append)

    return read


@pytest.fixture(scope="module")
def refused(read: Read) -> Callable[..., str]:
    """Why `content` can't be read, in one line."""

    def refused(content: bytes, name: str = "file", **said: object) -> str:
        with pytest.raises(UnreadableError) as caught:
            read(content, name, **said)
        reason = str(caught.value)
        assert reason.strip()
        assert "\n" not in reason
        return reason

    return refused
