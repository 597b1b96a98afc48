"""`%%nb chat`, `%nb sessions`, `%%nb sources chat` and `%nb source-chats`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from labext import messages
from labext.errors import ConflictError, InputError, LabextError, NotFoundError
from labext_magics.core import output, value_types
from labext_magics.core.dispatch import Call
from labext_magics.core.grammar import Command, Parameter
from labext_magics.core.line import quote
from labext_magics.core.options import OUT, PREVIEW, YES
from labext_magics.nb import options, processing, scope, view

if TYPE_CHECKING:
    import pandas as pd

    from labext.nb.records import Record

_MAX_TITLE_LENGTH = 60
"""Maximum length of a chat title derived from a message."""


def chat(
    call: Call,
    *,
    message: str | None,
    notebook: str | None,
    sources: list[str],
    notes: list[str],
    no_sources: bool,
    no_notes: bool,
    model_override: str | None,
    no_wait: bool,
    **chat_options: Any,
) -> Any:
    """Send a message, render the reply and return it.

    Later lines continue the chat of the notebook; the first line in a kernel starts a new chat.
    Unless `no_wait` is set, the command waits for sources that are still being processed.
    """
    import labext_widgets

    text = scope.text_of(call, message, "message", "%nb chat")
    target = scope.notebook_of(call, notebook)
    model_id = scope.resolve_model(call, model_override)
    source_ids = [call.nb.sources.find(source, target.id) for source in sources]
    restriction = scope.search_scope(
        source_ids, [call.nb.notes.find(note, target.id) for note in notes], no_sources, no_notes
    )
    if source_ids or not (notes or no_sources):
        processing.wait_for_text(call, target, source_ids or None, wait=not no_wait)
    client = call.nb.chat
    find = partial(client.find, notebook=target.id)
    session_id = _continue_chat(call, target.id, text, client, find, **chat_options)
    with (
        _forget_deleted_chat(call, target.id, session_id),
        scope.interrupted_as_error(
            f"`%nb sessions show {session_id}` shows whether the message was stored; if not, run "
            "this again."
        ),
    ):
        reply = labext_widgets.stream_reply(
            lambda on_words: client.execute(
                session_id,
                text,
                model_override=model_id,
                on_context=_report_context_size,
                on_words=on_words,
                **restriction,
            ),
            question=text,
            open_citation=view.citation_opener(call.nb),
        )
    call.session.cited = reply.answer.citations
    return reply


@contextmanager
def _forget_deleted_chat(call: Call, notebook_id: str, session_id: str) -> Iterator[None]:
    """Let the next line start a new chat if the current one was deleted, as in another kernel."""
    try:
        yield
    except LabextError as error:
        if f"no chat session {session_id}" not in error.message:
            raise
        call.session.chats.pop(notebook_id, None)
        raise NotFoundError(
            "The chat was deleted.", "Run this again, without `--session`, to start a new chat."
        ) from None


def _report_context_size(tokens: int) -> None:
    output.print_message(
        f"About {messages.pluralize(tokens, 'token')} of sources and notes are sent with the "
        "message."
    )


def _continue_chat(
    call: Call,
    subject: str,
    message: str,
    client: Any,
    find: Callable[[str], str],
    *,
    session: str | None,
    new: bool,
    title: str | None,
) -> str:
    """Return the ID of the chat to continue, and make it the current chat of its subject.

    The subject is the ID of a notebook or a source; `client` has its chats. A chat with the title
    is continued unless `new` is set. Without a title, a new chat is named after the message.
    """
    if session is not None and (new or title is not None):
        raise InputError(
            "`--session` continues a chat, but `--new` and `--title` can start one.",
            "Keep one of them.",
        )
    chats = call.session.chats
    if session is not None:
        chats[subject] = find(session)
    elif new or title is not None or subject not in chats:
        with scope.creation_lock(call, "chat", subject, title or message):
            titles = client.names(subject)
            if title is not None and title in titles and not new:
                chats[subject] = find(title)
            else:
                record = client.create(subject, title or unique_title(message, titles))
                chats[subject] = str(record["id"])
                output.print_message(f"Started {session_label(record)}.")
    return chats[subject]


def unique_title(message: str, existing: Sequence[str]) -> str:
    """Return an unused chat title derived from a message."""
    first = " ".join(message.split())
    base = first
    if len(first) > _MAX_TITLE_LENGTH:
        base = f"{first[: _MAX_TITLE_LENGTH - 1].rstrip()}…"
    titles = (base if n == 1 else f"{base} ({n})" for n in range(1, len(existing) + 2))
    return next(title for title in titles if title not in existing)


def session_label(record: Record) -> str:
    """Return `the chat "TITLE"`."""
    return f"the chat {messages.quote_value(str(record['title'] or record['id']))}"


_MESSAGE = Parameter(
    "MESSAGE", value_types.prose("MESSAGE"), "the message, if not in the cell body"
)
_SESSION = Parameter("session", value_types.CHAT, "continue this chat")
_NEW = Parameter("new", None, "start a new chat")
_TITLE = Parameter(
    "title", value_types.text_type("TITLE"), "continue the chat with this title, or start it"
)

SHORTCUTS = (
    Command(
        "chat",
        "Chat about the notebook in use; the conversation continues from cell to cell.",
        chat,
        [_MESSAGE],
        [
            _SESSION,
            _NEW,
            _TITLE,
            options.INTO_NOTEBOOK,
            options.SOURCES,
            options.NOTES,
            options.NO_SOURCES,
            options.NO_NOTES,
            options.MODEL,
            processing.NO_WAIT,
            OUT,
        ],
        body="the message.",
        details="Waits for sources that are still being processed.",
        examples=["%%nb chat", "What should I vary first?"],
    ),
)


def list_sessions(call: Call, *, notebook: str | None, all_notebooks: bool) -> pd.DataFrame:
    """Return one row per chat about the notebook in use, another notebook or all notebooks."""
    target = scope.notebook_or_all(call, notebook, all_notebooks)
    return call.nb.chat.sessions(None if target is None else target.id)


def show_session(call: Call, *, session: str) -> pd.DataFrame:
    """Return one row per message of a chat."""
    from labext_widgets.answers.documents import MESSAGES

    return MESSAGES.show(call.nb.chat.messages(scope.resolve_id(call, "session", session)))


def new_session(
    call: Call, *, title: str | None, notebook: str | None, model_override: str | None
) -> pd.DataFrame:
    """Make a chat the notebook's current chat; an existing chat with this title is kept."""
    target = scope.notebook_of(call, notebook)
    model_id = scope.resolve_model(call, model_override)
    with scope.creation_lock(call, "chat", target.id, title) if title else nullcontext():
        created = title is None or title not in call.nb.chat.names(target.id)
        if created:
            record = call.nb.chat.create(target.id, title, model_id)
        else:
            record = call.nb.chat.get(call.nb.chat.find(str(title), target.id))
    label = session_label(record)
    if created:
        message = f"Created {label}"
    elif model_id in (None, record["model_override"]):
        message = f"{messages.capitalize_first(label)} already exists and was kept"
    else:
        raise ConflictError(
            f"{messages.capitalize_first(label)} already exists, with another model.",
            f"`%nb sessions edit {quote(str(title))} --model …` changes it; or use another title.",
        )
    call.session.chats[target.id] = str(record["id"])
    output.print_message(f"{message}; `%%nb chat` continues it.")
    return _session_row(record)


