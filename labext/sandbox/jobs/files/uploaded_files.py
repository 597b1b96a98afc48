"""Receive, list and delete the uploaded files of an account."""

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
from urllib.parse import quote

from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool

from labext.sandbox.core import postgresql
from labext.sandbox.core.file_storage.tables import StagedFile
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.core.signing import InvalidSignatureError
from labext.sandbox.jobs import schemas
from labext.sandbox.jobs.files import job_files
from labext.sandbox.jobs.limits import limit_value
from labext.sandbox.jobs.names import file_name_error, quote_value
from labext.sandbox.jobs.schemas import bad_request, forbidden, not_found
from labext.sandbox.jobs.tables import Account, UploadedFile, current_timestamp, used_storage

CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class Upload:
    """An upload that passed the checks of its name and size.

    Attributes:
        folder, name: the folder (may be empty) and name of the file.
    """

    account_id: int
    folder: str
    name: str
    max_bytes: int
    free_bytes: int = 0


def begin_upload(
    site: Site, account: Account, name: str, query: Mapping[str, str], length: str | None
) -> Upload:
    """Check an upload before its body is read."""
    folder = query.get("folder") or ""
    check_file_names(folder, name)
    return check_upload_size(site, account.id, folder, name, length)


def check_file_names(folder: str, name: str) -> None:
    """Raise 400 if the name of a file or of its folder is invalid; `folder` may be empty."""
    if error := file_name_error("filename", name) or (folder and file_name_error("folder", folder)):
        raise bad_request(error)


def file_path(folder: str, name: str) -> str:
    """Return the `filePath` of a file for `/delete-file`; `folder` may be empty."""
    return f"{folder}/{name}" if folder else name


def check_upload_size(
    site: Site, account_id: int, folder: str, name: str, length: str | None
) -> Upload:
    """Return the upload with its size limits; 400 if the Content-Length exceeds them."""
    with site.database.read() as session:
        account = session.get(Account, account_id)
        if account is None:
            raise forbidden("The account of this upload was removed.")
        upload = _with_limits(session, account, folder, name)
    if length is not None and length.isascii() and length.isdigit() and len(length) < 19:
        _check_total_size(upload, int(length))
    return upload


async def receive_upload(site: Site, upload: Upload, chunks: AsyncIterator[bytes]) -> str:
    """Receive the body and store it, replacing an earlier file; return the confirmation."""
    partial = job_files.incoming_folder(site) / uuid.uuid4().hex
    try:
        size, sha256 = await _write_chunks(upload, partial, chunks)
        await run_in_threadpool(_store_upload, site, upload, partial, size, sha256)
    finally:
        partial.unlink(missing_ok=True)
    return f"{file_path(upload.folder, upload.name)} uploaded ({size:,} bytes)."


def list_files(site: Site, account: Account, query: Mapping[str, str]) -> list[str]:
    """Return the names of the files in `folder`; by default of the files outside folders.

    With `includeFolders` the list starts with the folders, each with a trailing '/'.
    """
    folder = query.get("folder") or ""
    include_folders = schemas.query_flag(query, "includeFolders") and not folder
    with site.database.read() as session:
        rows = session.execute(
            select(UploadedFile.folder, UploadedFile.name)
            .where(UploadedFile.account_id == account.id)
            .order_by(UploadedFile.name)
        ).all()
    folders = sorted({row.folder for row in rows if row.folder}) if include_folders else []
    return [*(f"{name}/" for name in folders), *(r.name for r in rows if r.folder == folder)]


def list_folders(site: Site, account: Account) -> list[str]:
    """Return the sorted names of the account's folders; empty folders do not exist."""
    with site.database.read() as session:
        names = session.scalars(
            select(UploadedFile.folder)
            .where(UploadedFile.account_id == account.id, UploadedFile.folder != "")
            .distinct()
        )
        return sorted(names)


