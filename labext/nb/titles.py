"""Titles in place of identifiers: what a user calls a notebook, a model or an episode."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from labext import wording
from labext.errors import ConflictError, InputError, NotFoundError
from labext.nb.dialects.choosing import Spoken
from labext.nb.nouns import NOUNS
from labext.nb.records import Record
from labext.nb.wire import Wire


class Titles:
    """Finds identifiers for titles; an identifier is itself, and nothing is asked for it.

    A noun is one of `labext.nb.nouns.NOUNS`. `within` is what a noun's things are looked for in
    first: a notebook (an identifier), a model's type, a credential's provider.
    """

    def __init__(self, wire: Wire, spoken: Spoken) -> None:
        self._wire = wire
        self._spoken = spoken

    def find(self, noun: str, given: str, within: str | None = None) -> str:
        """Return the identifier of one thing.

        Raises:
            NotFoundError: none is called so; a near name is told.
            ConflictError: several are; they are listed.
        """
        return identifier(noun, given) or self.several(noun, given, within)[0]

    def several(
        self, noun: str, given: str | Iterable[str], within: str | None = None
    ) -> list[str]:
        """Return the identifiers of several things, each once, in their order."""
        names = [given] if isinstance(given, str) else list(given)
        known = {name: identifier(noun, name) for name in names}
        titled = [name for name, each in known.items() if each is None]
        if titled and within is not None:
            titled = self._settle(known, noun, titled, self.listed(noun, within))
        if titled:
            every = self.listed(noun)
            known |= {name: one_of(noun, name, every) for name in titled}
        return list(dict.fromkeys(each for each in known.values() if each))

    def listed(self, noun: str, within: str | None = None) -> list[Record]:
        """Return the records among which a title is looked for."""
        return NOUNS[noun].listed(self._wire, self._spoken.dialect, within)

    @staticmethod
    def _settle(
        known: dict[str, str | None], noun: str, titled: list[str], near: list[Record]
    ) -> list[str]:
        """Note what the titles that fit something near stand for; return the other titles."""
        fit = [name for name in titled if fitting(name, near)]
        known |= {name: one_of(noun, name, near) for name in fit}
        return [name for name in titled if name not in fit]


def identifier(noun: str, given: str) -> str | None:
    """Return what was given if it is an identifier of such a thing; None for a title.

    Raises:
        InputError: it is empty, or no text.
    """
    if not isinstance(given, str) or not given.strip():
        raise InputError(
            f"{wording.shown(given)} names no {noun}.", f"Give the {noun}'s title or identifier."
        )
    given = given.strip()
    return given if re.fullmatch(rf"{NOUNS[noun].table}:[^\s/]+", given) else None


def fitting(given: str, records: Sequence[Record]) -> list[Record]:
    """Return the records of a title: of the very title, else of the title in other letters.

    A source goes by the file or the address that it was made from as well as by its title, a
    transformation by its name and its title, a model by its provider too: `openai/gpt-4o`.
    """
    given = given.strip()
    same = [record for record in records if given in (*_titles(record), *_others(record))]
    folded = given.casefold()
    return same or [
        record for record in records if folded in (each.casefold() for each in _titles(record))
    ]


def one_of(noun: str, given: str, records: Sequence[Record]) -> str:
    """Return the identifier of the one record that a title fits.

    Raises:
        NotFoundError: it fits none; a near title is told.
        ConflictError: it fits several; they are listed.
    """
    found = fitting(given, records)
    if not found:
        names = (record.get(key) for key in ("name", "title", "file_name") for record in records)
        known = [str(name) for name in names if name]
        near = wording.did_you_mean(given.strip(), known)
        raise NotFoundError(
            f"There is no {noun} {wording.shown(given.strip())}{near}.",
            f"See `%nb {NOUNS[noun].magic}`.",
        )
    if len(found) > 1:
        listed = wording.listed(f"{each['id']} ({_told(each)})" for each in found)
        raise ConflictError(
            f"{len(found)} {noun}s are called {wording.shown(given.strip())}: {listed}.",
            f"Give one of the identifiers in its place, such as `{found[0]['id']}`.",
        )
    return str(found[0]["id"])


def title(record: Record) -> str | None:
    """Return what a thing is called."""
    name: str | None = record.get("name") or record.get("title")
    return name


def _titles(record: Record) -> list[str]:
    return [str(record[key]).strip() for key in ("name", "title") if record.get(key)]


def _others(record: Record) -> list[str]:
    """Return what else a thing goes by, letter for letter."""
    others = [record[key] for key in ("file_name", "url", "job_id") if record.get(key)]
    if record.get("provider"):
        others.append(f"{record['provider']}/{record.get('name')}")
    return others


def _told(record: Record) -> str:
    """Return what tells a thing from another one of its title."""
    kind, provider = record.get("type"), record.get("provider")
    of = " ".join(filter(None, (kind, f"of {provider}" if provider else None)))
    made = str(record.get("created_at") or "")[:16].replace("T", " ")
    failed = ", failed" if "failed" in (record.get("status"), record.get("job_status")) else ""
    return f"{of or (f'of {made}' if made else title(record))}{failed}"
