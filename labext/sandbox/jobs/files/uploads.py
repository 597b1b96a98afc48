"""An account's uploaded files: streamed to disk, listed, deleted.

Source: job service contract, PUT /upload/{filename}, GET /files, DELETE /delete-file. A file is
filed in one folder or in none; the names of folders are plain names.
"""

from __future__ import annotations

import base64
import hashlib
import os
import uuid
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from email.utils import format_datetime
from pathlib import Path
from typing import BinaryIO

from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool

from labext.sandbox.jobs import fields
from labext.sandbox.jobs.faults import absent, denied, invalid
from labext.sandbox.jobs.files import folders
from labext.sandbox.jobs.limits import limit
from labext.sandbox.jobs.names import file_fault, shown
from labext.sandbox.jobs.store import Account, UploadedFile, now, storage_used
from labext.sandbox.service import Site

CHUNK = 1 << 20


@dataclass(frozen=True)
class Upload:
    """An upload that may begin.

    Attributes:
        account_id: whose it is.
        folder, name: where it is filed; `folder` may be empty.
        most: bytes that any file may have.
        left: bytes that are left of the account's storage.
    """

    account_id: int
    folder: str
    name: str
    most: int
    left: int = 0


def begin(
    site: Site, account: Account, name: str, query: Mapping[str, str], length: str | None
) -> Upload:
    """Check all that is known before the content comes.

    Args:
        site: where it goes.
        account: the caller's.
        name: the file's name, decoded once.
        query: may hold `folder`.
        length: the Content-Length header.
    """
    folder = query.get("folder") or ""
    check_names(folder, name)
    return room(site, account.id, folder, name, length)


def check_names(folder: str, name: str) -> None:
    """Refuse a file that can't be filed under these names; `folder` may be empty."""
    if fault := file_fault("filename", name) or (folder and file_fault("folder", folder)):
        raise invalid(fault)


def path_of(folder: str, name: str) -> str:
    """A file as `/delete-file` calls it; `folder` may be empty."""
    return f"{folder}/{name}" if folder else name


def room(site: Site, account_id: int, folder: str, name: str, length: str | None) -> Upload:
    """How big this file may be; 400 if its Content-Length says that it is bigger."""
    with site.database.read() as session:
        account = session.get(Account, account_id)
        if account is None:
            raise denied("The account of this upload is gone.")
        upload = _room(session, account, folder, name)
    if length is not None and length.isascii() and length.isdigit() and len(length) < 19:
        _check_size(upload, int(length))
    return upload


async def receive(site: Site, upload: Upload, chunks: AsyncIterator[bytes]) -> str:
    """Write the content to disk as it comes, then file it in place of an older one. A message."""
    part = folders.incoming(site) / uuid.uuid4().hex
    try:
        size, sha256 = await _write(upload, part, chunks)
        await run_in_threadpool(_keep, site, upload, part, size, sha256)
    finally:
        part.unlink(missing_ok=True)
    return f"{path_of(upload.folder, upload.name)} uploaded ({size:,} bytes)."


def files(site: Site, account: Account, query: Mapping[str, str]) -> list[str]:
    """The names of the files in `folder`, or outside all folders.

    With `includeFolders` the folders come first, each with a '/' at its end.
    """
    folder = query.get("folder") or ""
    include = fields.flag(query, "includeFolders")
    with site.database.read() as session:
        rows = session.execute(
            select(UploadedFile.folder, UploadedFile.name)
            .where(UploadedFile.account_id == account.id)
            .order_by(UploadedFile.name)
        ).all()
    inner = sorted({row.folder for row in rows if row.folder}) if include and not folder else []
    return [*(f"{name}/" for name in inner), *(r.name for r in rows if r.folder == folder)]


def folder_names(site: Site, account: Account) -> list[str]:
    """The names of the account's folders, in order; a folder is there while it holds a file."""
    with site.database.read() as session:
        names = session.scalars(
            select(UploadedFile.folder)
            .where(UploadedFile.account_id == account.id, UploadedFile.folder != "")
            .distinct()
        )
        return sorted(names)


