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
    session: Session, params: Mapping[str, str], folders: Collection[str], *, signer: Signer
) -> dict[str, Any]:
    """Return a page of the list.

    Args:
        session: a reading session.
        params: the query parameters.
        folders: the ids of the folders that the caller may see.
        signer: of `nextToken`.

    Raises:
        HTTPException: 400, a parameter is unknown or its value is invalid.
    """
    schemas.check_known_parameters(params, PARAMETERS)
    size, start = schemas.page_size_parameter(params), _start_offset(params, signer)
    matches = [*filter(_folder_filter(params, folders), _select_visible(session, folders))]
    falling = SORT_ORDERS.get(params.get("sort", "name"))
    if falling is None:
        raise bad_request(
            f"sort is name, with :asc or :desc or without: {quote_value(params['sort'])}."
        )
    matches.sort(key=lambda folder: (folder.name.casefold(), folder.id), reverse=falling)
    end = start + size
    token = signer.seal(end, CURSOR_PURPOSE) if size > 0 and end < len(matches) else ""
    return {
        "folders": [_folder_record(folder) for folder in matches[start:end]],
        "nextToken": token,
    }


def find_folder(session: Session, identifier: str, folders: Collection[str]) -> dict[str, Any]:
    """Return a folder.

    Raises:
        HTTPException: 403, there is none, or the caller may not see it.
    """
    folder = session.get(Folder, identifier) if identifier in folders else None
    if folder is None:
        raise forbidden(
            f"There is no folder {quote_value(identifier)}, or you have no access to it."
        )
    return _folder_record(folder)


def _select_visible(session: Session, folders: Collection[str]) -> list[Folder]:
    return [*session.scalars(select(Folder).where(Folder.id.in_(folders)))]


def _folder_filter(params: Mapping[str, str], folders: Collection[str]) -> Callable[[Folder], bool]:
    """Return the filter of the parameters."""
    name, name_part = (
        schemas.name_parameter(params, "name"),
        schemas.name_parameter(params, "nameIncludes"),
    )
    ids, project = (
        schemas.id_list_parameter(params, "ids"),
        schemas.text_parameter(params, "projectId"),
    )
    parent, reason = (
        schemas.text_parameter(params, "parentFolderId"),
        schemas.archive_reason_parameter(params),
    )
    hidden = [identifier for identifier in ids or () if identifier not in folders]
    if hidden:
        raise bad_request(
            f"ids: there is no such folder, or you have no access: {join_words(hidden, 20)}."
        )

    def matches(folder: Folder) -> bool:
        folded = folder.name.casefold()
        return (
            (name is None or folded == name.casefold())
            and (name_part is None or name_part.casefold() in folded)
            and (ids is None or folder.id in ids)
            and (project is None or folder.project_id == project)
            and parent in (None, NO_PARENT)
            and reason in (schemas.NOT_ARCHIVED, schemas.ARCHIVED_OR_NOT)
        )

    return matches


def _start_offset(params: Mapping[str, str], signer: Signer) -> int:
    token = params.get("nextToken", "")
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
