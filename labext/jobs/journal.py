"""What this machine knows of its batches, on disk before anything is sent.

One file a batch: which jobs, in which parts and order, with a digest of type and settings for
each, the settings themselves, and the rows of the frame that they came from. With it a batch is
seen as one again by another process, its list joined to its rows, and an interrupted submission
can be finished. Beside it a log to which a line is added for each part that was sent.

The files are the user's own data: only the owner may read them.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labext.errors import StorageError
from labext.jobs.batches import Limits, Plan
from labext.storage import make_folder, storage_errors, write_whole

if TYPE_CHECKING:
    import pandas as pd

_VERSION = 1
_PLAIN = ("int", "uint", "float", "bool", "str", "category")
"""How the types begin whose values JSON holds as they are."""


@dataclass(frozen=True)
class Entry:
    """One batch in the journal.

    Attributes:
        plan: what was to be sent.
        free: the parts whose names were free before.
        sent: the parts that the service has confirmed.
    """

    plan: Plan
    free: frozenset[str]
    sent: frozenset[str]


class Journal:
    """The batches that were sent to one service address from this machine."""

    def __init__(self, folder: Path, address: str) -> None:
        self._folder = folder / "batches"
        self._address = address

    def write(self, plan: Plan, free: Iterable[str]) -> None:
        """Record a batch before it is sent; what is known of the same batch stays.

        Args:
            plan: the batch.
            free: the parts whose names are free.

        Raises:
            StorageError: it can't be written; then nothing may be sent.
        """
        digests = plan.digests()
        before = self.read(plan.name)
        again = before is not None and before.plan.digests() == digests
        record = {
            "version": _VERSION,
            "address": self._address,
            "name": plan.name,
            "type": plan.type,
            "written": datetime.now(UTC).isoformat(timespec="seconds"),
            "maxRuntimeSeconds": plan.limits.seconds,
            "weightedHoursBudget": plan.limits.budget,
            "jobs": dict(plan.jobs),
            "digests": digests,
            "free": sorted({*free, *(before.free if before is not None and again else ())}),
            "rows": None if plan.rows is None else _rows_out(plan.rows),
            "nameColumn": plan.name_column,
        }
        make_folder(self._folder, 0o700)
        if not again:
            with storage_errors(self._folder):
                self._log(plan.name).unlink(missing_ok=True)
        write_whole(self._file(plan.name), json.dumps(record, default=str).encode(), private=True)

    def sent(self, name: str, part: str) -> None:
        """Record that the service has confirmed a part of batch `name`."""
        line = json.dumps({"sent": part, "at": datetime.now(UTC).isoformat(timespec="seconds")})
        log = self._log(name)
        with (
            storage_errors(log),
            open(log, "ab", opener=lambda path, flags: os.open(path, flags, 0o600)) as out,
        ):
            out.write(line.encode() + b"\n")
            out.flush()
            os.fsync(out.fileno())

    def read(self, name: str) -> Entry | None:
        """Return what is recorded of a batch; None where nothing that can be read is."""
        try:
            record = json.loads(self._file(name).read_bytes())
            if record["version"] != _VERSION or record["address"] != self._address:
                return None
            return Entry(_plan(record), frozenset(record["free"]), self._confirmed(name))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None  # damaged, or of another version: as if it had been sent from elsewhere

    def forget(self, name: str) -> None:
        """Remove what is recorded of a batch."""
        try:
            self._file(name).unlink(missing_ok=True)
            self._log(name).unlink(missing_ok=True)
        except OSError as error:
            raise StorageError(
                f"The record of {name} can't be removed ({error.strerror}).",
                f"Remove {self._file(name)} yourself.",
            ) from None

    def _confirmed(self, name: str) -> frozenset[str]:
        try:
            lines = self._log(name).read_bytes().splitlines()
        except FileNotFoundError:
            return frozenset()
        found = set()
        for line in lines:
            try:
                found.add(str(json.loads(line)["sent"]))
            except (ValueError, KeyError, TypeError):
                continue  # a line that was being written when the machine died
        return frozenset(found)

    def _file(self, name: str) -> Path:
        key = hashlib.sha256(f"{self._address}\n{name}".encode()).hexdigest()[:16]
        return self._folder / f"{name}.{key}.json"

    def _log(self, name: str) -> Path:
        return self._file(name).with_suffix(".log")


def _plan(record: dict[str, Any]) -> Plan:
    return Plan(
        name=record["name"],
        type=record["type"],
        jobs=record["jobs"],
        limits=Limits(record["maxRuntimeSeconds"], record["weightedHoursBudget"]),
        rows=None if record["rows"] is None else _rows_in(record["rows"]),
        name_column=record["nameColumn"],
    )


def _rows_out(frame: pd.DataFrame) -> dict[str, Any]:
    columns = [
        {
            "name": str(name),
            "dtype": str(frame.dtypes.iloc[position]),
            "values": frame.iloc[:, position]
            .astype(object)
            .where(frame.iloc[:, position].notna().to_numpy(), None)
            .tolist(),
        }
        for position, name in enumerate(frame.columns)
    ]
    return {"columns": columns}


def _rows_in(record: dict[str, Any]) -> pd.DataFrame:
    import pandas as pd

    columns = [_column(column) for column in record["columns"]]
    frame = pd.concat(columns, axis=1) if columns else pd.DataFrame()
    frame.columns = pd.Index([column["name"] for column in record["columns"]])
    return frame


def _column(record: dict[str, Any]) -> pd.Series[Any]:
    import pandas as pd

    values = pd.Series(record["values"], dtype=object)
    try:
        if record["dtype"].startswith("datetime64"):
            return pd.to_datetime(values, format="ISO8601").astype(record["dtype"])
        if record["dtype"].startswith(_PLAIN):
            return values.astype(record["dtype"])
    except (TypeError, ValueError):
        return values  # a type that this pandas does not have: the values are there all the same
    return values
