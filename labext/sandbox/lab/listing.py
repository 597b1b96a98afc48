"""Lists sequences page by page (real-services.md, lab, List).

A page goes on behind the last row of the one before, by what it is sorted by: sequences that are
added meanwhile move none to another page. Records are handed out as the text that they are kept
as; only `returning` takes them apart.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import orjson
from sqlalchemy import ColumnElement, func, or_, select, tuple_
from sqlalchemy.orm import InstrumentedAttribute, Session

from labext.sandbox.lab import returning, sameness
from labext.sandbox.lab.faults import invalid
from labext.sandbox.lab.query import ANY_ARCHIVED, EITHER, NOT_ARCHIVED, Bound, Query
from labext.sandbox.lab.records import served
from labext.sandbox.lab.store import Folder, Sequence
from labext.sandbox.signing import Forged, Signer
from labext.wording import listed

PURPOSE = "lab.nextToken"

RESULT_COUNT = "Result-Count"
"""The header with how many sequences the query finds, on all pages together."""


def page(
    session: Session,
    wanted: Query,
    folders: Collection[str],
    *,
    tenant_id: int,
    origin: str,
    signer: Signer,
) -> tuple[bytes, dict[str, str]]:
    """A page of the list and its headers.

    Args:
        session: a reading one.
        wanted: the query.
        folders: the ids of the folders that the caller may see.
        tenant_id: the tenant; a `nextToken` of another is none.
        origin: its address, for the records' own.
        signer: of `nextToken`.

    Raises:
        HTTPException: 400, a `nextToken` that was not given out for this query, or ids of which
            the caller sees no sequence.
    """
    where = _conditions(session, wanted, folders)
    after = _after(wanted, tenant_id, signer)
    if wanted.ids is not None:
        _check_ids(session, wanted.ids, folders)
    # Plain columns: the session would look at each row. The long records are read for one page.
    connection = session.connection()
    total = connection.scalar(select(func.count()).select_from(Sequence).where(*where))
    column: InstrumentedAttribute[str] = getattr(Sequence, wanted.sort.column)
    order = (column.desc(), Sequence.id.desc()) if wanted.sort.falling else (column, Sequence.id)
    statement = select(column, Sequence.id).where(*where, *after).order_by(*order)
    found = connection.execute(statement.limit(wanted.page_size + 1)).all()
    rows, more = found[: wanted.page_size], len(found) > wanted.page_size > 0
    token = signer.seal([*rows[-1], tenant_id, wanted.scope], PURPOSE) if more else ""
    ids = [row[1] for row in rows]
    whole = select(Sequence.id, Sequence.record).where(Sequence.id.in_(ids))
    kept: dict[str, str] = {row[0]: row[1] for row in connection.execute(whole).all()}
    body = _body([kept[each] for each in ids], token, wanted, origin)
    return body, {RESULT_COUNT: str(total)}


def _body(records: list[str], token: str, wanted: Query, origin: str) -> bytes:
    joined = b"[" + served(",".join(records), origin) + b"]"
    if wanted.fields is not None:
        fields = wanted.fields
        joined = orjson.dumps([returning.pick(each, fields) for each in orjson.loads(joined)])
    return b'{"dnaSequences":' + joined + b',"nextToken":' + orjson.dumps(token) + b"}"


def _conditions(
    session: Session, wanted: Query, folders: Collection[str]
) -> list[ColumnElement[bool]]:
    where: list[ColumnElement[bool]] = [
        Sequence.folder_id.in_(_asked(session, wanted, folders)),
        *_archived(wanted.archived),
        *(_compared(Sequence.created, bound) for bound in wanted.created),
        *(_compared(Sequence.modified, bound) for bound in wanted.modified),
    ]
    if wanted.ids is not None:
        where.append(Sequence.id.in_(wanted.ids))
    if wanted.name is not None:
        where.append(_called([wanted.name]))
    if wanted.names is not None:
        where.append(_called(wanted.names))
    if wanted.name_includes is not None:
        part = wanted.name_includes.casefold()
        texts = (Sequence.folded, Sequence.aliases)
        where.append(or_(*(text.contains(part, autoescape=True) for text in texts)))
    if wanted.bases is not None:
        where.append(Sequence.bases_hash.in_(sameness.keys(wanted.bases)))
    if wanted.schema_id is not None:
        where.append(Sequence.schema_id == wanted.schema_id)
    if wanted.creators is not None:
        where.append(Sequence.creator_id.in_(wanted.creators))
    return where


def _called(names: Collection[str]) -> ColumnElement[bool]:
    """By one of the names, by an alias or by the registry's number."""
    folded = [name.casefold() for name in names]
    aliases = (Sequence.aliases.contains(f"\n{name}\n", autoescape=True) for name in folded)
    return or_(Sequence.folded.in_(folded), *aliases)


def _asked(session: Session, wanted: Query, folders: Collection[str]) -> list[str]:
    """The visible folders that the query is about."""
    asked = {*folders}
    if wanted.folder_id is not None:
        asked &= {wanted.folder_id}
    if wanted.project_id is not None:
        asked &= {*session.scalars(select(Folder.id).where(Folder.project_id == wanted.project_id))}
    return sorted(asked)


def _archived(reason: str) -> list[ColumnElement[bool]]:
    if reason == EITHER:
        return []
    if reason == NOT_ARCHIVED:
        return [Sequence.archive_reason.is_(None)]
    if reason == ANY_ARCHIVED:
        return [Sequence.archive_reason.is_not(None)]
    return [Sequence.archive_reason == reason]


def _compared(column: InstrumentedAttribute[str], bound: Bound) -> ColumnElement[bool]:
    compared: ColumnElement[bool] = column.op(bound.operator, is_comparison=True)(bound.time)
    return compared


def _check_ids(session: Session, ids: Collection[str], folders: Collection[str]) -> None:
    """Each id is a sequence's that is visible; what is hidden and what isn't there are the same."""
    statement = select(Sequence.id).where(Sequence.id.in_(ids), Sequence.folder_id.in_(folders))
    seen = {*session.scalars(statement)}
    wrong = [each for each in ids if each not in seen]
    if wrong:
        raise invalid(
            f"ids: there is no such sequence, or you have no access: {listed(wrong, 20)}."
        )


def _after(wanted: Query, tenant_id: int, signer: Signer) -> list[ColumnElement[bool]]:
    """What is behind the last row of the page before."""
    if not wanted.next_token:
        return []
    try:
        key, identifier, *scope = signer.unseal(wanted.next_token, PURPOSE)
    except Forged:
        raise invalid("nextToken was not given out by this service.") from None
    if scope != [tenant_id, wanted.scope]:
        raise invalid("nextToken belongs to another list.")
    column: Any = getattr(Sequence, wanted.sort.column)
    last = tuple_(key, identifier)
    behind = tuple_(column, Sequence.id)
    return [behind < last if wanted.sort.falling else behind > last]
