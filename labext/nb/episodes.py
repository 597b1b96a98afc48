"""The sound of an episode: whether there is one, and all of it, and what its file is called."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

from labext import wording
from labext.errors import JobFailedError, NotReadyError, ServiceError
from labext.nb.advice import parted
from labext.nb.records import Record

SILENT = "The service calls it completed, but it has no sound."

GOING = frozenset({"new", "queued", "submitted", "pending", "running", "processing"})
"""The service's words for an episode that is still being made, as far as they are known."""

_LONGEST = 200  # bytes of a file's name; a system takes 255, with what is put before and behind it


def has_sound(episode: Record) -> bool:
    """Say whether an episode's record tells of a sound that is not empty."""
    told = episode["audio_url"] or episode["audio_file"] or episode["audio_bytes"]
    return bool(told) and episode["audio_bytes"] != 0


def check_sound(episode: Record) -> None:
    """Raise why an episode has no sound, if the service tells that.

    Raises:
        NotReadyError: it is still being made.
        JobFailedError: it has failed, or is completed without one.
    """
    if has_sound(episode):
        return
    name, status = episode["name"] or episode["id"], str(episode["job_status"]).casefold()
    if status in GOING:
        stage = f" ({episode['stage']})" if episode["stage"] else ""
        raise NotReadyError(
            f"{wording.shown(name)} is still being made: {status}{stage}.",
            f"Wait for it: `%nb episodes wait {wording.quoted(name)}`.",
        )
    if status == "failed":
        raise failed(name, str(episode["error_message"] or ""))
    if status == "completed":
        raise failed(name, SILENT)


def check_whole(episode: Record, sound: Path) -> None:
    """Look whether what came is what the service told of; what is not is taken away.

    Raises:
        ServiceError: it is empty, or has not as many bytes as the episode.
    """
    size, told = sound.stat().st_size, episode["audio_bytes"]
    if size and (not isinstance(told, int) or size == told):
        return
    sound.unlink()
    of = f" of {told:,}" if isinstance(told, int) else ""
    raise ServiceError(
        f"The sound of {wording.shown(episode['name'] or episode['id'])} came with {size:,}{of} "
        "bytes.",
        "Try again; look at the service if it stays.",
    )


def failed(name: str, reason: str) -> JobFailedError:
    """Return the error of an episode that has failed: why, and the next step."""
    what, step = parted(reason or "the service gives no reason", "Mend the cause.")
    return JobFailedError(
        f"{wording.shown(name)} has failed: {what.rstrip('.')}.",
        f"{step.rstrip('.')}, then `%nb episodes retry {wording.quoted(name)}`.",
    )


def file_name(episode: Record) -> str:
    """Return the name of an episode's file: a bare one, whatever it is called."""
    stem = re.sub(r'[\x00-\x1f\x7f/\\<>:"|?*]+', "-", str(episode["name"] or ""))
    stem = stem.encode("utf-8", "replace")[:_LONGEST].decode("utf-8", "ignore").strip(" .-")
    told = PurePosixPath(str(episode["audio_file"] or "").replace("\\", "/")).suffix
    return (stem or "episode") + (told if re.fullmatch(r"\.\w{1,5}", told) else ".mp3")
