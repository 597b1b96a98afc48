"""Limit a search to some sources and notes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from sqlalchemy import ColumnElement, false, or_, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from labext.sandbox.core.database import count_rows, text_table
from labext.sandbox.nb import errors
from labext.sandbox.nb.tables import NEW, RUNNING, Note, Source

SOURCE_PREFIX, NOTE_PREFIX = "source:", "note:"
"""Prefixes of the identifiers (NB-39)."""


@dataclass(frozen=True)
class Scope:
    """The sources and notes that a search is limited to.

    If only one of `source_ids` and `note_ids` is given, nothing of the other kind is searched.
    """

    source_ids: Collection[str] | None = None
    note_ids: Collection[str] | None = None
    include_sources: bool = True
    include_notes: bool = True

    @cached_property
    def only(self) -> frozenset[str] | None:
        """Return the identifiers that are searched; None for all of the `kinds`."""
        if self.source_ids is None and self.note_ids is None:
            return None
        return frozenset(
            identifier
            for kind, identifiers in (
                (SOURCE_PREFIX, self.source_ids),
                (NOTE_PREFIX, self.note_ids),
            )
            for identifier in identifiers or ()
            if kind in self.kinds and identifier.startswith(kind)
        )

    @cached_property
    def kinds(self) -> frozenset[str]:
        """Return the identifier prefixes of the kinds that are searched."""
        included = ((SOURCE_PREFIX, self.include_sources), (NOTE_PREFIX, self.include_notes))
        return frozenset(kind for kind, is_included in included if is_included)

    @property
    def is_everything(self) -> bool:
        """Return whether all sources and notes are searched."""
        return self.only is None and len(self.kinds) == 2

    def has(self, parent_id: str) -> bool:
        """Return whether a source or a note is searched."""
        if self.only is not None:
            return parent_id in self.only
        return parent_id.startswith(tuple(self.kinds))

    def conditions(self, parent_id: InstrumentedAttribute[str]) -> list[ColumnElement[bool]]:
        """Return the scope as WHERE conditions on the column of the parent's identifier."""
        if self.only is not None:
            return [parent_id.in_(select(text_table(self.only).c.value))]
        if self.is_everything:
            return []
        return [or_(false(), *(parent_id.startswith(kind) for kind in self.kinds))]


EVERYTHING = Scope()


def check_identifiers_exist(
    session: Session,
    source_ids: Collection[str] | None = None,
    note_ids: Collection[str] | None = None,
) -> None:
    """Check that the sources and notes that a request names exist."""
    for noun, identifiers, existing in (
        ("source", source_ids, select(Source.id)),
        ("note", note_ids, select(Note.id)),
    ):
        named = text_table(identifiers or ()).c.value
        unknown = session.scalars(select(named).where(named.not_in(existing)).limit(1)).first()
        if unknown is not None:
            raise errors.not_found(noun, unknown)


def count_unprocessed(session: Session, scope: Scope) -> int:
    """Return the number of sources in a scope that are still to be processed."""
    unprocessed = Source.status.in_((NEW, RUNNING))
    return count_rows(session, Source, unprocessed, *scope.conditions(Source.id))
