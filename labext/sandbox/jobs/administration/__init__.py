"""What the job service's web interface is elsewhere: accounts and what they may, for its runner.

Every function of this package takes an `Administration` first (`labext.sandbox.administration`).

`people` makes organizations and accounts, `keys` their keys, `allowances` says what they may use
and set, `pipelines` are those they have saved, `removal` takes accounts away; `finding` looks up
what is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from labext.sandbox import administration
from labext.sandbox.administration import Administration, Record
from labext.sandbox.jobs.app import service

__all__ = ["Administration", "Record", "opened"]


@contextmanager
def opened(data_dir: Path) -> Iterator[Administration]:
    """The job service of the sandbox in a folder; see `labext.sandbox.administration.opened`."""
    with administration.opened(data_dir, service) as found:
        yield found
