"""Base class of the client's resources, and the resolution of titles to identifiers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypedDict

from labext import messages
from labext.actions import Action
from labext.errors import ConflictError, InputError, NotFoundError
from labext.http.pagination import PageGuard, check_count
from labext.nb.backends import RequestExecutor, Steps, T
from labext.nb.backends.contract import ContractBackend
from labext.nb.backends.contract.podcasts import EPISODE_PROFILES, SPEAKER_PROFILES
from labext.nb.backends.detect import BackendSelector
from labext.nb.records import Record, Scope, drop_none


def iter_sources(
    executor: RequestExecutor,
    backend: ContractBackend,
    *,
    notebook: str | None = None,
    limit: int | None = None,
    offset: int = 0,
    order_by: str | None = None,
) -> Iterator[Record]:
    """Yield sources of a notebook or of all, page by page, until a page contains nothing new.

    A page shorter than requested is not the end: a server may apply
    a smaller maximum silently (NB-78). A source that moves to the next page
    during the listing is yielded once.

    Raises:
        InputError: a limit below 1, or an offset below 0.
        ResponseLimitError: the pages repeat without end.
    """
    check_count("limit", limit)
    check_count("offset", offset, 0)
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
"""Lists the records of a kind; the last argument restricts the list, as for `TitleResolver`."""


@dataclass(frozen=True)
class ResourceKind:
    """One kind of record.

    Attributes:
        id_pattern: a regular expression for the prefix of its identifiers (NB-39):
            `chat_session`.
        list_action: lists the records.
        list_records: lists the records among which a title is searched.
        in_notebook: `within` is a notebook, and titles are searched in that notebook only.
    """

    id_pattern: str
    list_action: Action
    list_records: ListRecords
    in_notebook: bool = False


RESOURCE_KINDS: Mapping[str, ResourceKind] = {
    "notebook": ResourceKind(
        "notebook", Action.list_notebooks(), lambda w, d, _: w.run(d.notebooks())
    ),
    "source": ResourceKind(
        "source",
        Action.list_sources(),
        lambda w, d, of: [*iter_sources(w, d, notebook=of)],
        in_notebook=True,
    ),
    "note": ResourceKind(
        "note",
        Action.list_notes(),
        lambda w, d, of: w.run(d.notes(of, contents=False)),
        in_notebook=True,
    ),
    "session": ResourceKind(
        "chat_session",
        Action.list_chats(),
        lambda w, d, of: w.run(d.sessions(of)),
        in_notebook=True,
    ),
    "insight": ResourceKind("(?:source_)?insight", Action.list_insights(), lambda *_: []),
    "source chat": ResourceKind("chat_session", Action.list_source_chats(), lambda *_: []),
    "transformation": ResourceKind(
        "transformation", Action.list_transformations(), lambda w, d, _: w.run(d.transformations())
    ),
    "model": ResourceKind("model", Action.list_models(), lambda w, d, of: w.run(d.models(of))),
    "credential": ResourceKind(
        "credential", Action.list_credentials(), lambda w, d, of: w.run(d.credentials(of))
    ),
    "episode": ResourceKind("episode", Action.list_episodes(), lambda w, d, _: w.run(d.episodes())),
    "episode profile": ResourceKind(
        "episode_profile",
        Action.list_profiles(),
        lambda w, d, _: w.run(d.profiles(EPISODE_PROFILES)),
    ),
    "speaker profile": ResourceKind(
        "speaker(?:_profile)?",
        Action.list_profiles(),
        lambda w, d, _: w.run(d.profiles(SPEAKER_PROFILES)),
    ),
}
"""Kinds by the noun that messages use: `There is no episode profile 'x'.`"""


_CREDENTIAL_NAME = "credential_name"
"""The key of a credential's name in a model's record."""

_MAX_PLACES = 3
"""Maximum number of records in other notebooks that an error locates, one request each."""


class TitleResolver:
    """Resolve titles to identifiers; an identifier is returned as it is, without a request.

    A noun is one of `RESOURCE_KINDS`. `within` restricts the search for a title: to a notebook (an
    identifier), a model type or a credential's provider. A title never resolves to a source, note
    or chat of another notebook; models and credentials fall back to all records.
    """

    def __init__(self, executor: RequestExecutor, selector: BackendSelector) -> None:
        self._executor = executor
        self._selector = selector

    def find(self, noun: str, title: str, within: str | None = None) -> str:
        """Return the identifier of one record.

        Raises:
            NotFoundError: no record has this title; the message suggests a similar title or names
                the notebook that contains the record.
            ConflictError: several records have this title; the message lists them.
        """
        return parse_identifier(noun, title) or self.find_all(noun, title, within)[0]

    def find_all(
        self, noun: str, titles_or_ids: str | Iterable[str], within: str | None = None
    ) -> list[str]:
        """Return the identifiers of several records, without duplicates, in the given order."""
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
        """Return the records among which a title is searched."""
        return RESOURCE_KINDS[noun].list_records(self._executor, self._selector.backend, within)

    def _with_credentials(
        self, noun: str, titles: Iterable[str], records: list[Record]
    ) -> list[Record]:
        """Add the credential names to model records if a title is ambiguous or unknown without."""
        if noun != "model" or all(len(match_title(title, records)) == 1 for title in titles):
            return records
        if not any(record["credential"] for record in records):
            return records
        names = {credential["id"]: credential["name"] for credential in self.records("credential")}
        return [{**record, _CREDENTIAL_NAME: names.get(record["credential"])} for record in records]

    def _not_in_notebook(
        self, noun: str, title: str, notebook: str, records: Sequence[Record]
    ) -> NotFoundError:
        """Return the error for a title missing in a notebook, naming the notebooks that have it."""
        names = {str(record["id"]): str(record["name"]) for record in self.records("notebook")}
        here = names.get(notebook, notebook)
        missing = f"There is no {noun} {messages.quote_value(title.strip())} in {here}"
        elsewhere = match_title(title, self.records(noun))
        if not elsewhere:
            near = _similar_title_hint(title, records)
            return NotFoundError(f"{missing}{near}.", action=RESOURCE_KINDS[noun].list_action)
        places = [self._place(noun, record, names) for record in elsewhere[:_MAX_PLACES]]
        more = (str(record["id"]) for record in elsewhere[_MAX_PLACES:])
        return NotFoundError(
            f"{missing}; it is {messages.join_words([*places, *more], _MAX_PLACES)}.",
            f"Choose its notebook with {{action}}, or give its identifier: `{elsewhere[0]['id']}`.",
            action=Action.use_notebook(),
        )

    def _place(self, noun: str, record: Record, names: Mapping[str, str]) -> str:
        """Describe a record by the notebooks that contain it, if known, and its identifier."""
        if noun != "source":
            identifiers = [record["notebook_id"]]
        elif (identifiers := record["notebooks"]) is None:  # Open Notebook's list omits them
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
    """Return the text if it is an identifier of this kind; None if it is a title.

    Raises:
        InputError: the text is empty, or not a string.
    """
    if not isinstance(text, str) or not text.strip():
        raise InputError(
            f"{messages.quote_value(text)} is not {messages.with_article(noun)}.",
            f"Give the {noun}'s title or identifier.",
        )
    text = text.strip()
    return text if re.fullmatch(rf"{RESOURCE_KINDS[noun].id_pattern}:[^\s/]+", text) else None


def match_title(title: str, records: Sequence[Record]) -> list[Record]:
    """Return the records with a title: exact matches, else matches regardless of case.

    A source also matches by its file name or URL, a transformation by its name, and a model with
    its credential or provider as a prefix: `lab/gpt-4o`, `openai/gpt-4o`.
    """
    title = _normalized(title)
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
    """Return the identifier of the only record with a title.

    Raises:
        NotFoundError: no record matches; the message suggests a similar title.
        ConflictError: several records match; the message lists them.
    """
    matches = match_title(title, records)
    if not matches:
        raise NotFoundError(
            f"There is no {noun} "
            f"{messages.quote_value(title.strip())}{_similar_title_hint(title, records)}.",
            action=RESOURCE_KINDS[noun].list_action,
        )
    if len(matches) > 1:
        names = [_unambiguous_name(record, matches) for record in matches]
        listing = messages.join_words(
            f"{name} ({_describe(record)})" for name, record in zip(names, matches, strict=True)
        )
        raise ConflictError(
            f"{len(matches)} {noun}s are called {messages.quote_value(title.strip())}: {listing}.",
            f"Use one of these instead, such as `{names[0]}`.",
        )
    return str(matches[0]["id"])


def title_of(record: Record) -> str | None:
    """Return the name or title of a record."""
    name: str | None = record.get("name") or record.get("title")
    return name


def _similar_title_hint(title: str, records: Iterable[Record]) -> str:
    """Return ` (did you mean "…"?)` with a title similar to the given one, or nothing."""
    names = (record.get(key) for key in ("name", "title", "file_name") for record in records)
    return messages.did_you_mean(title.strip(), [str(name) for name in names if name])


def _normalized(text: object) -> str:
    """Return a text in the normal form that keyboards produce; macOS decomposes file names."""
    return unicodedata.normalize("NFC", str(text).strip())


def _title_values(record: Record) -> list[str]:
    return [_normalized(record[key]) for key in ("name", "title") if record.get(key)]


def _alias_values(record: Record) -> list[str]:
    """Return the other values that identify a record by an exact match."""
    keys = ("file_name", "url", "job_id")
    others = [_normalized(record[key]) for key in keys if record.get(key)]
    if record.get("provider"):
        others.append(f"{record['provider']}/{record.get('name')}")
    return others


def _qualified_model_name(record: Record) -> str | None:
    """Return `credential/model` for a model with a known credential name."""
    credential = record.get(_CREDENTIAL_NAME)
    return f"{credential}/{record.get('name')}" if credential else None


def _unambiguous_name(record: Record, others: Sequence[Record]) -> str:
    """Return `credential/model` if it is unique, else the identifier."""
    name = _qualified_model_name(record)
    if name is not None and [_qualified_model_name(other) for other in others].count(name) == 1:
        return name
    return str(record["id"])


def _describe(record: Record) -> str:
    """Return a description that distinguishes a record from others with the same title."""
    kind, provider = record.get("type"), record.get("provider")
    origin = " ".join(filter(None, (kind, f"of {provider}" if provider else None)))
    created = str(record.get("created_at") or "")[:16].replace("T", " ")
    failed = ", failed" if "failed" in (record.get("status"), record.get("job_status")) else ""
    return f"{origin or (f'of {created}' if created else title_of(record))}{failed}"


def check_keywords(keywords: Iterable[str], allowed: Collection[str]) -> None:
    """Raise TypeError if a keyword argument is not allowed; the message suggests a similar one."""
    for name in keywords:
        if name not in allowed:
            hint = messages.did_you_mean(name, allowed)
            raise TypeError(f"unexpected keyword argument {name!r}{hint}")


class ScopeOptions(TypedDict, total=False):
    """Keyword arguments that restrict a request to some sources and notes.

    Attributes:
        source_ids: only these sources (identifiers or titles).
        note_ids: only these notes (identifiers or titles).
        include_sources: include sources; True by default.
        include_notes: include notes; True by default.
    """

    source_ids: Iterable[str] | None
    note_ids: Iterable[str] | None
    include_sources: bool
    include_notes: bool


def resolve_scope(
    titles: TitleResolver,
    *,
    notebook: str | None = None,
    source_ids: Iterable[str] | None = None,
    note_ids: Iterable[str] | None = None,
    include_sources: bool = True,
    include_notes: bool = True,
) -> Scope:
    """Return the scope for identifiers and titles of sources and notes.

    The contract has no filter by notebook: the scope lists the notebook's sources and notes.

    Raises:
        NotFoundError: a title matches nothing, or a source or note is not in the notebook.
        ConflictError: a title matches several records.
    """
    within = None if notebook is None else titles.find("notebook", notebook)
    sources = None if source_ids is None else titles.find_all("source", source_ids, within)
    notes = None if note_ids is None else titles.find_all("note", note_ids, within)
    if within is not None:
        unrestricted = sources is None and notes is None
        sources = _ids_within(
            titles, "source", within, sources, every=unrestricted and include_sources
        )
        notes = _ids_within(titles, "note", within, notes, every=unrestricted and include_notes)
    return Scope(_as_tuple(sources), _as_tuple(notes), include_sources, include_notes)


def _ids_within(
    titles: TitleResolver, noun: str, notebook: str, named: list[str] | None, *, every: bool
) -> list[str] | None:
    """Return the named sources or notes of a notebook; all of them if `every` is true."""
    if named is None and not every:
        return None
    available = [str(record["id"]) for record in titles.records(noun, notebook)]
    if named is None:
        return available
    absent = [identifier for identifier in named if identifier not in set(available)]
    if absent:
        raise NotFoundError(
            f"Not in the notebook: {messages.join_words(absent)}.",
            "Add it to the notebook, or search all notebooks.",
        )
    return named


def _as_tuple(identifiers: list[str] | None) -> tuple[str, ...] | None:
    return None if identifiers is None else tuple(identifiers)


# In the annotations of a resource, its method `list` hides the type.
Names: TypeAlias = list[str]
Records: TypeAlias = list[Record]


class Resource:
    """Base class for the methods on one kind of record.

    Methods accept an identifier or a title. A title without a match raises a NotFoundError that
    suggests a similar title; a title with several matches raises a ConflictError that lists them.
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

    def _run(self, steps: Steps[T]) -> T:
        return self._executor.run(steps)

    def _notebook(self, title: str | None) -> str | None:
        return None if title is None else self._titles.find("notebook", title)

    def _model(self, title: str | None, type: str = "llm") -> str | None:
        """Return the identifier of a model; None and an empty title are returned unchanged."""
        return title and self._titles.find("model", title, type)


def require_text(text: str, noun: str, step: str) -> str:
    """Return a text; raise InputError if it is blank, or no text such as a DataFrame's NaN."""
    if not isinstance(text, str):
        raise InputError(f"The {noun} is not text: {messages.quote_value(text)}.", step)
    if not text.strip():
        raise InputError(f"The {noun} is empty.", step)
    return text


NO_CHANGES_STEP = "Give at least one new value."
"""The next step for an update without changes."""


def build_changes(
    noun: str, values: Mapping[str, Any], clearable: Collection[str] = ()
) -> dict[str, Any]:
    """Return the changed fields; None means unchanged, an empty value clears a `clearable` field.

    Raises:
        InputError: there are no changes.
    """
    changed = {
        key: None if key in clearable and value in ("", 0) else value
        for key, value in drop_none(values).items()
    }
    if not changed:
        raise InputError(f"No changes to the {noun} were given.", NO_CHANGES_STEP)
    return changed


def unique_names(records: Iterable[Record], key: str = "name") -> list[str]:
    """Return the names or titles of records in order, without duplicates."""
    return [*dict.fromkeys(str(record[key]) for record in records if record[key])]
