"""A notebook service's database, its search, and a few ways to fill it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import delete, func, select

from labext.sandbox.database import Database
from labext.sandbox.folder import Folder
from labext.sandbox.nb.models import registry
from labext.sandbox.nb.search import index, renewal
from labext.sandbox.nb.search.index import Hit, Index
from labext.sandbox.nb.search.passages import pieces
from labext.sandbox.nb.sources import folders
from labext.sandbox.nb.store import Base, Default, Note, Source, Vector
from labext.sandbox.queue import Base as QueueBase
from labext.sandbox.queue import Ending, Queue
from labext.sandbox.service import Options, Site
from labext.sandbox.signing import Signer


class World:
    """What can be searched, and the search."""

    def __init__(self, path: Path) -> None:
        folder = Folder(path)
        folder.secrets.mkdir()
        self.database = Database.at(folder.database)
        self.database.create(QueueBase.metadata, Base.metadata)
        self.site = Site(
            folder=folder.service("nb"),
            secrets=folder.secrets,
            database=self.database,
            queue=Queue(),
            signer=Signer("key"),
            origins={"nb": "http://127.0.0.1:1"},
            options=Options(rate="off"),
        )
        self.site.queue.add(renewal.kind(self.site))
        self.index = Index(self.site)
        with self.database.write() as session:
            registry.seed(session)

    def embed_by(self, model: str | None) -> None:
        """Set the embedding model: `wordllama`, one that is added, or none."""
        with self.database.write() as session:
            session.execute(delete(Default).where(Default.slot == "embedding"))
            if model is not None:
                session.add(Default(slot="embedding", model_id=f"model:{model}"))

    def renew(self) -> bool:
        """Do the task in the background, if it waits; whether it did."""
        with self.database.read() as session:
            task = self.site.queue.find(session, renewal.EMBED)
        if task is None:
            return False
        result = renewal.run(folders.work(self.site, "vectors"), task.payload)
        with self.database.write() as session:
            self.site.queue.finish(session, session.merge(task), Ending("done", result=result))
        return True

    def spaces(self) -> dict[str, int]:
        """How many vectors there are of each model."""
        with self.database.read() as session:
            count = func.count()
            rows = session.execute(select(Vector.space, count).group_by(Vector.space))
            return {row[0]: row[1] for row in rows}

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

    def vector(self, query: str, **given: object) -> list[Hit]:
        return self.index.find(query, "vector", **{"limit": 10} | given)  # type: ignore[arg-type]

    def both(self, query: str, **given: object) -> list[Hit]:
        return self.index.find(query, "both", **{"limit": 10} | given)  # type: ignore[arg-type]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.database.close()


@pytest.fixture(scope="session")
def make_world() -> type[World]:
    """For a world that a file's tests share: `make_world(folder)`; its database is to be closed."""
    return World
