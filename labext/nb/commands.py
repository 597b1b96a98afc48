"""Client methods for background commands, and the polling of a command."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from labext import messages
from labext.actions import Action
from labext.errors import InputError, JobFailedError
from labext.http.pagination import check_count
from labext.nb import views
from labext.nb.episode_generation import PHASE_OUTCOMES, parse_command_id, phase_of
from labext.nb.polling import Watch
from labext.nb.records import Record
from labext.nb.resource import Resource
from labext.progress import Outcome, Progress

if TYPE_CHECKING:
    import pandas as pd

RESULT_GRACE_SECONDS = 60.0
"""Seconds after the completion of a command in which its result has to appear."""

_NO_RESULT = "The service reports it as completed, but there is no result."


class CommandWatch(Watch):
    """Poll one command.

    Args:
        ask: requests the record of the command, with `status` and `error_message`.
        subject: the name to display.
        find_result: looks up the result, which may appear shortly after the completion and
            replaces the record; None if there is no result to wait for.
        stage: describes the progress from a record.
        clock: a monotonic clock.
    """

    def __init__(
        self,
        ask: Callable[[], Record],
        subject: str,
        *,
        find_result: Callable[[], Record | None] | None = None,
        stage: Callable[[Record], str] = lambda _: "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ask = ask
        self._subject = subject
        self._find_result = find_result
        self._stage = stage
        super().__init__(clock)
        self._completed: float | None = None

    def _request_snapshot(self) -> Progress:
        self.record = record = self._ask()
        phase = phase_of(record["status"])
        reason = str(record["error_message"] or "")
        if phase == "Complete" and self._find_result is not None:
            phase, reason = self._settled(self._find_result())
        outcome = PHASE_OUTCOMES.get(phase)
        return Progress(
            self._subject,
            "command",
            phase,
            outcome=outcome,
            reason=reason if outcome in (Outcome.FAILED, Outcome.STOPPED) else "",
            stage=self._stage(record) if outcome is None else "",
        )

    def _settled(self, result: Record | None) -> tuple[str, str]:
        """Return the phase and the reason for a completed command whose result may be late."""
        if result is not None:
            self.record = result
            return "Complete", ""
        now = self._clock()
        if self._completed is None:
            self._completed = now
        timed_out = now - self._completed >= RESULT_GRACE_SECONDS
        return ("Failed", _NO_RESULT) if timed_out else ("Running", "")

    def _failure_error(self, snapshot: Progress) -> JobFailedError:
        return command_error(snapshot)


def command_error(snapshot: Progress) -> JobFailedError:
    """Return the error for a command that failed or was canceled."""
    word = "was canceled" if snapshot.outcome is Outcome.STOPPED else "has failed"
    because = f": {snapshot.reason.rstrip('.')}" if snapshot.reason else ""
    return JobFailedError(
        f"{snapshot.subject} {word}{because}.", "Fix the cause, then run it again."
    )


class Commands(Resource):
    """`nb.commands`: background commands of the service."""

    def list(
        self, command: str | None = None, status: str | None = None, limit: int | None = None
    ) -> pd.DataFrame:
        """Return the reported commands, one per row; columns as `labext.nb.records.COMMAND`.

        Args:
            command: only commands of this kind, such as `process_source`.
            status: only commands with this status, such as `running`.
            limit: the maximum number of rows.
        """
        return views.command_frame(self.iter(command, status, limit))

    def iter(
        self, command: str | None = None, status: str | None = None, limit: int | None = None
    ) -> Iterator[Record]:
        """Yield commands' records; arguments as for `list`."""
        check_count("limit", limit)
        yield from self._run(self._backend.commands(command, status, limit))

    def kinds(self) -> pd.DataFrame:
        """Return the commands that the service supports, one per row."""
        return views.command_kind_frame(self._run(self._backend.command_kinds()))

    def get(self, job: str) -> Record:
        """Return one command's record.

        Args:
            job: its identifier, `command:…`.

        Raises:
            NotFoundError: there is no such command.
        """
        return self._run(self._backend.command(_command_id(job)))

    def run(self, command: str, arguments: Mapping[str, Any], app: str | None = None) -> Record:
        """Start a command; return its record.

        Args:
            command: the name of a command that `kinds` returns.
            arguments: the command's input, in the form that the service expects.
            app: the app that the command belongs to; looked up if omitted.

        Raises:
            InputError: there is no such command.
            OutcomeUnknownError: the response was lost; it may have started.
        """
        app = app or self.find_app(command)
        return self._run(self._backend.run_command(command, app, arguments))

    def find_app(self, command: str) -> str:
        """Return the app of a command; InputError if there is no such command."""
        kinds = self._run(self._backend.command_kinds())
        apps = [kind["app"] for kind in kinds if kind["command"] == command]
        if not apps:
            near = messages.did_you_mean(command, [str(kind["command"]) for kind in kinds])
            raise InputError(
                f"There is no command {messages.quote_value(command)}{near}.",
                action=Action.list_command_kinds(),
            )
        return str(apps[0])

    def cancel(self, job: str) -> Record:
        """Request the cancellation of a command; return its record after the request.

        The service accepts every request; the status of the record shows the effect.

        Raises:
            InputError: the command has already ended.
            NotFoundError: there is no such command.
        """
        now = self.get(job)
        if phase_of(now["status"]) in PHASE_OUTCOMES:
            raise InputError(
                f"The command {now['job_id']} has ended already: it is {now['status']}.",
                "There is nothing to cancel.",
            )
        self._run(self._backend.cancel_command(_command_id(job)))
        return self.get(job)

    def watch(
        self, job: str, subject: str | None = None, stop: threading.Event | None = None
    ) -> Iterator[Progress]:
        """Poll a command until it ends; yield a snapshot per poll and per tick.

        Args:
            job: its identifier.
            subject: the name to display.
            stop: stops watching; the command continues.

        Raises:
            NotFoundError: there is no such command.
        """
        return self._watcher(job, subject).watch(stop)

    def wait(self, job: str, timeout: float | None = None) -> Record:
        """Wait until a command is completed; return its record.

        Raises:
            JobFailedError: it failed, or was canceled.
            NotReadyError: it has not completed in time; it continues.
        """
        return self._watcher(job, None).wait(timeout)

    def _watcher(self, job: str, subject: str | None) -> CommandWatch:
        identifier = _command_id(job)
        return CommandWatch(lambda: self.get(identifier), subject or f"The command {identifier}")


def _command_id(job: str) -> str:
    """Return a command's identifier."""
    identifier = parse_command_id(job)
    if identifier is None:
        raise InputError(
            f"{messages.quote_value(job)} is not the identifier of a command.",
            "It looks like `command:abc123`; {action} lists them.",
            action=Action.list_commands(),
        )
    return identifier
