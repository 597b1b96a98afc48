"""Builds the archive of a batch or a pipeline and its table of metrics, in a process of its own."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from labext.sandbox.jobs.files.archives import ARCHIVE, OUT, WORK, TooBig, files_in, write_archive
from labext.sandbox.runner import TaskError

Part = Mapping[str, Any]
METRICS = "metrics.csv"


def run(work: Path, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Write `metrics.csv` and the archive; returns the archive's size as `bytes`.

    The archive has a folder for each complete job, and `metrics.csv` with a row for every job: its
    name, its state and its Score.

    Raises:
        TaskError: a job's outputs are gone, or the archive is too big for the account's storage.
    """
    parts: Sequence[Part] = payload["parts"]
    metrics = work / METRICS
    write_metrics(metrics, parts)
    jobs = work.parent.parent
    try:
        size = write_archive(
            work / ARCHIVE,
            [(METRICS, metrics), *_outputs(jobs, parts)],
            most=max(payload["bytes_left"], 0),
        )
    except TooBig as error:
        raise TaskError(
            f"The archive is too big for the account's storage, of which {error.bytes:,} "
            "bytes are left."
        ) from None
    except FileNotFoundError as error:
        raise TaskError(f"An output is gone: {Path(error.filename).name}.") from None
    return {"bytes": size}


def write_metrics(target: Path, parts: Sequence[Part]) -> None:
    """A row a job: `job`, `status`, then each Score key in the order in which they first occur."""
    keys = list(dict.fromkeys(key for part in parts for key in part["score"]))
    with target.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["job", "status", *keys])
        for part in parts:
            # repr of a float reads back as the same number
            table.writerow(
                [part["name"], part["status"], *(part["score"].get(key, "") for key in keys)]
            )


def _outputs(jobs: Path, parts: Sequence[Part]) -> Iterator[tuple[str, Path]]:
    for part in parts:
        if part["status"] != "Complete":
            continue
        folder = jobs / str(part["job"]) / WORK / OUT
        files = files_in(folder)
        if not files:
            raise TaskError(f"The outputs of job {part['name']} are gone.")
        yield from ((f"{part['name']}/{name}", file) for name, file in files)
