"""A notebook service's database, its search, and functions that fill it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from nb_service import make_site
from sqlalchemy import delete, func, select

from labext.sandbox.core.data_folder import DataFolder
from labext.sandbox.core.database import CoreBase, Database
from labext.sandbox.core.executors.task_process import TaskError
from labext.sandbox.core.queue import TaskOutcome
from labext.sandbox.nb import files
from labext.sandbox.nb.embedding import passage_vectors
from labext.sandbox.nb.providers import registry
from labext.sandbox.nb.search import index
from labext.sandbox.nb.search.index import SearchIndex
from labext.sandbox.nb.search.ranking import Hit
from labext.sandbox.nb.search.scope import Scope
from labext.sandbox.nb.tables import Base, DefaultModel, Note, Source, Vector
from labext.sandbox.nb.text.passages import split_passages


class World:
    """The searchable records, and the search."""

    def __init__(self, path: Path) -> None:
        folder = DataFolder(path)
        folder.secrets.mkdir()
        self.database = Database(folder.database_url)
        self.database.create(CoreBase.metadata, Base.metadata)
        self.site = make_site(folder.service("nb"), self.database, folder.secrets)
        self.site.queue.add(passage_vectors.embed_task_kind(self.site))
        self.index = SearchIndex(self.site)
        with self.database.write() as session:
            registry.seed_models(session)

    def embed_by(self, model: str | None) -> None:
        """Set the embedding model: `all-MiniLM-L6-v2`, another model, which is added, or none."""
        with self.database.write() as session:
            session.execute(delete(DefaultModel).where(DefaultModel.slot == "embedding"))
            if model is not None:
                session.add(DefaultModel(slot="embedding", model_id=f"model:{model}"))

    def renew(self) -> bool:
        """Run the queued background task, which may fail; return False if there is none."""
        with self.database.read() as session:
            task = self.site.queue.find(session, passage_vectors.EMBED_TASK)
        if task is None:
            return False
        try:
            result = passage_vectors.run(files.work_folder(self.site, "vectors"), task.payload)
            outcome = TaskOutcome("done", result=result)
        except TaskError as error:
            outcome = TaskOutcome("failed", str(error))
        with self.database.write() as session:
            self.site.queue.finish(session, session.merge(task), outcome)
        return True

    def spaces(self) -> dict[str, int]:
        """Return the number of vectors of each model."""
        with self.database.read() as session:
            count = func.count()
            rows = session.execute(select(Vector.space, count).group_by(Vector.space))
            return {row[0]: row[1] for row in rows}

    def source(self, name: str, text: str, title: str = "") -> str:
        """Create a searchable source and return its identifier."""
        with self.database.write() as session:
            session.add(Source(id=f"source:{name}", kind="text", title=title))
            index.index_passages(session, f"source:{name}", title, split_passages([(None, text)]))
        return f"source:{name}"

    def note(self, name: str, text: str, title: str | None = None) -> str:
        """Create a searchable note and return its identifier."""
        with self.database.write() as session:
            session.add(Note(id=f"note:{name}", kind="human", title=title, content=text))
            index.index_passages(
                session, f"note:{name}", title or "", split_passages([(None, text)])
            )
        return f"note:{name}"

    def find(
        self,
        query: str,
        by: Any,
        *,
        limit: int = 10,
        min_similarity: float | None = None,
        **scope: Any,
    ) -> list[Hit]:
        return self.index.find(
            query, by, limit=limit, min_similarity=min_similarity, scope=Scope(**scope)
        )

    def text(self, query: str, **arguments: object) -> list[Hit]:
        return self.find(query, "text", **arguments)

    def vector(self, query: str, **arguments: object) -> list[Hit]:
        return self.find(query, "vector", **arguments)

    def hybrid(self, query: str, **arguments: object) -> list[Hit]:
        return self.find(query, "hybrid", **arguments)


@pytest.fixture(scope="session")
def make_world() -> type[World]:
    """Create a world for the tests of a file: `make_world(folder)`; they close its database."""
    return World


@pytest.fixture(scope="session")
def make_world_on(request: pytest.FixtureRequest) -> Callable[[str, Path], World]:
    """Create a world in a database of a kind: `make_world_on("postgresql", folder)`."""

    def make(kind: str, folder: Path) -> World:
        if kind == "postgresql":
            server = request.getfixturevalue("postgresql_server")
            DataFolder(folder).database_url_file.write_text(server.new_schema())
        return World(folder)

    return make


@pytest.fixture(params=["sqlite", "postgresql"])
def world(
    request: pytest.FixtureRequest, tmp_path: Path, make_world_on: Callable[[str, Path], World]
) -> Iterator[World]:
    """Searchable records in a database of each kind."""
    world = make_world_on(request.param, tmp_path)
    yield world
    world.database.close()


@pytest.fixture
def sqlite_world(tmp_path: Path) -> Iterator[World]:
    """Searchable records, for rules that do not depend on the database."""
    world = World(tmp_path)
    yield world
    world.database.close()
