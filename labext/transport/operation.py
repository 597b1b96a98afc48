"""What a client may ask of a service, and whether it may be asked twice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Literal
from urllib.parse import quote

from labext.errors import InputError


class Repeat(Enum):
    """Whether a request may be sent again after its answer was lost."""

    ALWAYS = "always"
    """Reads, also those that are POSTs, and changes that end the same however often they come."""

    DELETE = "delete"
    """A removal: a 404 on a repeat means that the first one succeeded."""

    UNSENT = "unsent"
    """A change that must not happen twice: again only if it surely did not arrive."""


@dataclass(frozen=True)
class Operation:
    """One operation of a service.

    Attributes:
        name: what it does, in words for an error: `submit a job`.
        method: the HTTP method.
        path: relative to the service's base address; may hold `{placeholders}`.
        repeat: whether it may be sent again.
        answer: `json` where nothing but JSON makes sense: anything else under 200 then counts as
            a broken answer. Else an answer is judged by its own Content-Type, or with `unchecked`
            not at all.
        find_out: the next step for a user when it is not known whether it was done.
    """

    name: str
    method: str
    path: str
    repeat: Repeat
    answer: Literal["json", "any", "unchecked"] = "any"
    find_out: str = "Look whether it is there before you send it again."

    def address(self, base_url: str, values: Mapping[str, str]) -> str:
        """Return the whole address, each placeholder filled with its quoted value.

        Raises:
            InputError: a value that would change the path itself: empty, `.` or `..`.
        """
        filled = {name: _segment(name, value) for name, value in values.items()}
        return f"{base_url.rstrip('/')}/{self.path.lstrip('/').format_map(filled)}"


def _segment(name: str, value: str) -> str:
    if value in {"", ".", ".."}:
        raise InputError(f"{value!r} can't be a {name}.", f"Give the {name} a name of its own.")
    return quote(value, safe="")
