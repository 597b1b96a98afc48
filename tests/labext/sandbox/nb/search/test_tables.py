"""The full-text table among the others: created with them, once."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select

from labext.sandbox.core.queue import QueueBase
from labext.sandbox.nb.search import index
from labext.sandbox.nb.tables import Base, Passage

World = Any


def test_full_text_table_is_created_once(world: World) -> None:
    world.source("a", "Arabinose induces the promoter.")
    for _ in range(2):
        world.database.create(QueueBase.metadata, Base.metadata)
    assert len(world.text("arabinose")) == 1


def test_passage_numbers_are_not_reused(world: World) -> None:
    for name in ("a", "b"):
        world.source(name, "Some text.")
        with world.database.write() as session:
            numbers = session.scalars(select(Passage.id)).all()
            index.remove_passages(session, [f"source:{name}"])
        assert numbers == [1 if name == "a" else 2]
