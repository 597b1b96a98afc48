"""The records of files in an object store, changed in the transactions of their owners' rows.

Objects are immutable: new content has a new key, and a commit replaces the old one. Several paths
may have one key, such as an uploaded file and the input of a job, like hard links.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import Index, String, delete, insert, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from labext.sandbox.core.database import CoreBase, text_table


class StoredFile(CoreBase):
    """A file, or a folder packed as a tar archive, of a service.

    Attributes:
        path: its path in the data folder: `jobs/files/12`, `jobs/jobs/34/work`.
        entry: the first three parts of the path, which are deleted together.
        key: the object; that of a folder ends in `.tar`.
        member: the path inside the archive; "" for all of it.
        bytes, sha256: of the object.
    """

    __tablename__ = "stored_files"
    __table_args__ = (Index("stored_files_entry", "entry"), Index("stored_files_key", "key"))

    path: Mapped[str] = mapped_column(String(1000), primary_key=True)
    entry: Mapped[str] = mapped_column(String(200))
    key: Mapped[str] = mapped_column(String(200))
    member: Mapped[str] = mapped_column(String(1000), default="")
    bytes: Mapped[int]
    sha256: Mapped[str] = mapped_column(String(64))


class UnusedObject(CoreBase):
    """An object that no file refers to any more, until it is deleted."""

    __tablename__ = "unused_objects"

    key: Mapped[str] = mapped_column(String(200), primary_key=True)
    since: Mapped[float] = mapped_column(default=time.time)


class FileStorage(CoreBase):
    """The location of the files; without a row they are in the data folder.

    Attributes:
        storage: the identifier that is also in the store, which thereby serves one database.
        url: the address of the last start, without credentials.
    """

    __tablename__ = "file_storage"

    storage: Mapped[str] = mapped_column(String(40), primary_key=True)
    url: Mapped[str] = mapped_column(String(1000))


@dataclass(frozen=True)
class StagedFile:
    """An object that was stored and has no record yet.

    Attributes:
        path: the path that it will have.
        key, bytes, sha256: as those of the record.
    """

    path: str
    key: str
    bytes: int
    sha256: str


def entry_of(path: str) -> str:
    """Return the part of a path that is deleted as a whole."""
    return "/".join(path.split("/")[:3])


def place(session: Session, staged: StagedFile) -> None:
    """Record a stored file in the place of an earlier one at its path."""
    _record(session, staged.path, staged)


def discard(session: Session, staged: StagedFile) -> None:
    """Mark the object of a file without a record for deletion."""
    has_record = select(StoredFile.path).where(StoredFile.key == staged.key).limit(1)
    if session.scalar(has_record) is None:
        session.merge(UnusedObject(key=staged.key))


def link(session: Session, key: str, member: str, path: str) -> None:
    """Record an object, or a member of it, also at another path.

    Raises:
        FileNotFoundError: no path has the object any more.
    """
    source = session.scalars(select(StoredFile).where(StoredFile.key == key).limit(1)).first()
    if source is None:
        raise FileNotFoundError(path)
    _record(session, path, source, member)


def forget(session: Session, paths: Collection[str]) -> None:
    """Remove the records of files and of all below folders; their objects become unused.

    Each path has at least the three parts of an entry.
    """
    entries = text_table(sorted({entry_of(path) for path in paths}))
    chosen = select(StoredFile).where(StoredFile.entry.in_(select(entries.c.value)))
    removed = set(paths)
    files = [
        file
        for file in session.scalars(chosen)
        if file.entry in removed
        or any(file.path == path or file.path.startswith(f"{path}/") for path in removed)
    ]
    _forget(session, files)


def _record(session: Session, path: str, stored: StagedFile | StoredFile, member: str = "") -> None:
    """Record an object, or a member of it, in the place of an earlier one at a path."""
    _forget(session, session.scalars(select(StoredFile).where(StoredFile.path == path)).all())
    session.add(
        StoredFile(
            path=path,
            entry=entry_of(path),
            key=stored.key,
            member=member,
            bytes=stored.bytes,
            sha256=stored.sha256,
        )
    )
    session.flush()


def _forget(session: Session, files: Collection[StoredFile]) -> None:
    if not files:
        return
    keys = sorted({file.key for file in files})
    paths = text_table([file.path for file in files])
    for file in files:
        session.expunge(file)
    session.execute(delete(StoredFile).where(StoredFile.path.in_(select(paths.c.value))))
    values = text_table(keys)
    in_use = select(StoredFile.key).where(StoredFile.key.in_(select(values.c.value)))
    used = set(session.scalars(in_use.distinct()))
    unused = [{"key": key, "since": time.time()} for key in keys if key not in used]
    if unused:
        session.execute(insert(UnusedObject), unused)
