"""Which command somebody meant who typed a word that is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from labext import wording

if TYPE_CHECKING:
    from labext_magics.grammar import Command

_SYNONYMS = {
    "jobs": {
        **dict.fromkeys(("cancel", "kill", "abort"), "stop"),
        **dict.fromkeys(("log", "logs", "info", "describe"), "show"),
        **dict.fromkeys(("history", "ls", "jobs", "find"), "list"),
        "search": "tools",
        "remove": "delete",
        "wait": "watch",
        "run": "submit",
        **dict.fromkeys(("download", "get", "fetch"), "results"),
    },
    "lab": {
        **dict.fromkeys(("list", "ls", "history"), "sequences"),
        **dict.fromkeys(("search", "find"), "sequences --name-includes"),
        **dict.fromkeys(("log", "logs", "info"), "status"),
        **dict.fromkeys(("download", "save"), "export"),
        "view": "show",
    },
    "nb": {
        **dict.fromkeys(("list", "ls"), "sources"),
        "history": "sessions",
        "find": "search",
        "remove": "delete",
        **dict.fromkeys(("log", "logs"), "commands"),
        **dict.fromkeys(("cancel", "stop"), "commands cancel"),
        "upload": "add",
        "show": "sources show",
        "info": "status",
    },
}
"""Words that people type, and the command of each magic that does what they mean."""

_VERBS = {
    **dict.fromkeys(("remove", "rm"), "delete"),
    **dict.fromkeys(("add", "create"), "new"),
    **dict.fromkeys(("get", "view", "info"), "show"),
    **dict.fromkeys(("update", "rename", "change", "set"), "edit"),
    **dict.fromkeys(("run", "try"), "test"),
    **dict.fromkeys(("stop", "kill"), "cancel"),
    **dict.fromkeys(("history", "log", "logs"), "status"),
}
"""The same for the word behind a noun."""

LISTING = ("list", "ls", "all")
"""Verbs for what a noun does alone."""


def command(magic: str, word: str, commands: Sequence[Command]) -> str | None:
    """Return the command of a magic that `word` was probably meant to be."""
    meant = _SYNONYMS.get(magic, {}).get(word.casefold())
    return meant or _near(word, {each.name.split()[0]: each for each in commands})


def verb(word: str, commands: Sequence[Command]) -> str | None:
    """Return the verb, of those behind one noun, that `word` was probably meant to be."""
    verbs = {each.name.split()[1]: each for each in commands}
    meant = _VERBS.get(word.casefold())
    return meant if meant in verbs else _near(word, verbs)


def _near(word: str, among: dict[str, Command]) -> str | None:
    """Return the nearest name; of a command that destroys something only for a slip of a key."""
    near = wording.near(word, [name for name, each in among.items() if not each.destroys])
    slip = wording.near(word, [name for name, each in among.items() if each.destroys])
    if slip is not None and _is_slip(word.casefold(), slip):
        return slip
    return near


def _is_slip(word: str, name: str) -> bool:
    """Tell whether a word is a name but for one letter or the order of letters, or its start.

    Short names are one letter from many words.
    """
    if len(name) > 2 and word != name and sorted(word) == sorted(name):
        return True
    if min(len(word), len(name)) < 4:
        return False
    if name.startswith(word):
        return True
    start = next((n for n, (a, b) in enumerate(zip(word, name, strict=False)) if a != b), None)
    if start is None:
        return abs(len(word) - len(name)) == 1
    rest, right = word[start:], name[start:]
    return rest[1:] == right[1:] or rest[1:] == right or rest == right[1:]
