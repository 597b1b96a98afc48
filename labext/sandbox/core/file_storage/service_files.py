"""Files of a service: in its folder, or in an object store with local copies."""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import NamedTuple, TypeVar
from uuid import uuid4
from weakref import WeakValueDictionary

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext.sandbox.core.data_folder import remove_path
from labext.sandbox.core.database import Database, after_commit, text_table
from labext.sandbox.core.file_storage import cache, tables
from labext.sandbox.core.file_storage.cache import ARCHIVE_SUFFIX, FileCache
from labext.sandbox.core.file_storage.objects import ObjectStore, StoreError
from labext.sandbox.core.file_storage.tables import StagedFile, StoredFile
from labext.storage import sync_folder

LOST_SECONDS = 120.0
"""Seconds for which a missing object counts as lost before it is looked for again.

Longer than the pause before the end of a task is recorded again, which would otherwise be repeated
without end.
"""

log = logging.getLogger("labext.sandbox")

T = TypeVar("T")


class _Record(NamedTuple):
    """The record of a file, which stays valid after its transaction."""

    path: str
    key: str
    member: str
    bytes: int
    sha256: str


_RECORDS = select(
    StoredFile.path, StoredFile.key, StoredFile.member, StoredFile.bytes, StoredFile.sha256
)


class NotCachedError(Exception):
    """A file is needed in a writing transaction and must be fetched before; see `with_fetched`.

    Attributes:
        fetch: fetches it; raises StoreError.
    """

    def __init__(self, path: str, fetch: Callable[[], object]) -> None:
        super().__init__(f"{path} must be fetched first.")
        self.fetch = fetch


def with_fetched(call: Callable[[], T]) -> T:
    """Call a function; repeat it after fetching a file that its transaction needs.

    Raises:
        StoreError: one cannot be fetched.
    """
    while True:
        try:
            return call()
        except NotCachedError as error:
            error.fetch()


