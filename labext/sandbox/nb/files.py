"""Paths of stored files, their removal, and file responses with byte ranges."""

from __future__ import annotations

import shutil
from collections.abc import Collection
from functools import partial
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse
from starlette.types import Message, Receive, Scope, Send

from labext.sandbox.core.data_folder import list_entries
from labext.sandbox.core.database import after_commit
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb.errors import bad_request
from labext.sandbox.nb.tables import COMPLETED, FAILED, Episode, Source

ORIGINALS = "originals"
"""The folder of uploaded files; every entry belongs to a source."""


def original_path(site: Site, identifier: str) -> Path:
    """The bytes of an upload."""
    return site.folder / ORIGINALS / _file_stem(identifier)


def work_folder(site: Site, identifier: str) -> Path:
    """Where the process of a source, or of what has another name, works."""
    return site.folder / "work" / _file_stem(identifier)


def incoming_folder(site: Site) -> Path:
    """Where uploads are written until they are whole."""
    return site.folder / "incoming"


def prepare_folders(site: Site) -> None:
    """Make the folders, and empty those for uploads and tasks that a kill has cut off."""
    for name in ("incoming", "work"):
        shutil.rmtree(site.folder / name, ignore_errors=True)
    for name in ("incoming", "work", ORIGINALS):
        (site.folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)


def orphaned_originals(site: Site) -> Collection[Path]:
    """Return the uploaded files that have no source."""
    with site.database.read() as session:
        uploads = session.scalars(select(Source.id).where(Source.kind == "upload"))
        kept = {original_path(site, identifier) for identifier in uploads}
    return list_entries(site.folder / ORIGINALS) - kept


def remove_originals_after_commit(
    session: Session, site: Site, identifiers: Collection[str]
) -> None:
    """Remove what is kept of sources, once the transaction that deletes them stands."""
    for identifier in identifiers:
        after_commit(session, partial(original_path(site, identifier).unlink, missing_ok=True))
        after_commit(
            session, partial(shutil.rmtree, work_folder(site, identifier), ignore_errors=True)
        )


def _file_stem(identifier: str) -> str:
    return identifier.rpartition(":")[2]


EPISODES = "episodes"
"""The folder of audio files; every entry belongs to an episode."""


def audio_name(identifier: str) -> str:
    """The sound of an episode as it is told: `episodes/n5skkax1bon24v7t4bg5.mp3`."""
    return f"{EPISODES}/{identifier.rpartition(':')[2]}.mp3"


def audio_path(site: Site, identifier: str) -> Path:
    """The sound of an episode."""
    return site.folder / audio_name(identifier)


def prepare_episodes(site: Site) -> None:
    """Make the folder, and mark completed episodes whose audio is missing as failed."""
    folder = site.folder / EPISODES
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with site.database.read() as session:
        completed = session.scalars(select(Episode.id).where(Episode.status == COMPLETED))
        lost = [identifier for identifier in completed if not audio_path(site, identifier).exists()]
    if lost:
        _mark_failed(site, lost)


def orphaned_episodes(site: Site) -> Collection[Path]:
    """Return the audio files that have no episode."""
    with site.database.read() as session:
        kept = {audio_path(site, identifier) for identifier in session.scalars(select(Episode.id))}
    return list_entries(site.folder / EPISODES) - kept


def remove_audio_after_commit(session: Session, site: Site, identifier: str) -> None:
    """Remove an episode's sound, once the transaction that deletes the episode stands."""
    after_commit(session, partial(audio_path(site, identifier).unlink, missing_ok=True))


def _mark_failed(site: Site, identifiers: list[str]) -> None:
    """Have these episodes made again when they are retried; their transcripts stay until then."""
    with site.database.write() as session:
        for identifier in identifiers:
            episode = session.get_one(Episode, identifier)
            episode.status, episode.reason = FAILED, "Its sound is no longer there; retry it."
            episode.duration = episode.size = None


class StoredFileResponse(FileResponse):
    """A file in pieces that a big one needs to be fast; one deleted before it is open is a 404.

    Args:
        path: the file.
        media_type: what it is said to be; no browser guesses otherwise.
        gone: the refusal where it is not there.
        filename: under which name a browser keeps it; None: it may play it.

    A part that can't be given is refused as anything else is, and a Range of another unit than
    bytes is ignored (RFC 9110, 14.2).

    Raises:
        HTTPException: `gone`; when it is served 400, the Range can't be read; 416, the file has no
            such part.
    """

    chunk_size = 1 << 20

    def __init__(
        self, path: Path, media_type: str, gone: HTTPException, filename: str | None = None
    ) -> None:
        try:
            found = path.stat()
        except OSError:
            raise gone from None
        super().__init__(
            path,
            filename=filename,
            media_type=media_type,
            headers={"X-Content-Type-Options": "nosniff"},
            stat_result=found,
        )
        self._gone, self._size = gone, found.st_size

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        begun: list[Message] = []
        scope["headers"] = [each for each in scope["headers"] if not _is_other_range_unit(*each)]

        async def once_open(message: Message) -> None:
            if message["type"] == "http.response.start":
                _check_status(message["status"], self._size)
                begun.append(message)
                return
            while begun:
                await send(begun.pop())
            await send(message)

        try:
            await super().__call__(scope, receive, once_open)
        except FileNotFoundError:
            if not begun:
                raise
            raise self._gone from None


def _is_other_range_unit(name: bytes, value: bytes) -> bool:
    return name == b"range" and value.partition(b"=")[0].strip().lower() != b"bytes"


def _check_status(status: int, size: int) -> None:
    """See that what begins is no refusal of the framework's, which is no JSON."""
    if status == 400:
        raise bad_request("The header Range can't be read.", "Send one such as bytes=0-499.")
    if status == 416:
        told = {"Content-Range": f"bytes */{size}"}
        raise HTTPException(416, f"There is no such part: the file has {size:,} bytes.", told)