def delete_file(site: Site, account: Account, query: Mapping[str, str]) -> str:
    """Delete the file `filePath` (`name` or `folder/name`) or a `folder`; return a confirmation."""
    path, folder = query.get("filePath"), query.get("folder")
    if (path is None) == (folder is None):
        raise bad_request("Send either filePath or folder.")
    with site.database.write() as session:
        where = [UploadedFile.account_id == account.id]
        if path is not None:
            head, slash, tail = path.rpartition("/")
            names = [head, tail] if slash else [tail]
            where += [UploadedFile.folder == head, UploadedFile.name == tail]
        else:
            names = [folder or ""]
            where.append(UploadedFile.folder == folder)
        # An invalid name does not exist, and PostgreSQL refuses those with NUL characters.
        is_valid = not any(file_name_error("", name) for name in names)
        files = session.scalars(select(UploadedFile).where(*where)).all() if is_valid else []
        if not files:
            kind = "file" if path is not None else "folder"
            raise not_found(
                f"There is no {kind} {quote_value(path if path is not None else folder)}."
            )
        for file in files:
            session.delete(file)
        site.files.forget(session, [f"files/{file.id}" for file in files])
    for file in files:
        job_files.upload_path(site, file.id).unlink(missing_ok=True)
    if path is not None:
        return f"{path} is deleted."
    return f"{folder} is deleted with {len(files)} file{'' if len(files) == 1 else 's'}."


async def _write_chunks(
    upload: Upload, partial: Path, chunks: AsyncIterator[bytes]
) -> tuple[int, str]:
    """Write the body to disk in blocks of 1 MiB; return its size and SHA-256."""
    size = buffered_bytes = 0
    digest = hashlib.sha256()
    buffer: list[bytes] = []
    with partial.open("wb") as file:
        async for chunk in chunks:
            size += len(chunk)
            _check_total_size(upload, size)
            buffer.append(chunk)
            buffered_bytes += len(chunk)
            if buffered_bytes >= CHUNK_BYTES:
                await run_in_threadpool(_append_chunk, file, digest, b"".join(buffer))
                buffer, buffered_bytes = [], 0
        await run_in_threadpool(_finish_file, file, digest, b"".join(buffer))
    return size, digest.hexdigest()


def _append_chunk(file: BinaryIO, digest: hashlib._Hash, content: bytes) -> None:
    digest.update(content)
    file.write(content)


def _finish_file(file: BinaryIO, digest: hashlib._Hash, last_chunk: bytes) -> None:
    _append_chunk(file, digest, last_chunk)
    file.flush()
    os.fsync(file.fileno())


def _store_upload(site: Site, upload: Upload, partial: Path, size: int, sha256: str) -> None:
    """Store the upload under its name, replacing an earlier file; jobs have their own copies."""
    staged = site.files.stage(partial, "files")
    try:
        _save_upload(site, upload, partial, staged, size, sha256)
    except BaseException as error:
        if not postgresql.is_unreachable(error):  # else it may have been committed
            site.files.discard(staged)
        raise


def _save_upload(
    site: Site, upload: Upload, partial: Path, staged: StagedFile, size: int, sha256: str
) -> None:
    with site.database.write() as session:
        account = session.get(Account, upload.account_id)
        if account is None:
            raise forbidden("The account of this upload was removed.")
        _check_total_size(_with_limits(session, account, upload.folder, upload.name), size)
        previous = _find_file(session, upload)
        if previous is not None:
            session.delete(previous)
            session.flush()
            site.files.forget(session, [f"files/{previous.id}"])
        file = UploadedFile(
            account_id=upload.account_id,
            folder=upload.folder,
            name=upload.name,
            bytes=size,
            sha256=sha256,
            created=current_timestamp(),
        )
        session.add(file)
        session.flush()
        site.files.place(session, partial, staged, f"files/{file.id}")
    if previous is not None:
        job_files.upload_path(site, previous.id).unlink(missing_ok=True)


