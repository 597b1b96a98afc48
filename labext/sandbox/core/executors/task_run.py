"""A claimed task with its folders, its process and its outcome."""

from __future__ import annotations

import contextlib
import json
import signal
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from labext import messages
from labext.sandbox.core.data_folder import read_json, remove_path
from labext.sandbox.core.executors.task_process import DISK_FULL, EXIT_DISK_FULL
from labext.sandbox.core.file_storage.tables import StagedFile
from labext.sandbox.core.queue import Attempt, TaskOutcome
from labext.sandbox.core.task_transitions import ClaimedTask

MAX_RETRY_PAUSE = 60.0
"""Maximum seconds between two attempts to start a task or record its end while the disk is full,
and between two starts of a fork server that dies repeatedly."""


@dataclass
class TaskRun:
    """A claimed task whose end is not recorded yet.

    Attributes:
        is_remote: the task runs on a worker of the remote executor.
        is_lost: the worker has certainly ended it, and it must be queued again.
        launched: the executor was asked to start the process.
        has_begun: the process exists or has existed.
        is_recorded: the queue has recorded the start.
        began: when its existence was observed, on the monotonic clock.
        killed: why its process is being killed.
        over: the limit that it exceeded.
        refusal: the result of a task that must not start, regardless of its process.
        next_try, pause: when its start or its record is retried after a full disk.
        prepared, saved: the work on its files before its start and after its end, in a thread;
            None until it begins or if it must be repeated.
        is_saved: its results are stored, or will not be.
    """

    task: ClaimedTask
    scratch: Path
    work: Path
    is_remote: bool = False
    is_lost: bool = False
    launched: bool = False
    has_begun: bool = False
    is_recorded: bool = False
    began: float = 0.0
    deadline: float | None = None
    killed: str | None = None
    over: Literal["time", "memory"] | None = None
    refusal: TaskOutcome | None = None
    outcome: TaskOutcome | None = None
    next_try: float = 0.0
    pause: float = 1.0
    prepared: Future[None] | None = None
    saved: Future[Sequence[StagedFile]] | None = None
    is_saved: bool = False

    @property
    def is_saving(self) -> bool:
        """Whether the process has ended and its results are being stored."""
        return self.outcome is not None and not self.is_saved

    @property
    def attempt(self) -> Attempt:
        """Identifies the attempt to the queue."""
        return Attempt(self.task.id, self.task.attempt)

    @property
    def seconds(self) -> float:
        """For how long its process has run."""
        if self.outcome is not None:
            return self.outcome.seconds
        return time.monotonic() - self.began if self.has_begun else 0.0

    @property
    def started(self) -> float:
        """When its process began, in seconds since the epoch."""
        return time.time() - (time.monotonic() - self.began)

    def later(self) -> None:
        """Postpone the next attempt."""
        self.next_try = time.monotonic() + self.pause
        self.pause = min(2 * self.pause, MAX_RETRY_PAUSE)


def prepare_folders(run: TaskRun) -> None:
    """Create the scratch and working folders of a task, and its request."""
    for folder in (run.scratch, run.work):
        try:
            folder.mkdir(mode=0o700, parents=True)
        except FileExistsError:  # left by an earlier run
            remove_path(folder)
            folder.mkdir(mode=0o700)
    request = {"entry": run.task.kind.entry, "work": str(run.work), "payload": run.task.payload}
    (run.scratch / "request.json").write_text(json.dumps(request))


def outcome_of(run: TaskRun, event: Mapping[str, Any]) -> TaskOutcome:
    """Return the outcome of a task whose process has ended, from its exit code and report."""
    code, seconds = event["code"], event["seconds"]
    report = read_json(run.scratch / "report.json")
    if code == 0 and report.get("outcome") == "done":
        return TaskOutcome("done", result=report["result"], seconds=seconds)
    if run.killed is not None and code == -signal.SIGKILL:
        return TaskOutcome("stopped", run.killed, seconds=seconds, over=run.over)
    if event["over_memory"] and run.task.max_memory is not None:
        reason = f"The memory limit of {messages.format_size(run.task.max_memory)} was reached."
        return TaskOutcome("stopped", reason, seconds=seconds, over="memory")
    return TaskOutcome("failed", report.get("reason") or _describe_exit(code), seconds=seconds)


def _describe_exit(code: int) -> str:
    if code == EXIT_DISK_FULL:
        return DISK_FULL
    if code >= 0:
        return f"The tool's process ended with exit code {code} and without a result."
    with contextlib.suppress(ValueError):
        return f"The tool's process ended with signal {-code} ({signal.Signals(-code).name})."
    return f"The tool's process ended with signal {-code}."