def edit_session(
    call: Call, *, session: str, title: str | None, model_override: str | None
) -> pd.DataFrame:
    """Change a chat's title or model."""
    scope.require_changes({"title": title, "model": model_override}, "%nb sessions edit")
    identifier = scope.resolve_id(call, "session", session)
    record = call.nb.chat.update(identifier, title, scope.resolve_model(call, model_override))
    output.print_message(f"Changed {session_label(record)}.")
    return _session_row(record)


def delete_sessions(call: Call, *, sessions: list[str], yes: bool, preview: bool) -> None:
    """Delete chats with their messages after checking that all of them exist."""
    chat_ids = (scope.resolve_id(call, "session", session, to_delete=True) for session in sessions)
    records = [call.nb.chat.get(chat_id) for chat_id in dict.fromkeys(chat_ids)]
    labels = {
        record["id"]: session_label(record)
        + scope.notebook_names_suffix(call, [record["notebook_id"]])
        for record in records
    }
    chats = call.session.chats

    def delete(identifier: str) -> None:
        call.nb.chat.delete(identifier)
        for target in [target for target, session_id in chats.items() if session_id == identifier]:
            del chats[target]

    output.delete_each(labels, delete, yes=yes, preview=preview)


def session_context(
    call: Call, *, session: str | None, notebook: str | None, no_sources: bool, no_notes: bool
) -> pd.DataFrame:
    """Return the sources and notes sent with a message, and print the number of tokens."""
    from labext.frames.conversion import make_columns, records_to_frame
    from labext.frames.views import ROWS

    if session is not None and notebook is not None:
        raise InputError("A chat already belongs to a notebook.", "Omit `--notebook`.")
    built = call.nb.chat.context(
        None if session is None else scope.resolve_id(call, "session", session),
        scope.notebook_of(call, notebook).id if session is None else None,
        not no_sources,
        not no_notes,
    )
    tokens, characters = built["token_count"] or 0, built["char_count"] or 0
    output.print_message(
        f"The model would receive about {messages.pluralize(tokens, 'token')}, "
        f"{messages.pluralize(characters, 'character')}, of these sources and notes."
    )
    rows = [
        {"kind": kind.removesuffix("s"), "title": item.get("title"), "id": item.get("id")}
        for kind in ("sources", "notes")
        for item in built[kind] or ()
    ]
    return ROWS.show(records_to_frame(rows, make_columns(kind="text", title="text", id="text")))


