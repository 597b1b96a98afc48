"""Check, unpack and merge results archives within size limits."""

from __future__ import annotations

import csv
import hashlib
import io
import lzma
import os
import re
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from labext import zip_archives
from labext.errors import ArchiveError
from labext.http.download import OnBytes
from labext.jobs import identity
from labext.storage import storage_errors, sync_file

READ_SIZE = 1024 * 1024

_DAMAGE_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    struct.error,
    OverflowError,
    NotImplementedError,  # raised by zipfile for an unknown compression method
    UnicodeDecodeError,
    ValueError,
)
_DRIVE = re.compile(r"[A-Za-z]:")
_WINDOWS = os.name == "nt"
_INVALID_ON_WINDOWS = re.compile(
    r'[<>:"|?*]|[. ]$|^(?:con|prn|aux|nul|com[1-9¹²³]|lpt[1-9¹²³])(?:\..*)?$', re.IGNORECASE
)
_CONTROL_CATEGORIES = {"Cc", "Cs", "Zl", "Zp"}
# The marks U+200E, U+200F and U+061C are allowed here; they are replaced on display.
_BIDI_OVERRIDES = re.compile("[\u202a-\u202e\u2066-\u2069]")
_LOCAL_HEADER_SIZE = 30
"""Minimum size of the local file header in a zip archive, in bytes."""


@dataclass(frozen=True)
class ArchiveBounds:
    """Limits of an archive.

    Attributes:
        ratio: maximum ratio of unpacked to packed size.
        free: unpacked size in bytes up to which `ratio` is not checked.
    """

    files: int = 50_000
    bytes: int = 64 * 1024**3
    ratio: float = 250.0
    free: int = 256 * 1024**2

    @classmethod
    def for_parts(cls, count: int) -> ArchiveBounds:
        """Return the limits of the archive merged from the parts of a split batch."""
        return cls(files=cls.files * max(1, count))


@dataclass(frozen=True)
class ArchiveFile:
    """File of an archive or results folder: relative path (with `/`), size in bytes, SHA-256."""

    path: str
    size: int
    sha256: str


@contextmanager
def open_archive(archive: Path, bounds: ArchiveBounds | None = None) -> Iterator[zipfile.ZipFile]:
    """Open a zip archive; errors while it is read are converted, too."""
    bounds = bounds or ArchiveBounds()
    try:
        with _open_unencrypted(archive, bounds) as opened:
            yield opened
    except zip_archives.TooManyEntriesError:
        raise _unsafe_archive(f"it contains more than {bounds.files:,} files and folders") from None
    except _DAMAGE_ERRORS as error:
        raise ArchiveError(
            f"The archive {archive.name} is damaged ({' '.join(str(error).split())}).",
            "Fetch it again.",
        ) from None


@contextmanager
def _open_unencrypted(archive: Path, bounds: ArchiveBounds) -> Iterator[zipfile.ZipFile]:
    with ExitStack() as stack:
        try:
            opened = stack.enter_context(zip_archives.open_zip(archive, bounds.files))
        except FileNotFoundError:
            raise
        except OSError as error:  # the central directory has invalid offsets
            raise zipfile.BadZipFile(error.strerror or "unreadable") from None
        encrypted = next((info.filename for info in opened.infolist() if info.flag_bits & 1), None)
        if encrypted is not None:
            raise ArchiveError(
                f'"{encrypted}" in the archive {archive.name} is encrypted.',
                "Ask the administrator of the service for an archive without a password.",
            )
        yield opened


