"""Client for one tenant of the lab platform."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self

from requests.auth import AuthBase

from labext.config import Connection
from labext.errors import InputError
from labext.http import HttpClient, Rate
from labext.http.client import ServiceClient
from labext.http.connection_pool import ResponseLimits
from labext.http.rate_limiter import shared_rate_limiter
from labext.lab import account
from labext.lab.account import AccountStatus, Identity, fetch_identity, fetch_status
from labext.lab.api import Record, api_url, error_mapper, tenant_url
from labext.lab.auth import ClientCredentials, choose_sign_in
from labext.lab.sequences import listing
from labext.lab.sequences.columns import ColumnSelection
from labext.lab.sequences.filters import Filters
from labext.lab.sequences.listing import SequenceLister

if TYPE_CHECKING:
    import pandas as pd


class LabClient(ServiceClient):
    """A client for one tenant of the lab platform, with one way to sign in.

    Every method queries the platform when it is called. On failure it raises a `LabextError` with a
    message and a next step. Clients of one identity in a process share its rate limit.

    Args:
        base_url: the tenant's address, with or without `/api/v2`; HTTPS only.
        auth: `ApiKey`, `ClientCredentials`, `IdToken`, or another of `requests`; None for none.
        rate: the rate limit until the platform names its own; None disables rate limiting.
        verify: True, or the path of a CA bundle.
        limits: bounds of a response; by default 256 MiB and 300 seconds.

    Raises:
        InputError: the address is invalid, or not HTTPS: nothing is sent then. Or `auth` is not a
            way to sign in.
        SetupError: the CA bundle does not exist.
    """

    def __init__(
        self,
        base_url: str,
        auth: AuthBase | None = None,
        *,
        rate: Rate | None = Rate(100, 10),  # noqa: B008 - immutable
        verify: bool | str = True,
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
        who = "nobody" if auth is None else getattr(auth, "identity", f"auth {id(auth)}")
        self._http = HttpClient(
            api_url(self.base_url),
            auth=auth,
            rate=rate,
            rate_limiter=shared_rate_limiter(self.base_url, who, rate),
            verify=verify,
            limits=limits,
            map_error=error_mapper(self._method),
            service="lab platform",
        )
        self._lister = SequenceLister(self._http)

    @classmethod
    def from_connection(cls, connection: Connection) -> Self:
        """Return a client for the tenant that a profile, the environment or the sandbox names.

        It signs in by the connection's `method` (`key`, `oauth`, `oidc`); without one by the first
        of API key, client ID and secret, and ID token that is there.

        Raises:
            SignInError: there are no credentials.
        """
        verify = connection.options.get("ca_bundle", True)
        limits = ResponseLimits.from_options(connection.options)
        return cls(connection.base_url, choose_sign_in(connection), verify=verify, limits=limits)

    def whoami(self) -> Identity:
        """Return the platform's view of the caller; its `known` is False if it has none.

        Raises:
            SignInError: it does not know the caller.
        """
        return fetch_identity(self._http, self._method, self._client_id)

    def status(self) -> AccountStatus:
        """Return the number of sequences visible to the caller, and the state of the rate limit.

        Raises:
            AccessError: the caller may not list.
        """
        return fetch_status(self._http)

    @property
    def token_expires_in(self) -> float | None:
        """Seconds until the current token expires; None without one, or if unknown."""
        seconds: float | None = getattr(self._auth, "expires_in", None)
        return seconds

    def sequences(
        self,
        limit: int | None = None,
        *,
        columns: Iterable[str] | str | None = None,
        spread: bool = False,
        **filters: Any,
    ) -> pd.DataFrame:
        """Return the sequences that the caller may see as a typed DataFrame, a row each.

        Columns: id, name, length, isCircular, bases, createdAt, modifiedAt (UTC), folderId,
        creator, schema, aliases, annotations, fields, customFields, and further ones, all of them
        also in an empty list. Nested values (dictionaries, lists) are kept unchanged.

        Args:
            limit: maximum number of rows; None for all.
            columns: the columns, in their order; also one within a field: `fields.Volume`,
                `creator.name`. Only these fields are requested.
            spread: replace `fields`, `customFields`, `creator` and `schema` by a column for each
                of their members.
            filters: only sequences with all of these.

                - ids, names, creator_ids: any of several values, as texts or as one with commas.
                - name, name_includes: also an alias or the registry ID; letters in any case.
                - bases: exactly these, on either strand; of a circle wherever it is opened.
                - folder: its name or its ID.
                - folder_id, project_id, schema_id, archive_reason.
                - created_at, modified_at: `"> 2024-01-01"`, `"> 2024-01-01 AND < 2024-07-01"`, a
                  date or time since which, or a pair of them.
                - min_length, max_length (bases), circular: applied here, not by the platform.
                - sort: `createdAt`, `modifiedAt` or `name`, with `:asc` or `:desc` after it. Of
                  more than a hundred ids or names it holds within each hundred.

        Raises:
            InputError: an unknown filter, column or folder; the error names a close match.
            ConflictError: several folders have the name.
            AccessError: the caller may not list, or not there.
            ServiceError: the list is invalid, or does not end.
        """
        from labext.lab.sequences.frames import CHOSEN_SEQUENCES, SEQUENCES, sequences_frame

        sifted = self._filters(filters)
        selection = ColumnSelection(columns, sifted.reads)
        table = sequences_frame(
            self._lister.pages(limit, selection, sifted), selection.names, spread=spread
        )
        selection.check_within(len(table))
        return (SEQUENCES if columns is None else CHOSEN_SEQUENCES).show(table)

    def iter_sequences(
        self,
        limit: int | None = None,
        *,
        columns: Iterable[str] | str | None = None,
        **filters: Any,
    ) -> Iterator[Record]:
        """Yield the platform's records unchanged, page by page; arguments as for `sequences`."""
        sifted = self._filters(filters)
        pages = self._lister.pages(limit, ColumnSelection(columns, sifted.reads), sifted)
        return (record for page in pages for record in page)

    def sequence(self, name: str) -> Record:
        """Return the platform's record of one sequence unchanged.

        Args:
            name: its name or its ID; else an alias, or its registry ID.

        Raises:
            NotFoundError: no visible sequence has the name; the error names a close match.
            ConflictError: several have it; the error lists their IDs.
        """
        return listing.find_sequence(self._lister, name)

    def folders(self) -> list[str]:
        """Return the names of the folders that the caller may see, each once.

        Raises:
            NotFoundError: the platform does not list folders.
        """
        return account.folder_names(self._http)

    def names(self, limit: int | None = 1000) -> list[str]:
        """Return the names of the sequences that were changed last, each once."""
        return listing.sequence_names(self._lister, limit)

    def _filters(self, filters: Mapping[str, Any]) -> Filters:
        """Return the filters of a list, with the folder looked up."""
        named = {name: value for name, value in filters.items() if name != "folder"}
        folder = filters.get("folder")
        if folder is not None:
            if named.get("folder_id") is not None:
                raise InputError("The filters folder and folder_id are both given.", "Give one.")
            Filters(named)  # a faulty filter is reported before anything is sent
            named["folder_id"] = account.find_folder_id(self._http, folder)
        return Filters(named)
