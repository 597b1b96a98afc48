"""Each kind of filter: how its value is read, what is sent, and how it is checked here.

As the platform itself reads them (real services, lab: the API's own reference): `name`, `names` and
`name_includes` look at a sequence's name, its aliases and its registry ID, in any case of letters;
`bases` also finds the reverse complement, and a circle opened elsewhere.

What a record doesn't tell passes, since the platform has been asked; but not a length or a form,
which are applied here alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from labext.errors import InputError
from labext.lab.matching import same_bases
from labext.lab.paging import Record
from labext.lab.times import time_range

Check = Callable[[Record], bool]

_LONGEST = 4000
"""Characters of one filter in a request: more would be too long an address for many servers."""


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

    check: Check
    reads: tuple[str, ...]
    sent: Mapping[str, str]
    values: tuple[str, ...] = ()
    listed: str = ""


def text(name: str, value: Any) -> str:
    """Return the text that a filter was given.

    Raises:
        InputError: it is none, or empty.
    """
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{value!r} is no text for the filter {name}.", "Give it a text.")
    return value.strip()


def _texts(name: str, value: Any) -> tuple[str, ...]:
    """Return values given as a text with commas, or as several texts, each once."""
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, Iterable) or isinstance(value, Mapping | bytes):
        raise InputError(
            f"{value!r} is no list of texts for the filter {name}.", "Give it a list of texts."
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


_CALLED = ("name", "aliases", "entityRegistryId")


def _name(name: str, value: Any) -> Filter:
    wanted = text(name, value)
    folded = wanted.casefold()
    return Filter(
        lambda record: _is_called(record, lambda called: called == folded),
        _CALLED,
        {"name": wanted},
    )


def _names(name: str, value: Any) -> Filter:
    wanted = _texts(name, value)
    folded = {each.casefold() for each in wanted}
    # Of a name with a comma or a quote within the platform would make others.
    sent = () if any({",", '"'}.intersection(each) for each in wanted) else wanted
    return Filter(
        lambda record: _is_called(record, folded.__contains__), _CALLED, {}, sent, "names.anyOf"
    )


def _name_includes(name: str, value: Any) -> Filter:
    wanted = text(name, value)
    folded = wanted.casefold()
    return Filter(
        lambda record: _is_called(record, lambda called: folded in called),
        _CALLED,
        {"nameIncludes": wanted},
    )


def _bases(name: str, value: Any) -> Filter:
    wanted = "".join(text(name, value).split())
    return Filter(
        lambda record: (
            "bases" not in record
            or same_bases(wanted, record["bases"], record.get("isCircular") is True)
        ),
        ("bases", "isCircular"),
        {"bases": wanted} if len(wanted) <= _LONGEST else {},
    )


def _field(field: str, *within: str) -> Callable[[str, Any], Filter]:
    """Return the maker of a filter for one text in a record."""

    def make(name: str, value: Any) -> Filter:
        wanted = text(name, value)
        return Filter(
            lambda record: _told(record, (field, *within), wanted) == wanted,
            (field,),
            {_SENT[name]: wanted},
        )

    return make


def _any_of(field: str, *within: str) -> Callable[[str, Any], Filter]:
    """Return the maker of a filter for one text in a record that may be any of several."""

    def make(name: str, value: Any) -> Filter:
        wanted = _texts(name, value)
        allowed = set(wanted)
        return Filter(
            lambda record: _told(record, (field, *within), wanted[0]) in allowed,
            (field,),
            {},
            wanted,
            _SENT[name],
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


def _time(field: str) -> Callable[[str, Any], Filter]:
    def make(name: str, value: Any) -> Filter:
        wanted = time_range(name, value)
        return Filter(
            lambda record: field not in record or wanted.holds(record[field]),
            (field,),
            {field: str(wanted)},
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


def _length(name: str, value: Any) -> Filter:
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 0:
        raise InputError(f"{value!r} is no length.", f"Give {name} a number of bases.")
    wanted, longest = int(value), name == "max_length"

    def check(record: Record) -> bool:
        length = _length_of(record)
        return length is not None and (length <= wanted if longest else length >= wanted)

    return Filter(check, ("length",), {})


def _length_of(record: Record) -> int | None:
    length = record.get("length")
    if isinstance(length, int):
        return length
    bases = record.get("bases")
    return len(bases) if isinstance(bases, str) else None


def _circular(name: str, value: Any) -> Filter:
    if not isinstance(value, bool):
        raise InputError(f"{value!r} is neither True nor False.", f"Give {name} one of them.")
    return Filter(lambda record: record.get("isCircular") is value, ("isCircular",), {})


_SENT = {
    "ids": "ids",
    "folder_id": "folderId",
    "project_id": "projectId",
    "schema_id": "schemaId",
    "creator_ids": "creatorIds",
}

MAKERS: Mapping[str, Callable[[str, Any], Filter]] = {
    "ids": _any_of("id"),
    "name": _name,
    "name_includes": _name_includes,
    "names": _names,
    "bases": _bases,
    "folder_id": _field("folderId"),
    "project_id": _field("projectId"),
    "schema_id": _field("schema", "id"),
    "created_at": _time("createdAt"),
    "modified_at": _time("modifiedAt"),
    "archive_reason": _archive_reason,
    "creator_ids": _any_of("creator", "id"),
    "min_length": _length,
    "max_length": _length,
    "circular": _circular,
}
