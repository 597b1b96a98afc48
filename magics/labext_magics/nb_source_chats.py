"""`%%nb sources chat`: a conversation about one source; and `%nb source-chats`, those there are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from labext.errors import InputError
from labext_magics import kinds, nb_chat, nb_options, nb_processing, nb_scope, output
from labext_magics.dispatch import Call
from labext_magics.grammar import Command, Parameter
from labext_magics.line import quote
from labext_magics.options import OUT, PREVIEW, YES

if TYPE_CHECKING:
    import pandas as pd

    from labext.nb.records import Record


def chat(
    call: Call,
    *,
    source: str,
    message: str | None,
    session: str | None,
    new: bool,
    title: str | None,
    model_override: str | None,
    no_wait: bool,
) -> Any:
    """Send a message about one source, draw the reply and return it.

    The chat of a source goes on from line to line; the first line of a kernel begins one.
    """
    import labext_widgets

    text = nb_scope.text_of(call, message, "message", "%nb sources chat SOURCE")
    about = nb_scope.one(call, "source", source)
    by = nb_scope.model(call, model_override)
    nb_processing.wait_for_text(call, None, [about], wait=not no_wait)
    chosen = _session(call, about, text, session=session, new=new, title=title)
    shown = f"`%nb source-chats show {chosen} --source {quote(source)}`"
    with nb_scope.reply_awaited(f"{shown} shows whether it was kept; if not, run this again."):
        reply = call.nb.source_chats.send(about, chosen, text, by)
    return labext_widgets.answered(reply)


def _session(
    call: Call, about: str, message: str, *, session: str | None, new: bool, title: str | None
) -> str:
    """Return the identifier of the chat that goes on; it is the source's from now on."""
    if session is not None and (new or title is not None):
        raise InputError(
            "`--session` goes on with a chat, and `--new` or `--title` begins one.",
            "Keep one of the two.",
        )
    chats, of = call.session.chats, call.nb.source_chats
    if session is not None:
        chats[about] = of.find(about, session)
    elif new or title is not None or about not in chats:
        record = of.create(about, title or nb_chat.free(message, of.names(about)))
        chats[about] = str(record["id"])
        output.say(f"{nb_chat.called(record)} begins.")
    return chats[about]


def list_(call: Call, *, source: str) -> pd.DataFrame:
    """Return a row for each chat about a source."""
    return call.nb.source_chats.list(nb_scope.one(call, "source", source))


def show(call: Call, *, session: str, source: str) -> pd.DataFrame:
    """Return a row for each message of a chat about a source."""
    from labext_widgets.answers.documents import MESSAGES

    messages = call.nb.source_chats.messages(nb_scope.one(call, "source", source), session)
    return MESSAGES.show(messages)


def edit(
    call: Call, *, session: str, source: str, title: str | None, model_override: str | None
) -> pd.DataFrame:
    """Change the title of a chat about a source, or the model that replies in it."""
    nb_scope.changes({"title": title, "model": model_override}, "%nb source-chats edit")
    about = nb_scope.one(call, "source", source)
    by = nb_scope.model(call, model_override)
    record = call.nb.source_chats.update(about, session, title, by)
    output.say(f"{nb_chat.called(record)} is changed.")
    return _row(record)


def delete(call: Call, *, sessions: list[str], source: str, yes: bool, preview: bool) -> None:
    """Delete chats about a source with their messages, once all are known to be there."""
    about = nb_scope.one(call, "source", source, to_delete=True)
    records = [call.nb.source_chats.get(about, each) for each in dict.fromkeys(sessions)]
    would_go = [nb_chat.called(record) for record in records]
    if not output.confirmed("delete", would_go, yes=yes, preview=preview):
        return
    for record in records:
        call.nb.source_chats.delete(about, record["id"])
        if call.session.chats.get(about) == record["id"]:
            del call.session.chats[about]
        output.say(f"{nb_chat.called(record)} is deleted.")


def _row(record: Record) -> pd.DataFrame:
    from labext.nb.beyond.views import source_chats

    return source_chats([record])


_CHAT = kinds.text("SESSION", "source_chats")
_ABOUT = Parameter("source", kinds.SOURCE, "the source that it is about", required=True)
_ONE = replace(nb_options.ONE_CHAT, kind=_CHAT)
_SOME = replace(nb_options.SOME_CHATS, kind=_CHAT)

OF_SOURCES = (
    Command(
        "sources chat",
        "Talk about one source; what was said before is known.",
        chat,
        [
            nb_options.ONE_SOURCE,
            Parameter("MESSAGE", kinds.text("MESSAGE"), "the message, if it isn't below the line"),
        ],
        [
            Parameter("session", _CHAT, "go on with this chat"),
            Parameter("new", None, "begin another chat"),
            Parameter("title", kinds.text("TITLE"), "begin a chat of this title"),
            nb_options.MODEL,
            nb_processing.NO_WAIT,
            OUT,
        ],
        body="the message.",
        details="`%nb source-chats` lists the chats about a source.",
        examples=['%nb sources chat "Bench notes" "Which strain?"'],
    ),
)
COMMANDS = (
    Command("source-chats", "List the chats about one source.", list_, options=[_ABOUT, OUT]),
    Command(
        "source-chats show",
        "Show what was said in a chat about a source.",
        show,
        [_ONE],
        [_ABOUT, OUT],
    ),
    Command(
        "source-chats edit",
        "Change the title of a chat about a source, or the model that replies in it.",
        edit,
        [_ONE],
        [_ABOUT, nb_options.TITLE, nb_options.MODEL, OUT],
    ),
    Command(
        "source-chats delete",
        "Delete chats about a source with their messages.",
        delete,
        [_SOME],
        [_ABOUT, YES, PREVIEW],
    ),
)
