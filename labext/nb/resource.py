"""Base class of the client's resources, and the resolution of titles to identifiers."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labext import messages
from labext.errors import ConflictError, InputError, NotFoundError
from labext.http.pagination import PageGuard
from labext.nb.backends import RequestExecutor
from labext.nb.backends.contract import ContractBackend
from labext.nb.backends.detect import BackendSelector
from labext.nb.records import Record, Scope


def iter_sources(
    wire: RequestExecutor,
    dialect: ContractBackend,
    *,
    notebook: str | None = None,
    limit: int | None = None,
    offset: int = 0,
    order_by: str | None = None,
) -> Iterator[Record]:
    """Yield sources, page by page, until a page brings nothing new.

    A shorter page than was asked for is not the end: the interface names no cap of its pages
    (contract, Limits), and a server may keep to one without a word. What moves from one page to
    the next while they are read comes once.

    Args:
        wire: leads to the service.
        dialect: what is said to it.
        notebook: an identifier; None for those of every notebook and of none.
        limit: sources wanted in all; None for every one.
        offset: how many to leave out first.
        order_by: in the service's words.

    Raises:
        InputError: a limit below 1, or an offset below 0.
        ResponseLimitError: the list does not end.
    """
    if limit is not None and limit < 1:
        raise InputError(f"A list can't have {limit} rows.", "Give a limit of 1 or more.")
    if offset < 0:
        raise InputError(f"A list can't begin at {offset}.", "Give an offset of 0 or more.")
    seen, guard = set[str](), PageGuard("The notebook service's list of sources")
    while limit is None or len(seen) < limit:
        left = dialect.PAGE if limit is None else min(limit - len(seen), dialect.PAGE)
        page = wire.run(dialect.sources(notebook, left, offset, order_by))
        if not guard.add_page(record["id"] for record in page):
            return
        offset += len(page)
        for record in page:
            if record["id"] not in seen:
                seen.add(record["id"])
                yield record
        guard.check_next()


ListRecords = Callable[[RequestExecutor, ContractBackend, str | None], list[Record]]
"""Gives the records of a kind, of those within something alone if that is named."""


@dataclass(frozen=True)
class ResourceKind:
    """One kind of thing.

    Attributes:
        table: a pattern of what its identifiers begin with (contract, Resources): `chat_session`.
        magic: the noun of `%nb` that lists them: `sessions`.
        listed: gives the records among which a title is looked for.
        in_notebook: `within` is a notebook, and a title is never looked for outside it.
    """

    table: str
    magic: str
    listed: ListRecords
    in_notebook: bool = False


RESOURCE_KINDS: Mapping[str, ResourceKind] = {
    "notebook": ResourceKind("notebook", "notebooks", lambda w, d, _: w.run(d.notebooks())),
    "source": ResourceKind(
        "source",
        "sources",
        lambda w, d, of: [*iter_sources(w, d, notebook=of)],
        in_notebook=True,
    ),
    "note": ResourceKind(
        "note", "notes", lambda w, d, of: w.run(d.notes(of, contents=False)), in_notebook=True
    ),
    "session": ResourceKind(
        "chat_session", "sessions", lambda w, d, of: w.run(d.sessions(of)), in_notebook=True
    ),
    "insight": ResourceKind("(?:source_)?insight", "insights", lambda *_: []),
    "source chat": ResourceKind("chat_session", "source-chats", lambda *_: []),
    "transformation": ResourceKind(
        "transformation", "transformations", lambda w, d, _: w.run(d.transformations())
    ),
    "model": ResourceKind("model", "models", lambda w, d, of: w.run(d.models(of))),
    "credential": ResourceKind(
        "credential", "credentials", lambda w, d, of: w.run(d.credentials(of))
    ),
    "episode": ResourceKind("episode", "episodes", lambda w, d, _: w.run(d.episodes())),
    "episode profile": ResourceKind(
        "episode_profile", "profiles", lambda w, d, _: w.run(d.episode_profiles())
    ),
    "speaker profile": ResourceKind(
        "speaker(?:_profile)?", "profiles", lambda w, d, _: w.run(d.speaker_profiles())
    ),
}
"""By what a user calls it in a sentence: `There is no episode profile 'x'.`"""


_CREDENTIAL_NAME = "credential_name"
"""The key under which a model's record gets the name of its credential."""

_MAX_PLACES = 3
"""Things of a title elsewhere of which an error says where they are: a request each."""


