"""Find a folder of the tenant by its name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from labext import wording
from labext.errors import ConflictError, InputError, NotFoundError
from labext.lab.operations import FOLDERS
from labext.lab.sequences import paging
from labext.steering import tame
from labext.transport import Transport

_ID = re.compile(r"lib_[A-Za-z0-9]+")

_PAGE = 100

_MOST = 1000
"""Folders among which a name is looked for where the platform does not find it."""


class Folder(NamedTuple):
    """A folder that the caller may see."""

    id: str
    name: str
    project_id: str | None


def folder_id(transport: Transport, name: str) -> str:
    """Return the ID of a folder.

    Args:
        transport: of the tenant.
        name: the folder's name, in any case if no other folder differs by case alone; or its ID,
            which is returned as it is.

    Raises:
        NotFoundError: no visible folder has the name; suggests a similar one.
        ConflictError: several folders have the name; lists their IDs.
    """
    if not isinstance(name, str) or not name.strip():
        raise InputError(
            f"{wording.shown(name)} is not the name of a folder.", "Give its name or its ID."
        )
    name = name.strip()
    if _ID.fullmatch(name):
        return name
    visible: list[Folder] = []
    matches = _named(name, folders(transport, name=name))
    if not matches:  # the platform may compare names in another way
        visible = list(islice(folders(transport), _MOST))
        matches = _named(name, visible)
    if not matches:
        names = sorted({folder.name for folder in visible}, key=str.casefold)
        listed = f": {wording.listed(names, 10)}" if names else ""
        raise NotFoundError(
            f'No folder that you may see is called "{name}"{wording.did_you_mean(name, names)}.',
            f"Give the name or the ID of a folder{listed}.",
        )
    if len(matches) > 1:
        where = wording.listed((_located(folder) for folder in matches), 10)
        raise ConflictError(
            f'{len(matches)} folders are called "{name}": {where}.',
            f"Give one of the IDs instead, such as `{matches[0].id}`.",
        )
    return matches[0].id


def folders(transport: Transport, **query: str) -> Iterator[Folder]:
    """Yield the folders that the caller may see, page by page.

    Args:
        transport: of the tenant.
        query: filters of the list, as the platform names them.

    Raises:
        NotFoundError: the platform does not list folders.
    """

    def ask(token: str) -> paging.Page:
        params: dict[str, Any] = {**query, "pageSize": _PAGE, "nextToken": token or None}
        answer = transport.send(FOLDERS, params=params).json()
        return paging.page(answer, key="folders", noun="folders")

    for page in paging.pages(ask, set(), noun="folders"):
        for record in page:
            identifier, name, project = map(record.get, ("id", "name", "projectId"))
            if isinstance(identifier, str) and isinstance(name, str):
                place = project if isinstance(project, str) else None
                yield Folder(identifier, tame(name), place)


def names(transport: Transport, limit: int | None = _MOST) -> list[str]:
    """Return the names of the folders that the caller may see, each once."""
    return list(dict.fromkeys(folder.name for folder in islice(folders(transport), limit)))


def _named(name: str, found: Iterable[Folder]) -> list[Folder]:
    """Return the folders of a name; those of another case only where none has the very name."""
    same = [folder for folder in found if folder.name.casefold() == name.casefold()]
    return [folder for folder in same if folder.name == name] or same


def _located(folder: Folder) -> str:
    return folder.id if folder.project_id is None else f"{folder.id} (project {folder.project_id})"