def _session_row(record: Record) -> pd.DataFrame:
    from labext.nb.views import session_frame

    return session_frame([record])


SESSION_COMMANDS = (
    Command(
        "sessions",
        "List the chats about the notebook in use.",
        list_sessions,
        options=[options.IN_NOTEBOOK, options.ALL, OUT],
    ),
    Command(
        "sessions show", "Show the messages of a chat.", show_session, [options.ONE_CHAT], [OUT]
    ),
    Command(
        "sessions new",
        "Create a chat that `%%nb chat` then continues.",
        new_session,
        options=[options.TITLE, options.INTO_NOTEBOOK, options.MODEL, OUT],
        details="A chat with the same title is kept.",
    ),
    Command(
        "sessions edit",
        "Change a chat's title or model.",
        edit_session,
        [options.ONE_CHAT],
        [options.TITLE, options.MODEL, OUT],
        examples=['%nb sessions edit "What should I vary first?" --title "First questions"'],
    ),
    Command(
        "sessions delete",
        "Delete chats and their messages.",
        delete_sessions,
        [options.SOME_CHATS],
        [YES, PREVIEW],
    ),
    Command(
        "sessions context",
        "Show how much context the model would receive with a message.",
        session_context,
        [
            Parameter(
                "SESSION",
                value_types.CHAT,
                "a chat; by default a new one about the notebook in use",
            )
        ],
        [options.IN_NOTEBOOK, options.NO_SOURCES, options.NO_NOTES, OUT],
    ),
)


def chat_about_source(
    call: Call,
    *,
    source: str,
    message: str | None,
    model_override: str | None,
    no_wait: bool,
    **chat_options: Any,
) -> Any:
    """Send a message about one source, render the reply and return it.

    Later lines continue the chat of the source; the first line in a kernel starts a new chat.
    """
    import labext_widgets

    text = scope.text_of(call, message, "message", "%nb sources chat SOURCE")
    source_id = scope.resolve_id(call, "source", source)
    model_id = scope.resolve_model(call, model_override)
    processing.wait_for_text(call, None, [source_id], wait=not no_wait)
    client = call.nb.source_chats
    find = partial(client.find, source_id)
    session_id = _continue_chat(call, source_id, text, client, find, **chat_options)
    show = f"`%nb source-chats show {session_id} --source {quote(source)}`"
    with scope.interrupted_as_error(
        f"{show} shows whether the message was stored; if not, run this again."
    ):
        reply = client.send(source_id, session_id, text, model_id)
    call.session.cited = reply.citations
    return labext_widgets.answer_view(reply, view.citation_opener(call.nb))


