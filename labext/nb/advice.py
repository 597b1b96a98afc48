"""The next step after a refusal: a line of `%nb`, where there is one that mends the cause.

A service's own next step comes first if it is such a line; else what is known here of the cause,
where the service's words leave no doubt of it; else the service's own step.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from labext.nb.records import SLOTS

_STEP = re.compile(
    r"(?<=[.!?…] )(?=(?:Add|Ask|Change|Check|Choose|Copy|Delete|Give|Install|Look|Mend|Name|Order"
    r"|Please|Put|Remove|Run|Save|See|Set|Shorten|Start|Take|Try|Use|Wait)\b)"
)
"""Where a service that tells the next step itself begins to."""

_LISTS = (
    ("chats? about a source|chat message about a source", "source-chats"),
    ("insight", "insights"),
    ("command", "commands"),
    ("session", "sessions"),
    ("chat", "sessions"),
    ("note", "notes"),
    ("source", "sources"),
    ("notebook", "notebooks"),
    ("transformation", "transformations"),
    ("profile", "profiles"),
    ("credential", "credentials"),
    ("model", "models"),
    ("episode", "episodes"),
    ("podcast", "episodes"),
)
"""What an operation's name may be about (a pattern), and the list of it."""


class _Cause(NamedTuple):
    """A cause that is known.

    Attributes:
        doing: a pattern of the operation's name.
        words: a pattern of the service's words, so narrow that no name among them fits it.
        step: what mends it; `{slot}` is the default slot that the words name.
    """

    doing: str
    words: str
    step: str


_GENERATE, _RUN = "generate an episode", "run a transformation"
_NO_MODEL = r"^(?:there is |the profile has )?no (?:[\w-]+ ){0,2}model\b"
_CAUSES = (
    _Cause(
        "delete a (model|credential)",
        r"\bdefault\b|\bslot\b",
        "`%nb models defaults` shows its slots: give them another model, `--set SLOT=NAME`.",
    ),
    _Cause(
        "",
        r"\bkey\b.*\bdecrypt|\bdecrypt.*\bkey\b|\bencryption key (?:has|may have) changed",
        "Give the key again: `%nb credentials edit NAME --new-key`.",
    ),
    _Cause(
        "credential|model|transformation",
        r"can.t be reached|unreachable|connection refused",
        "See that it runs, and at which address: `%nb credentials edit NAME --base-url URL`.",
    ),
    _Cause(
        _GENERATE,
        r"\bspeakers are too many|\btoo many speakers|\bmore speakers than",
        "Name fewer speakers: `%nb podcast … --speakers host,guest`.",
    ),
    _Cause(
        _GENERATE,
        r"^the notebook\b.* (?:is empty|has nothing|has no)\b|^(?:there is )?no content\b",
        "Add something to the notebook: `%nb add FILE`, then run it again.",
    ),
    _Cause(
        _GENERATE,
        _NO_MODEL,
        "Set one: `%nb models defaults --set {slot}=NAME`, or `%nb profiles edit`.",
    ),
    _Cause(
        _RUN,
        _NO_MODEL,
        "Name one: `%nb transform … --model NAME`, or `%nb models defaults --set {slot}=NAME`.",
    ),
)
_SLOT_OF = {_GENERATE: "podcast", _RUN: "transformation"}
"""The default slot that an operation needs, where the service's words name none."""


def parted(words: str, step: str) -> tuple[str, str]:
    """Return a service's words as what happened and the next step: its own, else `step`."""
    what, *own = _STEP.split(words.strip(), maxsplit=1)
    return what.strip(), own[0] if own else step


def advised(words: str, doing: str, step: str) -> tuple[str, str]:
    """Return a service's words as what happened and the next step.

    Args:
        words: what the service says.
        doing: the name of the operation that it refused: `delete a model`.
        step: the next step where nothing better is known.
    """
    what, own = parted(words, "")
    if "`%nb " in own or "pip install" in own:
        return what, own
    return what, _mending(what, doing) or own or step


def listing(doing: str) -> str | None:
    """Return the line that lists what an operation is about."""
    for noun, plural in _LISTS:
        if re.search(rf"\b(?:{noun})\b", doing):
            return f"See `%nb {plural}`."
    return None


def _mending(what: str, doing: str) -> str | None:
    for cause in _CAUSES:
        if re.search(cause.doing, doing) and re.search(rf"(?i){cause.words}", what):
            return cause.step.format(slot=_slot(what, doing))
    return None


def _slot(what: str, doing: str) -> str:
    """Return the default slot that is meant, as far as that is known."""
    words = re.sub(r"[-\s]", "_", what.casefold())
    named = (slot for slot in SLOTS if re.search(rf"(?<![a-z]){slot}(?![a-z])", words))
    return next(named, _SLOT_OF.get(doing, "SLOT"))
