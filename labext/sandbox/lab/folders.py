"""List the folders that a caller may see, and return a single folder."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext.messages import join_words, quote_value
from labext.sandbox.core.signing import InvalidSignatureError, Signer
from labext.sandbox.lab.errors import bad_request, forbidden
from labext.sandbox.lab.sequences import schemas
from labext.sandbox.lab.tables import Folder

PARAMETERS = (
    *("archiveReason", "ids", "name", "nameIncludes", "nextToken", "pageSize", "parentFolderId"),
    *("projectId", "sort"),
)
SORT_ORDERS = {"name": False, "name:asc": False, "name:desc": True}
"""Whether an order falls."""

NO_PARENT = "NO_PARENT"
"""The value of `parentFolderId` that selects folders of the first level, here all of them."""

CURSOR_PURPOSE = "lab.folders"


def list_folders(
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
    schemas.check_known_parameters(given, PARAMETERS)
    size, start = schemas.page_size_parameter(given), _start_offset(given, signer)
    matches = [*filter(_folder_filter(given, folders), _select_visible(session, folders))]
    falling = SORT_ORDERS.get(given.get("sort", "name"))
    if falling is None:
        raise bad_request(
            f"sort is name, with :asc or :desc or without: {quote_value(given['sort'])}."
        )
    matches.sort(key=lambda each: (each.name.casefold(), each.id), reverse=falling)
    end = start + size
    token = signer.seal(end, CURSOR_PURPOSE) if size > 0 and end < len(matches) else ""
    return {"folders": [_folder_record(each) for each in matches[start:end]], "nextToken": token}


def find_folder(session: Session, identifier: str, folders: Collection[str]) -> dict[str, Any]:
    """Return a folder.

    Raises:
        HTTPException: 403, there is none, or the caller may not see it.
    """
    found = session.get(Folder, identifier) if identifier in folders else None
    if found is None:
        raise forbidden(
            f"There is no folder {quote_value(identifier)}, or you have no access to it."
        )
    return _folder_record(found)


def _select_visible(session: Session, folders: Collection[str]) -> list[Folder]:
    return [*session.scalars(select(Folder).where(Folder.id.in_(folders)))]


def _folder_filter(given: Mapping[str, str], folders: Collection[str]) -> Callable[[Folder], bool]:
    """Return the filter of the parameters."""
    name, part = (
        schemas.name_parameter(given, "name"),
        schemas.name_parameter(given, "nameIncludes"),
    )
    ids, project = (
        schemas.id_list_parameter(given, "ids"),
        schemas.text_parameter(given, "projectId"),
    )
    parent, reason = (
        schemas.text_parameter(given, "parentFolderId"),
        schemas.archive_reason_parameter(given),
    )
    unseen = [each for each in ids or () if each not in folders]
    if unseen:
        raise bad_request(
            f"ids: there is no such folder, or you have no access: {join_words(unseen, 20)}."
        )

    def matches(folder: Folder) -> bool:
        folded = folder.name.casefold()
        return (
            (name is None or folded == name.casefold())
            and (part is None or part.casefold() in folded)
            and (ids is None or folder.id in ids)
            and (project is None or folder.project_id == project)
            and parent in (None, NO_PARENT)
            and reason in (schemas.NOT_ARCHIVED, schemas.ARCHIVED_OR_NOT)
        )

    return matches


def _start_offset(given: Mapping[str, str], signer: Signer) -> int:
    token = given.get("nextToken", "")
    try:
        return int(signer.unseal(token, CURSOR_PURPOSE)) if token else 0
    except InvalidSignatureError:
        raise bad_request("nextToken was not given out by this service.") from None


def _folder_record(folder: Folder) -> dict[str, Any]:
    return {
        "id": folder.id,
        "name": folder.name,
        "parentFolderId": None,
        "projectId": folder.project_id,
        "archiveRecord": None,
    }