class TitleResolver:
    """Resolve titles to identifiers; an identifier is returned as it is, without a request.

    A noun is one of `RESOURCE_KINDS`. `within` restricts where a title is looked for: a
    notebook (an identifier), a model's type or a credential's provider. A source, note or chat of
    another notebook is never returned for a title; models and credentials fall back to all.
    """

    def __init__(self, wire: RequestExecutor, spoken: BackendSelector) -> None:
        self._wire = wire
        self._spoken = spoken

    def find(self, noun: str, given: str, within: str | None = None) -> str:
        """Return the identifier of one thing.

        Raises:
            NotFoundError: nothing has this title; suggests a similar one, or says where it is.
            ConflictError: several things have it; they are listed.
        """
        return parse_identifier(noun, given) or self.several(noun, given, within)[0]

    def several(
        self, noun: str, given: str | Iterable[str], within: str | None = None
    ) -> list[str]:
        """Return the identifiers of several things, without duplicates, in the given order."""
        names = [given] if isinstance(given, str) else list(given)
        found = {name: parse_identifier(noun, name) for name in names}
        titles = [name for name, known in found.items() if known is None]
        if titles and within is not None:
            records = self._with_credentials(noun, titles, self.listed(noun, within))
            matched = [title for title in titles if match_title(title, records)]
            found |= {title: resolve_one(noun, title, records) for title in matched}
            titles = [title for title in titles if title not in matched]
            if titles and RESOURCE_KINDS[noun].in_notebook:
                raise self._not_in_notebook(noun, titles[0], within, records)
        if titles:
            records = self._with_credentials(noun, titles, self.listed(noun))
            found |= {title: resolve_one(noun, title, records) for title in titles}
        return list(dict.fromkeys(each for each in found.values() if each))

    def listed(self, noun: str, within: str | None = None) -> list[Record]:
        """Return the records among which a title is looked for."""
        return RESOURCE_KINDS[noun].listed(self._wire, self._spoken.dialect, within)

    def _with_credentials(
        self, noun: str, titles: Iterable[str], records: list[Record]
    ) -> list[Record]:
        """Return models' records with the names of their credentials, if a title needs them."""
        if noun != "model" or all(len(match_title(title, records)) == 1 for title in titles):
            return records
        if not any(each["credential"] for each in records):
            return records
        names = {each["id"]: each["name"] for each in self.listed("credential")}
        return [{**each, _CREDENTIAL_NAME: names.get(each["credential"])} for each in records]

    def _not_in_notebook(
        self, noun: str, title: str, notebook: str, records: Sequence[Record]
    ) -> NotFoundError:
        """Return the error for a title that is not in a notebook; it says where there is one."""
        names = {str(each["id"]): str(each["name"]) for each in self.listed("notebook")}
        here = names.get(notebook, notebook)
        missing = f"There is no {noun} {messages.quote_value(title.strip())} in {here}"
        elsewhere = match_title(title, self.listed(noun))
        if not elsewhere:
            near = _similar_title_hint(title, records)
            return NotFoundError(f"{missing}{near}.", f"See `%nb {RESOURCE_KINDS[noun].magic}`.")
        places = [self._place(noun, each, names) for each in elsewhere[:_MAX_PLACES]]
        more = (str(each["id"]) for each in elsewhere[_MAX_PLACES:])
        return NotFoundError(
            f"{missing}; it is {messages.join_words([*places, *more], _MAX_PLACES)}.",
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
            place = f"in {messages.join_words(known)}"
        else:
            place = "in no notebook" if noun == "source" else "elsewhere"
        return f"{place} ({record['id']})"


def parse_identifier(noun: str, given: str) -> str | None:
    """Return what was given if it is an identifier of such a thing; None for a title.

    Raises:
        InputError: it is empty, or no text.
    """
    if not isinstance(given, str) or not given.strip():
        raise InputError(
            f"{messages.quote_value(given)} names no {noun}.",
            f"Give the {noun}'s title or identifier.",
        )
    given = given.strip()
    return given if re.fullmatch(rf"{RESOURCE_KINDS[noun].table}:[^\s/]+", given) else None


def match_title(given: str, records: Sequence[Record]) -> list[Record]:
    """Return the records of a title: of the very title, else of the title in other letters.

    A source goes by the file or the address that it was made from as well as by its title, a
    transformation by its name and its title, a model by its credential or its provider too:
    `lab/gpt-4o`, `openai/gpt-4o`.
    """
    given = given.strip()
    by_credential = [record for record in records if given == _qualified_model_name(record)]
    if by_credential:
        return by_credential
    same = [
        record for record in records if given in (*_title_values(record), *_alias_values(record))
    ]
    folded = given.casefold()
    return same or [
        record
        for record in records
        if folded in (each.casefold() for each in _title_values(record))
    ]


def resolve_one(noun: str, given: str, records: Sequence[Record]) -> str:
    """Return the identifier of the one record that a title fits.

    Raises:
        NotFoundError: it fits none; a near title is told.
        ConflictError: it fits several; they are listed.
    """
    found = match_title(given, records)
    if not found:
        raise NotFoundError(
            f"There is no {noun} "
            f"{messages.quote_value(given.strip())}{_similar_title_hint(given, records)}.",
            f"See `%nb {RESOURCE_KINDS[noun].magic}`.",
        )
    if len(found) > 1:
        names = [_unambiguous_name(each, found) for each in found]
        listed = messages.join_words(
            f"{name} ({_describe(each)})" for name, each in zip(names, found, strict=True)
        )
        raise ConflictError(
            f"{len(found)} {noun}s are called {messages.quote_value(given.strip())}: {listed}.",
            f"Give one of these in its place, such as `{names[0]}`.",
        )
    return str(found[0]["id"])


def title_of(record: Record) -> str | None:
    """Return what a thing is called."""
    name: str | None = record.get("name") or record.get("title")
    return name


def _similar_title_hint(given: str, records: Iterable[Record]) -> str:
    """Return ` (did you mean "…"?)` with a title similar to the given one, or nothing."""
    names = (record.get(key) for key in ("name", "title", "file_name") for record in records)
    return messages.did_you_mean(given.strip(), [str(name) for name in names if name])


def _title_values(record: Record) -> list[str]:
    return [str(record[key]).strip() for key in ("name", "title") if record.get(key)]


def _alias_values(record: Record) -> list[str]:
    """Return what else a thing goes by, letter for letter."""
    others = [record[key] for key in ("file_name", "url", "job_id") if record.get(key)]
    if record.get("provider"):
        others.append(f"{record['provider']}/{record.get('name')}")
    return others


def _qualified_model_name(record: Record) -> str | None:
    """Return `credential/model` for a model whose credential's name is known."""
    credential = record.get(_CREDENTIAL_NAME)
    return f"{credential}/{record.get('name')}" if credential else None


def _unambiguous_name(record: Record, others: Sequence[Record]) -> str:
    """Return `credential/model` where no other one is called so, else the identifier."""
    name = _qualified_model_name(record)
    if name is not None and [_qualified_model_name(each) for each in others].count(name) == 1:
        return name
    return str(record["id"])


def _describe(record: Record) -> str:
    """Return what tells a thing from another one of its title."""
    kind, provider = record.get("type"), record.get("provider")
    of = " ".join(filter(None, (kind, f"of {provider}" if provider else None)))
    made = str(record.get("created_at") or "")[:16].replace("T", " ")
    failed = ", failed" if "failed" in (record.get("status"), record.get("job_status")) else ""
    return f"{of or (f'of {made}' if made else title_of(record))}{failed}"


def resolve_scope(
    titles: TitleResolver,
    *,
    notebook: str | None = None,
    source_ids: Iterable[str] | None = None,
    note_ids: Iterable[str] | None = None,
    include_sources: bool = True,
    include_notes: bool = True,
) -> Scope:
    """Return the scope that identifiers and titles name.

    The contract has no filter by notebook: its sources and notes are named one by one.

    Raises:
        NotFoundError: a title fits nothing, or what is named is not in the notebook.
        ConflictError: a title fits several.
    """
    within = None if notebook is None else titles.find("notebook", notebook)
    sources = None if source_ids is None else titles.several("source", source_ids, within)
    notes = None if note_ids is None else titles.several("note", note_ids, within)
    if within is not None:
        every = sources is None and notes is None
        sources = _ids_within(titles, "source", within, sources, every=every and include_sources)
        notes = _ids_within(titles, "note", within, notes, every=every and include_notes)
    return Scope(_as_tuple(sources), _as_tuple(notes), include_sources, include_notes)


def _ids_within(
    titles: TitleResolver, noun: str, notebook: str, named: list[str] | None, *, every: bool
) -> list[str] | None:
    """Return what is named of a notebook's sources or notes, or `every` one of them."""
    if named is None and not every:
        return None
    there = [str(record["id"]) for record in titles.listed(noun, notebook)]
    if named is None:
        return there
    absent = [each for each in named if each not in set(there)]
    if absent:
        raise NotFoundError(
            f"Not in the notebook: {messages.join_words(absent)}.",
            "Put it into the notebook, or look at all of them.",
        )
    return named


def _as_tuple(identifiers: list[str] | None) -> tuple[str, ...] | None:
    return None if identifiers is None else tuple(identifiers)


class Resource:
    """The methods about one kind of thing.

    Wherever a method takes a thing, it takes its identifier or its title. A title that fits
    nothing is a NotFoundError that tells a near one, one that fits several a ConflictError that
    lists them.
    """

    def __init__(
        self, wire: RequestExecutor, spoken: BackendSelector, titles: TitleResolver
    ) -> None:
        self._wire = wire
        self._spoken = spoken
        self._titles = titles

    @property
    def _dialect(self) -> ContractBackend:
        return self._spoken.dialect

    def _notebook(self, given: str | None) -> str | None:
        return None if given is None else self._titles.find("notebook", given)


NO_CHANGES_STEP = "Give what is to be changed."
"""The next step where a change names nothing."""


def drop_none(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that are not None."""
    return {key: value for key, value in values.items() if value is not None}


def build_changes(
    noun: str, values: Mapping[str, Any], clearable: Collection[str] = ()
) -> dict[str, Any]:
    """Return what is to be changed: what is None stays, an empty value of a `clearable` goes.

    Raises:
        InputError: nothing is to be changed.
    """
    changed = {
        key: None if key in clearable and value in ("", 0) else value
        for key, value in drop_none(values).items()
    }
    if not changed:
        raise InputError(f"Nothing of the {noun} is to be changed.", NO_CHANGES_STEP)
    return changed


def unique_names(records: Iterable[Record]) -> list[str]:
    """Return what things are called, each once, in their order."""
    return [*dict.fromkeys(str(each["name"]) for each in records if each["name"])]
