"""Alembic's environment: run its command on the connection that the caller has opened."""

from __future__ import annotations

from typing import Any, Literal

import sqlalchemy as sa
from alembic import context

_attributes = context.config.attributes


def _is_compared(_item: object, name: str | None, kind: str, *_others: object) -> bool:
    """Exclude objects that cannot be compared.

    The tables of the full-text index are different on each database, rate limits are in PostgreSQL
    only, and SQLAlchemy does not
    reflect the descending order of `tasks_turn` on SQLite.
    """
    undeclared = name == "rate_windows" or str(name).startswith("nb_words")
    return not (kind == "table" and undeclared) and name != "tasks_turn"


def _render(kind: str, item: Any, _context: object) -> str | Literal[False]:
    """Exclude adaptations of every column on PostgreSQL (`core.database`)."""
    if kind == "type" and isinstance(item, sa.String):
        return f"sa.{type(item).__name__}({item.length or ''})"
    if kind == "type" and type(item) is sa.Integer:
        return "sa.Integer()"
    return False


context.configure(
    connection=_attributes["connection"],
    target_metadata=_attributes["metadata"],
    include_object=_is_compared,
    render_item=_render,
    render_as_batch=True,  # SQLite changes a table by copying it
)
with context.begin_transaction():
    context.run_migrations()
