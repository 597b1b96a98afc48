"""Merge several archives into one, as of a single batch: of a split batch's parts, or of jobs.

A batch's archive has a folder for each job and a metrics CSV (real services, section jobs). The
merged one has them too: the jobs' folders by their own names, and one metrics.csv with the columns
of all and the rows in the input's order.
"""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from labext.errors import ArchiveError
from labext.jobs import names
from labext.jobs.results import archives
from labext.storage import storage_errors
from labext.transport.download import OnBytes

METRICS = "metrics.csv"
_LARGEST = 256 * 1024**2
"""Bytes of a part's metrics, which are read into memory."""
_JOB_COLUMNS = ("job", "jobname", "job_name", "name")


class Metrics:
    """The metrics tables of the parts, as one."""

    def __init__(self) -> None:
        self._columns: dict[str, None] = {}
        self._rows: list[tuple[str, dict[str, str]]] = []

    def add(self, part: str, content: bytes) -> None:
        """Add a part's table; a job's name in it loses the part's.

        Raises:
            ArchiveError: it is no table.
        """
        try:
            lines = [*csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""))]
        except (UnicodeDecodeError, csv.Error):
            raise ArchiveError(
                f"The metrics of {part} are no table.", "Fetch them again."
            ) from None
        header, *cells = [line for line in lines if line] or [[]]
        if not header:
            return
        job_column = next((name for name in header if name.lower() in _JOB_COLUMNS), header[0])
        self._columns.update(dict.fromkeys(header))
        for line in cells:
            row = dict(zip(header, line, strict=False))
            row[job_column] = names.own(row.get(job_column, ""), part)
            self._rows.append((row[job_column], row))

    def text(self, order: Sequence[str]) -> str:
        """Return the whole table, its rows in the given order of the jobs; empty without any."""
        if not self._columns:
            return ""
        place = {job: n for n, job in enumerate(order)}
        out = io.StringIO(newline="")
        lines = csv.DictWriter(out, list(self._columns), restval="", lineterminator="\n")
        lines.writeheader()
        ordered = sorted(self._rows, key=lambda found: place.get(found[0], len(place)))
        lines.writerows(row for _, row in ordered)
        return out.getvalue()


@dataclass(frozen=True)
class JobArchive:
    """The archive of a single job: the name it is stored under, its own name, and where it is."""

    name: str
    own: str
    path: Path


def merge(
    parts: Mapping[str, Path],
    target: Path,
    order: Sequence[str],
    on_bytes: OnBytes | None = None,
    *,
    jobs: Sequence[JobArchive] = (),
    tables: Mapping[str, bytes] | None = None,
) -> None:
    """Write one archive out of several; it is there when it is whole.

    Args:
        parts: the archives of a split batch's parts, in order.
        target: the archive to write.
        order: the jobs' own names in the input's order.
        on_bytes: is told the bytes that are merged.
        jobs: archives of single jobs, each of which gets a folder.
        tables: the metrics of parts that have no archive of their own.

    Raises:
        ArchiveError: an archive is damaged, or not safe to unpack.
        StorageError: the disk is full.
    """
    metrics = Metrics()
    taken: set[str] = {METRICS}
    done, newest = 0, (1980, 1, 1, 0, 0, 0)
    making = target.with_name(f"{target.name}.making")
    with (
        storage_errors(target),
        zipfile.ZipFile(making, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as out,
    ):
        for name, archive, own in (
            *((part, path, "") for part, path in parts.items()),
            *((job.name, job.path, job.own) for job in jobs),
        ):
            with archives.opened(archive) as whole:
                found = archives.members(whole)
                for path, info in found.items():
                    newest = max(newest, info.date_time)
                    inner = _within(path, name, found)
                    if own:
                        _copy(whole, info, out, _unused(f"{own}/{inner}", f"{name}/{path}", taken))
                    elif _is_metrics(inner):
                        _check_size(info, name)
                        metrics.add(name, b"".join(archives.blocks(whole, info)))
                    else:
                        _copy(whole, info, out, _placed(inner, name, taken))
                    done += info.file_size
                    if on_bytes:
                        on_bytes(done, None)
        for part, content in (tables or {}).items():
            metrics.add(part, content)
        table = metrics.text(order)
        if table:
            # Of the parts' time: the same parts make the same archive.
            _write(out, zipfile.ZipInfo(METRICS, newest), [table.encode()])
    with storage_errors(target):
        making.replace(target)


def metrics_of(parts: Mapping[str, bytes], order: Sequence[str]) -> str:
    """Return the parts' metrics tables as one; for those who want that file alone."""
    metrics = Metrics()
    for part, content in parts.items():
        metrics.add(part, content)
    return metrics.text(order)


def _within(path: str, part: str, every: Mapping[str, object]) -> str:
    """Return a path without a folder that holds the whole archive, if that is the part's name."""
    if all(name.startswith(f"{part}/") for name in every):
        return path.removeprefix(f"{part}/")
    return path


def _check_size(info: zipfile.ZipInfo, part: str) -> None:
    if info.file_size > _LARGEST:
        raise ArchiveError(
            f"The metrics of {part} have {info.file_size:,} bytes, {_LARGEST:,} is the most.",
            "Fetch the part's archive by the part's name.",
        )


def _is_metrics(path: str) -> bool:
    return "/" not in path and path.lower().endswith(".csv") and "metrics" in path.lower()


def _placed(path: str, part: str, taken: set[str]) -> str:
    """Return a path's place in the merged archive: the job's folder, or the part's own."""
    first, *rest = PurePosixPath(path).parts
    beside = f"{part.rpartition('-')[2]}/{path}"
    if not rest:
        taken.add(beside)
        return beside
    return _unused("/".join([names.own(first, part), *rest]), beside, taken)


def _unused(path: str, otherwise: str, taken: set[str]) -> str:
    """Return a path, or another one where it is taken; note it as taken."""
    chosen = otherwise if path in taken else path
    taken.add(chosen)
    return chosen


def _copy(whole: zipfile.ZipFile, info: zipfile.ZipInfo, out: zipfile.ZipFile, path: str) -> None:
    copied = zipfile.ZipInfo(path, info.date_time)
    copied.file_size = info.file_size
    _write(out, copied, archives.blocks(whole, info))


def _write(out: zipfile.ZipFile, info: zipfile.ZipInfo, blocks: Iterable[bytes]) -> None:
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    with out.open(info, "w") as sink:
        for block in blocks:
            sink.write(block)
