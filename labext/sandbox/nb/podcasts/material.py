"""What an episode is about: the texts of a notebook, as much of them as a process should hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from labext.sandbox.nb import faults
from labext.sandbox.nb.notebooks.finding import notebook
from labext.sandbox.nb.podcasts.script import Material, Text
from labext.sandbox.nb.store import COMPLETED, NEW, RUNNING, Link, Note, Source

MOST = 2_000_000
"""Characters of a notebook that an episode is made from."""


def check(session: Session, notebook_id: str) -> None:
    """See that there is something to talk about.

    Raises:
        HTTPException: 404, there is no such notebook; 400, it is empty, or nothing is read yet.
    """
    found = notebook(session, notebook_id)
    if any(_lengths(session, notebook_id)):
        return
    waiting = _sources(notebook_id).where(Source.status.in_((NEW, RUNNING))).limit(1)
    if session.scalar(waiting) is not None:
        raise faults.invalid(
            f"The sources of the notebook {found.name} are still being processed. Wait for them."
        )
    raise faults.invalid(
        f"The notebook {found.name} has nothing to talk about. Add a source that can be read, or a "
        "note."
    )


def gather(session: Session, notebook_id: str) -> Material:
    """The texts of the sources that are read, and the notes; the oldest first.

    Of more than `MOST` characters each text gives its beginning, and the long ones give way to the
    short.

    Raises:
        HTTPException: as `check`.
    """
    check(session, notebook_id)
    most = share(_lengths(session, notebook_id), MOST)
    sources = (
        _read(notebook_id)
        .with_only_columns(Source.title, func.substr(Source.full_text, 1, most))
        .order_by(Source.created, Source.id)
    )
    notes = (
        select(Note.title, func.substr(Note.content, 1, most))
        .where(Note.notebook_id == notebook_id)
        .order_by(Note.created, Note.id)
    )
    rows = [*session.execute(sources), *session.execute(notes)]
    texts = [Text(title or "", text) for title, text in rows if text and text.strip()]
    return Material(notebook(session, notebook_id).name, texts)


def share(lengths: Sequence[int], most: int) -> int:
    """The length to which each of several texts is cut, so that they have at most so many together.

    The short ones leave what they don't need to the long ones.
    """
    left = most
    for place, length in enumerate(ordered := sorted(lengths)):
        each = left // (len(ordered) - place)
        if length > each:
            return each
        left -= length
    return most


def _lengths(session: Session, notebook_id: str) -> list[int]:
    sources = _read(notebook_id).with_only_columns(func.length(Source.full_text))
    notes = select(func.length(Note.content)).where(Note.notebook_id == notebook_id)
    return [length or 0 for length in (*session.scalars(sources), *session.scalars(notes))]


def _read(notebook_id: str) -> Select[Any]:
    """The sources of a notebook that are read."""
    return _sources(notebook_id).where(Source.status == COMPLETED)


def _sources(notebook_id: str) -> Select[Any]:
    return select(Source.id).join(Link).where(Link.notebook_id == notebook_id)
