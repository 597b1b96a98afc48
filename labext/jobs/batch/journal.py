"""What this machine knows of its batches, on disk before anything is sent.

One file a batch, split or not: which jobs, in which parts and order, with a digest of type and
settings for each, the settings themselves, the rows of the frame that they came from, and which
names were free before. With it a batch is seen as one again by another process, its list joined to
its rows, and an interrupted submission finished. Beside it a log of what became of each part.

A record is of one address and one account. The account is known by eight hexadecimal digits of a
digest of the key: enough to tell the accounts of one machine apart, and too few to test a guess of
the key on. With a new key a record counts as another account's: what is on the service can then
not be taken for this machine's own, but is found there by its names as from any other machine.

The files are the user's own data: only the owner may read them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from labext import locking
from labext.errors import NotReadyError
from labext.jobs.batch.journal_rows import rows_in, rows_out
from labext.jobs.batch.plan import Limits, Part, Plan
from labext.jobs.batch.sendlog import SendLog, Sent
from labext.jobs.identity import account
from labext.storage import make_folder, storage_errors, write_atomic

_VERSION = 2


@dataclass(frozen=True)
class Entry:
    """One batch in the journal.

    Attributes:
        plan: what was to be sent.
        free: the parts whose names were free before.
        log: what became of them.
        written: when it was written, in UTC.
    """

    plan: Plan
    free: frozenset[str]
    log: Sent
    written: datetime

    @property
    def open(self) -> tuple[Part, ...]:
        """The parts of which it is not known that the service has, or had, them."""
        return tuple(
            part
            for part in self.plan.parts
            if part.name not in self.log.sent and part.name not in self.log.there
        )

    def is_ours(self, part: str) -> bool:
        """Say whether the same batch under a part's name is the one that was sent from here.

        Its name was free before, and it was sent.
        """
        return part in self.free and part in self.log.begun


class Journal:
    """The batches that were sent from this machine to one service address, with one key."""

    def __init__(self, folder: Path, address: str, api_key: str | None) -> None:
        self._folder = folder / "batches"
        self._address = address
        self._account = account(address, api_key)

    def write(self, plan: Plan, free: Iterable[str]) -> Entry:
        """Record a batch before it is sent; what is known of the same batch stays.

        Args:
            plan: the batch.
            free: the parts whose names are free.

        Raises:
            StorageError: it can't be written; then nothing may be sent.
        """
        before = self.read(plan.name)
        again = before is not None and _is_same(before.plan, plan)
        known: frozenset[str] = before.free if before is not None and again else frozenset()
        free = frozenset(free)
        written = datetime.now(UTC).replace(microsecond=0)
        record = {
            "version": _VERSION,
            "address": self._address,
            "account": self._account,
            "name": plan.name,
            "type": plan.type,
            "written": written.isoformat(),
            "maxRuntimeSeconds": plan.limits.seconds,
            "weightedHoursBudget": plan.limits.budget,
            "jobs": dict(plan.jobs),
            "digests": plan.digests(),
            "free": sorted(known.union(free)),
            "rows": None if plan.rows is None else rows_out(plan.rows),
            "nameColumn": plan.name_column,
        }
        make_folder(self._folder, 0o700)
        if not again:
            self.log(plan.name).clear()
        write_atomic(self._file(plan.name), json.dumps(record, default=str).encode(), private=True)
        return Entry(plan, known.union(free), self.log(plan.name).read(), written)

    def read(self, name: str) -> Entry | None:
        """Return what is recorded of a batch; None where nothing that can be read is."""
        try:
            record = json.loads(self._file(name).read_bytes())
            if record["version"] != _VERSION or record["address"] != self._address:
                return None
            plan = _plan(record)
            if list(plan.digests().items()) != list(record["digests"].items()):
                return None  # damaged, though it is JSON
            written = datetime.fromisoformat(record["written"])
            return Entry(plan, frozenset(record["free"]), self.log(name).read(), written)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None  # damaged, or of another version: as if it had been sent from elsewhere

    def names(self) -> list[str]:
        """Return the names of the batches that are recorded, also of those that can't be read."""
        found = []
        for path in sorted(self._folder.glob("*.json")):
            name = path.name.split(".")[0]
            if path == self._file(name):
                found.append(name)
        return found

    def has(self, name: str) -> bool:
        """Say whether there is a record of a batch, be it damaged."""
        return self._file(name).exists()

    def others(self, name: str) -> bool:
        """Say whether a batch of the name is recorded for another address or key."""
        mine = self._file(name)
        return any(path != mine for path in self._folder.glob(f"{name}.*.json"))

    def log(self, name: str) -> SendLog:
        """Return the log of what became of a batch's parts."""
        return SendLog(self._file(name).with_suffix(".log"))

    def forget(self, name: str) -> None:
        """Remove what is recorded of a batch.

        Raises:
            StorageError: it can't be removed.
        """
        with storage_errors(self._file(name)):
            self._file(name).unlink(missing_ok=True)
        self.log(name).clear()
        with contextlib.suppress(OSError):  # Windows removes no file that is open
            self._file(name).with_suffix(".lock").unlink(missing_ok=True)

    @contextmanager
    def held(self, name: str) -> Iterator[None]:
        """Keep other processes of this machine from sending a batch meanwhile.

        Names are unique on the service, so that nothing is doubled without it; but two that send
        the same batch by turns would each tell half of what happened.

        Raises:
            NotReadyError: another one is sending it.
            StorageError: the journal can't be written.
        """
        make_folder(self._folder, 0o700)
        path = self._file(name).with_suffix(".lock")
        while True:
            with storage_errors(path):
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                if not locking.take(descriptor):
                    raise NotReadyError(
                        f"{name} is being sent by another process of this machine.",
                        f"Wait until it is done; `%jobs resume {name}` then says whether "
                        "anything is missing.",
                    )
                if locking.is_still(descriptor, path):
                    yield
                    return
            finally:
                os.close(descriptor)

    def _file(self, name: str) -> Path:
        said = f"{self._address}\n{self._account}\n{name}"
        key = hashlib.sha256(said.encode()).hexdigest()[:16]
        return self._folder / f"{name}.{key}.json"


def _is_same(one: Plan, other: Plan) -> bool:
    """Say whether two plans have the same jobs in the same parts."""
    return list(one.digests().items()) == list(other.digests().items())


def _plan(record: dict[str, Any]) -> Plan:
    return Plan(
        name=record["name"],
        type=record["type"],
        jobs=record["jobs"],
        limits=Limits(record["maxRuntimeSeconds"], record["weightedHoursBudget"]),
        rows=None if record["rows"] is None else rows_in(record["rows"]),
        name_column=record["nameColumn"],
    )
