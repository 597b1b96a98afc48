"""Lists in pages: every form in which a page may come, and paging that ends.

Real services answer `{"dnaSequences": […], "nextToken": "…"}`, the token empty on the last page
(real services, lab). The contract shows no shape, so a bare array is read too, and an object that
holds one list of records under another key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from labext.errors import ServiceError
from labext.transport.paging import PageGuard

Record = dict[str, Any]

_KEY, _NOUN = "dnaSequences", "sequences"


class Page(NamedTuple):
    """A page's records, and the token of the next one.

    Attributes:
        records: as they came.
        token: empty at the end of the list.
        told: the answer has a place for the token, empty or not.
    """

    records: list[Record]
    token: str
    told: bool


def page(answer: Any, *, key: str = _KEY, noun: str = _NOUN) -> Page:
    """Return the page that a response contains.

    Args:
        answer: the parsed response.
        key: the name of the list of records.
        noun: what the records are, for error messages.

    Raises:
        ServiceError: it contains no list of records, or several.
    """
    fields = answer if isinstance(answer, dict) else {"": answer}
    lists = [name for name, value in fields.items() if _is_list(value)]
    if key in lists:
        lists = [key]
    elif len(lists) > 1:
        lists = [name for name in lists if fields[name]] or lists[:1]
    if len(lists) != 1:
        raise ServiceError(f"The lab platform's list of {noun} makes no sense.")
    token = fields.get("nextToken")
    if isinstance(token, dict | list | float):
        raise ServiceError(f"The lab platform's list of {noun} tells no way to its next page.")
    # 0 may be a token; only what is empty or missing ends a list
    end = token is None or token is False or token == ""
    return Page(fields[lists[0]], "" if end else str(token), "nextToken" in fields)


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)


def pages(
    ask: Callable[[str], Page], seen: set[str], *, noun: str = _NOUN
) -> Iterator[list[Record]]:
    """Yield the records of each page, those that came before left out.

    A record that is changed while the list is read moves in it, and may come a second time.

    Args:
        ask: returns the page of a token; the first one's is empty.
        seen: the IDs of records that came before; those that come are added.
        noun: what the records are, for error messages.

    Raises:
        ResponseLimitError: the list does not end.
    """
    token, guard = "", PageGuard(f"The lab platform's list of {noun}")
    while True:
        found = ask(token)
        guard.new(map(id_of, found.records))
        new = [record for record in found.records if _is_new(record, seen)]
        if found.token:
            guard.go_on(found.token)
        yield new
        token = found.token
        if not token:
            return


def id_of(record: Record) -> str | None:
    """Return the ID by which a record is known again, if it has one."""
    found = record.get("id")
    return found if isinstance(found, str) and found else None


def _is_new(record: Record, seen: set[str]) -> bool:
    found = id_of(record)
    if found is None:
        return True
    if found in seen:
        return False
    seen.add(found)
    return True
