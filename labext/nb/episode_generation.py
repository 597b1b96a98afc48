"""Poll the generation of an episode and check its audio."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

from labext import messages
from labext.actions import Action
from labext.errors import JobFailedError, NotFoundError, NotReadyError, ServiceError
from labext.nb import polling
from labext.nb.backends import RequestExecutor
from labext.nb.backends.contract import ContractBackend
from labext.nb.error_messages import split_message
from labext.nb.polling import Watch
from labext.nb.records import Record
from labext.progress import Outcome, Progress

NO_AUDIO = "The service reports it as completed, but it has no audio."

_MAX_NAME_BYTES = 200  # file systems allow 255, including prefixes and suffixes added later


def has_audio(episode: Record) -> bool:
    """Return True if an episode's record refers to audio that is not empty."""
    location = episode["audio_url"] or episode["audio_file"] or episode["audio_bytes"]
    return bool(location) and episode["audio_bytes"] != 0


def check_audio(episode: Record) -> None:
    """Raise an error if an episode's status explains the missing audio.

    Raises:
        NotReadyError: the episode is still being generated.
        JobFailedError: the generation failed, or completed without audio.
    """
    if has_audio(episode):
        return
    name, status = episode["name"] or episode["id"], str(episode["job_status"]).casefold()
    if polling.is_in_progress(status):
        stage = f" ({episode['stage']})" if episode["stage"] else ""
        raise NotReadyError(
            f"{messages.quote_value(name)} is still being generated: {status}{stage}.",
            "Wait for it: {action}.",
            action=Action.wait_for_episode(name),
        )
    if status == "failed":
        raise episode_error(name, str(episode["error_message"] or ""))
    if status == "completed":
        raise episode_error(name, NO_AUDIO)


def verify_download(episode: Record, sound: Path) -> None:
    """Check the size of a downloaded file against the episode's record; delete it on a mismatch.

    Raises:
        ServiceError: the file is empty, or its size differs from the record.
    """
    size, expected = sound.stat().st_size, episode["audio_bytes"]
    if size and (not isinstance(expected, int) or size == expected):
        return
    sound.unlink()
    of = f" of {expected:,}" if isinstance(expected, int) else ""
    raise ServiceError(
        f"The download of {messages.quote_value(episode['name'] or episode['id'])} has "
        f"{size:,}{of} bytes.",
        "Try again; if it happens again, check the service.",
    )


def episode_error(name: str, reason: str) -> JobFailedError:
    """Return the error for a failed episode, or a failed job, with the reason and next step."""
    message, step = split_message(reason or "the service gives no reason", "Fix the cause.")
    then, action = "then {action}", Action.retry_episode(name)
    if parse_command_id(name):  # only an episode can be retried
        then, action = "then retry its episode, if {action} shows it", Action.list_episodes()
    return JobFailedError(
        f"{messages.quote_value(name)} has failed: {message.rstrip('.')}.",
        f"{step.rstrip('.')}, {then}.",
        action=action,
    )


def find_episode_of_job(executor: RequestExecutor, backend: ContractBackend, job: str) -> str:
    """Return the identifier of the episode that a job generates.

    Raises:
        NotReadyError: the service does not report it before the job ends.
        JobFailedError: the job failed, and the service does not report its episode.
        NotFoundError: there is no such job, or no episode of it.
    """
    record = executor.run(backend.podcast_job(job))
    identifier = episode_of_job(executor, backend, job, record)
    if identifier is not None:
        return identifier
    phase = phase_of(record["status"])
    if phase == "Failed":
        raise episode_error(job, str(record["error_message"] or ""))
    if polling.is_in_progress(record["status"]):
        raise NotReadyError(
            f"The episode of {job} is not known yet: the job is {phase.lower()}.",
            "Wait for it: {action}.",
            action=Action.wait_for_episode(job),
        )
    raise NotFoundError(f"There is no episode of {job}.", action=Action.list_episodes())


def episode_of_job(
    executor: RequestExecutor, backend: ContractBackend, job: str, record: Record
) -> str | None:
    """Return the identifier of a job's episode, if the job or the episodes' list has it."""
    if identifier := (record["result"] or {}).get("episode_id"):
        return str(identifier)
    episodes = executor.run(backend.episodes())
    return next((str(episode["id"]) for episode in episodes if episode["job_id"] == job), None)


def audio_file_name(episode: Record) -> str:
    """Return a safe file name for an episode's audio, without folders."""
    stem = re.sub(r'[\x00-\x1f\x7f/\\<>:"|?*]+', "-", str(episode["name"] or ""))
    stem = stem.encode("utf-8", "replace")[:_MAX_NAME_BYTES].decode("utf-8", "ignore").strip(" .-")
    suffix = PurePosixPath(str(episode["audio_file"] or "").replace("\\", "/")).suffix
    return (stem or "episode") + (suffix if re.fullmatch(r"\.\w{1,5}", suffix) else ".mp3")


