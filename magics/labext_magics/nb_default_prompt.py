"""`%nb transformations prompt`: the text that goes before every transformation's own prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labext.errors import InputError
from labext_magics import kinds, nb_scope, output
from labext_magics.dispatch import Call
from labext_magics.grammar import Command, Parameter
from labext_magics.options import OUT

if TYPE_CHECKING:
    from labext_widgets.answers import Written


def prompt(call: Call, *, text: str | None, clear: bool) -> Written | None:
    """Return the text that goes before every prompt; with another one, or none, set it."""
    from labext_widgets.answers import Written

    wanted = text
    if (call.body or "").strip():
        wanted = nb_scope.text_of(call, text, "prompt", "%nb transformations prompt")
    if wanted is not None and clear:
        raise InputError("There is a text, and `--clear` is there too.", "Keep one of the two.")
    now = call.nb.transformations.default_prompt()
    wanted = "" if clear else wanted
    if wanted is not None and wanted != now.strip():
        now = call.nb.transformations.set_default_prompt(wanted)
        output.say("The default prompt is changed." if wanted else "The default prompt is gone.")
    return Written(now, "Before every transformation's prompt") if now.strip() else None


COMMANDS = (
    Command(
        "transformations prompt",
        "Show or set the text that goes before every transformation's prompt.",
        prompt,
        options=[
            Parameter("set", kinds.text(), "the new text", dest="text"),
            Parameter("clear", None, "let nothing go before them"),
            OUT,
        ],
        body="the new text.",
    ),
)
