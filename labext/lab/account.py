"""The signed-in user, the folders they may see and their rate limit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from labext import messages
from labext.errors import ConflictError, InputError, LabextError, NotFoundError, ServiceError
from labext.http import HttpClient
from labext.http.rate_limiter import RateLimitStatus, header_number
from labext.lab import api
from labext.lab.api import CURRENT_USER, FOLDERS, SEQUENCES
from labext.sanitize import strip_control


@dataclass(frozen=True)
class Identity:
    """The platform's view of the caller.

    Attributes:
        name: of the user; None if unknown.
        email: of the user; None if unknown.
        method: how they signed in: `key`, `oauth` or `oidc`.
        client_id: of the app, if one signed in.
    """

    name: str | None
    email: str | None
    method: str | None = None
    client_id: str | None = None

    @property
    def known(self) -> bool:
        """Whether the platform named a user."""
        return self.name is not None or self.email is not None

    def __str__(self) -> str:
        app = f"the app {self.client_id}" if self.client_id else ""
        if not self.known:
            return (
                f"{app}, without a user"
                if app
                else "unknown: the platform does not report the current user"
            )
        user = self.name or ""
        if self.email:
            user = f"{user} <{self.email}>" if user else self.email
        return f"{user} by {app}" if app else user


def fetch_identity(http: HttpClient, method: str | None, client_id: str | None) -> Identity:
    """Ask the platform who is calling.

    A 404 means that it doesn't say: on some tenants it is so for good keys,
    and an app is not a user. It never means a bad key.

    Raises:
        SignInError: the platform doesn't know the caller.
        ServiceError: its response is invalid.
    """
    try:
        answer: Any = http.send(CURRENT_USER).json()
    except LabextError as error:
        if not (isinstance(error, NotFoundError) and error.status == 404):
            raise
        answer = {}
    if not isinstance(answer, dict):
        raise ServiceError("The lab platform returned an invalid response about the current user.")
    return Identity(
        _text_or_none(answer.get("name")), _text_or_none(answer.get("email")), method, client_id
    )


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


@dataclass(frozen=True)
class AccountStatus:
    """Facts from the platform's response headers.

    Attributes:
        sequences: number of sequences visible to the caller; None if unknown.
        rate: the state of the rate limit; None if unknown.
    """

    sequences: int | None
    rate: RateLimitStatus | None


def fetch_status(http: HttpClient) -> AccountStatus:
    """Ask for one sequence, and read the headers (`Result-Count`).

    Raises:
        LabextError: the platform refuses the list.
    """
    query: dict[str, str | int] = {"pageSize": 1, "returning": "dnaSequences.id"}
    headers = http.send(SEQUENCES, params=query).headers
    count = header_number(headers.get("Result-Count"))
    return AccountStatus(
        None if count is None else int(count), RateLimitStatus.from_headers(headers)
    )


_FOLDER_ID = re.compile(r"lib_[A-Za-z0-9]+")

_FOLDER_PAGE_SIZE = 100

_MAX_FOLDERS = 1000
"""Folders among which a name is looked for where the platform does not find it."""


class Folder(NamedTuple):
    """A folder that the caller may see."""

    id: str
    name: str
    project_id: str | None


def find_folder_id(http: HttpClient, name: str) -> str:
    """Return the ID of a folder.

    Args:
        http: of the tenant.
        name: the folder's name, in any case if no other folder differs by case alone; or its ID,
            which is returned as it is.

    Raises:
        NotFoundError: no visible folder has the name; suggests a similar one.
        ConflictError: several folders have the name; lists their IDs.
    """
    if not isinstance(name, str) or not name.strip():
        raise InputError(
            f"{messages.quote_value(name)} is not the name of a folder.", "Give its name or its ID."
        )
    name = name.strip()
    if _FOLDER_ID.fullmatch(name):
        return name
    visible: list[Folder] = []
    matches = _folders_named(name, list_folders(http, name=name))
    if not matches:  # the platform may compare names in another way
        visible = list(islice(list_folders(http), _MAX_FOLDERS))
        matches = _folders_named(name, visible)
    if not matches:
        names = sorted({folder.name for folder in visible}, key=str.casefold)
        candidates = f": {messages.join_words(names, 10)}" if names else ""
        raise NotFoundError(
            f'No accessible folder is called "{name}"{messages.did_you_mean(name, names)}.',
            f"Give the name or the ID of a folder{candidates}.",
        )
    if len(matches) > 1:
        where = messages.join_words((_describe_folder(folder) for folder in matches), 10)
        raise ConflictError(
            f'There are {len(matches)} folders named "{name}": {where}.',
            f"Give one of the IDs instead, such as `{matches[0].id}`.",
        )
    return matches[0].id


def list_folders(http: HttpClient, **query: str) -> Iterator[Folder]:
    """Yield the folders that the caller may see, page by page.

    Args:
        http: of the tenant.
        query: filters of the list, as the platform names them.

    Raises:
        NotFoundError: the platform does not list folders.
    """

    def ask(token: str) -> api.Page:
        params: dict[str, Any] = {
            **query,
            "pageSize": _FOLDER_PAGE_SIZE,
            "nextToken": token or None,
        }
        answer = http.send(FOLDERS, params=params).json()
        return api.parse_page(answer, key="folders", noun="folders")

    for page in api.iter_pages(ask, set(), noun="folders"):
        for record in page:
            identifier, name, project = map(record.get, ("id", "name", "projectId"))
            if isinstance(identifier, str) and isinstance(name, str):
                place = project if isinstance(project, str) else None
                yield Folder(identifier, strip_control(name), place)


def folder_names(http: HttpClient, limit: int | None = _MAX_FOLDERS) -> list[str]:
    """Return the names of the folders that the caller may see, each once."""
    return list(dict.fromkeys(folder.name for folder in islice(list_folders(http), limit)))


def _folders_named(name: str, folders: Iterable[Folder]) -> list[Folder]:
    """Return the folders of a name; those of another case only where none has the very name."""
    same = [folder for folder in folders if folder.name.casefold() == name.casefold()]
    return [folder for folder in same if folder.name == name] or same


def _describe_folder(folder: Folder) -> str:
    return folder.id if folder.project_id is None else f"{folder.id} (project {folder.project_id})"
