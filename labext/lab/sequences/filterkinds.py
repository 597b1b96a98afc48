"""Each kind of filter: how its value is read, what is sent, and how it is checked here.

As the platform itself reads them (real services, lab: the API's own reference): `name`, `names` and
`name_includes` look at a sequence's name, its aliases and its registry ID, in any case of letters;
`bases` also finds the reverse complement, and a circle opened elsewhere.

What a record doesn't tell passes, since the platform has been asked; but not a length or a form,
which are applied here alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from numbers import Integral
from operator import ge, le
from typing import Any

from labext.bases import same_molecule
from labext.errors import InputError
from labext.lab.sequences.paging import Record
from labext.lab.sequences.times import time_range
from labext.wording import shown

_LONGEST = 4000
"""Characters of one filter in a request: more would be too long an address for many servers."""

_CALLED = ("name", "aliases", "entityRegistryId")


@dataclass(frozen=True)
class Filter:
    """One filter.

    Attributes:
        check: says whether a record passes.
        reads: the fields of a record that `check` looks at.
        sent: the query, by name; empty for what is applied here alone.
        values: what is sent as a list under `listed`, of which there may be too many.
        listed: the query's name for `values`.
    """

    check: Callable[[Record], bool]
    reads: tuple[str, ...]
    sent: Mapping[str, str] = field(default_factory=dict)
    values: tuple[str, ...] = ()
    listed: str = ""


Maker = Callable[[str, Any], Filter]
"""Makes a filter of its name, for messages, and the value that a user gave."""


def text(name: str, value: Any) -> str:
    """Return the text that a filter was given.

    Raises:
        InputError: it is none, or empty.
    """
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{shown(value)} is no text for the filter {name}.", "Give it a text.")
    return value.strip()


def _texts(name: str, value: Any) -> tuple[str, ...]:
    """Return values given as a text with commas, or as several texts, each once."""
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, Iterable) or isinstance(value, Mapping | bytes):
        raise InputError(
            f"{shown(value)} is no list of texts for the filter {name}.", "Give it a list of texts."
        )
    found = tuple(dict.fromkeys(text(name, each) for each in value))
    if not found:
        raise InputError(f"The filter {name} has no values.", "Leave it out, or give it some.")
    return found


def _is_called(record: Record, right: Callable[[str], bool]) -> bool:
    """Say whether what a sequence is called is right: its name, an alias or its registry ID."""
    if "name" not in record:
        return True
    aliases = record.get("aliases")
    called = [record["name"], record.get("entityRegistryId")]
    called += aliases if isinstance(aliases, list) else []
    return any(right(each.casefold()) for each in called if isinstance(each, str))


def _name(name: str, value: Any) -> Filter:
    wanted = text(name, value)
    folded = wanted.casefold()
    return Filter(lambda record: _is_called(record, folded.__eq__), _CALLED, {"name": wanted})


def _name_includes(name: str, value: Any) -> Filter:
    wanted = text(name, value)
    folded = wanted.casefold()
    return Filter(
        lambda record: _is_called(record, lambda called: folded in called),
        _CALLED,
        {"nameIncludes": wanted},
    )


def _names(name: str, value: Any) -> Filter:
    wanted = _texts(name, value)
    folded = {each.casefold() for each in wanted}
    # Of a name with a comma or a quote within the platform would make others.
    sent = () if any({",", '"'}.intersection(each) for each in wanted) else wanted
    return Filter(
        lambda record: _is_called(record, folded.__contains__),
        _CALLED,
        values=sent,
        listed="names.anyOf",
    )


def _bases(name: str, value: Any) -> Filter:
    wanted = "".join(text(name, value).split())

    def check(record: Record) -> bool:
        if "bases" not in record:
            return True
        bases, circular = record["bases"], record.get("isCircular") is True
        return isinstance(bases, str) and same_molecule(wanted, bases, circular=circular)

    sent = {"bases": wanted} if len(wanted) <= _LONGEST else {}
    return Filter(check, ("bases", "isCircular"), sent)


def _one(sent: str, *path: str) -> Maker:
    """Return the maker of a filter for a text that stands in a record at a path."""

    def make(name: str, value: Any) -> Filter:
        wanted = text(name, value)
        return Filter(
            lambda record: _told(record, path, wanted) == wanted, path[:1], {sent: wanted}
        )

    return make


def _any_of(listed: str, *path: str) -> Maker:
    """Return the maker of a filter for a text at a path that may be any of several."""

    def make(name: str, value: Any) -> Filter:
        wanted = _texts(name, value)
        allowed = set(wanted)
        return Filter(
            lambda record: _told(record, path, wanted[0]) in allowed,
            path[:1],
            values=wanted,
            listed=listed,
        )

    return make


def _told(record: Record, path: tuple[str, ...], otherwise: str) -> Any:
    """Return what a record tells at a path; `otherwise` where the record has no such field."""
    if path[0] not in record:
        return otherwise
    found: Any = record
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, str) else None


def _time(name: str) -> Maker:
    def make(_: str, value: Any) -> Filter:
        wanted = time_range(value)
        return Filter(
            lambda record: name not in record or wanted.holds(record[name]),
            (name,),
            {name: str(wanted)},
        )

    return make


def _archive_reason(name: str, value: Any) -> Filter:
    wanted = text(name, value)

    def check(record: Record) -> bool:
        if "archiveRecord" not in record or wanted == "ANY_ARCHIVED_OR_NOT_ARCHIVED":
            return True
        archived = record["archiveRecord"]
        if wanted in ("NOT_ARCHIVED", "ANY_ARCHIVED"):
            return (archived is None) == (wanted == "NOT_ARCHIVED")
        return isinstance(archived, dict) and archived.get("reason") == wanted

    return Filter(check, ("archiveRecord",), {"archiveReason": wanted})


def _length(holds: Callable[[int, int], bool]) -> Maker:
    def make(name: str, value: Any) -> Filter:
        if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 0:
            raise InputError(f"{shown(value)} is no length.", f"Give {name} a number of bases.")
        wanted = int(value)

        def check(record: Record) -> bool:
            length = _length_of(record)
            return length is not None and holds(length, wanted)

        return Filter(check, ("length",))

    return make


def _length_of(record: Record) -> int | None:
    length = record.get("length")
    if isinstance(length, int):
        return length
    bases = record.get("bases")
    return len(bases) if isinstance(bases, str) else None


def _circular(name: str, value: Any) -> Filter:
    if not isinstance(value, bool):
        raise InputError(f"{shown(value)} is neither true nor false.", f"Give {name} one of them.")
    return Filter(lambda record: record.get("isCircular") is value, ("isCircular",))


MAKERS: Mapping[str, Maker] = {
    "ids": _any_of("ids", "id"),
    "name": _name,
    "name_includes": _name_includes,
    "names": _names,
    "bases": _bases,
    "folder_id": _one("folderId", "folderId"),
    "project_id": _one("projectId", "projectId"),
    "schema_id": _one("schemaId", "schema", "id"),
    "created_at": _time("createdAt"),
    "modified_at": _time("modifiedAt"),
    "archive_reason": _archive_reason,
    "creator_ids": _any_of("creatorIds", "creator", "id"),
    "min_length": _length(ge),
    "max_length": _length(le),
    "circular": _circular,
}
