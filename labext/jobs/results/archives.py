"""Results archives unpacked safely: whole or not at all, and never outside their folder.

An archive is checked by its table of contents before a byte is written: names that would leave
the folder, links, names that are one on some file systems, and sizes that no results have. Then
it is unpacked into a folder of its own, every checksum compared, and only then are the files
moved to where they belong.
"""

from __future__ import annotations

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
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from labext import archives as zip_archives
from labext.errors import ArchiveError
from labext.storage import storage_errors
from labext.transport.download import OnBytes

BLOCK = 1024 * 1024

_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    struct.error,
    OverflowError,
    NotImplementedError,  # zipfile: a compression it does not know
    UnicodeDecodeError,
    ValueError,
)
_DRIVE = re.compile(r"[A-Za-z]:")
_WINDOWS = os.name == "nt"
_NOT_ON_WINDOWS = re.compile(
    r'[<>:"|?*]|[. ]$|^(?:con|prn|aux|nul|com[1-9¹²³]|lpt[1-9¹²³])(?:\..*)?$', re.IGNORECASE
)
_HIDDEN = {"Cc", "Cs", "Zl", "Zp"}
# Not the marks U+200E, U+200F and U+061C: they are replaced where they are shown.
_TURNS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_LOCAL_HEADER = 30
"""Bytes that stand before each file in an archive, at least."""


@dataclass(frozen=True)
class Bounds:
    """How much an archive may hold.

    Attributes:
        files: files and folders.
        bytes: unpacked, in all.
        ratio: unpacked to packed; asked of archives that unpack to more than `free` bytes.
    """

    files: int = 50_000
    bytes: int = 64 * 1024**3
    ratio: float = 250.0
    free: int = 256 * 1024**2

    @classmethod
    def of_parts(cls, count: int) -> Bounds:
        """Return the bounds of the archive that a split batch's parts are merged into."""
        return cls(files=cls.files * max(1, count))


@dataclass(frozen=True)
class File:
    """One file of an archive or of a results folder: path in it (with /), bytes, SHA-256."""

    path: str
    size: int
    sha256: str


@contextmanager
def opened(archive: Path, bounds: Bounds | None = None) -> Iterator[zipfile.ZipFile]:
    """Open an archive; whatever shows it to be damaged is an ArchiveError.

    Raises:
        ArchiveError: it is no zip archive, damaged, encrypted, or holds too many files.
    """
    bounds = bounds or Bounds()
    try:
        with _opened(archive, bounds) as whole:
            yield whole
    except zip_archives.TooManyEntriesError:
        raise _refused(f"it holds more than {bounds.files:,} files and folders") from None
    except _DAMAGE as error:
        raise ArchiveError(
            f"The archive {archive.name} is damaged ({' '.join(str(error).split())}).",
            "Fetch it again.",
        ) from None


@contextmanager
def _opened(archive: Path, bounds: Bounds) -> Iterator[zipfile.ZipFile]:
    with ExitStack() as stack:
        try:
            whole = stack.enter_context(zip_archives.opened(archive, bounds.files))
        except FileNotFoundError:
            raise
        except OSError as error:  # a table of contents that points nowhere
            raise zipfile.BadZipFile(error.strerror or "unreadable") from None
        encrypted = next((info.filename for info in whole.infolist() if info.flag_bits & 1), None)
        if encrypted is not None:
            raise ArchiveError(
                f'"{encrypted}" in the archive {archive.name} is encrypted.',
                "Ask whoever runs the tool for an archive without a password.",
            )
        yield whole


