"""A message of a human, answered by a model from the session's notebook.

Both messages are stored in one transaction, after the model has answered: a call that fails, or
that nobody waits for any more, leaves the session as it was, and can be repeated.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from typing import Any
from weakref import WeakValueDictionary

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext.sandbox.nb import faults
from labext.sandbox.nb.answers.choosing import writer
from labext.sandbox.nb.answers.citations import Answer, so_far
from labext.sandbox.nb.answers.writing import Said, meant
from labext.sandbox.nb.chat.bodies import NewMessage, Selection
from labext.sandbox.nb.chat.sessions import AI, HUMAN, message_record, messages_of, session_of
from labext.sandbox.nb.models import registry
from labext.sandbox.nb.models.line import Line
from labext.sandbox.nb.search.index import Hit, Index
from labext.sandbox.nb.search.scope import Scope, check_identifiers, unprocessed
from labext.sandbox.nb.store import ChatSession, Link, Message, Model, Note
from labext.sandbox.service import Site

PASSAGES = 10
"""That a message is answered from, at most."""


class Turns:
    """Whose turn it is: the messages of a session are answered one after the other."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, session_id: str) -> asyncio.Lock:
        """The turn of a session, to be taken."""
        return self._locks.setdefault(session_id, asyncio.Lock())


def talk(site: Site, index: Index, said: NewMessage, line: Line) -> dict[str, Any]:
    """Have a message answered; all messages of the session then.

    Raises:
        HTTPException: 404, there is no such session, model, source or note; 422, no model is set,
            or it can't chat; 502, the model's server failed.
        HungUp: nobody waits any more.
    """
    line.check()
    asked = time.time()
    with site.database.read() as session:
        found = session_of(session, said.session_id)
        model = _model(session, found, said.model_override)
        history = [Said(m.kind == HUMAN, m.content) for m in messages_of(session, found.id)]
        wanted = said.context or Selection()
        check_identifiers(session, wanted.source_ids, wanted.note_ids)
        scope = _scope(session, found.notebook_id, wanted)
        waiting = unprocessed(session, Scope(*scope))
    hits = _hits(index, meant(history, said.message), *scope)
    by = writer(site, model, line)
    answer = so_far(by.talk(history, said.message, hits), waiting)
    line.check()
    return _stored(site, said, asked, answer, by.name)


def _model(session: Session, found: ChatSession, override: str | None) -> Model:
    """The call's model, or the session's, or the slot's."""
    if override is not None or found.model_override is None:
        return registry.chosen(session, "chat", override)
    model = session.get(Model, found.model_override)
    if model is None:
        raise faults.unconfigured(
            f"The session's model {found.model_override} is there no more. Give the session "
            "another `model_override`, or null for the default."
        )
    return registry.model(session, model.id, registry.LLM)


def _scope(
    session: Session, notebook_id: str, wanted: Selection
) -> tuple[Collection[str], Collection[str]]:
    """Which of the notebook's sources and notes are looked in."""
    linked = session.scalars(select(Link.source_id).where(Link.notebook_id == notebook_id))
    notes = session.scalars(select(Note.id).where(Note.notebook_id == notebook_id))
    sources_there = linked if wanted.include_sources is not False else ()
    notes_there = notes if wanted.include_notes is not False else ()
    if wanted.source_ids is None and wanted.note_ids is None:
        return frozenset(sources_there), frozenset(notes_there)
    return (
        frozenset(sources_there) & frozenset(wanted.source_ids or ()),
        frozenset(notes_there) & frozenset(wanted.note_ids or ()),
    )


def _hits(
    index: Index, question: str, source_ids: Collection[str], note_ids: Collection[str]
) -> list[Hit]:
    if not source_ids and not note_ids:
        return []
    return index.find(question, "both", limit=PASSAGES, source_ids=source_ids, note_ids=note_ids)


def _stored(site: Site, said: NewMessage, asked: float, answer: Answer, by: str) -> dict[str, Any]:
    with site.database.write() as session:
        found = session_of(session, said.session_id)  # it may have been deleted meanwhile
        found.updated = now = time.time()
        here = {"session_id": found.id}
        session.add(Message(kind=HUMAN, content=said.message, created=asked, **here))
        session.flush()
        citations = [each.record() for each in answer.citations]
        session.add(
            Message(
                kind=AI, content=answer.text, citations=citations, model=by, created=now, **here
            )
        )
        session.flush()
        messages = [message_record(each) for each in messages_of(session, found.id)]
    return {"session_id": said.session_id, "messages": messages}
