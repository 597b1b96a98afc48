"""What a file format can't hold, kept beside what it shows.

A format shows a record in its own way: a name without blanks, no colour, no strand of 0. Beside
that is kept, of each field that it shows wrongly or not at all, what it shows and what is exact. On
reading the exact one counts, as long as the format still shows the same: whoever changed the name
in another program meant it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

Fields = dict[str, Any]

MARK = "labext:"
"""How a line of text begins that holds what is kept."""

_ESCAPED = re.compile(r"\\.")


def keep(shown: Mapping[str, Any], exact: Mapping[str, Any]) -> dict[str, list[list[Any]]]:
    """Return, of each field that differs, what is shown and what is exact; `[]` where it is not."""
    return {
        name: [_held(shown, name), _held(exact, name)]
        for name in dict.fromkeys([*shown, *exact])
        if written(_held(shown, name)) != written(_held(exact, name))
    }


def restored(shown: Mapping[str, Any], kept: Any) -> Fields:
    """Return the fields with what was kept of those that are shown as they were."""
    fields = dict(shown)
    for name, pair in kept.items() if isinstance(kept, dict) else ():
        if not (isinstance(pair, list) and len(pair) == 2 and all(map(_is_held, pair))):
            continue
        was, exact = pair
        if written(_held(shown, name)) == written(was):
            fields.pop(name, None)
            if exact:
                fields[name] = exact[0]
    return fields


def written(value: Any) -> str:
    """Return a value as JSON of printable ASCII without blanks and double quotes.

    It then is one word to any reader, and needs no quoting: single quotes stand for double ones,
    and those that were there are escaped.
    """
    text = json.dumps(value, separators=(",", ":"), default=str)
    text = _ESCAPED.sub(lambda found: "\\u0022" if found[0] == '\\"' else found[0], text)
    text = text.replace("'", "\\u0027").replace('"', "'")
    return text.replace(" ", "\\u0020").replace("\x7f", "\\u007f")


def read(text: str) -> Any:
    """Return the value that `written` wrote; None for what it didn't."""
    try:
        return json.loads(text.replace("'", '"'))
    except (ValueError, RecursionError):
        return None


def _held(fields: Mapping[str, Any], name: str) -> list[Any]:
    return [fields[name]] if name in fields else []


def _is_held(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= 1