class ServiceFiles:
    """The files of a service by their path in its folder: `files/12`, `jobs/34/work`.

    They are in the folder itself, without staging and records, or in an object store.
    """

    is_remote = False
    """Whether the files are in an object store, and the folder has those of running tasks."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def local(self, path: str, session: Session | None = None) -> Path:  # noqa: ARG002
        """Return the path on this machine; nothing is there if the file does not exist.

        Raises:
            StoreError: it cannot be fetched.
            NotCachedError: it must be fetched before the current transaction.
        """
        return self._root / path

    def existing(self, paths: Collection[str], session: Session) -> set[str]:  # noqa: ARG002
        """Return the paths at which there are files, without fetching them."""
        return {path for path in paths if (self._root / path).is_file()}

    def stage(self, source: Path, path: str) -> StagedFile:  # noqa: ARG002
        """Store the content of a file, before the transaction that places it.

        Raises:
            StoreError: it cannot be stored.
        """
        return StagedFile(path, "", 0, "")

    def place(self, session: Session, source: Path, staged: StagedFile, path: str) -> None:  # noqa: ARG002
        """Move a staged file to a path, and sync the folder to the disk."""
        target = self._root / path
        source.replace(target)
        sync_folder(target.parent)

    def discard(self, staged: StagedFile) -> None:
        """Delete a staged file that is not placed."""

    def link(self, session: Session, sources: Mapping[str, Path]) -> None:  # noqa: ARG002
        """Place files, as returned by `local`, also at other paths, and sync these to the disk.

        `sources` has the file of each new path.
        """
        folders: set[Path] = set()
        for path, source in sources.items():
            target = self._root / path
            cache.link_or_copy(source, target)
            folders.update(target.parents[: len(PurePosixPath(path).parts)])
        for folder in folders:
            sync_folder(folder)

    def copy_path(self, path: str, session: Session) -> Path:  # noqa: ARG002
        """Return the path that `local` returns, without fetching the file."""
        return self._root / path

    def forget(self, session: Session, paths: Collection[str]) -> None:
        """Remove files and folders from the store; the caller removes those in the folder."""


class StoredFiles(ServiceFiles):
    """Files in an object store, with copies on this machine.

    Args:
        name: the service, which starts the paths in the records.
        root: its folder, which has the files of running tasks.
        on_unused: called after a commit that leaves objects to be deleted.
    """

    is_remote = True

    def __init__(
        self,
        name: str,
        root: Path,
        database: Database,
        store: ObjectStore,
        copies: FileCache,
        on_unused: threading.Event,
    ) -> None:
        super().__init__(root)
        self._name = name
        self._database = database
        self.store = store
        self.copies = copies
        self._on_unused = on_unused
        self._fetching = threading.Lock()
        self._locks: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()
        self._lost: dict[str, float] = {}

    def local(self, path: str, session: Session | None = None) -> Path:
        """Return the path of the copy, which is fetched if necessary."""
        file = self._find(path, session)
        return self._root / path if file is None else self._copy(file)

    def existing(self, paths: Collection[str], session: Session) -> set[str]:
        """Return the paths that have records."""
        names = text_table([f"{self._name}/{path}" for path in paths])
        query = select(StoredFile.path).where(StoredFile.path.in_(select(names.c.value)))
        return {name.removeprefix(f"{self._name}/") for name in session.scalars(query)}

    def stage(self, source: Path, path: str) -> StagedFile:
        """Store the content of a file."""
        return self._put(source, path, "")

    def place(self, session: Session, source: Path, staged: StagedFile, path: str) -> None:
        """Record the file, and keep the source as the copy on this machine."""
        placed = StagedFile(f"{self._name}/{path}", staged.key, staged.bytes, staged.sha256)
        tables.place(session, placed)
        self.copies.add(staged.key, source)
        after_commit(session, self._on_unused.set)

    def discard(self, staged: StagedFile) -> None:
        """Delete the object, immediately or by a later clean-up."""
        self.copies.remove(staged.key)
        try:
            self.store.delete(staged.key)
        except StoreError as error:
            log.warning("An object that is not needed stays: %s", error)

    def link(self, session: Session, sources: Mapping[str, Path]) -> None:
        """Record the objects of copies, or their members, also at other paths."""
        for path, source in sources.items():
            service, kind, name, *member = source.relative_to(self.copies.folder).parts
            key = f"{service}/{kind}/{name}"
            tables.link(session, key, "/".join(member), f"{self._name}/{path}")

    def forget(self, session: Session, paths: Collection[str]) -> None:
        """Remove the records; the objects are deleted after the commit."""
        tables.forget(session, {f"{self._name}/{path}" for path in paths})
        after_commit(session, self._on_unused.set)

    def copy_path(self, path: str, session: Session) -> Path:
        """Return the path of the copy, which need not exist."""
        file = self._find(path, session)
        return self._root / path if file is None else self.copies.path(file.key) / file.member

    def stage_folder(self, folder: Path, names: Sequence[str], path: str) -> StagedFile:
        """Store these files and folders in a folder as one object, and keep a copy.

        Raises:
            StoreError: it cannot be stored.
        """
        packed, copy = self.copies.partial(), self.copies.partial()
        try:
            cache.pack(folder, names, packed)
            staged = self._put(packed, path, ARCHIVE_SUFFIX)
            cache.link_files(folder, names, copy)
            self.copies.add(staged.key, copy)
        finally:
            packed.unlink(missing_ok=True)
        return staged

    def stage_result(self, source: Path, path: str) -> StagedFile:
        """Store a file of a task that has ended, and keep a copy.

        Raises:
            StoreError: it cannot be stored.
        """
        staged, copy = self._put(source, path, ""), self.copies.partial()
        cache.link_or_copy(source, copy)
        self.copies.add(staged.key, copy)
        return staged

    def materialize(self, path: str, target: Path) -> None:
        """Create links to the copy of a file or folder; `target` is replaced.

        Raises:
            StoreError: it cannot be fetched.
            FileNotFoundError: there is no such file, or the store has lost it.
        """
        source = self.local(path)
        remove_path(target)
        if source.is_dir():
            cache.link_files(source, ["."], target)
        else:
            cache.link_or_copy(source, target)

    def paths_below(self, path: str) -> list[str]:
        """Return the files of an entry with this path prefix, such as the inputs of a job."""
        start = f"{self._name}/{path}/"
        query = select(StoredFile.path).where(StoredFile.entry == tables.entry_of(start))
        with self._database.read() as session:
            found = [name for name in session.scalars(query) if name.startswith(start)]
        return sorted(name.removeprefix(f"{self._name}/") for name in found)

    def _find(self, path: str, session: Session | None) -> _Record | None:
        if session is None:
            with self._database.read(snapshot=False) as own:
                return self._find(path, own)
        row = session.execute(_RECORDS.where(StoredFile.path == f"{self._name}/{path}")).first()
        return None if row is None else _Record(*row)

    def _copy(self, file: _Record) -> Path:
        copy = self.copies.path(file.key)
        if not self.copies.use(file.key) and not self._is_lost(file.key):
            if self._database.is_writing:
                raise NotCachedError(file.path, partial(self._copy, file))
            with self._fetching:
                lock = self._locks.setdefault(file.key, threading.Lock())
            with lock:  # others wait for the fetched object
                if not self.copies.use(file.key) and not self._is_lost(file.key):
                    self._fetch(file)
        return copy / file.member if file.member else copy

    def _is_lost(self, key: str) -> bool:
        missed = self._lost.get(key)
        return missed is not None and time.monotonic() < missed + LOST_SECONDS

    def _fetch(self, file: _Record) -> None:
        fetched = self.copies.partial()
        try:
            try:
                self.store.get(file.key, fetched)
            except FileNotFoundError:
                log.error("The storage has lost the object %s of %s.", file.key, file.path)
                self._lost[file.key] = time.monotonic()
                return
            self._lost.pop(file.key, None)
            if _digest(fetched) != (file.bytes, file.sha256):
                raise StoreError(f"The object of {file.path} was not read as it was stored.")
            if file.key.endswith(ARCHIVE_SUFFIX):
                unpacked = self.copies.partial()
                cache.unpack(fetched, unpacked)
                self.copies.add(file.key, unpacked)
            else:
                self.copies.add(file.key, fetched)
        finally:
            fetched.unlink(missing_ok=True)

    def _put(self, source: Path, path: str, suffix: str) -> StagedFile:
        size, sha256 = _digest(source)
        kind = path.partition("/")[0]
        key = f"{self._name}/{kind}/{uuid4().hex}{suffix}"
        self.store.put(source, key)
        return StagedFile(f"{self._name}/{path}", key, size, sha256)


def _digest(file: Path) -> tuple[int, str]:
    with file.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256")
        return content.tell(), digest.hexdigest()
