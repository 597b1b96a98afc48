"""Endpoints of DNA sequences: lists page by page, records by id, and their web page."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

import orjson
from sqlalchemy import ColumnElement, exists, false, func, or_, select, tuple_
from sqlalchemy.orm import InstrumentedAttribute, Session
from starlette.exceptions import HTTPException

from labext.messages import join_words, quote_value
from labext.sandbox.core.signing import Signer
from labext.sandbox.lab import html_pages
from labext.sandbox.lab.access_control import Caller, check_places, readable_places
from labext.sandbox.lab.dependencies import (
    API_PREFIX,
    Call,
    CallResponse,
    CallRouter,
    register_convertor,
)
from labext.sandbox.lab.errors import bad_request, forbidden, unknown_address
from labext.sandbox.lab.sequences import records, schemas
from labext.sandbox.lab.sequences.records import (
    ALIAS_FIELD,
    REGISTRY_FIELD,
    REGISTRY_NUMBER_FIELD,
    render_records,
    schema_field_key,
)
from labext.sandbox.lab.sequences.schemas import (
    ANY_ARCHIVED,
    ARCHIVED_OR_NOT,
    NOT_ARCHIVED,
    UNREGISTERED,
    FieldFilter,
    SequenceQuery,
    TimeBound,
)
from labext.sandbox.lab.tables import IDENTIFIER_PATTERN, Folder, SearchValue, Sequence, Tenant

CURSOR_PURPOSE = "lab.nextToken"

RESULT_COUNT = "Result-Count"
"""The header with the number of matching sequences on all pages."""

register_convertor("sequence_id", f"seq_{IDENTIFIER_PATTERN}")

router = CallRouter(prefix=API_PREFIX)
web = CallRouter()


@router.call("/dna-sequences")
def get_sequences(call: Call, caller: Caller) -> CallResponse:
    """List the DNA sequences that the caller may see."""
    session, tenancy, params = call.session, call.tenancy, call.request.query_params
    places = readable_places(session, caller)
    check_places(places, params.get("folderId", ""), params.get("projectId", ""))
    body, headers = list_sequences(
        session,
        schemas.parse_sequence_query(params),
        places.folders,
        tenant_id=tenancy.tenant_id,
        origin=tenancy.origin,
        signer=tenancy.site.signer,
    )
    return CallResponse.json(body, headers)


@router.call("/dna-sequences:bulk-get")
def bulk_get_sequences(call: Call, caller: Caller) -> CallResponse:
    """Return DNA sequences by their ids."""
    visible, params = readable_places(call.session, caller).folders, call.request.query_params
    schemas.check_known_parameters(params, ("dnaSequenceIds", "returning"))
    ids = schemas.id_list_parameter(params, "dnaSequenceIds")
    if ids is None:
        raise bad_request("dnaSequenceIds is missing.")
    fields = schemas.returning_parameter(params)
    _check_ids("dnaSequenceIds", _hidden_ids(call.session, ids, visible))
    records = _render_fields(_load_records(call.session, ids), fields, call.tenancy.origin)
    return CallResponse.json(b'{"dnaSequences":' + records + b"}")


@router.call("/dna-sequences/{identifier:sequence_id}")
def get_sequence(call: Call, caller: Caller) -> CallResponse:
    """Return a DNA sequence."""
    visible, params = readable_places(call.session, caller).folders, call.request.query_params
    schemas.check_known_parameters(params, ("returning",))
    fields = schemas.returning_parameter(params, of_list=False)
    identifier = call.request.path_params["identifier"]
    return CallResponse.json(_find_sequence(call, identifier, fields, visible))


def _error_page(error: HTTPException) -> CallResponse:
    response = CallResponse.refusal(error)
    response.body = html_pages.error_page(error.detail, error.status_code)
    response.headers |= html_pages.PAGE_HEADERS | html_pages.HTML_HEADERS
    return response


@web.call("/{tenant}/f/{folder}/{slug}/edit", refusal=_error_page)
def get_page(call: Call, caller: Caller) -> CallResponse:
    """Return the web page of a DNA sequence."""
    identifier = call.request.path_params["slug"].partition("-")[0]
    if not re.fullmatch(f"seq_{IDENTIFIER_PATTERN}", identifier):
        raise unknown_address()
    visible = readable_places(call.session, caller).folders
    record = _find_sequence(call, identifier, None, visible)
    headers = html_pages.PAGE_HEADERS | html_pages.HTML_HEADERS
    return CallResponse(200, html_pages.sequence_page(orjson.loads(record)), headers)


def list_sequences(
    session: Session,
    query: SequenceQuery,
    folders: Collection[str],
    *,
    tenant_id: int,
    origin: str,
    signer: Signer,
) -> tuple[bytes, dict[str, str]]:
    """Return a page of the list, from the given visible folders, and its headers."""
    where = _conditions(session, query, folders, tenant_id)
    after = _cursor_position(query, tenant_id, signer)
    if query.ids is not None:
        _check_ids("ids", _hidden_ids(session, query.ids, folders))
    # Select plain columns, which is faster than objects. Records are loaded for one page only.
    connection = session.connection()
    total = connection.scalar(select(func.count()).select_from(Sequence).where(*where))
    column: InstrumentedAttribute[str] = getattr(Sequence, query.sort.column)
    order = (column.desc(), Sequence.id.desc()) if query.sort.descending else (column, Sequence.id)
    statement = select(column, Sequence.id).where(*where, *after).order_by(*order)
    page = connection.execute(statement.limit(query.page_size + 1)).all()
    rows, has_more = page[: query.page_size], len(page) > query.page_size > 0
    token = signer.seal([*rows[-1], tenant_id, query.scope], CURSOR_PURPOSE) if has_more else ""
    records = _render_fields(_load_records(session, [row[1] for row in rows]), query.fields, origin)
    body = b'{"dnaSequences":' + records + b',"nextToken":' + orjson.dumps(token) + b"}"
    return body, {RESULT_COUNT: str(total)}


def _find_sequence(
    call: Call, identifier: str, fields: schemas.Fields | None, folders: Collection[str]
) -> bytes:
    """Return the record of a sequence, archived or not."""
    if _hidden_ids(call.session, [identifier], folders):
        raise forbidden(
            f"There is no sequence {quote_value(identifier)}, or you have no access to it."
        )
    records = _load_records(call.session, [identifier])
    return _render_fields(records, fields, call.tenancy.origin)[1:-1]


def _load_records(session: Session, ids: Collection[str]) -> list[str]:
    """Return stored records in the order of the ids."""
    # Select plain columns, so the session does not hold the rows.
    statement = select(Sequence.id, Sequence.record).where(Sequence.id.in_(ids))
    text_by_id: dict[str, str] = {row[0]: row[1] for row in session.connection().execute(statement)}
    return [text_by_id[identifier] for identifier in ids]


def _render_fields(records: list[str], fields: schemas.Fields | None, origin: str) -> bytes:
    """Return a JSON array of records with the selected fields."""
    joined = b"[" + render_records(",".join(records), origin) + b"]"
    if fields is None:
        return joined
    return orjson.dumps([schemas.select_fields(record, fields) for record in orjson.loads(joined)])


def _conditions(
    session: Session, query: SequenceQuery, folders: Collection[str], tenant_id: int
) -> list[ColumnElement[bool]]:
    where: list[ColumnElement[bool]] = [
        Sequence.folder_id.in_(_requested_folders(session, query, folders)),
        *_archive_condition(query.archived),
        *(_time_condition(Sequence.created, bound) for bound in query.created),
        *(_time_condition(Sequence.modified, bound) for bound in query.modified),
    ]
    if query.ids is not None:
        where.append(Sequence.id.in_(query.ids))
    if query.name is not None:
        where.append(_matches_name([query.name]))
    if query.names is not None:
        where.append(_matches_name(query.names))
    if query.exact_names is not None:
        where.append(_matches_name_exactly(query.exact_names))
    if query.name_includes is not None:
        name_part = query.name_includes.casefold()
        texts = (Sequence.folded, Sequence.aliases)
        where.append(or_(*(text.contains(name_part, autoescape=True) for text in texts)))
    if query.bases is not None:
        keys = [records.bases_key(query.bases, circular) for circular in (False, True)]
        where.append(Sequence.bases_hash.in_(keys))
    if query.registry_id is not None:
        where.append(_registry_condition(session, query.registry_id, tenant_id))
    if query.registry_numbers is not None:
        where.append(
            _has_search_value(REGISTRY_NUMBER_FIELD, SearchValue.text.in_(query.registry_numbers))
        )
    if query.schema_id is not None:
        where.append(Sequence.schema_id == query.schema_id)
        where += [
            _field_condition(session, field_filter, query.schema_id, folders)
            for field_filter in query.schema_fields
        ]
    for user_ids in (query.creators, query.authors):  # the author of a sequence is its creator
        if user_ids is not None:
            where.append(Sequence.creator_id.in_(user_ids))
    if query.mentions is not None or query.mentioned_in is not None:
        # Sequences have no descriptions with mentions, and the platform has no notebook entries.
        where.append(false())
    return where


def _matches_name(names: Collection[str]) -> ColumnElement[bool]:
    """Match one of the names, ignoring case: the name, an alias or the registry number."""
    folded = [name.casefold() for name in names]
    aliases = (Sequence.aliases.contains(f"\n{name}\n", autoescape=True) for name in folded)
    return or_(Sequence.folded.in_(folded), *aliases)


def _matches_name_exactly(names: Collection[str]) -> ColumnElement[bool]:
    """Match one of the names, respecting case: the name, an alias or the registry number."""
    matches = SearchValue.text.in_(names)
    return or_(
        Sequence.name.in_(names),
        _has_search_value(ALIAS_FIELD, matches),
        _has_search_value(REGISTRY_NUMBER_FIELD, matches),
    )


def _has_search_value(field: str, *matches: ColumnElement[bool]) -> ColumnElement[bool]:
    """Match sequences with a matching search value of a field."""
    same = SearchValue.sequence_id == Sequence.id
    return exists().where(same, SearchValue.field == field, *matches)


def _registry_condition(session: Session, registry_id: str, tenant_id: int) -> ColumnElement[bool]:
    """Match sequences of a registry, or without a registry."""
    if registry_id == UNREGISTERED:
        return ~_has_search_value(REGISTRY_FIELD)
    tenant = session.get_one(Tenant, tenant_id)
    if registry_id != records.tenant_registry_id(tenant.name):
        raise bad_request(f"registryId: unknown registry {quote_value(registry_id)}.")
    return _has_search_value(REGISTRY_FIELD, SearchValue.text == registry_id)


def _field_condition(
    session: Session, field_filter: FieldFilter, schema_id: str, folders: Collection[str]
) -> ColumnElement[bool]:
    """Match a field of the schema: numbers by value or range, texts exactly."""
    field = schema_field_key(field_filter.name)
    of_schema = (Sequence.schema_id == schema_id, Sequence.folder_id.in_(folders))
    value = select(SearchValue.field).join(Sequence, Sequence.id == SearchValue.sequence_id)
    value = value.where(*of_schema, SearchValue.field == field).limit(1)
    if session.execute(value).first() is None:
        raise bad_request(
            f"{field_filter.parameter}: the schema {quote_value(schema_id)} has no such field."
        )
    if session.execute(value.where(SearchValue.number.is_not(None))).first() is None:
        return _has_search_value(field, SearchValue.text == field_filter.value)
    return _has_search_value(
        field, *(_OPERATORS[op](SearchValue.number, n) for op, n in field_filter.ranges())
    )


_OPERATORS: Mapping[str, Callable[[Any, float], ColumnElement[bool]]] = {
    "==": operator.eq,
    ">=": operator.ge,
    "<=": operator.le,
}


def _requested_folders(
    session: Session, query: SequenceQuery, folders: Collection[str]
) -> list[str]:
    """Return the visible folders that the query selects."""
    requested = {*folders}
    if query.folder_id is not None:
        requested &= {query.folder_id}
    if query.project_id is not None:
        requested &= {
            *session.scalars(select(Folder.id).where(Folder.project_id == query.project_id))
        }
    return sorted(requested)


def _archive_condition(reason: str) -> list[ColumnElement[bool]]:
    if reason == ARCHIVED_OR_NOT:
        return []
    if reason == NOT_ARCHIVED:
        return [Sequence.archive_reason.is_(None)]
    if reason == ANY_ARCHIVED:
        return [Sequence.archive_reason.is_not(None)]
    return [Sequence.archive_reason == reason]


def _time_condition(column: InstrumentedAttribute[str], bound: TimeBound) -> ColumnElement[bool]:
    compared: ColumnElement[bool] = column.op(bound.operator, is_comparison=True)(bound.time)
    return compared


def _hidden_ids(session: Session, ids: Collection[str], folders: Collection[str]) -> list[str]:
    """Return the ids without a visible sequence, hidden or missing."""
    statement = select(Sequence.id).where(Sequence.id.in_(ids), Sequence.folder_id.in_(folders))
    visible_ids = {*session.scalars(statement)}
    return [identifier for identifier in ids if identifier not in visible_ids]


def _check_ids(parameter: str, hidden: Collection[str]) -> None:
    if hidden:
        raise bad_request(
            f"{parameter}: unknown sequence, or no access to it: {join_words(hidden, 20)}."
        )


def _cursor_position(
    query: SequenceQuery, tenant_id: int, signer: Signer
) -> list[ColumnElement[bool]]:
    """Return the condition for rows after the previous page."""
    if not query.next_token:
        return []
    key, identifier = schemas.unseal_page_token(
        signer, query.next_token, CURSOR_PURPOSE, [tenant_id, query.scope]
    )
    column: Any = getattr(Sequence, query.sort.column)
    last = tuple_(key, identifier)
    position = tuple_(column, Sequence.id)
    return [position < last if query.sort.descending else position > last]
