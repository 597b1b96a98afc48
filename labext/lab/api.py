"""URLs, operations, pagination and error mapping of the lab platform's API."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from labext.actions import Action
from labext.config import clean_url
from labext.errors import (
    AccessError,
    BusyError,
    InputError,
    LabextError,
    NotFoundError,
    ServiceError,
    SignInError,
)
from labext.http import ErrorResponse, Operation, RetryMode
from labext.http.pagination import PageGuard
from labext.http.responses import quote_message

SEQUENCES = Operation("list sequences", "GET", "dna-sequences", RetryMode.ALWAYS, answer="json")
FOLDERS = Operation("list folders", "GET", "folders", RetryMode.ALWAYS, answer="json")
CURRENT_USER = Operation("get the current user", "GET", "users/me", RetryMode.ALWAYS, answer="json")
TOKEN = Operation(
    "get a token",
    "POST",
    "token",
    RetryMode.ALWAYS,  # requesting a second token has no side effects
    answer="json",
)


_API_PATH = "/api/v2"


def tenant_url(base_url: str) -> str:
    """Return a tenant's HTTPS URL (LAB-1) without `/api/v2` and without a trailing slash."""
    url = clean_url(base_url, secure=True).rstrip("/")
    return url.removesuffix(_API_PATH).rstrip("/")


def resource_tenant_url(url: str) -> str:
    """Return the tenant's URL, derived from the URL of one of its resources."""
    prefix, separator, _ = url.partition(f"{_API_PATH}/")
    parts = urlsplit(url)
    return prefix if separator else f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def check_https(url: str) -> None:
    """Refuse to send credentials without HTTPS, even if plain `requests` sends the request."""
    if urlsplit(url).scheme != "https":
        raise InputError(
            "Credentials for the lab platform are sent only over HTTPS; nothing was sent.",
            "Use an address that starts with https://.",
        )


def api_url(tenant: str) -> str:
    """Return the base URL of a tenant's API."""
    return f"{tenant}{_API_PATH}"


_FORBIDDEN_CAUSES = (
    " The cause may be a missing grant to the organization or project, an object that does not "
    "exist, or a restriction to certain IP addresses."
)
"""Possible causes of a 403 without a message of the platform."""

_UNAUTHORIZED = {
    "key": (
        "rejected the API key",
        "Make a new key in the profile settings, then {action}.",
        Action.sign_in("lab", "api_key", "key"),
    ),
    "oauth": (
        "rejected the app's token",
        "Check the app in the developer console, then {action}.",
        Action.sign_in("lab", "client_secret", "oauth"),
    ),
    "oidc": (
        "rejected the ID token",
        "Get a new one from your identity provider, then {action}.",
        Action.sign_in("lab", "id_token", "oidc"),
    ),
}
_SIGN_IN = Action.sign_in("lab", "api_key")
_UNKNOWN_METHOD = "rejected the sign-in", "Sign in again: {action}.", _SIGN_IN
_NOT_SIGNED_IN = "requires a sign-in", "Sign in: {action}.", _SIGN_IN

_CONTACTS = {
    "key": "an administrator of the platform to grant you access",
    "oauth": "an administrator to grant the app access",
    "oidc": "an administrator of the platform to grant you access",
}


def error_mapper(method: str | None) -> Callable[[ErrorResponse], LabextError | None]:
    """Return a function that maps error responses to exceptions, for a client's sign-in method."""

    def map_error(failure: ErrorResponse) -> LabextError | None:
        match failure.status:
            case 401:
                message, step, action = (
                    _NOT_SIGNED_IN if method is None else _UNAUTHORIZED.get(method, _UNKNOWN_METHOD)
                )
                return SignInError(
                    _with_server_message(failure, f"The lab platform {message}"),
                    step,
                    action=action,
                )
            case 403:
                contact = _CONTACTS.get(method or "", "an administrator of the platform for access")
                return AccessError(
                    _with_server_message(failure, f"The lab platform refused to {failure.op.name}"),
                    f"Ask {contact}, or check the IDs that you gave."
                    f"{'' if failure.server_message else _FORBIDDEN_CAUSES}",
                )
            case 404 if failure.op.name == SEQUENCES.name:
                return NotFoundError(
                    _with_server_message(failure, "There is no list of sequences at this address"),
                    "Check the tenant's address: the API is at its `/api/v2`.",
                )
            case 404 | 405 if failure.op.name == FOLDERS.name:
                return NotFoundError(
                    _with_server_message(failure, "The lab platform cannot list its folders"),
                    "Give the folder's ID instead of its name.",
                )
            case 400:
                return InputError(
                    _with_server_message(failure, f"The lab platform can't {failure.op.name}"),
                    "Correct the request as described in the message.",
                )
            case 429:
                return BusyError(
                    _with_server_message(
                        failure, "The rate limit of the lab platform was exceeded"
                    ),
                    "Wait a moment, then try again; someone else may be using the same account.",
                )
        return None

    return map_error


def _with_server_message(failure: ErrorResponse, message: str) -> str:
    """Append the platform's own message to an error message."""
    return f"{message}{quote_message(failure.server_message)}."


Record = dict[str, Any]

_KEY, _NOUN = "dnaSequences", "sequences"


class Page(NamedTuple):
    """One page of a list.

    Attributes:
        token: token of the next page; empty on the last page.
        has_token_field: True if the response has a token field, even if it is empty.
    """

    records: list[Record]
    token: str
    has_token_field: bool


def parse_page(document: Any, *, key: str = _KEY, noun: str = _NOUN) -> Page:
    """Parse one page of a list from decoded JSON; errors call the records `noun`."""
    fields = document if isinstance(document, dict) else {"": document}
    lists = [name for name, value in fields.items() if _is_list(value)]
    if key in lists:
        lists = [key]
    elif len(lists) > 1:
        lists = [name for name in lists if fields[name]] or lists[:1]
    if len(lists) != 1:
        raise ServiceError(f"The lab platform returned an invalid list of {noun}.")
    token = fields.get("nextToken")
    if isinstance(token, dict | list | float):
        raise ServiceError(f"The lab platform's list of {noun} has no link to its next page.")
    # 0 is a valid token; only an empty or missing token marks the last page.
    end = token is None or token is False or token == ""
    return Page(fields[lists[0]], "" if end else str(token), "nextToken" in fields)


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def iter_pages(
    fetch_page: Callable[[str], Page], seen_ids: set[str], *, noun: str = _NOUN
) -> Iterator[list[Record]]:
    """Yield the records of each page, skipping duplicates.

    A record that is modified during the listing changes its position and may appear twice.
    `seen_ids`, the IDs of earlier records, is updated in place. The first page has an empty token.
    """
    token, guard = "", PageGuard(f"The lab platform's list of {noun}")
    while True:
        page = fetch_page(token)
        guard.add_page(map(record_id, page.records))
        new = []
        for record in page.records:
            identifier = record_id(record)
            if identifier is None or identifier not in seen_ids:
                new.append(record)
            if identifier is not None:
                seen_ids.add(identifier)
        if page.token:
            guard.check_next(page.token)
        yield new
        token = page.token
        if not token:
            return


def record_id(record: Record) -> str | None:
    """Return the ID of a record, or None if it is missing or invalid."""
    identifier = record.get("id")
    return identifier if isinstance(identifier, str) and identifier else None
