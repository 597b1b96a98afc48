"""What to do next, as a line that a notebook's user can type (`%nb models`, `%nb credentials`)."""

from __future__ import annotations

from labext.wording import quoted


def set_slot(slot: str, name: str = "NAME") -> str:
    """The line that gives a slot a model."""
    return f"`%nb models defaults --set {slot}={quoted(name)}`"


def new_credential(provider: str) -> str:
    """The line that says how a provider is reached."""
    return f"`%nb credentials new {provider} --name NAME`"


def new_key(credential: str) -> str:
    """The line that gives a credential another key."""
    return f"`%nb credentials edit {quoted(credential)} --new-key`"


def new_address(credential: str) -> str:
    """The line that gives a credential the address of another server, and the key for it."""
    return f"`%nb credentials edit {quoted(credential)} --base-url URL --new-key`"