def _with_limits(session: Session, account: Account, folder: str, name: str) -> Upload:
    """Return the upload with its size limits."""
    upload = Upload(account.id, folder, name, limit_value(session, "upload_bytes"))
    previous = _find_file(session, upload)
    used = used_storage(session, account.id) - (0 if previous is None else previous.bytes)
    return replace(upload, free_bytes=max(account.storage_quota - used, 0))


def _find_file(session: Session, upload: Upload) -> UploadedFile | None:
    same = select(UploadedFile).filter_by(
        account_id=upload.account_id, folder=upload.folder, name=upload.name
    )
    return session.scalars(same).one_or_none()


def _check_total_size(upload: Upload, size: int) -> None:
    if size > upload.max_bytes:
        raise bad_request(f"File {upload.name} is larger than {upload.max_bytes:,} bytes.")
    if size > upload.free_bytes:
        raise bad_request(
            f"File {upload.name} is too large: {upload.free_bytes:,} bytes of the account's "
            "storage are left."
        )


UPLOAD_PREFIX = "/store"
UPLOAD_BUCKET = "uploads"


def create_upload_urls(site: Site, account: Account, body: bytes) -> dict[str, str]:
    """Return presigned URLs for a PUT and a HEAD of `filename` in the optional `folder`.

    The response is `{uploadUrl, headUrl, key, bucket}`; `key` is the `filePath` of `/delete-file`.
    """
    content = schemas.parse_body(body)
    name = schemas.require_text(content, "filename")
    folder = schemas.optional_text_field(content, "folder") or ""
    check_file_names(folder, name)
    key = file_path(folder, name)
    path = f"{UPLOAD_PREFIX}/{account.id}/{key}"
    with site.database.read() as session:
        seconds = limit_value(session, "url_seconds")
    put_query, head_query = (
        site.signer.presign(_signed_path(method, path), seconds) for method in ("PUT", "HEAD")
    )
    address = site.origin + quote(path)
    return {
        "uploadUrl": f"{address}?{put_query}",
        "headUrl": f"{address}?{head_query}",
        "key": key,
        "bucket": UPLOAD_BUCKET,
    }


def begin_presigned_upload(
    site: Site, path: str, query: Mapping[str, str], length: str | None
) -> Upload:
    """Check a presigned PUT before its body is read; 403 if the URL is invalid or expired."""
    return check_upload_size(site, *_signed_file(site, "PUT", path, query), length)


def presigned_headers(site: Site, path: str, query: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of a presigned HEAD; 404 if the file does not exist, 403 as for a PUT.

    The headers are the length, the upload time, and the SHA-256 as `ETag` and `Repr-Digest`
    (RFC 9530).
    """
    account_id, folder, name = _signed_file(site, "HEAD", path, query)
    with site.database.read() as session:
        file = _find_file(session, Upload(account_id, folder, name, 0))
    if file is None:
        raise not_found(f"There is no file {quote_value(name)}.")
    uploaded = datetime.fromisoformat(file.created)
    headers = {
        "Content-Length": str(file.bytes),
        "Last-Modified": format_datetime(uploaded, usegmt=True),
    }
    if file.sha256 is not None:
        encoded = base64.b64encode(bytes.fromhex(file.sha256)).decode()
        headers |= {"ETag": f'"{file.sha256}"', "Repr-Digest": f"sha-256=:{encoded}:"}
    return headers


def _signed_file(
    site: Site, method: str, path: str, query: Mapping[str, str]
) -> tuple[int, str, str]:
    """Return the account, folder and name of a presigned URL."""
    signed = _signed_path(method, f"{UPLOAD_PREFIX}/{path}")
    try:
        site.signer.check_presigned(signed, query.get("expires"), query.get("signature"))
    except InvalidSignatureError as error:
        raise forbidden(str(error)) from None
    account_id, _slash, key = path.partition("/")
    folder, _slash, name = key.rpartition("/")
    return int(account_id), folder, name


def _signed_path(method: str, path: str) -> str:
    """Return the signed text of an upload URL; result URLs sign the path only, see `job_files`."""
    return f"{method} {path}"