def read_blocks(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yield the content of a file.

    Raises:
        BadZipFile: the file can't be read; OSError is converted, so that it is not reported as a
            fault of the disk.
    """
    try:
        with archive.open(info) as packed:
            while block := packed.read(READ_SIZE):
                yield block
    except OSError as error:
        raise zipfile.BadZipFile(error.strerror or "unreadable") from None


def list_members(
    archive: zipfile.ZipFile, bounds: ArchiveBounds | None = None
) -> dict[str, zipfile.ZipInfo]:
    """Check the files of an archive; return them by their path in the results folder."""
    bounds = bounds or ArchiveBounds()
    infos = archive.infolist()
    _check_sizes(infos, bounds)
    _check_no_overlap(infos)
    members: dict[str, zipfile.ZipInfo] = {}
    folded: dict[str, str] = {}
    for info in infos:
        path = _safe_path(info)
        _claim_path(folded, path, "folder" if info.is_dir() else "file")
        if not info.is_dir():
            members[str(path)] = info
    return members


def unpack_archive(
    archive: Path, into: Path, bounds: ArchiveBounds | None = None, on_bytes: OnBytes | None = None
) -> list[ArchiveFile]:
    """Unpack an archive into an empty folder; after an error, the caller deletes the folder.

    `on_bytes` is called with the number of unpacked bytes and the total.
    """
    with open_archive(archive, bounds) as opened, storage_errors(into):
        members = list_members(opened, bounds)
        size, done = sum(info.file_size for info in members.values()), 0

        def add_bytes(count: int) -> None:
            nonlocal done
            done += count
            if on_bytes:
                on_bytes(done, size)

        return [
            _extract(opened, info, path, into.joinpath(*PurePosixPath(path).parts), add_bytes)
            for path, info in members.items()
        ]


_TAIL_SIZE = 256 * 1024
"""Number of bytes first read from the end of an archive, to find its central directory."""

_MAX_TAIL_SIZE = 64 * 1024**2


def sizes_at_end(read_tail: Callable[[int], bytes]) -> dict[str, int]:
    """Return the sizes of the files of an archive by path.

    Empty if the central directory is damaged or can't be read.
    """
    tail = read_tail(_TAIL_SIZE)
    try:
        end = tail.rindex(b"PK\5\6")  # the end of central directory record
        (directory_size,) = struct.unpack_from("<L", tail, end + 12)
        needed = directory_size + len(tail) - end + 76  # records that ZIP64 has in between
        if len(tail) < needed <= _MAX_TAIL_SIZE:
            tail = read_tail(needed)
        with zipfile.ZipFile(io.BytesIO(tail)) as archive:
            return {i.filename: i.file_size for i in archive.infolist() if not i.is_dir()}
    except _DAMAGE_ERRORS:
        return {}


def unpacked_size(archive: Path, bounds: ArchiveBounds | None = None) -> int:
    """Check an archive; return its unpacked size in bytes."""
    with open_archive(archive, bounds) as opened:
        return sum(info.file_size for info in list_members(opened, bounds).values())


def describe_file(path: Path, name: str) -> ArchiveFile:
    """Return the size and checksum of a file on disk."""
    with path.open("rb") as content:
        return ArchiveFile(
            name, path.stat().st_size, hashlib.file_digest(content, "sha256").hexdigest()
        )


def _extract(
    archive: zipfile.ZipFile,
    info: zipfile.ZipInfo,
    path: str,
    target: Path,
    on_bytes: Callable[[int], None],
) -> ArchiveFile:
    target.parent.mkdir(parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    with target.open("xb") as out:
        for block in read_blocks(archive, info):
            digest.update(block)
            size += len(block)
            out.write(block)
            on_bytes(len(block))
    if size != info.file_size:
        raise zipfile.BadZipFile(f"{path} has {size:,} bytes, not {info.file_size:,}")
    return ArchiveFile(path, size, digest.hexdigest())


def _check_sizes(infos: list[zipfile.ZipInfo], bounds: ArchiveBounds) -> None:
    unpacked = sum(info.file_size for info in infos)
    packed = sum(info.compress_size for info in infos)
    if unpacked > bounds.bytes:
        raise _unsafe_archive(
            f"it unpacks to {unpacked:,} bytes, at most {bounds.bytes:,} are allowed"
        )
    if unpacked > bounds.free and unpacked > bounds.ratio * packed:
        raise _unsafe_archive(f"{packed:,} bytes would unpack to {unpacked:,}")


def _check_no_overlap(infos: list[zipfile.ZipInfo]) -> None:
    """Check that files do not overlap, as in a zip bomb, else raise ArchiveError."""
    end, previous = 0, ""
    for info in sorted(infos, key=lambda member: member.header_offset):
        if info.header_offset < end:
            raise _unsafe_archive(f"{info.filename!r} overlaps {previous!r}")
        end = info.header_offset + _LOCAL_HEADER_SIZE + info.compress_size
        previous = info.filename


def _safe_path(info: zipfile.ZipInfo) -> PurePosixPath:
    name = info.filename.replace("\\", "/")
    if any(unicodedata.category(character) in _CONTROL_CATEGORIES for character in name):
        raise _unsafe_archive(f"{name!r} contains a control character")
    if _BIDI_OVERRIDES.search(name):
        raise _unsafe_archive(f"{name!a} contains a bidirectional override")
    if name.startswith("/") or _DRIVE.match(name) or ".." in name.split("/"):
        raise _unsafe_archive(f'"{name}" would be written outside the folder')
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise _unsafe_archive(f'"{name}" is a link or a device')
    path = PurePosixPath(name)
    if not path.parts:
        raise _unsafe_archive("it contains a file without a name")
    if _WINDOWS and any(map(_INVALID_ON_WINDOWS.search, path.parts)):
        raise _unsafe_archive(f'Windows does not allow a file "{name}"')
    return path


def _claim_path(folded: dict[str, str], path: PurePosixPath, kind: str) -> None:
    """Register `path` as a file or folder and its parents as folders.

    Names that differ only in case, Unicode normalization or trailing dots are equal, as on some
    file systems.
    """
    parts = [_fold_case(part) for part in path.parts]
    for depth in range(1, len(parts)):
        if folded.setdefault("/".join(parts[:depth]), "folder") != "folder":
            raise _unsafe_archive(f'the parent of "{path}" is a file')
    key = "/".join(parts)
    if key in folded and not (folded[key] == kind == "folder"):
        raise _unsafe_archive(f'"{path}" differs from another name only in case or Unicode form')
    folded[key] = kind


def _fold_case(part: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", part).casefold()).rstrip(". ")


def _unsafe_archive(reason: str) -> ArchiveError:
    return ArchiveError(
        f"The archive is not safe to unpack: {reason}.",
        "Nothing was written; ask the administrator of the service.",
    )


METRICS = "metrics.csv"
_MAX_METRICS_SIZE = 256 * 1024**2
"""Maximum size of the metrics of a part in bytes, because they are read into memory."""
_JOB_COLUMNS = ("job", "jobname", "job_name", "name")


def merge_metrics(tables: Iterable[tuple[str, bytes]], order: Sequence[str]) -> str:
    """Return the merged metrics tables, given by part, sorted by the given order of jobs.

    The name of its part is stripped from the name of a job. Empty without tables.
    """
    columns: dict[str, None] = {}
    rows: list[tuple[str, dict[str, str]]] = []
    for part, content in tables:
        try:
            lines = [*csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""))]
        except (UnicodeDecodeError, csv.Error):
            raise ArchiveError(
                f"The metrics of {part} are not a CSV table.", "Fetch them again."
            ) from None
        header, *cells = [line for line in lines if line] or [[]]
        if not header:
            continue
        job_column = next((name for name in header if name.lower() in _JOB_COLUMNS), header[0])
        columns.update(dict.fromkeys(header))
        for line in cells:
            row = dict(zip(header, line, strict=False))
            row[job_column] = identity.strip_batch_name(row.get(job_column, ""), part)
            rows.append((row[job_column], row))
    if not columns:
        return ""
    positions = {job: n for n, job in enumerate(order)}
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(columns), restval="", lineterminator="\n")
    writer.writeheader()
    rows.sort(key=lambda item: positions.get(item[0], len(positions)))
    writer.writerows(row for _, row in rows)
    return out.getvalue()


@dataclass(frozen=True)
class JobArchive:
    """Archive of a single job of a batch.

    Attributes:
        name: the name on the service, which includes the batch.
        own_name: the name inside the batch.
    """

    name: str
    own_name: str
    path: Path


def merge_archives(
    parts: Mapping[str, Path],
    target: Path,
    order: Sequence[str],
    on_bytes: OnBytes | None = None,
    *,
    jobs: Sequence[JobArchive] = (),
    tables: Mapping[str, bytes] | None = None,
) -> None:
    """Merge the archives of the parts of a split batch into one, written atomically.

    `order` has the names of the jobs inside the batch, in the order of the input. Archives of
    single `jobs` are each copied to a folder. `tables` are those of parts without an archive.
    """
    metrics: list[tuple[str, bytes]] = []
    used_paths: set[str] = {METRICS}
    done, newest = 0, (1980, 1, 1, 0, 0, 0)
    partial = target.with_name(f"{target.name}.making")
    with (
        storage_errors(target),
        zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as out,
    ):
        for name, archive, own_name in (
            *((part, path, "") for part, path in parts.items()),
            *((job.name, job.path, job.own_name) for job in jobs),
        ):
            with open_archive(archive) as opened:
                members = list_members(opened)
                folder = _folder_of(name, members)
                for path, info in members.items():
                    newest = max(newest, info.date_time)
                    inner = path.removeprefix(folder)
                    if own_name:
                        _copy_member(
                            opened,
                            info,
                            out,
                            _unique_path(f"{own_name}/{inner}", f"{name}/{path}", used_paths),
                        )
                    elif _is_metrics(inner):
                        if info.file_size > _MAX_METRICS_SIZE:
                            raise ArchiveError(
                                f"The metrics of {name} have {info.file_size:,} bytes, at most "
                                f"{_MAX_METRICS_SIZE:,} are allowed.",
                                f"Fetch the archive of {name} alone.",
                            )
                        metrics.append((name, b"".join(read_blocks(opened, info))))
                    else:
                        _copy_member(opened, info, out, _merged_path(inner, name, used_paths))
                    done += info.file_size
                    if on_bytes:
                        on_bytes(done, None)
        table = merge_metrics([*metrics, *(tables or {}).items()], order)
        if table:
            # The newest time of the parts makes the archive reproducible.
            _write_member(out, zipfile.ZipInfo(METRICS, newest), [table.encode()])
    with storage_errors(target):
        sync_file(partial)
        partial.replace(target)


def merge_sizes(parts: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    """Return the sizes of the files in the merged archive, given those in the archive of each part.

    The metrics tables of the parts are added up. Empty if the files of a part are unknown.
    """
    if not all(parts.values()):
        return {}
    merged: dict[str, int] = {}
    used_paths: set[str] = {METRICS}
    for part, sizes in parts.items():
        folder = _folder_of(part, sizes)
        for path, size in sizes.items():
            inner = path.removeprefix(folder)
            if _is_metrics(inner):
                merged[METRICS] = merged.get(METRICS, 0) + size
            else:
                merged[_merged_path(inner, part, used_paths)] = size
    return merged


def _folder_of(part: str, paths: Iterable[str]) -> str:
    """Return the folder of a part with a slash, if all paths of its archive are inside it."""
    folder = f"{part}/"
    return folder if all(path.startswith(folder) for path in paths) else ""


def _is_metrics(path: str) -> bool:
    return "/" not in path and path.lower().endswith(".csv") and "metrics" in path.lower()


def _merged_path(path: str, part: str, used_paths: set[str]) -> str:
    """Return the path of a file in the merged archive, in the folder of its job or part."""
    first, *rest = PurePosixPath(path).parts
    part_path = f"{part.rpartition('-')[2]}/{path}"
    if not rest:
        used_paths.add(part_path)
        return part_path
    return _unique_path(
        "/".join([identity.strip_batch_name(first, part), *rest]), part_path, used_paths
    )


def _unique_path(path: str, alternative: str, used_paths: set[str]) -> str:
    """Return a path, or the alternative if the path is used; mark the result as used."""
    unused = alternative if path in used_paths else path
    used_paths.add(unused)
    return unused


def _copy_member(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, out: zipfile.ZipFile, path: str
) -> None:
    copied = zipfile.ZipInfo(path, info.date_time)
    copied.file_size = info.file_size
    _write_member(out, copied, read_blocks(archive, info))


def _write_member(out: zipfile.ZipFile, info: zipfile.ZipInfo, blocks: Iterable[bytes]) -> None:
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    with out.open(info, "w") as sink:
        for block in blocks:
            sink.write(block)
