"""The table of words among the others: made with them, also beside those of an earlier version."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import select

from labext.sandbox.database import Database
from labext.sandbox.nb.search import index
from labext.sandbox.nb.store import Base, Passage
from labext.sandbox.queue import Base as QueueBase

World = Any


def test_they_are_made_once_and_are_not_taken_for_outdated(world: World) -> None:
    world.source("a", "Arabinose induces the promoter.")
    for _ in range(2):
        assert not world.database.is_outdated(QueueBase.metadata, Base.metadata)
        world.database.create(QueueBase.metadata, Base.metadata)
    assert len(world.text("arabinose")) == 1


def test_a_folder_from_before_the_notebook_service(tmp_path: Path, make_world: Any) -> None:
    before = Database.at(tmp_path / "sandbox.sqlite")
    before.create(QueueBase.metadata)
    before.close()
    world = make_world(tmp_path)
    world.source("a", "Arabinose induces the promoter.")
    assert len(world.text("arabinose")) == len(world.vector("arabinose")) == 1
    world.database.close()


def test_tables_of_an_earlier_version_are_renewed_and_everything_is_still_found(
    world: World,
) -> None:
    world.source("a", "Arabinose induces the promoter.", "Bench notes")
    world.vector("arabinose")
    path = world.site.folder.parent / "sandbox.sqlite"
    with sqlite3.connect(path) as old:
        old.execute("ALTER TABLE nb_passages ADD COLUMN gone TEXT")
        old.execute("ALTER TABLE nb_vectors ADD COLUMN gone TEXT")
    old.close()
    assert world.database.is_outdated(Base.metadata)
    world.database.create(QueueBase.metadata, Base.metadata)
    assert not world.database.is_outdated(Base.metadata)
    assert len(world.text("bench")) == len(world.vector("arabinose")) == 1
    with world.database.write() as session:
        index.remove(session, ["source:a"])
    assert world.text("bench") == world.text("arabinose") == world.vector("arabinose") == []
    assert world.spaces() == {}


def test_a_passage_has_a_number_of_its_own_for_ever(world: World) -> None:
    for name in ("a", "b"):
        world.source(name, "Some text.")
        with world.database.write() as session:
            numbers = session.scalars(select(Passage.id)).all()
            index.remove(session, [f"source:{name}"])
        assert numbers == [1 if name == "a" else 2]
