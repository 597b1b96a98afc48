"""labext: a laboratory's services in a notebook.

`%load_ext labext` brings the magics `%lab`, `%jobs` and `%nb`; `labext.connect("jobs")` gives the
client that is beneath them. Names load when they are first used, so that an import costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from labext.errors import LabextError
    from labext.jobs import JobsClient
    from labext.transport import Rate

__all__ = ["JobsClient", "LabextError", "Rate", "connect"]

_HOMES = {
    "JobsClient": "labext.jobs",
    "LabextError": "labext.errors",
    "Rate": "labext.transport",
}


def connect(service: Literal["jobs"], profile: str | None = None) -> JobsClient:
    """Return a client for a service, from a profile, the environment or the sandbox.

    Raises:
        SetupError: nothing says where the service is.
    """
    from labext.config import connection
    from labext.errors import InputError
    from labext.jobs import JobsClient

    if service != "jobs":
        raise InputError(f"There is no client for {service!r}.", 'Use `labext.connect("jobs")`.')
    return JobsClient.reached(connection(service, profile))


def load_ipython_extension(ipython: InteractiveShell) -> None:
    """Bring the magics into a shell: `%load_ext labext`."""
    import labext_magics

    labext_magics.register(ipython)


def unload_ipython_extension(ipython: InteractiveShell) -> None:
    """Take everything out again: `%unload_ext labext`."""
    import labext_magics

    labext_magics.unregister(ipython)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("labext-jupyter")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES, "__version__"])
