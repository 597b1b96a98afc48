"""Local journal of batches, written before they are sent."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labext import storage
from labext.actions import Action
from labext.errors import NotReadyError
from labext.jobs.batch.plan import BatchLimits, BatchPart, BatchPlan
from labext.jobs.identity import account_digest
from labext.storage import make_state_folder, storage_errors, sync_folder, write_atomic

if TYPE_CHECKING:
    import pandas as pd


class PartEvent(Enum):
    """An event in the submission of a part of a batch."""

    SENDING = "sending"
    """The part is about to be sent; from now on the service may have it."""
    REFUSED = "refused"
    """The part was sent, and does not exist on the service."""
    SENT = "sent"
    """The service has the part, and this machine sent it."""
    PREEXISTING = "there"
    """The service had an identical part before this machine sent it."""


@dataclass(frozen=True)
class SendState:
    """The state of a submission according to its log.

    Attributes:
        attempted: the parts that were sent and not rejected, including unknown outcomes.
        complete: True if all parts existed at the end of the submission.
    """

    attempted: frozenset[str] = frozenset()
    confirmed: frozenset[str] = frozenset()
    preexisting: frozenset[str] = frozenset()
    complete: bool = False


_COMPLETE = "whole"


class SendLog:
    """The log file of one batch."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def note(self, event: PartEvent, part: str) -> None:
        """Append an event; raise StorageError if the log can't be written."""
        self._add(event.value, part)

    def note_complete(self) -> None:
        """Record that all parts exist; raise StorageError if the log can't be written."""
        self._add(_COMPLETE, True)

    def clear(self) -> None:
        """Remove the log."""
        with storage_errors(self._path):
            self._path.unlink(missing_ok=True)

    def read(self) -> SendState:
        """Return the recorded state; invalid lines are ignored.

        Raises:
            OSError: the log exists but can't be read.
        """
        try:
            lines = self._path.read_bytes().splitlines()
        except FileNotFoundError:
            return SendState()
        parts: dict[str, PartEvent] = {}
        attempted: set[str] = set()
        complete = False
        for line in lines:
            event_name, value = _parse_event(line)
            if event_name == _COMPLETE:
                complete = True
            elif event_name in _EVENT_VALUES and isinstance(value, str):
                event = parts[value] = PartEvent(event_name)
                if event is PartEvent.SENDING:
                    attempted.add(value)
                    complete = False
                elif event is PartEvent.REFUSED:
                    attempted.discard(value)
        return SendState(
            frozenset(attempted),
            frozenset(part for part, event in parts.items() if event is PartEvent.SENT),
            frozenset(part for part, event in parts.items() if event is PartEvent.PREEXISTING),
            complete,
        )

    def is_complete(self) -> bool:
        """Return whether all parts existed at the end; False if the log can't be read."""
        try:
            return self.read().complete
        except OSError:
            return False

    def _add(self, event_name: str, value: str | bool) -> None:
        line = json.dumps(
            {event_name: value, "at": datetime.now(UTC).isoformat(timespec="seconds")}
        )
        with storage_errors(self._path):
            is_new = not self._path.exists()
            with open(
                self._path, "ab", opener=lambda path, flags: os.open(path, flags, 0o600)
            ) as out:
                # Start a new line: a killed process may have left an incomplete one.
                out.write(b"\n" + line.encode() + b"\n")
                out.flush()
                os.fsync(out.fileno())
            if is_new:
                sync_folder(self._path.parent)


_EVENT_VALUES = frozenset(event.value for event in PartEvent)


def _parse_event(line: bytes) -> tuple[str, object]:
    """Return the event name and the value of a line; an empty name if the line is invalid."""
    try:
        event = json.loads(line)
    except ValueError:
        return "", None
    if not isinstance(event, dict):
        return "", None
    return next(((key, value) for key, value in event.items() if key != "at"), ("", None))


_PLAIN_DTYPES = ("int", "uint", "float", "bool", "str", "category", "sparse", "period", "complex")
"""Prefixes of the names of dtypes, in lower case, whose values JSON or their text represents."""


def rows_to_json(frame: pd.DataFrame) -> dict[str, Any]:
    """Return a JSON object with the name, dtype and values of each column of a frame."""
    columns = [
        _column_to_json(str(name), frame.iloc[:, position])
        for position, name in enumerate(frame.columns)
    ]
    return {"columns": columns}


def _column_to_json(name: str, cells: pd.Series[Any]) -> dict[str, Any]:
    record = {"name": name, "dtype": str(cells.dtype)}
    if record["dtype"] == "category":
        return record | {
            "codes": cells.cat.codes.tolist(),
            "categories": _column_to_json("", cells.cat.categories.to_series()),
            "ordered": bool(cells.cat.ordered),
        }
    values = cells.astype(object).where(cells.notna().to_numpy(), None)
    return record | {"values": [_to_json(cell) for cell in values]}


def _to_json(cell: Any) -> Any:
    """Return a cell, as text if JSON can't represent it."""
    kind = getattr(getattr(cell, "dtype", None), "kind", None)
    if kind in ("b", "i", "u", "f") and cell.ndim == 0:  # a scalar of NumPy
        cell = cell.item()
    try:
        json.dumps(cell)
    except (TypeError, ValueError, RecursionError):
        return str(cell)
    return cell


def rows_from_json(record: dict[str, Any]) -> pd.DataFrame:
    """Return the frame that `rows_to_json` converted."""
    import pandas as pd

    columns = [_parse_column(column) for column in record["columns"]]
    frame = pd.concat(columns, axis=1) if columns else pd.DataFrame()
    frame.columns = pd.Index([column["name"] for column in record["columns"]])
    return frame


