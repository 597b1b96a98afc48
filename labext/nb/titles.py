"""Titles in place of identifiers: what a user calls a notebook, a source, a note or a session."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from labext import wording
from labext.errors import ConflictError, InputError, NotFoundError
from labext.nb.dialects.contract import Contract
from labext.nb.listing import all_sources
from labext.nb.records import Record
from labext.nb.wire import Wire

TABLES = {
    "notebook": "notebook",
    "source": "source",
    "note": "note",
    "session": "chat_session",
}
"""By noun the table that an identifier names (contract, Resources): `chat_session:abc`."""


class Titles:
    """Finds identifiers for titles; an identifier is itself, and nothing is asked for it."""

    def __init__(self, wire: Wire, dialect: Contract) -> None:
        self._wire = wire
        self._dialect = dialect

    def notebook(self, given: str) -> str:
        """Return a notebook's identifier.

        Raises:
            NotFoundError: none is called so; a near name is told.
            ConflictError: several are; they are listed.
        """
        return identifier("notebook", given) or self._one("notebook", given, None)

    def source(self, given: str, notebook: str | None = None) -> str:
        """Return a source's identifier; those of `notebook` (an identifier) come first."""
        return identifier("source", given) or self._one("source", given, notebook)

    def note(self, given: str, notebook: str | None = None) -> str:
        """Return a note's identifier; those of `notebook` (an identifier) come first."""
        return identifier("note", given) or self._one("note", given, notebook)

    def session(self, given: str, notebook: str | None = None) -> str:
        """Return a chat session's identifier; those of `notebook` (an identifier) come first."""
        return identifier("session", given) or self._one("session", given, notebook)

    def several(
        self, noun: str, given: str | Iterable[str], notebook: str | None = None
    ) -> list[str]:
        """Return the identifiers of several sources or notes, each once, in their order."""
        names = [given] if isinstance(given, str) else list(given)
        known = {name: identifier(noun, name) for name in names}
        titled = [name for name, each in known.items() if each is None]
        if titled and notebook is not None:
            titled = self._settle(known, noun, titled, self.listed(noun, notebook))
        if titled:
            every = self.listed(noun)
            known |= {name: one_of(noun, name, every) for name in titled}
        return list(dict.fromkeys(each for each in known.values() if each))

    def listed(self, noun: str, notebook: str | None = None) -> list[Record]:
        """Return the records among which a title is looked for."""
        match noun:
            case "notebook":
                return self._wire.run(self._dialect.notebooks())
            case "source":
                return list(all_sources(self._wire, self._dialect, notebook=notebook))
            case "note":
                return self._wire.run(self._dialect.notes(notebook))
            case _:
                return self._wire.run(self._dialect.sessions(notebook))

    def _one(self, noun: str, given: str, notebook: str | None) -> str:
        return self.several(noun, given, notebook)[0]

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
    return given if re.fullmatch(rf"{TABLES[noun]}:[^\s/]+", given) else None


def fitting(given: str, records: Sequence[Record]) -> list[Record]:
    """Return the records of a title: of the very title, else of the title in other letters.

    A source goes by the file or the address that it was made from as well as by its title.
    """
    given = given.strip()
    same = [
        record
        for record in records
        if given in ((title(record) or "").strip(), record.get("file_name"), record.get("url"))
    ]
    folded = given.casefold()
    return same or [
        record for record in records if (title(record) or "").strip().casefold() == folded
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
            f"There is no {noun} {wording.shown(given.strip())}{near}.", f"See `%nb {noun}s`."
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


def _told(record: Record) -> str:
    """Return what tells a thing from another one of its title."""
    made = str(record.get("created_at") or "")[:16].replace("T", " ")
    failed = ", failed" if record.get("status") == "failed" else ""
    return f"of {made}{failed}" if made else f"{title(record)}{failed}"
