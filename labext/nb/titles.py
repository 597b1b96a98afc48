"""Titles in place of identifiers: what a user calls a notebook, a model or an episode."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from labext import wording
from labext.errors import ConflictError, InputError, NotFoundError
from labext.nb.dialects.choosing import Spoken
from labext.nb.nouns import NOUNS
from labext.nb.records import Record
from labext.nb.wire import Wire

_OPENED_BY = "credential_name"
"""The key under which a model's record gets the name of its credential."""

_PLACES = 3
"""Things of a title elsewhere of which an error says where they are: a request each."""


class Titles:
    """Resolve titles to identifiers; an identifier is returned as it is, without a request.

    A noun is one of `labext.nb.nouns.NOUNS`. `within` restricts where a title is looked for: a
    notebook (an identifier), a model's type or a credential's provider. A source, note or chat of
    another notebook is never returned for a title; models and credentials fall back to all.
    """

    def __init__(self, wire: Wire, spoken: Spoken) -> None:
        self._wire = wire
        self._spoken = spoken

    def find(self, noun: str, given: str, within: str | None = None) -> str:
        """Return the identifier of one thing.

        Raises:
            NotFoundError: nothing has this title; suggests a similar one, or says where it is.
            ConflictError: several things have it; they are listed.
        """
        return identifier(noun, given) or self.several(noun, given, within)[0]

    def several(
        self, noun: str, given: str | Iterable[str], within: str | None = None
    ) -> list[str]:
        """Return the identifiers of several things, without duplicates, in the given order."""
        names = [given] if isinstance(given, str) else list(given)
        found = {name: identifier(noun, name) for name in names}
        titles = [name for name, known in found.items() if known is None]
        if titles and within is not None:
            records = self._with_credentials(noun, titles, self.listed(noun, within))
            matched = [title for title in titles if fitting(title, records)]
            found |= {title: one_of(noun, title, records) for title in matched}
            titles = [title for title in titles if title not in matched]
            if titles and NOUNS[noun].in_notebook:
                raise self._not_in_notebook(noun, titles[0], within, records)
        if titles:
            records = self._with_credentials(noun, titles, self.listed(noun))
            found |= {title: one_of(noun, title, records) for title in titles}
        return list(dict.fromkeys(each for each in found.values() if each))

    def listed(self, noun: str, within: str | None = None) -> list[Record]:
        """Return the records among which a title is looked for."""
        return NOUNS[noun].listed(self._wire, self._spoken.dialect, within)

    def _with_credentials(
        self, noun: str, titles: Iterable[str], records: list[Record]
    ) -> list[Record]:
        """Return models' records with the names of their credentials, if a title needs them."""
        if noun != "model" or all(len(fitting(title, records)) == 1 for title in titles):
            return records
        if not any(each["credential"] for each in records):
            return records
        names = {each["id"]: each["name"] for each in self.listed("credential")}
        return [{**each, _OPENED_BY: names.get(each["credential"])} for each in records]

    def _not_in_notebook(
        self, noun: str, title: str, notebook: str, records: Sequence[Record]
    ) -> NotFoundError:
        """Return the error for a title that is not in a notebook; it says where there is one."""
        names = {str(each["id"]): str(each["name"]) for each in self.listed("notebook")}
        here = names.get(notebook, notebook)
        missing = f"There is no {noun} {wording.shown(title.strip())} in {here}"
        elsewhere = fitting(title, self.listed(noun))
        if not elsewhere:
            near = _near_title(title, records)
            return NotFoundError(f"{missing}{near}.", f"See `%nb {NOUNS[noun].magic}`.")
        places = [self._place(noun, each, names) for each in elsewhere[:_PLACES]]
        more = (str(each["id"]) for each in elsewhere[_PLACES:])
        return NotFoundError(
            f"{missing}; it is {wording.listed([*places, *more], _PLACES)}.",
            f"Choose its notebook with `%nb use`, or give its identifier: `{elsewhere[0]['id']}`.",
        )

    def _place(self, noun: str, record: Record, names: Mapping[str, str]) -> str:
        """Return in which notebooks a record is, as far as is known, and its identifier."""
        if noun != "source":
            identifiers = [record["notebook_id"]]
        elif (identifiers := record["notebooks"]) is None:  # not in the list of Open Notebook
            identifiers = self._wire.run(self._spoken.dialect.source(record["id"]))["notebooks"]
        known = [names[each] for each in identifiers or () if each in names]
        if known:
            place = f"in {wording.listed(known)}"
        else:
            place = "in no notebook" if noun == "source" else "elsewhere"
        return f"{place} ({record['id']})"


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
    transformation by its name and its title, a model by its credential or its provider too:
    `lab/gpt-4o`, `openai/gpt-4o`.
    """
    given = given.strip()
    by_credential = [record for record in records if given == _by_credential(record)]
    if by_credential:
        return by_credential
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
        raise NotFoundError(
            f"There is no {noun} {wording.shown(given.strip())}{_near_title(given, records)}.",
            f"See `%nb {NOUNS[noun].magic}`.",
        )
    if len(found) > 1:
        names = [_unique_name(each, found) for each in found]
        listed = wording.listed(
            f"{name} ({_told(each)})" for name, each in zip(names, found, strict=True)
        )
        raise ConflictError(
            f"{len(found)} {noun}s are called {wording.shown(given.strip())}: {listed}.",
            f"Give one of these in its place, such as `{names[0]}`.",
        )
    return str(found[0]["id"])


def title(record: Record) -> str | None:
    """Return what a thing is called."""
    name: str | None = record.get("name") or record.get("title")
    return name


def _near_title(given: str, records: Iterable[Record]) -> str:
    """Return ` (did you mean "…"?)` with a title similar to the given one, or nothing."""
    names = (record.get(key) for key in ("name", "title", "file_name") for record in records)
    return wording.did_you_mean(given.strip(), [str(name) for name in names if name])


def _titles(record: Record) -> list[str]:
    return [str(record[key]).strip() for key in ("name", "title") if record.get(key)]


def _others(record: Record) -> list[str]:
    """Return what else a thing goes by, letter for letter."""
    others = [record[key] for key in ("file_name", "url", "job_id") if record.get(key)]
    if record.get("provider"):
        others.append(f"{record['provider']}/{record.get('name')}")
    return others


def _by_credential(record: Record) -> str | None:
    """Return `credential/model` for a model whose credential's name is known."""
    credential = record.get(_OPENED_BY)
    return f"{credential}/{record.get('name')}" if credential else None


def _unique_name(record: Record, others: Sequence[Record]) -> str:
    """Return `credential/model` where no other one is called so, else the identifier."""
    name = _by_credential(record)
    if name is not None and [_by_credential(each) for each in others].count(name) == 1:
        return name
    return str(record["id"])


def _told(record: Record) -> str:
    """Return what tells a thing from another one of its title."""
    kind, provider = record.get("type"), record.get("provider")
    of = " ".join(filter(None, (kind, f"of {provider}" if provider else None)))
    made = str(record.get("created_at") or "")[:16].replace("T", " ")
    failed = ", failed" if "failed" in (record.get("status"), record.get("job_status")) else ""
    return f"{of or (f'of {made}' if made else title(record))}{failed}"
