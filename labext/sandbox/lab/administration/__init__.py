"""What the platform's web interface and developer console are elsewhere, for its runner.

Every function of this package takes an `Administration` first (`labext.sandbox.administration`),
and most then the tenant's name; what they return is plain, of what JSON knows.

`people` makes users, `apps` service accounts, `credentials` what both sign in with, `places` what
they may be granted, `grants` those grants; `network` and `providers` are for enterprise accounts;
`log` reads the audit log, `sequences` files sequences. `finding` looks up what is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labext.sandbox.administration import Administration, Record
    from labext.sandbox.lab.administration import (
        apps,
        credentials,
        grants,
        log,
        network,
        people,
        places,
        providers,
        sequences,
    )

__all__ = [
    "Administration",
    "Record",
    "apps",
    "credentials",
    "grants",
    "log",
    "network",
    "opened",
    "people",
    "places",
    "providers",
    "sequences",
]


@contextmanager
def opened(data_dir: Path) -> Iterator[Administration]:
    """Open the service in the sandbox of a folder; see `labext.sandbox.administration.opened`."""
    from labext.sandbox import administration
    from labext.sandbox.lab.app import service

    with administration.opened(data_dir, service) as admin:
        yield admin


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in ("Administration", "Record"):
        return getattr(import_module("labext.sandbox.administration"), name)
    return import_module(f"{__name__}.{name}")