def _parse_column(record: dict[str, Any]) -> pd.Series[Any]:
    import pandas as pd

    if "codes" in record:
        codes, categories = record["codes"], pd.Index(_parse_column(record["categories"]))
        try:
            return pd.Series(pd.Categorical.from_codes(codes, categories, record["ordered"]))
        except ValueError:  # different categories have the same text
            return pd.Series([None if code < 0 else categories[code] for code in codes])
    values, dtype = pd.Series(record["values"], dtype=object), record["dtype"]
    try:
        if dtype.startswith("datetime64"):
            # The offsets of a time zone may differ between summer and winter.
            return pd.to_datetime(values, format="ISO8601", utc="," in dtype).astype(dtype)
        if dtype.startswith("timedelta64"):
            return pd.to_timedelta(values).astype(dtype)
        if dtype.lower().startswith(_PLAIN_DTYPES):
            return values.astype(dtype)
    except (TypeError, ValueError):
        return values  # keep the values if this pandas version does not know the dtype
    return values


_VERSION = 2


@dataclass(frozen=True)
class JournalEntry:
    """The record of one batch.

    Attributes:
        free: the parts whose names were free before the batch was sent.
    """

    plan: BatchPlan
    free: frozenset[str]
    log: SendState
    written: datetime

    @property
    def unconfirmed_parts(self) -> tuple[BatchPart, ...]:
        """The parts that were not confirmed and did not exist before."""
        return tuple(
            part
            for part in self.plan.parts
            if part.name not in self.log.confirmed and part.name not in self.log.preexisting
        )

    def was_sent_from_here(self, part: str) -> bool:
        """Return whether this machine sent a part: its name was free before, and it was sent."""
        return part in self.free and part in self.log.attempted


class Journal:
    """Records of the batches sent from this machine to one service with one key."""

    def __init__(self, folder: Path, address: str, api_key: str | None) -> None:
        self._folder = folder / "batches"
        self._address = address
        self._account = account_digest(address, api_key)

    def write(self, plan: BatchPlan, free: Iterable[str]) -> JournalEntry:
        """Record a batch before it is sent, or extend an earlier record of the same batch.

        Raises:
            StorageError: the record can't be written; the batch must not be sent.
        """
        earlier = self.read(plan.name)
        jobs = list(plan.digests().items())  # also their order
        same = earlier is not None and list(earlier.plan.digests().items()) == jobs
        known_free = frozenset(free)
        if earlier is not None and same:
            known_free |= earlier.free
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
            "free": sorted(known_free),
            "rows": None if plan.rows is None else rows_to_json(plan.rows),
            "nameColumn": plan.name_column,
        }
        make_state_folder(self._folder)
        if not same:
            self.log(plan.name).clear()
        write_atomic(self._file(plan.name), json.dumps(record).encode(), private=True)
        return JournalEntry(plan, known_free, self.log(plan.name).read(), written)

    def read(self, name: str) -> JournalEntry | None:
        """Return the record of a batch; None if it is missing or damaged."""
        try:
            record = json.loads(self._file(name).read_bytes())
            if record["version"] != _VERSION or record["address"] != self._address:
                return None
            plan = BatchPlan(
                name=record["name"],
                type=record["type"],
                jobs=record["jobs"],
                limits=BatchLimits(record["maxRuntimeSeconds"], record["weightedHoursBudget"]),
                rows=None if record["rows"] is None else rows_from_json(record["rows"]),
                name_column=record["nameColumn"],
            )
            if list(plan.digests().items()) != list(record["digests"].items()):
                return None  # valid JSON, but damaged
            written = datetime.fromisoformat(record["written"])
            return JournalEntry(plan, frozenset(record["free"]), self.log(name).read(), written)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None  # damaged or of another version: treated as a batch sent by another client

    def names(self) -> list[str]:
        """Return the names of all recorded batches, including damaged records."""
        names = []
        for path in sorted(self._folder.glob("*.json")):
            name = path.name.split(".")[0]
            if path == self._file(name):
                names.append(name)
        return names

    def has(self, name: str) -> bool:
        """Return whether a batch is recorded, even if the record is damaged."""
        return self._file(name).exists()

    def is_other_account(self, name: str) -> bool:
        """Return whether a batch with this name is recorded for another address or key."""
        own = self._file(name)
        return any(path != own for path in self._folder.glob(f"{name}.*.json"))

    def log(self, name: str) -> SendLog:
        """Return the log with the outcomes of a batch's parts."""
        return SendLog(self._file(name).with_suffix(".log"))

    def forget(self, name: str) -> None:
        """Delete the records of a batch; raise StorageError if a record can't be deleted."""
        with storage_errors(self._file(name)):
            self._file(name).unlink(missing_ok=True)
        self.log(name).clear()
        with contextlib.suppress(OSError):  # Windows does not delete open files
            self._file(name).with_suffix(".lock").unlink(missing_ok=True)

    @contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """Lock a batch against submission by other processes of this machine.

        Names are unique on the service, so even without the lock no part would be created twice.
        But two processes that send the same batch would each report only part of the outcome.
        """
        make_state_folder(self._folder)
        path = self._file(name).with_suffix(".lock")
        with storage_errors(path):
            descriptor = storage.open_locked(path)
        if descriptor is None:
            raise NotReadyError(
                f"Another process on this machine is submitting {name}.",
                "Wait until it has finished; {action} then shows whether anything is missing.",
                action=Action.resume_batch(name),
            )
        try:
            yield
        finally:
            os.close(descriptor)

    def _file(self, name: str) -> Path:
        identity_text = f"{self._address}\n{self._account}\n{name}"
        key = hashlib.sha256(identity_text.encode()).hexdigest()[:16]
        return self._folder / f"{name}.{key}.json"
