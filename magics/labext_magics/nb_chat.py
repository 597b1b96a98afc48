"""`%%nb chat`: a conversation about a notebook, which goes on from line to line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from labext import wording
from labext.errors import InputError
from labext_magics import kinds, nb_options, nb_processing, nb_scope, output
from labext_magics.dispatch import Call
from labext_magics.grammar import Command, Parameter
from labext_magics.options import OUT
from labext_magics.session import NotebookInUse

if TYPE_CHECKING:
    from labext.nb.records import Record

_TITLE = 60
"""The most characters of a message that a chat is called by."""


def chat(
    call: Call,
    *,
    message: str | None,
    session: str | None,
    new: bool,
    title: str | None,
    notebook: str | None,
    sources: list[str],
    notes: list[str],
    no_sources: bool,
    no_notes: bool,
    model_override: str | None,
    no_wait: bool,
) -> Any:
    """Send a message, draw the reply and return it.

    The chat of a notebook goes on from line to line; the first line of a kernel begins one. Sources
    that are still being processed are waited for first, unless `no_wait`.
    """
    import labext_widgets

    text = nb_scope.text_of(call, message, "message", "%nb chat")
    about = nb_scope.notebook_of(call, notebook)
    by = nb_scope.model(call, model_override)
    named = [call.nb.sources.find(each, about.id) for each in sources]
    given = nb_scope.looked_at(
        named,
        [call.nb.notes.find(each, about.id) for each in notes],
        no_sources,
        no_notes,
    )
    if named or not (notes or no_sources):
        nb_processing.wait_for_text(call, about, named or None, wait=not no_wait)
    chosen = _session(call, about, text, session=session, new=new, title=title)
    with nb_scope.reply_awaited(
        f"`%nb sessions show {chosen}` shows whether it was kept; if not, run this again."
    ):
        reply = call.nb.chat.execute(
            chosen, text, model_override=by, on_context=_tell_size, **given
        )
    return labext_widgets.answered(reply)


def _tell_size(tokens: int) -> None:
    output.say(f"About {wording.count(tokens, 'token')} of sources and notes go with the message.")


def _session(
    call: Call,
    about: NotebookInUse,
    message: str,
    *,
    session: str | None,
    new: bool,
    title: str | None,
) -> str:
    """Return the identifier of the chat that goes on; it is the notebook's from now on."""
    if session is not None and (new or title is not None):
        raise InputError(
            "`--session` goes on with a chat, and `--new` or `--title` begins one.",
            "Keep one of the two.",
        )
    chats = call.session.chats
    if session is not None:
        chats[about.id] = call.nb.chat.find(session, about.id)
    elif new or title is not None or about.id not in chats:
        begun = title or free(message, call.nb.chat.names(about.id))
        record = call.nb.chat.create(about.id, begun)
        chats[about.id] = str(record["id"])
        output.say(f"{called(record)} begins.")
    return chats[about.id]


def free(message: str, taken: Sequence[str]) -> str:
    """Return a title made of a message that no chat has yet."""
    first = " ".join(message.split())
    begun = first if len(first) <= _TITLE else f"{first[: _TITLE - 1].rstrip()}…"
    titles = (begun if n == 1 else f"{begun} ({n})" for n in range(1, len(taken) + 2))
    return next(title for title in titles if title not in taken)


def called(record: Record) -> str:
    """Return what a chat is called, in a sentence's beginning."""
    return f"The chat {wording.shown(str(record['title'] or record['id']))}"


SHORTCUTS = (
    Command(
        "chat",
        "Talk about the notebook in use; what was said before is known.",
        chat,
        [Parameter("MESSAGE", kinds.text("MESSAGE"), "the message, if it isn't below the line")],
        [
            Parameter("session", kinds.CHAT, "go on with this chat"),
            Parameter("new", None, "begin another chat"),
            Parameter("title", kinds.text("TITLE"), "begin a chat of this title"),
            nb_options.INTO_NOTEBOOK,
            nb_options.SOURCES,
            nb_options.NOTES,
            nb_options.NO_SOURCES,
            nb_options.NO_NOTES,
            nb_options.MODEL,
            nb_processing.NO_WAIT,
            OUT,
        ],
        body="the message.",
        details="Sources that are still being processed are waited for first.",
        examples=["%%nb chat", "What should I vary first?"],
    ),
)
