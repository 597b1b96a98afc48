"""Endpoints of folders."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from sqlalchemy import select

from labext.messages import join_words, quote_value
from labext.sandbox.lab.access_control import Caller, check_places, readable_places
from labext.sandbox.lab.dependencies import (
    API_PREFIX,
    Call,
    CallResponse,
    CallRouter,
    register_convertor,
)
from labext.sandbox.lab.errors import bad_request, forbidden
from labext.sandbox.lab.sequences import schemas
from labext.sandbox.lab.tables import IDENTIFIER_PATTERN, Folder

PARAMETERS = (
    *("archiveReason", "ids", "name", "nameIncludes", "nextToken", "pageSize", "parentFolderId"),
    *("projectId", "sort"),
)
SORT_ORDERS = {"name": False, "name:asc": False, "name:desc": True}
"""Values of `sort`; True if the order is descending."""

NO_PARENT = "NO_PARENT"
"""The value of `parentFolderId` that selects folders of the first level, here all of them."""

CURSOR_PURPOSE = "lab.folderToken"


register_convertor("folder_id", f"lib_{IDENTIFIER_PATTERN}")

router = CallRouter(prefix=API_PREFIX)


@router.call("/folders")
def get_folders(call: Call, caller: Caller) -> CallResponse:
    """Return a page of the folders that the caller may see."""
    places, params = readable_places(call.session, caller), call.request.query_params
    parent, project = params.get("parentFolderId", ""), params.get("projectId", "")
    check_places(places, "" if parent == NO_PARENT else parent, project, parameter="parentFolderId")
    schemas.check_known_parameters(params, PARAMETERS)
    signer, scope = call.tenancy.site.signer, [call.tenancy.tenant_id, schemas.cursor_scope(params)]
    size, start = schemas.page_size_parameter(params), 0
    if token := params.get("nextToken"):
        (start,) = schemas.unseal_page_token(signer, token, CURSOR_PURPOSE, scope)
    visible = call.session.scalars(select(Folder).where(Folder.id.in_(places.folders)))
    matches = [*filter(_folder_filter(params, places.folders), visible)]
    descending = SORT_ORDERS.get(params.get("sort", "name"))
    if descending is None:
        raise bad_request(
            f"sort must be name, name:asc or name:desc, not {quote_value(params['sort'])}."
        )
    matches.sort(key=lambda folder: (folder.name.casefold(), folder.id), reverse=descending)
    end = start + size
    token = signer.seal([end, *scope], CURSOR_PURPOSE) if size > 0 and end < len(matches) else ""
    records = [_folder_record(folder) for folder in matches[start:end]]
    return CallResponse.json({"folders": records, "nextToken": token})


@router.call("/folders/{identifier:folder_id}")
def get_folder(call: Call, caller: Caller) -> CallResponse:
    """Return a folder."""
    places = readable_places(call.session, caller)
    schemas.check_known_parameters(call.request.query_params, ())
    identifier = call.request.path_params["identifier"]
    folder = call.session.get(Folder, identifier) if identifier in places.folders else None
    if folder is None:
        raise forbidden(
            f"There is no folder {quote_value(identifier)}, or you have no access to it."
        )
    return CallResponse.json(_folder_record(folder))


def _folder_filter(params: Mapping[str, str], folders: Collection[str]) -> Callable[[Folder], bool]:
    """Return a predicate for the filter parameters."""
    name = schemas.name_parameter(params, "name")
    name_part = schemas.name_parameter(params, "nameIncludes")
    ids = schemas.id_list_parameter(params, "ids")
    project = schemas.text_parameter(params, "projectId")
    parent = schemas.text_parameter(params, "parentFolderId")
    reason = schemas.archive_reason_parameter(params)
    hidden = [identifier for identifier in ids or () if identifier not in folders]
    if hidden:
        raise bad_request(f"ids: unknown folder, or no access to it: {join_words(hidden, 20)}.")

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


def _folder_record(folder: Folder) -> dict[str, Any]:
    return {
        "id": folder.id,
        "name": folder.name,
        "parentFolderId": None,
        "projectId": folder.project_id,
        "archiveRecord": None,
    }
