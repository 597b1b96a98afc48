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
from labext.http.headers import header_number
from labext.http.rate_limiter import RateLimitStatus
from labext.lab import api
from labext.lab.api import CURRENT_USER, FOLDERS, SEQUENCES
from labext.sanitize import strip_control


@dataclass(frozen=True)
class Identity:
    """The caller, as reported by the platform.

    Attributes:
        name: the user's name; None if unknown.
        email: the user's email address; None if unknown.
        method: the sign-in method: `key`, `oauth` or `oidc`.
        client_id: the client ID of the app; None if no app signed in.
    """

    name: str | None
    email: str | None
    method: str | None = None
    client_id: str | None = None

    @property
    def known(self) -> bool:
        """True if the platform reported a user."""
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
    """Request the current user.

    A 404 does not indicate an invalid key: the tenant does not provide the endpoint, or the caller
    is an app without a user. The identity is then unknown.
    """
    try:
        user: Any = http.send(CURRENT_USER).json()
    except LabextError as error:
        if not (isinstance(error, NotFoundError) and error.status == 404):
            raise
        user = {}
    if not isinstance(user, dict):
        raise ServiceError("The lab platform returned an invalid response about the current user.")
    return Identity(
        _text_or_none(user.get("name")), _text_or_none(user.get("email")), method, client_id
    )


def _text_or_none(value: Any) -> str | None:
    return strip_control(value) if isinstance(value, str) and value.strip() else None


@dataclass(frozen=True)
class AccountStatus:
    """Account status from the platform's response headers.

    Attributes:
        sequences: number of sequences visible to the caller; None if unknown.
        rate: state of the rate limit; None if unknown.
    """

    sequences: int | None
    rate: RateLimitStatus | None


def fetch_status(http: HttpClient) -> AccountStatus:
    """Request one sequence and return the status from the response headers (`Result-Count`)."""
    query: dict[str, str | int] = {"pageSize": 1, "returning": "dnaSequences.id"}
    headers = http.send(SEQUENCES, params=query).headers
    count = header_number(headers.get("Result-Count"))
    return AccountStatus(
        None if count is None else int(count), RateLimitStatus.from_headers(headers)
    )


_FOLDER_ID = re.compile(r"lib_[A-Za-z0-9]+")

_FOLDER_PAGE_SIZE = 100

_MAX_FOLDERS = 1000
"""Maximum number of folders to list when searching for a name locally."""


class Folder(NamedTuple):
    """A folder visible to the caller."""

    id: str
    name: str
    project_id: str | None


def find_folder_id(http: HttpClient, name: str) -> str:
    """Return the ID of a folder with a name or an ID, which is returned unchanged.

    Names match case-insensitively, but an exact match takes precedence.
    """
    if not isinstance(name, str) or not name.strip():
        raise InputError(
            f"{messages.quote_value(name)} is not a folder name.", "Give the folder's name or ID."
        )
    name = name.strip()
    if _FOLDER_ID.fullmatch(name):
        return name
    visible: list[Folder] = []
    matches = _folders_named(name, list_folders(http, name=name))
    if not matches:  # the platform may compare names differently
        visible = list(islice(list_folders(http), _MAX_FOLDERS))
        matches = _folders_named(name, visible)
    if not matches:
        names = sorted({folder.name for folder in visible}, key=str.casefold)
        candidates = f": {messages.join_words(names, 10)}" if names else ""
        raise NotFoundError(
            f'No accessible folder is named "{name}"{messages.did_you_mean(name, names)}.',
            f"Give the name or the ID of a folder{candidates}.",
        )
    if len(matches) > 1:
        descriptions = messages.join_words(
            (f"{id} (project {project})" if project else id for id, _, project in matches), 10
        )
        raise ConflictError(
            f'There are {len(matches)} folders named "{name}": {descriptions}.',
            f"Give one of the IDs instead, such as `{matches[0].id}`.",
        )
    return matches[0].id


def list_folders(http: HttpClient, **query: str) -> Iterator[Folder]:
    """Yield the folders visible to the caller that match a query, requesting pages as needed."""

    def fetch_page(token: str) -> api.Page:
        params: dict[str, Any] = {
            **query,
            "pageSize": _FOLDER_PAGE_SIZE,
            "nextToken": token or None,
        }
        document = http.send(FOLDERS, params=params).json()
        return api.parse_page(document, key="folders", noun="folders")

    for page in api.iter_pages(fetch_page, set(), noun="folders"):
        for record in page:
            identifier, name, project = map(record.get, ("id", "name", "projectId"))
            if isinstance(identifier, str) and isinstance(name, str):
                project_id = project if isinstance(project, str) else None
                yield Folder(identifier, strip_control(name), project_id)


def _folders_named(name: str, folders: Iterable[Folder]) -> list[Folder]:
    """Return the folders with this exact name, or the case-insensitive matches if none has it."""
    matches = [folder for folder in folders if folder.name.casefold() == name.casefold()]
    return [folder for folder in matches if folder.name == name] or matches
