"""Client for one tenant of the lab platform."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

from requests.auth import AuthBase

from labext.config import Connection
from labext.errors import InputError
from labext.http import HttpClient, Rate
from labext.http.client import ServiceClient
from labext.http.connection_pool import DEFAULT_TIMEOUT, ResponseLimits, Timeout
from labext.http.pagination import check_count
from labext.http.rate_limiter import shared_rate_limiter
from labext.lab import account
from labext.lab.account import AccountStatus, Identity, fetch_identity, fetch_status
from labext.lab.api import Record, api_url, error_mapper, tenant_url
from labext.lab.auth import ClientCredentials, choose_sign_in
from labext.lab.sequences import listing
from labext.lab.sequences.filters import Filters
from labext.lab.sequences.frames import ColumnSelection
from labext.lab.sequences.listing import OnPage, SequenceLister

if TYPE_CHECKING:
    import pandas as pd


class LabClient(ServiceClient):
    """Client for one tenant of the lab platform.

    Each method call queries the platform and raises a `LabextError` with a message and a next step
    on failure. Clients with the same identity in one process share its rate limit.

    Args:
        base_url: the tenant's HTTPS URL, with or without `/api/v2`.
        auth: `ApiKey`, `ClientCredentials`, `IdToken`, or another authentication object of
            `requests`; None to send no credentials.
        rate: the rate limit until the platform reports its own; None disables rate limiting.
        verify: True, or the path of a CA bundle.
        timeout: seconds to connect, and between two bytes of a response; one number for both.
        limits: limits of a response; by default 256 MiB and 300 seconds.

    Raises:
        InputError: the URL is invalid or does not use HTTPS, or `auth` is not an authentication
            object. Nothing is sent.
        SetupError: the CA bundle does not exist.
    """

    def __init__(
        self,
        base_url: str,
        auth: AuthBase | None = None,
        *,
        rate: Rate | None = Rate(100, 10),  # noqa: B008 - immutable
        verify: bool | str = True,
        timeout: Timeout = DEFAULT_TIMEOUT,
        limits: ResponseLimits | None = None,
    ) -> None:
        self.base_url = tenant_url(base_url)
        if auth is not None and not callable(auth):
            raise InputError(
                f"A {type(auth).__name__} cannot be used to sign in.",
                "Give ApiKey(key), ClientCredentials(client_id, client_secret) or IdToken(token).",
            )
        if isinstance(auth, ClientCredentials):
            auth.for_tenant(self.base_url, verify)
        self._method: str | None = None if auth is None else getattr(auth, "method", "other")
        self._client_id: str | None = getattr(auth, "client_id", None)
        self._auth = auth
        identity = "nobody" if auth is None else getattr(auth, "identity", f"auth {id(auth)}")
        self._http = HttpClient(
            api_url(self.base_url),
            auth=auth,
            rate=rate,
            rate_limiter=shared_rate_limiter(self.base_url, identity, rate),
            verify=verify,
            timeout=timeout,
            limits=limits,
            map_error=error_mapper(self._method),
            service="lab platform",
        )
        self._lister = SequenceLister(self._http)

    @classmethod
    def from_connection(cls, connection: Connection) -> Self:
        """Return a client for a connection from a profile, the environment or the sandbox.

        The client signs in with the connection's `method` (`key`, `oauth`, `oidc`). The default is
        the first available of API key, client ID with secret, and ID token.

        Raises:
            SignInError: the credentials are missing.
        """
        verify = connection.options.get("ca_bundle", True)
        limits = ResponseLimits.from_options(connection.options)
        return cls(connection.base_url, choose_sign_in(connection), verify=verify, limits=limits)

    def whoami(self) -> Identity:
        """Return the caller as reported by the platform; `known` is False if it reports no user.

        Raises:
            SignInError: the platform rejected the credentials.
        """
        return fetch_identity(self._http, self._method, self._client_id)

    def status(self) -> AccountStatus:
        """Return the number of sequences visible to the caller, and the state of the rate limit.

        Raises:
            AccessError: the caller is not allowed to list sequences.
        """
        return fetch_status(self._http)

    @property
    def token_expires_in(self) -> float | None:
        """Seconds until the current token expires; None without a token, or if unknown."""
        seconds: float | None = getattr(self._auth, "expires_in", None)
        return seconds

    def sequences(
        self,
        limit: int | None = None,
        *,
        columns: Iterable[str] | str | None = None,
        spread: bool = False,
        on_page: OnPage | None = None,
        **filters: Any,
    ) -> pd.DataFrame:
        """Return the visible sequences as a typed DataFrame with one row per sequence.

        Columns: id, name, length, isCircular, bases, createdAt, modifiedAt (UTC), folderId,
        creator and schema (names), schema.id, creator.id, creator.handle, aliases, annotations,
        fields, customFields, and others. An empty result has the same columns. Other nested values
        (dictionaries, lists) are kept unchanged.

        Args:
            limit: maximum number of rows; None for all.
            columns: the columns, in order. A path selects a nested value: `fields.Volume`,
                `fields.Volume.unit`, `creator.name`. Only the selected fields are requested.
            spread: replace `fields`, `customFields`, `creator` and `schema` by one column per
                member, and one per unit: `fields.Volume`, `fields.Volume.unit`.
            on_page: called after each page but the last, with the number of sequences received so
                far, and that of all (None if unknown).
            filters: conditions that a sequence must all satisfy.

                - ids, names, creator_ids: any of several values, as a list or a comma-separated
                  string.
                - name, name_includes: match the name, an alias or the registry ID,
                  case-insensitively.
                - bases: the exact sequence, on either strand; for circular sequences, any
                  rotation.
                - folder: the folder's name or ID.
                - folder_id, project_id, schema_id, archive_reason.
                - created_at, modified_at: `"> 2024-01-01"`, `"> 2024-01-01 AND < 2024-07-01"`, a
                  start date or time, or a pair (start, end).
                - min_length, max_length (bases), circular: evaluated by the client.
                - sort: `createdAt`, `modifiedAt` or `name`, optionally followed by `:asc` or
                  `:desc`. More than 100 ids or names, or 4,000 characters of them, are requested in
                  groups; without `sort`, the rows of each group are together.

        Raises:
            InputError: a filter or column is unknown or invalid; the error suggests a close match.
            NotFoundError: no visible folder has this name.
            ConflictError: several folders have this name.
            AccessError: the caller is not allowed to list these sequences.
            ServiceError: the response is invalid, or the list does not end.
        """
        from labext.lab.sequences.frames import SELECTED_COLUMNS, SEQUENCES, sequences_frame

        parsed = self._filters(filters)
        selection = ColumnSelection(columns, parsed.fields)
        table = sequences_frame(
            self._lister.pages(limit, selection, parsed, on_page), selection.names, spread=spread
        )
        selection.check_members(len(table))
        return (SEQUENCES if columns is None else SELECTED_COLUMNS).show(table)

    def iter_sequences(
        self,
        limit: int | None = None,
        *,
        columns: Iterable[str] | str | None = None,
        **filters: Any,
    ) -> Iterator[Record]:
        """Yield unmodified records, requesting pages as needed; arguments as for `sequences`."""
        parsed = self._filters(filters)
        pages = self._lister.pages(limit, ColumnSelection(columns, parsed.fields), parsed)
        return (record for page in pages for record in page)

    def sequence(self, name: str) -> Record:
        """Return the unmodified record of one sequence.

        Positions of its annotations count from 0, with an exclusive end. If an annotation spans the
        origin of a circular sequence, its end precedes its start.

        Args:
            name: the sequence's name, ID, alias or registry ID. An archived sequence is found by
                its ID, or by a name that no other sequence has.

        Raises:
            NotFoundError: no visible sequence has this name; the error suggests a close match.
            ConflictError: several sequences have this name; the error lists their IDs.
        """
        return listing.find_sequence(self._lister, name)

    def folders(self, limit: int | None = None) -> list[str]:
        """Return the distinct names of the visible folders, or of the first `limit` folders.

        Raises:
            InputError: the limit is not a positive integer.
            NotFoundError: the platform does not support listing folders.
        """
        check_count("limit", limit)
        folders = islice(account.list_folders(self._http), limit)
        return list(dict.fromkeys(folder.name for folder in folders))

    def names(self, limit: int | None = None) -> list[str]:
        """Return the distinct names of the visible sequences, or of the first `limit` sequences.

        The most recently modified sequence is the first.

        Raises:
            InputError: the limit is not a positive integer.
        """
        return listing.sequence_names(self._lister, limit)

    def _filters(self, filters: Mapping[str, Any]) -> Filters:
        """Parse the filters of a list, replacing a folder's name by its ID."""
        resolved = {name: value for name, value in filters.items() if name != "folder"}
        folder = filters.get("folder")
        if folder is not None:
            if resolved.get("folder_id") is not None:
                raise InputError(
                    "The filters folder and folder_id are both given.", "Give only one of them."
                )
            Filters(resolved)  # report invalid filters before the folder is looked up
            resolved["folder_id"] = account.find_folder_id(self._http, folder)
        return Filters(resolved)
