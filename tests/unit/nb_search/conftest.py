"""A notebook service's database, its search, and a few ways to fill it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from labext.sandbox.database import Database
from labext.sandbox.nb.search import index
from labext.sandbox.nb.search.index import Hit, Index
from labext.sandbox.nb.search.passages import pieces
from labext.sandbox.nb.store import Base, Note, Source
from labext.sandbox.queue import Base as QueueBase
from labext.sandbox.queue import Queue
from labext.sandbox.service import Options, Site
from labext.sandbox.signing import Signer


class World:
    """What can be searched, and the search."""

    def __init__(self, path: Path) -> None:
        self.database = Database.at(path / "db")
        self.database.create(QueueBase.metadata, Base.metadata)
        self.site = Site(
            folder=path,
            secrets=path,
            database=self.database,
            queue=Queue(),
            signer=Signer("key"),
            origins={"nb": "http://127.0.0.1:1"},
            options=Options(rate="off"),
        )
        self.index = Index(self.site)

    def source(self, name: str, text: str, title: str = "") -> str:
        """Make a source that can be searched; its identifier."""
        with self.database.write() as session:
            session.add(Source(id=f"source:{name}", kind="text", title=title))
            index.put(session, f"source:{name}", title, pieces([(None, text)]))
        return f"source:{name}"

    def note(self, name: str, text: str, title: str | None = None) -> str:
        """Make a note that can be searched; its identifier."""
        with self.database.write() as session:
            session.add(Note(id=f"note:{name}", kind="human", title=title, content=text))
            index.put(session, f"note:{name}", title or "", pieces([(None, text)]))
        return f"note:{name}"

    def text(self, query: str, **given: object) -> list[Hit]:
        return self.index.find(query, "text", **{"limit": 10} | given)  # type: ignore[arg-type]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.database.close()
