"""Proofs: chats."""

from __future__ import annotations

from labext.nb.records import CONTEXT, SESSION, MessageContext, Scope
from open_notebook.facts import recordings, request_body
from open_notebook.proof import derived, proof
from open_notebook.proved.ids import CHAT, CONTEXT_CHAT, MODEL_ID, NOTE_ID, NOTEBOOK_ID

_CONTEXT = recordings()["chat.context_for_execute"].answer["context"]
_CHOSEN = recordings()["chat.context_config"].json["context_config"]
_REST_OF_NOTEBOOK = (
    derived(
        "sources.list_with_active_or_failed",
        query={"notebook_id": NOTEBOOK_ID, "limit": 100, "offset": 6},
        answer=[],
    ),
    "notes.list",
)

CHATS = (
    proof(
        "sessions",
        lambda d: d.sessions(NOTEBOOK_ID),
        "chat.sessions_list",
        fields=SESSION,
        missing="model_override",
    ),
    proof(
        "sessions",
        lambda d: d.sessions(),
        derived("notebooks.list", answer=recordings()["notebooks.list"].answer[1:2]),
        "chat.sessions_list",
        fields=SESSION,
        missing="model_override",
        values={"notebook_id": NOTEBOOK_ID},
    ),
    proof(
        "session",
        lambda d: d.session(CHAT),
        "chat.session_get",
        # Its replies have marks, whose titles are looked up.
        "sources.list_with_active_or_failed",
        *_REST_OF_NOTEBOOK,
        fields=SESSION,
        missing="model_override",
        values={"message_count": 10},
        unrecorded="offset",
        omitted="offset",
        differing="offset",
    ),
    proof("session", lambda d: d.session(CHAT), "chat.session_get_empty", values={"messages": []}),
    proof(
        "new_session",
        lambda d: d.new_session(NOTEBOOK_ID, "Yields", None),
        "chat.session_create",
        fields=SESSION,
        missing="model_override",
        omitted="model_override",
    ),
    proof("new_session", lambda d: d.new_session(NOTEBOOK_ID, None, None), "chat.session_create_2"),
    proof(
        "change_session",
        lambda d: d.change_session(CHAT, request_body("chat.session_put")),
        "chat.session_put",
        fields=SESSION,
        values={"title": "Yields 2", "model_override": MODEL_ID},
    ),
    proof(
        "delete_session",
        lambda d: d.delete_session("chat_session:u0oy91n52phxul2wrbxl"),
        "chat.session_delete",
        result=None,
    ),
    proof(
        "context",
        lambda d: d.context(None, NOTEBOOK_ID, Scope(), _CHOSEN),
        "chat.context_config",
        fields=CONTEXT,
        values={"token_count": 271, "char_count": 1565, "notes": _CONTEXT["notes"]},
    ),
    # All sources and notes are named: the server omits the others, or sends only their insights.
    proof(
        "message_context",
        lambda d: d.message_context(CHAT, Scope()),
        "chat.session_get",
        "sources.list_with_active_or_failed",
        *_REST_OF_NOTEBOOK,
        "chat.context_for_execute",
        result=MessageContext(_CONTEXT, 271),
        unrecorded="offset",
        omitted="offset",
        differing="offset context_config",
    ),
    proof(
        "message_context",
        lambda d: d.message_context(CHAT, Scope(notes=(NOTE_ID,))),
        "chat.session_get",
        "notes.list",
        "chat.context_for_execute",
        result=MessageContext(_CONTEXT, 271),
        differing="context_config",
    ),
    proof(
        "execute",
        lambda d: d.execute(CONTEXT_CHAT, "What yield?", MessageContext(_CONTEXT), None),
        "chat.execute",
    ),
    proof(
        "execute",
        lambda d: d.execute(
            CHAT, "use slow-chat", MessageContext({}), "model:hl167oz2qb0x2e4t24g4"
        ),
        "chat.execute.slow-chat",
    ),
)