def blocks(whole: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yield a file's content; whatever can't be read of it is damage, not the disk's."""
    try:
        with whole.open(info) as packed:
            while block := packed.read(BLOCK):
                yield block
    except OSError as error:
        raise zipfile.BadZipFile(error.strerror or "unreadable") from None


def members(whole: zipfile.ZipFile, bounds: Bounds | None = None) -> dict[str, zipfile.ZipInfo]:
    """Return an archive's files by their path in the results folder, all checked.

    Raises:
        ArchiveError: a name, a kind or a size that no honest archive has.
    """
    bounds = bounds or Bounds()
    infos = whole.infolist()
    _check_sizes(infos, bounds)
    _check_apart(infos)
    found: dict[str, zipfile.ZipInfo] = {}
    folded: dict[str, str] = {}
    for info in infos:
        path = _safe_path(info)
        if info.is_dir():
            _claim(folded, path, "folder")
        else:
            _claim(folded, path, "file")
            found[str(path)] = info
    return found


def unpack(
    archive: Path, into: Path, bounds: Bounds | None = None, on_bytes: OnBytes | None = None
) -> list[File]:
    """Unpack an archive into an empty folder; the caller removes the folder if this raises.

    `on_bytes` is told the bytes that are unpacked, and the whole's.

    Raises:
        ArchiveError: the archive is damaged, or not safe to unpack.
        StorageError: the disk is full, or the folder can't be written.
    """
    with opened(archive, bounds) as whole, storage_errors(into):
        found = members(whole, bounds)
        size, done = sum(info.file_size for info in found.values()), 0

        def tell(more: int) -> None:
            nonlocal done
            done += more
            if on_bytes:
                on_bytes(done, size)

        return [
            _extract(whole, info, path, into.joinpath(*PurePosixPath(path).parts), tell)
            for path, info in found.items()
        ]


def names_at_end(tail: bytes) -> list[str]:
    """Return the paths of an archive's files by its last bytes.

    The table of contents stands at the end of an archive. Nothing is returned where it is longer
    than `tail`, or damaged.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(tail)) as archive:
            return [info.filename for info in archive.infolist() if not info.is_dir()]
    except _DAMAGE:
        return []


def unpacked_size(archive: Path, bounds: Bounds | None = None) -> int:
    """Return how many bytes an archive unpacks to, its contents checked.

    Raises:
        ArchiveError: the archive is damaged, or not safe to unpack.
    """
    with opened(archive, bounds) as whole:
        return sum(info.file_size for info in members(whole, bounds).values())


def file_of(path: Path, name: str) -> File:
    """Return the size and checksum of a file on disk."""
    with path.open("rb") as content:
        return File(name, path.stat().st_size, hashlib.file_digest(content, "sha256").hexdigest())


def _extract(
    whole: zipfile.ZipFile,
    info: zipfile.ZipInfo,
    path: str,
    target: Path,
    tell: Callable[[int], None],
) -> File:
    target.parent.mkdir(parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    with target.open("xb") as out:
        for block in blocks(whole, info):
            digest.update(block)
            size += len(block)
            out.write(block)
            tell(len(block))
    if size != info.file_size:
        raise zipfile.BadZipFile(f"{path} has {size:,} bytes, not {info.file_size:,}")
    return File(path, size, digest.hexdigest())


def _check_sizes(infos: list[zipfile.ZipInfo], bounds: Bounds) -> None:
    unpacked = sum(info.file_size for info in infos)
    packed = sum(info.compress_size for info in infos)
    if len(infos) > bounds.files:
        raise _refused(f"it holds {len(infos):,} files, {bounds.files:,} is the most")
    if unpacked > bounds.bytes:
        raise _refused(f"it unpacks to {unpacked:,} bytes, {bounds.bytes:,} is the most")
    if unpacked > bounds.free and unpacked > bounds.ratio * packed:
        raise _refused(f"{packed:,} bytes would unpack to {unpacked:,}")


def _check_apart(infos: list[zipfile.ZipInfo]) -> None:
    """Refuse files that share bytes of the archive: few of them would unpack to any number."""
    end, before = 0, ""
    for info in sorted(infos, key=lambda each: each.header_offset):
        if info.header_offset < end:
            raise _refused(f"{info.filename!r} lies over {before!r} in it")
        end = info.header_offset + _LOCAL_HEADER + info.compress_size
        before = info.filename


def _safe_path(info: zipfile.ZipInfo) -> PurePosixPath:
    name = info.filename.replace("\\", "/")
    if any(unicodedata.category(character) in _HIDDEN for character in name):
        raise _refused(f"{name!r} has a control character in it")
    if _TURNS.search(name):
        raise _refused(f"{name!a} turns the direction of reading")
    if name.startswith("/") or _DRIVE.match(name) or ".." in name.split("/"):
        raise _refused(f'"{name}" would be written outside the folder')
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise _refused(f'"{name}" is a link or a device')
    path = PurePosixPath(name)
    if not path.parts:
        raise _refused("a file in it has no name")
    if _WINDOWS and any(map(_NOT_ON_WINDOWS.search, path.parts)):
        raise _refused(f'Windows can have no file "{name}"')
    return path


def _claim(folded: dict[str, str], path: PurePosixPath, kind: str) -> None:
    """Note that `path` is a file or a folder, and its parents folders; refuse what collides.

    Names that some file system takes for one (by case, by Unicode form, by trailing dots) are one.
    """
    parts = [_fold(part) for part in path.parts]
    for depth in range(1, len(parts)):
        if folded.setdefault("/".join(parts[:depth]), "folder") != "folder":
            raise _refused(f'"{path}" lies in a file')
    key = "/".join(parts)
    if key in folded and not (folded[key] == kind == "folder"):
        raise _refused(f'two names in it are one on some disks: "{path}"')
    folded[key] = kind


def _fold(part: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", part).casefold()).rstrip(". ")


def _refused(why: str) -> ArchiveError:
    return ArchiveError(
        f"The archive is not safe to unpack: {why}.", "Nothing was written; ask who runs the tool."
    )
