"""The batches that this machine has begun to send and not seen whole, as a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labext import wording
from labext.jobs.batch.journal import Entry, Journal

if TYPE_CHECKING:
    import pandas as pd


def unfinished(journal: Journal) -> pd.DataFrame:
    """Return a row a batch, the newest first; see `JobsClient.unfinished`."""
    from labext import frames
    from labext.frames import Column
    from labext.jobs.rowviews import UNFINISHED

    records = [
        record
        for name in journal.names()
        if not journal.log(name).is_whole() and (record := _record(name, journal.read(name)))
    ]
    columns = [
        Column("Name", "text"),
        Column("Type", "category"),
        Column("Jobs", "number"),
        Column("Parts", "number"),
        Column("Sent", "number"),
        Column("Missing", "number"),
        Column("Written", "time"),
        Column("Note", "text"),
    ]
    found: pd.DataFrame = frames.frame(records, columns)
    counts = ["Jobs", "Parts", "Sent", "Missing"]
    found[counts] = found[counts].astype("Int64")
    return UNFINISHED.show(
        found.sort_values("Written", ascending=False, ignore_index=True, kind="stable")
    )


def unfinished_names(journal: Journal) -> list[str]:
    """Return the names alone, at the cost of reading the logs."""
    return [name for name in journal.names() if not journal.log(name).is_whole()]


def _record(name: str, entry: Entry | None) -> dict[str, Any] | None:
    if entry is None:
        note = "its record is damaged; the same `%jobs batch` line sends what is not there"
        return {"Name": name, "Note": note}
    if not entry.open:
        return None  # all was there; only the last line of the log is not
    return {
        "Name": name,
        "Type": entry.plan.type,
        "Jobs": len(entry.plan.jobs),
        "Parts": len(entry.plan.parts),
        "Sent": len(entry.plan.parts) - len(entry.open),
        "Missing": sum(len(part.jobs) for part in entry.open),
        "Written": entry.written.isoformat(),
        "Note": _note(entry),
    }


def _note(entry: Entry) -> str:
    lost = [part.name for part in entry.open if part.name in entry.log.begun]
    if not lost:
        return ""
    were = "was" if len(lost) == 1 else "were"
    return f"{wording.listed(lost, 3)} {were} sent, and may be there"
