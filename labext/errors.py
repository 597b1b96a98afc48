"""Exceptions of labext; each has a message and a next step."""

from __future__ import annotations

import sys
from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any, Self

from labext.actions import Action
from labext.redaction import mask, mask_line
from labext.sanitize import strip_control

if TYPE_CHECKING:
    import pandas as pd


class LabextError(Exception):
    """An error with a message and a next step.

    Attributes:
        message: one sentence that describes what happened.
        next_step: one sentence that describes what the user can do.
        action: the next step as data, if a client of labext can perform it.
        status: the HTTP status of the response that is the error; None for other errors, such as a
            lost connection or a name that no record of a list has.
        method, path: the method and the path of the request, without host and query.
        server: the service's own message.
        request_id: the ID of the request in the service's log, if it sent one (`X-Request-ID`).
        retry_after: the seconds that the service asked to wait (`Retry-After`), if it did.

    Args:
        message: as the attribute.
        next_step: as the attribute. The placeholder `{action}` is replaced by `action`; without a
            `next_step` the action is the next step.
    """

    next_step = "Report this error, with the command that caused it."

    def __init__(
        self,
        message: str,
        next_step: str | None = None,
        *,
        action: Action | None = None,
        status: int | None = None,
        method: str | None = None,
        path: str | None = None,
        server: str | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        self.message = mask_line(message)
        self.action = action
        if next_step is not None or action is not None:
            self.next_step = mask_line(render_next_step(next_step, action))
        self.status = status
        self.method = method
        self.path = None if path is None else strip_control(mask(path))
        self.server = None if server is None else strip_control(mask(server))
        self.request_id = request_id
        self.retry_after = retry_after
        super().__init__(f"{self.message} {self.next_step}".rstrip())

    def about(self, subject: str) -> Self:
        """Return a copy of this error with the subject as a prefix of its message."""
        return self._replaced(f"{subject}: {self.message}", self.next_step, self.action)

    def with_hint(self, sentence: str) -> Self:
        """Return a copy of this error with a sentence appended to its next step."""
        return self._replaced(self.message, f"{self.next_step} {sentence}", self.action)

    def with_next_step(self, sentence: str | None, action: Action | None = None) -> Self:
        """Return a copy of this error with another next step."""
        return self._replaced(self.message, render_next_step(sentence, action), action)

    def with_arguments(self, **arguments: str) -> Self:
        """Return a copy of this error with missing arguments of its action filled in."""
        if self.action is None:
            return self
        action = self.action.with_arguments(**arguments)
        next_step = self.next_step.replace(str(self.action), str(action))
        return self._replaced(self.message, next_step, action)

    def _replaced(self, message: str, next_step: str, action: Action | None) -> Self:
        error = copy(self)
        error.message, error.next_step = mask_line(message), mask_line(next_step)
        error.action = action
        error.args = (f"{error.message} {error.next_step}".rstrip(),)
        return error

    def __reduce__(self) -> tuple[object, ...]:
        """Support pickling with all attributes, to pass errors between processes."""
        return type(self), (self.message, self.next_step), self.__dict__

    def _render_traceback_(self) -> list[str]:
        """Return one line, which IPython displays instead of a traceback, in its colors."""
        name = f"{type(self).__name__}:"
        if _has_no_colors():
            return [f"{name} {self.message} {self.next_step}"]
        return [f"\x1b[31m{name}\x1b[0m {self.message} \x1b[1m{self.next_step}\x1b[0m"]


def _has_no_colors() -> bool:
    """Return True in an IPython that was started with `--colors=NoColor`."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython and hasattr(ipython, "get_ipython") else None
    return str(getattr(shell, "colors", "")).casefold() == "nocolor"


def render_next_step(next_step: str | None, action: Action | None) -> str:
    """Return a next step with `{action}` replaced; the rendered action if `next_step` is None."""
    if action is None:
        return next_step or ""
    return action.sentence() if next_step is None else next_step.replace("{action}", str(action))


class SetupError(LabextError):
    """A package or a part of the configuration is missing."""


class SignInError(LabextError):
    """The service rejected the credentials, which are missing, invalid or expired."""

    next_step = "Sign in again."


class AccessError(LabextError):
    """The service denied access: a permission is missing or a budget is exhausted."""

    next_step = "Ask the administrator of the service for access."


class InputError(LabextError, ValueError):
    """A value that the user typed or passed is invalid."""


class NotFoundError(InputError):
    """The requested object does not exist."""


class ConflictError(InputError):
    """A different object with the same name already exists."""


class InvalidJobsError(InputError):
    """A batch contains invalid jobs; nothing was sent.

    Attributes:
        refused: function that returns a DataFrame with one row per invalid job: Name, Error and the
            columns of the input.
    """

    def __init__(
        self,
        message: str,
        next_step: str | None = None,
        *,
        refused: Callable[[], pd.DataFrame] | None = None,
        **details: Any,
    ) -> None:
        super().__init__(message, next_step, **details)
        self.refused = refused


class NotReadyError(LabextError):
    """The requested object exists but is not finished."""

    next_step = "Wait until it is finished."


class BusyError(LabextError):
    """The rate limit of the service was exceeded (429)."""

    next_step = "Wait a moment, then try again."


class ServiceError(LabextError):
    """The service failed, or sent an invalid response."""

    next_step = "Check the service, then try again."


class UnreachableError(ServiceError):
    """No service responds at the address, or the connection was lost."""


class ResponseLimitError(ServiceError):
    """A response exceeds the size or time limit, or a list does not end."""

    next_step = "Request less: set a limit or a filter."


class OutcomeUnknownError(ServiceError):
    """The response to a change was lost; the change may or may not have been made.

    Attributes:
        reason: what happened to the last request; empty if unknown.
    """

    reason = ""


class JobFailedError(LabextError):
    """A watched job failed or was stopped."""


class StorageError(LabextError, OSError):
    """The local disk is full, or a file or folder is not writable."""


class ArchiveError(LabextError):
    """A downloaded archive is damaged, or contains unsafe paths."""


class WatchInterrupted(LabextError):
    """The user interrupted a watch; the watched job continues."""


class CommandInterrupted(LabextError, KeyboardInterrupt):
    """The user interrupted a line of a magic, or the display of its result."""


class TransferInterrupted(LabextError):
    """The user interrupted a download; the next download resumes it."""


class SubmissionInterrupted(LabextError):
    """The user interrupted the submission of a batch; the remaining parts can be resumed."""
