"""`%nb settings`: how the service reads what is added to it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from labext.wording import listed
from labext_magics import kinds, output
from labext_magics.casting import merged
from labext_magics.dispatch import Call
from labext_magics.grammar import Command, Parameter
from labext_magics.kinds import Typed
from labext_magics.options import OUT

if TYPE_CHECKING:
    import pandas as pd


def settings(call: Call, *, set: list[dict[str, Any]]) -> pd.DataFrame:
    """Return a row for each setting; with `set` after they are changed."""
    from labext.nb.beyond.views import settings, written

    wanted = {
        name: value.text if isinstance(value, Typed) else value
        for name, value in merged(set).items()
    }
    before = call.nb.settings.get()
    if not wanted:
        return settings(before)
    now = call.nb.settings.update(wanted)
    changed = [name for name in now if now[name] != before.get(name)]
    told = listed([f"{name} is {written(now[name])}" for name in changed], 7)
    output.say(f"{told} now." if changed else "All of it is set so already.")
    return settings(now)


COMMANDS = (
    Command(
        "settings",
        "Show or change how the service reads what is added to it.",
        settings,
        options=[
            Parameter(
                "set",
                replace(kinds.SETTING, metavar="NAME=VALUE", live="service_settings"),
                "change a setting",
                many=True,
            ),
            OUT,
        ],
        details="A list is written with commas: `youtube_preferred_languages=en,de`.",
        examples=["%nb settings --set docling_ocr=no"],
    ),
)
