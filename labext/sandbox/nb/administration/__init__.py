"""What whoever runs the notebook service may see and change of it, whether it runs or not.

Every function of this package takes an `Administration` first (`labext.sandbox.administration`).

`passwords` sets what requests present, `rules` what may be fetched, `models` what answers and what
makes vectors; `overview` tells how the service is set up and how much is in it. `refusals` tells
what the service itself refuses.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labext.sandbox.administration import Administration, Record
    from labext.sandbox.nb.administration import models, overview, passwords, rules

__all__ = ["Administration", "Record", "models", "opened", "overview", "passwords", "rules"]


@contextmanager
def opened(data_dir: Path) -> Iterator[Administration]:
    """Open the service in the sandbox of a folder; see `labext.sandbox.administration.opened`."""
    from labext.sandbox import administration
    from labext.sandbox.nb.app import service

    with administration.opened(data_dir, service) as admin:
        yield admin


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in ("Administration", "Record"):
        return getattr(import_module("labext.sandbox.administration"), name)
    return import_module(f"{__name__}.{name}")