_PHASES = {
    **dict.fromkeys(("new", "queued", "submitted", "pending"), "In Queue"),
    **dict.fromkeys(("running", "processing"), "Running"),
    "completed": "Complete",
    "failed": "Failed",
    **dict.fromkeys(("canceled", "cancelled", "stopped"), "Stopped"),
}
PHASE_OUTCOMES = {
    "Complete": Outcome.COMPLETE,
    "Failed": Outcome.FAILED,
    "Stopped": Outcome.STOPPED,
}
"""The outcome of ended work by its phase."""

_STAGE_UNITS = {"outline": "segment", "dialogue": "segment", "speech": "turn"}
"""Units of the progress count, by stage."""


def build_snapshot(
    name: str, status: str | None, record: Record, episode: Record | None
) -> Progress:
    """Return a progress snapshot of an episode.

    The record, of the job or the episode, has the stage, progress and error.
    """
    phase = phase_of(status)
    reason = str(record["error_message"] or "")
    if phase == "Complete" and (episode is None or not has_audio(episode)):
        phase, reason = "Failed", NO_AUDIO
    outcome = PHASE_OUTCOMES.get(phase)
    return Progress(
        str(name),
        "podcast",
        phase,
        outcome=outcome,
        reason=reason if outcome in (Outcome.FAILED, Outcome.STOPPED) else "",
        stage=_stage_text(record) if outcome is None else "",
    )


def phase_of(status: str | None) -> str:
    """Return the phase for a status; an unknown status is returned unchanged."""
    word = str(status or "unknown")
    return _PHASES.get(word.casefold(), word)


def _stage_text(record: Record) -> str:
    """Return the stage, such as `3 of 4: speech, turn 12 of 40`, or the service's own text."""
    progress_record = record["progress"]
    if progress_record is None:
        return str(record["stage"] or "")
    stages, stage = progress_record["stages"], progress_record["stage"]
    place = f"{stages.index(stage) + 1} of {len(stages)}: " if stage in stages else ""
    return f"{place}{stage}{_stage_count(progress_record)}"


def _stage_count(at: Record) -> str:
    """Return the progress count of a stage; empty if it is missing, inconsistent or trivial."""
    done, total = at["done"], at["total"]
    if done is None or total is None or total < 2 or done > total:
        return ""
    unit = f"{_STAGE_UNITS[at['stage']]} " if at["stage"] in _STAGE_UNITS else ""
    return f", {unit}{done:,} of {total:,}"


_EPISODE_DELETED = "It was deleted."
_JOB_GONE = (
    "The service no longer knows its job: the episode was deleted, or is generated by another job."
)


class EpisodeWatch(Watch):
    """Poll an episode, with its transcript, by its own identifier or that of its job."""

    def __init__(
        self,
        executor: RequestExecutor,
        backend: ContractBackend,
        name: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(clock)
        self._executor = executor
        self._backend = backend
        self._target = name
        self._is_job = parse_command_id(name) is not None

    def watch(
        self, stop: threading.Event | None = None, sleep: Callable[[float], None] = time.sleep
    ) -> Iterator[Progress]:
        """Poll until the generation ends; `reason` contains the likely cause of a stall."""
        for snapshot in super().watch(stop, sleep):
            if snapshot.outcome is None and not snapshot.reason:
                base_url = self._executor.http.base_url
                hint = polling.episode_hint(snapshot.phase, snapshot.unchanged, base_url)
                yield replace(snapshot, reason=hint)
            else:
                yield snapshot

    def _request_snapshot(self) -> Progress:
        if not self._is_job:
            self.record = record = self._executor.run(self._backend.episode(self._target))
            name, status = record["name"], record["job_status"]
            return build_snapshot(name or self._target, status, record, record)
        job = self._executor.run(self._backend.podcast_job(self._target))
        if self._last is None or phase_of(job["status"]) == "Complete":
            self.record = self._find_episode(job)
        name = None if self.record is None else self.record["name"]
        return build_snapshot(name or self._target, job["status"], job, self.record)

    def _missing_snapshot(self, error: NotFoundError, last: Progress) -> Progress:  # noqa: ARG002
        reason = _JOB_GONE if self._is_job else _EPISODE_DELETED
        return replace(last, phase="Deleted", stage="", reason=reason, outcome=Outcome.STOPPED)

    def _failure_error(self, snapshot: Progress) -> JobFailedError:
        if snapshot.outcome is Outcome.STOPPED:
            return JobFailedError(
                f"{snapshot.subject} will not be generated. {snapshot.reason or 'It was stopped.'}",
                "Generate it again: {action}.",
                action=Action.generate_episode(snapshot.subject),
            )
        return episode_error(snapshot.subject, snapshot.reason)

    def _find_episode(self, job: Record) -> Record | None:
        """Return the episode of a job, if the service knows it."""
        identifier = episode_of_job(self._executor, self._backend, self._target, job)
        if identifier is None:
            return None
        try:
            return self._executor.run(self._backend.episode(identifier))
        except NotFoundError:
            return None


def parse_command_id(text: str) -> str | None:
    """Return the text if it is the identifier of a job, else None."""
    name = text.strip() if isinstance(text, str) else ""
    return name if re.fullmatch(r"command:[^\s/]+", name) else None
