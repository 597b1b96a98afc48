"""Sessions found, made, changed and deleted."""

from __future__ import annotations

import time
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from labext.sandbox.database import counted
from labext.sandbox.nb import faults, identifiers
from labext.sandbox.nb.calls import moment
from labext.sandbox.nb.chat.bodies import ChangedSession, NewSession
from labext.sandbox.nb.models import registry
from labext.sandbox.nb.notebooks.finding import notebook
from labext.sandbox.nb.store import ChatSession, Message
from labext.sandbox.service import Site

HUMAN, AI = "human", "ai"


def session_of(session: Session, identifier: str) -> ChatSession:
    """The chat session of an identifier.

    Raises:
        HTTPException: 404.
    """
    found = session.get(ChatSession, identifier)
    if found is None:
        raise faults.absent("chat session", identifier)
    return found


def messages_of(session: Session, identifier: str) -> list[Message]:
    """What was said in a session, in its order."""
    here = select(Message).where(Message.session_id == identifier)
    return list(session.scalars(here.order_by(Message.id)))


def listed(site: Site, notebook_id: str | None) -> list[dict[str, Any]]:
    """The records of all sessions, or of a notebook's; the last used first.

    Raises:
        HTTPException: 404, there is no such notebook.
    """
    many = select(func.count()).where(Message.session_id == ChatSession.id).scalar_subquery()
    wanted = select(ChatSession, many).order_by(ChatSession.updated.desc(), ChatSession.id)
    with site.database.read() as session:
        if notebook_id is not None:
            notebook(session, notebook_id)
            wanted = wanted.where(ChatSession.notebook_id == notebook_id)
        return [_record(found, count) for found, count in session.execute(wanted)]


def shown(site: Site, identifier: str) -> dict[str, Any]:
    """A session's record with its messages.

    Raises:
        HTTPException: 404.
    """
    with site.database.read() as session:
        found = session_of(session, identifier)
        said = [message_record(each) for each in messages_of(session, identifier)]
    return _record(found, len(said)) | {"messages": said}


def make(site: Site, wanted: NewSession) -> dict[str, Any]:
    """Make a session; without a title it gets a number among its notebook's.

    Raises:
        HTTPException: 404, there is no such notebook or model; 422, the model can't chat.
    """
    with site.database.write() as session:
        notebook(session, wanted.notebook_id)
        _check_model(session, wanted.model_override)
        number = 1 + counted(session, ChatSession, ChatSession.notebook_id == wanted.notebook_id)
        now = time.time()
        made = ChatSession(
            id=identifiers.new("chat_session"),
            notebook_id=wanted.notebook_id,
            title=wanted.title or f"Chat {number}",
            model_override=wanted.model_override,
            created=now,
            updated=now,
        )
        session.add(made)
    return _record(made, 0)


def change(site: Site, identifier: str, wanted: ChangedSession) -> dict[str, Any]:
    """Change what is given of a session; its record.

    Raises:
        HTTPException: 404, there is no such session or model; 422, the model can't chat; 400, an
            empty title.
    """
    with site.database.write() as session:
        found = session_of(session, identifier)
        if wanted.title is not None:
            if not wanted.title:
                raise faults.invalid("title: can't be empty")
            found.title = wanted.title
        if "model_override" in wanted.model_fields_set:
            _check_model(session, wanted.model_override)
            found.model_override = wanted.model_override
        if wanted.title is not None or "model_override" in wanted.model_fields_set:
            found.updated = time.time()
        many = counted(session, Message, Message.session_id == identifier)
    return _record(found, many)


def delete(site: Site, identifier: str) -> None:
    """Delete a session with what was said in it.

    Raises:
        HTTPException: 404.
    """
    with site.database.write() as session:
        session.delete(session_of(session, identifier))


def message_record(message: Message) -> dict[str, Any]:
    """A message as it is answered."""
    return {
        "id": str(message.id),
        "type": message.kind,
        "content": message.content,
        "citations": message.citations,
        "model": message.model,
        "timestamp": moment(message.created),
    }


def _check_model(session: Session, identifier: str | None) -> None:
    if identifier is not None:
        registry.model(session, identifier, registry.LLM)


def _record(found: ChatSession, messages: int) -> dict[str, Any]:
    return {
        "id": found.id,
        "notebook_id": found.notebook_id,
        "title": found.title,
        "model_override": found.model_override,
        "created_at": moment(found.created),
        "updated_at": moment(found.updated),
        "message_count": messages,
    }