def list_source_chats(call: Call, *, source: str) -> pd.DataFrame:
    """Return one row per chat about a source."""
    return call.nb.source_chats.list(scope.resolve_id(call, "source", source))


def show_source_chat(call: Call, *, session: str, source: str) -> pd.DataFrame:
    """Return one row per message of a chat about a source."""
    from labext_widgets.answers.documents import MESSAGES

    messages = call.nb.source_chats.messages(scope.resolve_id(call, "source", source), session)
    return MESSAGES.show(messages)


def edit_source_chat(
    call: Call, *, session: str, source: str, title: str | None, model_override: str | None
) -> pd.DataFrame:
    """Change the title or model of a chat about a source."""
    from labext.nb.views import source_chat_frame

    scope.require_changes({"title": title, "model": model_override}, "%nb source-chats edit")
    source_id = scope.resolve_id(call, "source", source)
    model_id = scope.resolve_model(call, model_override)
    record = call.nb.source_chats.update(source_id, session, title, model_id)
    output.print_message(f"Changed {session_label(record)}.")
    return source_chat_frame([record])


def delete_source_chats(
    call: Call, *, sessions: list[str], source: str, yes: bool, preview: bool
) -> None:
    """Delete chats about a source with their messages after checking that all of them exist."""
    source_id = scope.resolve_id(call, "source", source, to_delete=True)
    records = [call.nb.source_chats.get(source_id, session) for session in dict.fromkeys(sessions)]

    def delete(identifier: str) -> None:
        call.nb.source_chats.delete(source_id, identifier)
        if call.session.chats.get(source_id) == identifier:
            del call.session.chats[source_id]

    labels = {record["id"]: session_label(record) for record in records}
    output.delete_each(labels, delete, yes=yes, preview=preview)


_CHAT = value_types.text_type("SESSION", "source_chats")
_ABOUT = Parameter("source", value_types.SOURCE, "the source of the chat", required=True)
_ONE = replace(options.ONE_CHAT, kind=_CHAT)
_SOME = replace(options.SOME_CHATS, kind=_CHAT)

SOURCE_CHAT_COMMANDS = (
    Command(
        "sources chat",
        "Chat about one source; the conversation continues from cell to cell.",
        chat_about_source,
        [options.ONE_SOURCE, _MESSAGE],
        [replace(_SESSION, kind=_CHAT), _NEW, _TITLE, options.MODEL, processing.NO_WAIT, OUT],
        body="the message.",
        details="`%nb source-chats` lists the chats about a source.",
        examples=['%nb sources chat "Bench notes" "Which strain?" --title "First questions"'],
    ),
)
SOURCE_CHATS_COMMANDS = (
    Command(
        "source-chats", "List the chats about a source.", list_source_chats, options=[_ABOUT, OUT]
    ),
    Command(
        "source-chats show",
        "Show the messages of a chat about a source.",
        show_source_chat,
        [_ONE],
        [_ABOUT, OUT],
    ),
    Command(
        "source-chats edit",
        "Change the title or model of a chat about a source.",
        edit_source_chat,
        [_ONE],
        [_ABOUT, options.TITLE, options.MODEL, OUT],
        examples=[
            '%nb source-chats edit "First questions" --source "Bench notes" --title "Strains"'
        ],
    ),
    Command(
        "source-chats delete",
        "Delete chats about a source and their messages.",
        delete_source_chats,
        [_SOME],
        [_ABOUT, YES, PREVIEW],
    ),
)
