"""Parse the parameter `returning` and select the fields of records.

A list takes `dnaSequences.id, dnaSequences.creator.name`, a single record `id, creator.name`; `*`
stands for all fields of a level. A record that lacks one of them below the first level is served
without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labext.sandbox.lab.faults import invalid
from labext.sandbox.lab.records import FIELDS
from labext.sandbox.lab.store import Record
from labext.wording import shown

LIST, TOKEN, ALL = "dnaSequences", "nextToken", "*"

WHOLE = ("annotations", "translations", "primers")
"""Fields that are served whole or not at all."""

Fields = Mapping[str, "Fields"]
"""The wanted fields, with those wanted of each; `*` among them stands for all."""


def parse(text: str, *, of_list: bool = True) -> Fields:
    """Parse the names of the fields to return.

    Args:
        text: the value of the parameter.
        of_list: whether names start with `dnaSequences.`, as those of a list do. A list always
            returns `nextToken`, which may be named too.

    Raises:
        HTTPException: 400, there is no such field.
    """
    wanted: dict[str, Any] = {}
    for path in filter(None, (part.strip() for part in text.split(","))):
        names = path.split(".")
        if of_list:
            if path == TOKEN:
                continue
            head, *names = names
        known = head == LIST if of_list else True
        if not known or not all(names) or (names and names[0] not in (*FIELDS, ALL)):
            example = f"{LIST}.id" if of_list else "id"
            raise invalid(
                f"returning: there is no field {shown(path)}. Fields are named as {example}."
            )
        _add(wanted, names or [ALL])
    return wanted


def pick(record: Record, wanted: Fields) -> Record:
    """The wanted fields of a record."""
    if ALL in wanted:
        return record
    return {name: _pick(record[name], of) for name, of in wanted.items() if name in record}


def _add(wanted: dict[str, Any], names: list[str]) -> None:
    for name in names[:1] if names[0] in WHOLE else names:
        wanted = wanted.setdefault(name, {})
    wanted[ALL] = {}


def _pick(value: Any, wanted: Fields) -> Any:
    if isinstance(value, dict):
        return pick(value, wanted)
    if isinstance(value, list):
        return [_pick(each, wanted) for each in value]
    return value
