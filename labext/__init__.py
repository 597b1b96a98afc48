"""IPython magics and Python clients for three laboratory services."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, overload

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from labext import config as config
    from labext import errors as errors
    from labext import jobs as jobs
    from labext import lab as lab
    from labext import nb as nb
    from labext import sandbox as sandbox
    from labext.errors import LabextError
    from labext.http import Rate, ResponseLimits
    from labext.jobs import JobsClient
    from labext.lab import LabClient
    from labext.nb import NotebookClient

    __version__: str

__all__ = [
    "JobsClient",
    "LabClient",
    "LabextError",
    "NotebookClient",
    "Rate",
    "ResponseLimits",
    "connect",
]

_MODULES = {
    "JobsClient": "labext.jobs",
    "LabClient": "labext.lab",
    "LabextError": "labext.errors",
    "NotebookClient": "labext.nb",
    "Rate": "labext.http",
    "ResponseLimits": "labext.http",
}

_SUBPACKAGES = ("config", "errors", "jobs", "lab", "nb", "sandbox")
"""Imported on first use: `import labext` is enough for the lines that errors advise."""


@overload
def connect(service: Literal["jobs"], profile: str | None = None) -> JobsClient: ...
@overload
def connect(service: Literal["lab"], profile: str | None = None) -> LabClient: ...
@overload
def connect(service: Literal["nb"], profile: str | None = None) -> NotebookClient: ...
def connect(
    service: Literal["lab", "jobs", "nb"], profile: str | None = None
) -> LabClient | JobsClient | NotebookClient:
    """Return a client for a service.

    Args:
        service: `lab`, `jobs` or `nb`.
        profile: a profile, or `sandbox` for the running sandbox. By default the connection of the
            session, that of the environment, or the profile `default`.

    Raises:
        SetupError: no address of the service is configured.
        SignInError: no credentials for the lab platform are configured.
        InputError: the service is unknown.
    """
    from labext.config import connection
    from labext.errors import InputError

    clients = {"lab": "LabClient", "jobs": "JobsClient", "nb": "NotebookClient"}
    if not isinstance(service, str) or service not in clients:
        raise InputError(
            f"There is no client for {service!r}.",
            'Use `labext.connect("lab")`, `labext.connect("jobs")` or `labext.connect("nb")`.',
        )
    name = clients[service]
    client_class = getattr(import_module(_MODULES[name]), name)
    client: LabClient | JobsClient | NotebookClient = client_class.from_connection(
        connection(service, profile)
    )
    return client


def load_ipython_extension(ipython: InteractiveShell) -> None:
    """Register the magics with IPython; called by `%load_ext labext`."""
    import labext_magics

    labext_magics.register(ipython)


def unload_ipython_extension(ipython: InteractiveShell) -> None:
    """Unregister the magics; called by `%unload_ext labext`."""
    import labext_magics

    labext_magics.unregister(ipython)


if not TYPE_CHECKING:  # which would accept any name

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            from importlib.metadata import version

            return version("labext-jupyter")
        if name in _MODULES:
            return getattr(import_module(_MODULES[name]), name)
        if name in _SUBPACKAGES:
            return import_module(f"labext.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, *_SUBPACKAGES, "__version__"})