def headers(site: Site, account_id: int, folder: str, name: str) -> dict[str, str] | None:
    """Return the headers that describe a file, or None where there is none of that name.

    Its length, when it was uploaded, and its SHA-256 as `ETag` and as `Repr-Digest` (RFC 9530).
    """
    with site.database.read() as session:
        file = _named(session, Upload(account_id, folder, name, 0))
        if file is None:
            return None
        uploaded = datetime.fromisoformat(file.created)
        found = {
            "Content-Length": str(file.bytes),
            "Last-Modified": format_datetime(uploaded, usegmt=True),
        }
        if file.sha256 is not None:
            encoded = base64.b64encode(bytes.fromhex(file.sha256)).decode()
            found |= {"ETag": f'"{file.sha256}"', "Repr-Digest": f"sha-256=:{encoded}:"}
        return found


def delete_file(site: Site, account: Account, query: Mapping[str, str]) -> str:
    """Delete the file `filePath` (`name` or `folder/name`), or a whole `folder`. A message."""
    with site.database.write() as session:
        path, folder = query.get("filePath"), query.get("folder")
        if (path is None) == (folder is None):
            raise invalid("Send either filePath or folder.")
        where = [UploadedFile.account_id == account.id]
        if path is not None:
            head, slash, tail = path.rpartition("/")
            where += [UploadedFile.folder == head, UploadedFile.name == tail]
            if slash and not head:
                raise absent(f"There is no file {shown(path)}.")
        else:
            where.append(UploadedFile.folder == folder)
        gone = session.scalars(select(UploadedFile).where(*where)).all() if folder != "" else []
        if not gone:
            kind = "file" if path is not None else "folder"
            raise absent(f"There is no {kind} {shown(path if path is not None else folder)}.")
        for file in gone:
            session.delete(file)
    for file in gone:
        folders.upload_path(site, file.id).unlink(missing_ok=True)
    if path is not None:
        return f"{path} is deleted."
    return f"{folder} is deleted with {len(gone)} file{'' if len(gone) == 1 else 's'}."


async def _write(upload: Upload, part: Path, chunks: AsyncIterator[bytes]) -> tuple[int, str]:
    """Write what comes, a mebibyte at a time; return the number of bytes and their SHA-256."""
    size = held = 0
    digest = hashlib.sha256()
    waiting: list[bytes] = []
    with part.open("wb") as file:
        async for chunk in chunks:
            size += len(chunk)
            _check_size(upload, size)
            waiting.append(chunk)
            held += len(chunk)
            if held >= CHUNK:
                await run_in_threadpool(_append, file, digest, b"".join(waiting))
                waiting, held = [], 0
        await run_in_threadpool(_finish, file, digest, b"".join(waiting))
    return size, digest.hexdigest()


def _append(file: BinaryIO, digest: hashlib._Hash, content: bytes) -> None:
    digest.update(content)
    file.write(content)


def _finish(file: BinaryIO, digest: hashlib._Hash, rest: bytes) -> None:
    _append(file, digest, rest)
    file.flush()
    os.fsync(file.fileno())


def _keep(site: Site, upload: Upload, part: Path, size: int, sha256: str) -> None:
    """File the content under its name; jobs that were submitted with the older one keep theirs."""
    with site.database.write() as session:
        account = session.get(Account, upload.account_id)
        if account is None:
            raise denied("The account of this upload is gone.")
        _check_size(_room(session, account, upload.folder, upload.name), size)
        older = _named(session, upload)
        if older is not None:
            session.delete(older)
            session.flush()
        file = UploadedFile(
            account_id=upload.account_id,
            folder=upload.folder,
            name=upload.name,
            bytes=size,
            sha256=sha256,
            created=now(),
        )
        session.add(file)
        session.flush()
        part.replace(folders.upload_path(site, file.id))
    if older is not None:
        folders.upload_path(site, older.id).unlink(missing_ok=True)


def _room(session: Session, account: Account, folder: str, name: str) -> Upload:
    """How big this file may be."""
    upload = Upload(account.id, folder, name, limit(session, "upload_bytes"))
    older = _named(session, upload)
    used = storage_used(session, account.id) - (0 if older is None else older.bytes)
    return replace(upload, left=max(account.storage_quota - used, 0))


def _named(session: Session, upload: Upload) -> UploadedFile | None:
    return session.scalars(
        select(UploadedFile).where(
            UploadedFile.account_id == upload.account_id,
            UploadedFile.folder == upload.folder,
            UploadedFile.name == upload.name,
        )
    ).one_or_none()


def _check_size(upload: Upload, size: int) -> None:
    if size > upload.most:
        raise invalid(f"File {upload.name} is bigger than {upload.most:,} bytes.")
    if size > upload.left:
        raise invalid(
            f"File {upload.name} does not fit into the account's storage, of which "
            f"{upload.left:,} bytes are left."
        )
