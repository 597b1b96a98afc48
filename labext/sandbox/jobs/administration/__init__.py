"""What the job service's web interface is elsewhere: accounts and what they may, for its runner.

Every function of this package takes an `Administration` first (`labext.sandbox.administration`).

`people` makes organizations and accounts, `keys` their keys, `allowances` says what they may use
and set, `pipelines` are those they have saved, `removal` takes accounts away; `finding` looks up
what is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labext.sandbox.administration import Administration, Record
    from labext.sandbox.jobs.administration import allowances, keys, people, pipelines, removal

__all__ = [
    "Administration",
    "Record",
    "allowances",
    "keys",
    "opened",
    "people",
    "pipelines",
    "removal",
]


@contextmanager
def opened(data_dir: Path) -> Iterator[Administration]:
    """Open the service in the sandbox of a folder; see `labext.sandbox.administration.opened`."""
    from labext.sandbox import administration
    from labext.sandbox.jobs.app import service

    with administration.opened(data_dir, service) as admin:
        yield admin


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in ("Administration", "Record"):
        return getattr(import_module("labext.sandbox.administration"), name)
    return import_module(f"{__name__}.{name}")
