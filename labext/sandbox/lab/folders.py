"""List the folders that a caller may see, and return one of them.

Folders of the local platform are not nested and never archived.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext.sandbox.lab import query
from labext.sandbox.lab.faults import denied, invalid
from labext.sandbox.lab.store import Folder
from labext.sandbox.signing import Forged, Signer
from labext.wording import listed, shown

PARAMETERS = (
    *("archiveReason", "ids", "name", "nameIncludes", "nextToken", "pageSize", "parentFolderId"),
    *("projectId", "sort"),
)
SORTS = {"name": False, "name:asc": False, "name:desc": True}
"""Whether an order falls."""

NO_PARENT = "NO_PARENT"
"""The value of `parentFolderId` that selects folders of the first level, here all of them."""

PURPOSE = "lab.folders"


def page(
    session: Session, given: Mapping[str, str], folders: Collection[str], *, signer: Signer
) -> dict[str, Any]:
    """Return a page of the list.

    Args:
        session: a reading one.
        given: the query parameters.
        folders: the ids of the folders that the caller may see.
        signer: of `nextToken`.

    Raises:
        HTTPException: 400, a parameter is unknown or its value is invalid.
    """
    query.check_known(given, PARAMETERS)
    size, start = query.page_size(given), _start(given, signer)
    matches = [*filter(_filter(given, folders), _visible(session, folders))]
    falling = SORTS.get(given.get("sort", "name"))
    if falling is None:
        raise invalid(f"sort is name, with :asc or :desc or without: {shown(given['sort'])}.")
    matches.sort(key=lambda each: (each.name.casefold(), each.id), reverse=falling)
    end = start + size
    token = signer.seal(end, PURPOSE) if size > 0 and end < len(matches) else ""
    return {"folders": [_record(each) for each in matches[start:end]], "nextToken": token}


def one(session: Session, identifier: str, folders: Collection[str]) -> dict[str, Any]:
    """Return a folder.

    Raises:
        HTTPException: 403, there is none, or the caller may not see it.
    """
    found = session.get(Folder, identifier) if identifier in folders else None
    if found is None:
        raise denied(f"There is no folder {shown(identifier)}, or you have no access to it.")
    return _record(found)


def _visible(session: Session, folders: Collection[str]) -> list[Folder]:
    return [*session.scalars(select(Folder).where(Folder.id.in_(folders)))]


def _filter(given: Mapping[str, str], folders: Collection[str]) -> Callable[[Folder], bool]:
    """Return the filter of the parameters."""
    name, part = query.name_text(given, "name"), query.name_text(given, "nameIncludes")
    ids, project = query.identifiers(given, "ids"), query.text(given, "projectId")
    parent, reason = query.text(given, "parentFolderId"), query.archive_reason(given)
    unseen = [each for each in ids or () if each not in folders]
    if unseen:
        raise invalid(f"ids: there is no such folder, or you have no access: {listed(unseen, 20)}.")

    def matches(folder: Folder) -> bool:
        folded = folder.name.casefold()
        return (
            (name is None or folded == name.casefold())
            and (part is None or part.casefold() in folded)
            and (ids is None or folder.id in ids)
            and (project is None or folder.project_id == project)
            and parent in (None, NO_PARENT)
            and reason in (query.NOT_ARCHIVED, query.EITHER)
        )

    return matches


def _start(given: Mapping[str, str], signer: Signer) -> int:
    token = given.get("nextToken", "")
    try:
        return int(signer.unseal(token, PURPOSE)) if token else 0
    except Forged:
        raise invalid("nextToken was not given out by this service.") from None


def _record(folder: Folder) -> dict[str, Any]:
    return {
        "id": folder.id,
        "name": folder.name,
        "parentFolderId": None,
        "projectId": folder.project_id,
        "archiveRecord": None,
    }
