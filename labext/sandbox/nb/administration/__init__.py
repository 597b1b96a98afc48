"""What whoever runs the notebook service may see and change of it, whether it runs or not.

Every function of this package takes an `Administration` first (`labext.sandbox.administration`).

`passwords` sets what requests present, `rules` what may be fetched, `models` what answers and what
makes vectors; `overview` tells how the service is set up and how much is in it. `refusals` tells
what the service itself refuses.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from labext.sandbox import administration
from labext.sandbox.administration import Administration, Record
from labext.sandbox.nb.app import service

__all__ = ["Administration", "Record", "opened"]


@contextmanager
def opened(data_dir: Path) -> Iterator[Administration]:
    """The notebook service of the sandbox in a folder; see `administration.opened`."""
    with administration.opened(data_dir, service) as found:
        yield found
