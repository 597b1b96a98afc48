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
    executor: RequestExecutor,
    backend: ContractBackend,
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
        executor: sends the requests.
        backend: builds the requests and parses the responses.
        notebook: the identifier of a notebook; None lists all sources.
        limit: the maximum number of sources; None for no limit.
        offset: the number of sources to skip.
        order_by: the sort order, as the service names it.

    Raises:
        InputError: a limit below 1, or an offset below 0.
        ResponseLimitError: the list does not end.
    """
    if limit is not None and limit < 1:
        raise InputError(f"A list can't have {limit} rows.", "Give a limit of 1 or more.")
    if offset < 0:
        raise InputError(f"A list can't begin at {offset}.", "Give an offset of 0 or more.")
    yielded, guard = set[str](), PageGuard("The notebook service's list of sources")
    while limit is None or len(yielded) < limit:
        left = backend.PAGE if limit is None else min(limit - len(yielded), backend.PAGE)
        page = executor.run(backend.sources(notebook, left, offset, order_by))
        if not guard.add_page(record["id"] for record in page):
            return
        offset += len(page)
        for record in page:
            if record["id"] not in yielded:
                yielded.add(record["id"])
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

    id_pattern: str
    list_noun: str
    list_records: ListRecords
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

    def __init__(self, executor: RequestExecutor, selector: BackendSelector) -> None:
        self._executor = executor
        self._selector = selector

    def find(self, noun: str, title: str, within: str | None = None) -> str:
        """Return the identifier of one thing.

        Raises:
            NotFoundError: nothing has this title; suggests a similar one, or says where it is.
            ConflictError: several things have it; they are listed.
        """
        return parse_identifier(noun, title) or self.find_all(noun, title, within)[0]

    def find_all(
        self, noun: str, titles_or_ids: str | Iterable[str], within: str | None = None
    ) -> list[str]:
        """Return the identifiers of several things, without duplicates, in the given order."""
        names = [titles_or_ids] if isinstance(titles_or_ids, str) else list(titles_or_ids)
        resolved = {name: parse_identifier(noun, name) for name in names}
        titles = [name for name, identifier in resolved.items() if identifier is None]
        if titles and within is not None:
            records = self._with_credentials(noun, titles, self.records(noun, within))
            matched = [title for title in titles if match_title(title, records)]
            resolved |= {title: resolve_one(noun, title, records) for title in matched}
            titles = [title for title in titles if title not in matched]
            if titles and RESOURCE_KINDS[noun].in_notebook:
                raise self._not_in_notebook(noun, titles[0], within, records)
        if titles:
            records = self._with_credentials(noun, titles, self.records(noun))
            resolved |= {title: resolve_one(noun, title, records) for title in titles}
        return list(dict.fromkeys(identifier for identifier in resolved.values() if identifier))

    def records(self, noun: str, within: str | None = None) -> list[Record]:
        """Return the records among which a title is looked for."""
        return RESOURCE_KINDS[noun].list_records(self._executor, self._selector.backend, within)

    def _with_credentials(
        self, noun: str, titles: Iterable[str], records: list[Record]
    ) -> list[Record]:
        """Return models' records with the names of their credentials, if a title needs them."""
        if noun != "model" or all(len(match_title(title, records)) == 1 for title in titles):
            return records
        if not any(record["credential"] for record in records):
            return records
        names = {credential["id"]: credential["name"] for credential in self.records("credential")}
        return [{**record, _CREDENTIAL_NAME: names.get(record["credential"])} for record in records]

    def _not_in_notebook(
        self, noun: str, title: str, notebook: str, records: Sequence[Record]
    ) -> NotFoundError:
        """Return the error for a title that is not in a notebook; it says where there is one."""
        names = {str(record["id"]): str(record["name"]) for record in self.records("notebook")}
        here = names.get(notebook, notebook)
        missing = f"There is no {noun} {messages.quote_value(title.strip())} in {here}"
        elsewhere = match_title(title, self.records(noun))
        if not elsewhere:
            near = _similar_title_hint(title, records)
            return NotFoundError(
                f"{missing}{near}.", f"See `%nb {RESOURCE_KINDS[noun].list_noun}`."
            )
        places = [self._place(noun, record, names) for record in elsewhere[:_MAX_PLACES]]
        more = (str(record["id"]) for record in elsewhere[_MAX_PLACES:])
        return NotFoundError(
            f"{missing}; it is {messages.join_words([*places, *more], _MAX_PLACES)}.",
            f"Choose its notebook with `%nb use`, or give its identifier: `{elsewhere[0]['id']}`.",
        )

    def _place(self, noun: str, record: Record, names: Mapping[str, str]) -> str:
        """Return in which notebooks a record is, as far as is known, and its identifier."""
        if noun != "source":
            identifiers = [record["notebook_id"]]
        elif (identifiers := record["notebooks"]) is None:  # not in the list of Open Notebook
            identifiers = self._executor.run(self._selector.backend.source(record["id"]))[
                "notebooks"
            ]
        known_titles = [
            names[identifier] for identifier in identifiers or () if identifier in names
        ]
        if known_titles:
            place = f"in {messages.join_words(known_titles)}"
        else:
            place = "in no notebook" if noun == "source" else "elsewhere"
        return f"{place} ({record['id']})"


