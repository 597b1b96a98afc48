"""Detect the API address and the kind of a notebook server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from labext import messages
from labext.errors import (
    AccessError,
    InputError,
    LabextError,
    NotFoundError,
    ServiceError,
    SetupError,
    SignInError,
    UnreachableError,
)
from labext.http import HttpClient, Operation, RetryMode
from labext.http.connection_pool import DOCUMENT
from labext.nb.backends import Request, RequestExecutor, get
from labext.nb.backends.contract import ContractBackend

_API_SEGMENT = "api"
_TIMEOUT = 5.0, 15.0
_CONFIG = get("find the API", "config")
_CONFIG_KEYS = frozenset({"version", "dbStatus"})
"""Keys of the API's `config`; the web interface has a `config` with other keys."""


def find_api(url: str, verify: bool | str = True) -> str:
    """Return the address of the API that an address leads to; the address itself if none is found.

    An address that ends in `/api` is returned without a request. No password is sent.

    Raises:
        UnreachableError: no server answers.
        SetupError: the server's certificate is not trusted, or it does not speak TLS.
    """
    if urlsplit(url).path.rstrip("/").endswith(f"/{_API_SEGMENT}"):
        return url
    return next((candidate for candidate in candidate_urls(url) if _is_api(candidate, verify)), url)


def candidate_urls(url: str) -> list[str]:
    """Return the addresses to try: `/api` below the given one and each folder above it."""
    parts = urlsplit(url)
    folders = [folder for folder in parts.path.split("/") if folder]
    if _API_SEGMENT in folders:  # a path within the API, such as /api/notebooks
        folders = folders[: folders.index(_API_SEGMENT)]
    below = ["/".join([*folders[:depth], _API_SEGMENT]) for depth in range(len(folders), -1, -1)]
    own_path = parts.path.strip("/")
    return [f"{parts.scheme}://{parts.netloc}/{path}".rstrip("/") for path in (*below, own_path)]


def _is_api(url: str, verify: bool | str) -> bool:
    """Return True if the address serves the configuration of a notebook service."""
    with HttpClient(
        url,
        auth=None,
        rate=None,
        verify=verify,
        timeout=_TIMEOUT,
        limits=DOCUMENT,
        attempts=1,
        service="notebook service",
    ) as http:
        try:
            configuration = http.send(_CONFIG).json()
        except (UnreachableError, SetupError):
            raise
        except LabextError:
            return False
    return isinstance(configuration, Mapping) and not _CONFIG_KEYS.isdisjoint(configuration)


CONTRACT, OPEN_NOTEBOOK = BACKENDS = ("contract", "open-notebook")
"""Values of the profile key `backend`, such as `backend = "open-notebook"`."""

# Relative to the base URL, which ends in /api: the description is at the server's root.
# The type is unchecked, since a web page instead of JSON would cause retries.
GET_OPENAPI = Operation(
    "detect the kind of server", "GET", "../openapi.json", RetryMode.ALWAYS, answer="unchecked"
)

PROBE_ORDER = get("detect the kind of server", "notebooks")

_NO_DESCRIPTION_ERRORS = (NotFoundError, SignInError, AccessError, InputError, ServiceError)
"""Errors of a server whose API description is missing or not public."""


class BackendSelector:
    """Select the backend for one server.

    Args:
        executor: sends the requests.
        name: one of `BACKENDS`; None detects the kind of server.
        verify: True, or the path of a CA bundle.

    Raises:
        InputError: there is no such backend.
    """

    def __init__(
        self, executor: RequestExecutor, name: str | None = None, *, verify: bool | str = True
    ) -> None:
        if name is not None and name not in BACKENDS:
            near = messages.did_you_mean(name, BACKENDS)
            raise InputError(
                f"There is no backend {messages.quote_value(name)}{near}.",
                f"The backends are {messages.join_words(BACKENDS)}; without one, it is detected.",
            )
        self._executor = executor
        self._verify = verify
        self._backend = None if name is None else _create_backend(name)

    @property
    def backend(self) -> ContractBackend:
        """The backend; the first access detects the kind of server.

        Raises:
            SetupError: the API has another address, which the message contains.
            LabextError: the detection failed; the next access tries again.
        """
        if self._backend is None:
            self._backend = _create_backend(self._detect())
        return self._backend

    def _detect(self) -> str:
        url = self._executor.http.base_url.rstrip("/")
        if (api := find_api(url, self._verify)) != url:
            raise SetupError(
                f"{url} is not the address of the notebook service's API.", f"Use {api}."
            )
        try:
            described = self._executor.http.send(GET_OPENAPI).json()
        except UnreachableError:
            raise
        except _NO_DESCRIPTION_ERRORS:
            try:  # an `order_by` that Open Notebook rejects (NB-45)
                self._executor.send(Request(PROBE_ORDER, params={"order_by": "updated_at"}))
            except InputError:
                return OPEN_NOTEBOOK
            return CONTRACT
        return OPEN_NOTEBOOK if _is_open_notebook(described) else CONTRACT


def _create_backend(name: str) -> ContractBackend:
    if name == CONTRACT:
        return ContractBackend()
    from labext.nb.backends.open_notebook import OpenNotebookBackend

    return OpenNotebookBackend()


def _is_open_notebook(described: Any) -> bool:
    info = described.get("info") if isinstance(described, Mapping) else None
    title = info.get("title") if isinstance(info, Mapping) else None
    return isinstance(title, str) and title.casefold().startswith("open notebook")
