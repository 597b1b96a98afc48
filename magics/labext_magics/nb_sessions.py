"""`%nb sessions`: the chats about a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labext import wording
from labext.errors import InputError
from labext_magics import kinds, nb_chat, nb_options, nb_scope, output
from labext_magics.dispatch import Call
from labext_magics.grammar import Command, Parameter
from labext_magics.options import OUT, PREVIEW, YES

if TYPE_CHECKING:
    import pandas as pd

    from labext.nb.records import Record


def list_(call: Call, *, notebook: str | None, every: bool) -> pd.DataFrame:
    """Return a row for each chat about the notebook in use, another or all."""
    within = nb_scope.notebook_or_all(call, notebook, every)
    return call.nb.chat.sessions(None if within is None else within.id)


def show(call: Call, *, session: str) -> pd.DataFrame:
    """Return a row for each message of a chat."""
    from labext_widgets.answers.documents import MESSAGES

    return MESSAGES.show(call.nb.chat.messages(nb_scope.one(call, "session", session)))


def new(
    call: Call, *, title: str | None, notebook: str | None, model_override: str | None
) -> pd.DataFrame:
    """Begin a chat, which `%%nb chat` goes on with."""
    about = nb_scope.notebook_of(call, notebook)
    by = nb_scope.model(call, model_override)
    record = call.nb.chat.create(about.id, title, by)
    call.session.chats[about.id] = str(record["id"])
    output.say(f"{nb_chat.called(record)} is new; `%%nb chat` goes on with it.")
    return _row(record)


def edit(
    call: Call, *, session: str, title: str | None, model_override: str | None
) -> pd.DataFrame:
    """Change a chat's title, or the model that replies in it."""
    nb_scope.changes({"title": title, "model": model_override}, "%nb sessions edit")
    found = nb_scope.one(call, "session", session)
    record = call.nb.chat.update(found, title, nb_scope.model(call, model_override))
    output.say(f"{nb_chat.called(record)} is changed.")
    return _row(record)


def delete(call: Call, *, sessions: list[str], yes: bool, preview: bool) -> None:
    """Delete chats with their messages, once all of them are known to be there."""
    named = (nb_scope.one(call, "session", each, to_delete=True) for each in sessions)
    records = [call.nb.chat.get(each) for each in dict.fromkeys(named)]
    called = {
        each["id"]: nb_chat.called(each) + nb_scope.places(call, [each["notebook_id"]])
        for each in records
    }
    if not output.confirmed("delete", list(called.values()), yes=yes, preview=preview):
        return
    chats = call.session.chats
    for identifier, chat in called.items():
        call.nb.chat.delete(identifier)
        for about in [about for about, held in chats.items() if held == identifier]:
            del chats[about]
        output.say(f"{chat} is deleted.")


def context(
    call: Call,
    *,
    session: str | None,
    notebook: str | None,
    no_sources: bool,
    no_notes: bool,
) -> pd.DataFrame:
    """Return how much a model would be given with a message, and what of."""
    from labext.frames import Column, frame
    from labext.rowviews import ROWS

    if session is not None and notebook is not None:
        raise InputError("A chat is about one notebook already.", "Leave `--notebook` out.")
    built = call.nb.chat.context(
        None if session is None else nb_scope.one(call, "session", session),
        nb_scope.notebook_of(call, notebook).id if session is None else None,
        not no_sources,
        not no_notes,
    )
    tokens, characters = built["token_count"] or 0, built["char_count"] or 0
    output.say(
        f"The model would be given about {wording.count(tokens, 'token')}, "
        f"{wording.count(characters, 'character')}, of these sources and notes."
    )
    rows = [
        {"kind": kind.removesuffix("s"), "title": each.get("title"), "id": each.get("id")}
        for kind in ("sources", "notes")
        for each in built[kind] or ()
    ]
    return ROWS.show(frame(rows, [Column(name, "text") for name in ("kind", "title", "id")]))


def _row(record: Record) -> pd.DataFrame:
    from labext.nb.rowviews import sessions

    return sessions([record])


COMMANDS = (
    Command(
        "sessions",
        "List the chats about the notebook in use.",
        list_,
        options=[nb_options.IN_NOTEBOOK, nb_options.ALL, OUT],
    ),
    Command("sessions show", "Show what was said in a chat.", show, [nb_options.ONE_CHAT], [OUT]),
    Command(
        "sessions new",
        "Begin a chat, which `%%nb chat` then goes on with.",
        new,
        options=[nb_options.TITLE, nb_options.INTO_NOTEBOOK, nb_options.MODEL, OUT],
    ),
    Command(
        "sessions edit",
        "Change a chat's title, or the model that replies in it.",
        edit,
        [nb_options.ONE_CHAT],
        [nb_options.TITLE, nb_options.MODEL, OUT],
    ),
    Command(
        "sessions delete",
        "Delete chats with their messages.",
        delete,
        [nb_options.SOME_CHATS],
        [YES, PREVIEW],
    ),
    Command(
        "sessions context",
        "Show how much the model would be given with a message.",
        context,
        [Parameter("SESSION", kinds.CHAT, "a chat; else a new one about the notebook in use")],
        [nb_options.IN_NOTEBOOK, nb_options.NO_SOURCES, nb_options.NO_NOTES, OUT],
    ),
)