def parse_identifier(noun: str, text: str) -> str | None:
    """Return what was given if it is an identifier of such a thing; None for a title.

    Raises:
        InputError: it is empty, or no text.
    """
    if not isinstance(text, str) or not text.strip():
        raise InputError(
            f"{messages.quote_value(text)} names no {noun}.",
            f"Give the {noun}'s title or identifier.",
        )
    text = text.strip()
    return text if re.fullmatch(rf"{RESOURCE_KINDS[noun].id_pattern}:[^\s/]+", text) else None


def match_title(title: str, records: Sequence[Record]) -> list[Record]:
    """Return the records of a title: of the very title, else of the title in other letters.

    A source goes by the file or the address that it was made from as well as by its title, a
    transformation by its name and its title, a model by its credential or its provider too:
    `lab/gpt-4o`, `openai/gpt-4o`.
    """
    title = title.strip()
    by_credential = [record for record in records if title == _qualified_model_name(record)]
    if by_credential:
        return by_credential
    same = [
        record for record in records if title in (*_title_values(record), *_alias_values(record))
    ]
    folded = title.casefold()
    return same or [
        record
        for record in records
        if folded in (value.casefold() for value in _title_values(record))
    ]


def resolve_one(noun: str, title: str, records: Sequence[Record]) -> str:
    """Return the identifier of the one record that a title fits.

    Raises:
        NotFoundError: it fits none; a near title is told.
        ConflictError: it fits several; they are listed.
    """
    matches = match_title(title, records)
    if not matches:
        raise NotFoundError(
            f"There is no {noun} "
            f"{messages.quote_value(title.strip())}{_similar_title_hint(title, records)}.",
            f"See `%nb {RESOURCE_KINDS[noun].list_noun}`.",
        )
    if len(matches) > 1:
        names = [_unambiguous_name(record, matches) for record in matches]
        listing = messages.join_words(
            f"{name} ({_describe(record)})" for name, record in zip(names, matches, strict=True)
        )
        raise ConflictError(
            f"{len(matches)} {noun}s are called {messages.quote_value(title.strip())}: {listing}.",
            f"Give one of these in its place, such as `{names[0]}`.",
        )
    return str(matches[0]["id"])


def title_of(record: Record) -> str | None:
    """Return what a thing is called."""
    name: str | None = record.get("name") or record.get("title")
    return name


def _similar_title_hint(title: str, records: Iterable[Record]) -> str:
    """Return ` (did you mean "…"?)` with a title similar to the given one, or nothing."""
    names = (record.get(key) for key in ("name", "title", "file_name") for record in records)
    return messages.did_you_mean(title.strip(), [str(name) for name in names if name])


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
    if name is not None and [_qualified_model_name(other) for other in others].count(name) == 1:
        return name
    return str(record["id"])


def _describe(record: Record) -> str:
    """Return what tells a thing from another one of its title."""
    kind, provider = record.get("type"), record.get("provider")
    of = " ".join(filter(None, (kind, f"of {provider}" if provider else None)))
    created = str(record.get("created_at") or "")[:16].replace("T", " ")
    failed = ", failed" if "failed" in (record.get("status"), record.get("job_status")) else ""
    return f"{of or (f'of {created}' if created else title_of(record))}{failed}"


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
    sources = None if source_ids is None else titles.find_all("source", source_ids, within)
    notes = None if note_ids is None else titles.find_all("note", note_ids, within)
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
    available = [str(record["id"]) for record in titles.records(noun, notebook)]
    if named is None:
        return available
    absent = [identifier for identifier in named if identifier not in set(available)]
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
        self, executor: RequestExecutor, selector: BackendSelector, titles: TitleResolver
    ) -> None:
        self._executor = executor
        self._selector = selector
        self._titles = titles

    @property
    def _backend(self) -> ContractBackend:
        return self._selector.backend

    def _notebook(self, title: str | None) -> str | None:
        return None if title is None else self._titles.find("notebook", title)


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
    return [*dict.fromkeys(str(record["name"]) for record in records if record["name"])]
