"""Paths of stored files, their removal, and file responses with byte ranges."""

from __future__ import annotations

import shutil
from collections.abc import Collection
from functools import partial
from pathlib import Path

from sqlalchemy import exists, select
from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope, Send

from labext.sandbox.core.data_folder import list_entries
from labext.sandbox.core.database import after_commit
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.core.web import DownloadResponse
from labext.sandbox.nb.errors import bad_request
from labext.sandbox.nb.tables import COMPLETED, FAILED, Episode, Source

ORIGINALS = "originals"
"""The folder of uploaded files; every entry belongs to a source."""


def original_name(identifier: str) -> str:
    """Return the relative path of an uploaded file: `originals/n5skkax1bon24v7t4bg5`."""
    return f"{ORIGINALS}/{_file_stem(identifier)}"


def work_folder(site: Site, identifier: str) -> Path:
    """Return the working folder of a task's process, named after an identifier."""
    return site.folder / "work" / _file_stem(identifier)


INCOMING = "incoming"
"""The folder of uploads in progress."""


def prepare_folders(site: Site) -> None:
    """Create the folders, and empty those of interrupted uploads and tasks."""
    # With an object store, all files in the service's folder are those of tasks.
    stored = (ORIGINALS, EPISODES) if site.files.is_remote else ()
    for name in (INCOMING, "work", *stored):
        shutil.rmtree(site.folder / name, ignore_errors=True)
    for name in (INCOMING, "work", ORIGINALS):
        (site.folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)


def remove_originals_after_commit(
    session: Session, site: Site, identifiers: Collection[str]
) -> None:
    """Remove the files of sources once the transaction that deletes them commits."""
    site.files.forget(session, [original_name(identifier) for identifier in identifiers])
    for identifier in identifiers:
        original = site.folder / original_name(identifier)
        after_commit(session, partial(original.unlink, missing_ok=True))
        after_commit(
            session, partial(shutil.rmtree, work_folder(site, identifier), ignore_errors=True)
        )


def _file_stem(identifier: str) -> str:
    return identifier.rpartition(":")[2]


EPISODES = "episodes"
"""The folder of audio files; every entry belongs to an episode."""


def audio_name(identifier: str) -> str:
    """Return the relative path of an episode's audio: `episodes/n5skkax1bon24v7t4bg5.mp3`."""
    return f"{EPISODES}/{_file_stem(identifier)}.mp3"


def audio_path(site: Site, identifier: str) -> Path:
    """Return the path of an episode's audio, which is fetched from an object store."""
    return site.files.local(audio_name(identifier))


_DRAFTS = "drafts"


def draft_folder(site: Site, identifier: str) -> Path:
    """Return the folder with the finished parts of an episode, which exists until it is completed.

    It is not part of a backup.
    """
    return site.folder / _DRAFTS / _file_stem(identifier)


def prepare_episodes(site: Site) -> None:
    """Make the folder, and mark completed episodes whose audio is missing as failed.

    Drafts of completed and deleted episodes are removed.
    """
    folder = site.folder / EPISODES
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with site.database.read() as session:
        completed = session.scalars(select(Episode.id).where(Episode.status == COMPLETED)).all()
        incomplete = session.scalars(select(Episode.id).where(Episode.status != COMPLETED))
        drafts = {draft_folder(site, identifier) for identifier in incomplete}
        names = {audio_name(identifier): identifier for identifier in completed}
        existing = site.files.existing(names, session)
        lost = [identifier for name, identifier in names.items() if name not in existing]
    for draft in list_entries(site.folder / _DRAFTS) - drafts:
        shutil.rmtree(draft, ignore_errors=True)
    if not lost:
        return
    with site.database.write() as session:
        for identifier in lost:
            episode = session.get_one(Episode, identifier)
            episode.status, episode.reason = FAILED, "The audio file no longer exists; retry it."
            episode.duration = episode.size = None  # the transcript is kept until the retry


def has_records(site: Site) -> bool:
    """Return whether there is an uploaded source, or an episode with audio."""
    audio = exists().where(Episode.status == COMPLETED)
    with site.database.read() as session:
        return bool(session.scalar(select(exists().where(Source.kind == "upload") | audio)))


def orphaned_files(site: Site) -> Collection[Path]:
    """Return uploaded files without a source, and audio files without an episode."""
    if site.files.is_remote:
        return []
    with site.database.read() as session:
        uploads = session.scalars(select(Source.id).where(Source.kind == "upload"))
        names = {
            *map(original_name, uploads),
            *map(audio_name, session.scalars(select(Episode.id))),
        }
    stored = list_entries(site.folder / ORIGINALS) | list_entries(site.folder / EPISODES)
    return stored - {site.folder / name for name in names}


def remove_audio_after_commit(session: Session, site: Site, identifier: str) -> None:
    """Remove an episode's audio once the transaction that deletes it commits."""
    site.files.forget(session, [audio_name(identifier)])
    audio = site.folder / audio_name(identifier)
    after_commit(session, partial(audio.unlink, missing_ok=True))
    remove_draft_after_commit(session, site, identifier)


def remove_draft_after_commit(session: Session, site: Site, identifier: str) -> None:
    """Remove the finished parts of an episode once the transaction commits."""
    folder = draft_folder(site, identifier)
    after_commit(session, partial(shutil.rmtree, folder, ignore_errors=True))


class StoredFileResponse(DownloadResponse):
    """A download with JSON errors for ranges: 400 if invalid, 416 if outside of the file.

    A range in other units than bytes is ignored (RFC 9110, 14.2).
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        scope["headers"] = [
            (name, value)
            for name, value in scope["headers"]
            if name != b"range" or value.partition(b"=")[0].strip().lower() == b"bytes"
        ]

        async def send_checked(message: Message) -> None:
            # The framework's own responses to invalid ranges are not JSON.
            if message.get("status") == 400:
                raise bad_request("The header Range is invalid.", "Send one such as bytes=0-499.")
            if message.get("status") == 416:
                raise HTTPException(
                    416,
                    f"The requested range is outside the file, which has {self.size:,} bytes.",
                    {"Content-Range": f"bytes */{self.size}"},
                )
            await send(message)

        await super().__call__(scope, receive, send_checked)
