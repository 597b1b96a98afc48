"""Exception hierarchy: every error has a message and a next step."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any, Self

from labext.actions import Action
from labext.redaction import mask
from labext.sanitize import strip_control

if TYPE_CHECKING:
    import pandas as pd


class LabextError(Exception):
    """An error with a message and a next step.

    Attributes:
        message: one sentence, what happened.
        next_step: one sentence, what the user can do.
        action: the same as data, if it can be done with a client of labext.
        status: the HTTP status, if a service responded.
        method, path: the request, without host and query.
        server: the service's own message.

    Args:
        message: as the attribute.
        next_step: as the attribute; `{action}` in it stands for `action`, which alone is enough.
    """

    next_step = "Please report this, with the line that led to it."

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
    ) -> None:
        self.message = _one_line(message)
        self.action = action
        if next_step is not None or action is not None:
            self.next_step = _one_line(render_next_step(next_step, action))
        self.status = status
        self.method = method
        self.path = None if path is None else strip_control(mask(path))
        self.server = None if server is None else strip_control(mask(server))
        super().__init__(f"{self.message} {self.next_step}".rstrip())

    def about(self, subject: str) -> Self:
        """Return a copy of this error whose message starts with its subject."""
        return self._replaced(f"{subject}: {self.message}", self.next_step, self.action)

    def with_hint(self, sentence: str) -> Self:
        """Return this error with a further sentence behind its next step."""
        return self._replaced(self.message, f"{self.next_step} {sentence}", self.action)

    def with_next_step(self, sentence: str | None, action: Action | None = None) -> Self:
        """Return this error with another next step."""
        return self._replaced(self.message, render_next_step(sentence, action), action)

    def _replaced(self, message: str, next_step: str, action: Action | None) -> Self:
        error = copy(self)
        error.message, error.next_step = _one_line(message), _one_line(next_step)
        error.action = action
        error.args = (f"{error.message} {error.next_step}".rstrip(),)
        return error

    def __reduce__(self) -> tuple[object, ...]:
        """Let an error cross to another process with all it knows."""
        return type(self), (self.message, self.next_step), self.__dict__

    def _render_traceback_(self) -> list[str]:
        """One coloured line for IPython in place of a traceback."""
        return [
            f"\x1b[31m{type(self).__name__}:\x1b[0m {self.message} \x1b[1m{self.next_step}\x1b[0m"
        ]


def render_next_step(next_step: str | None, action: Action | None) -> str:
    """Return a next step in which `{action}` is rendered; the action alone is enough."""
    if action is None:
        return next_step or ""
    return action.sentence() if next_step is None else next_step.replace("{action}", str(action))


def _one_line(text: str) -> str:
    return " ".join(strip_control(mask(text)).split())


class SetupError(LabextError):
    """Something to install or to configure is missing."""


class SignInError(LabextError):
    """The service does not know the caller: a missing, wrong or expired key."""

    next_step = "Sign in again."


class AccessError(LabextError):
    """The service knows the caller and refuses: permission, budget or a flood."""

    next_step = "Ask the administrator of the service for access."


class InputError(LabextError, ValueError):
    """Something the user typed or passed has to change."""


class NotFoundError(InputError):
    """The requested object does not exist."""


class ConflictError(InputError):
    """The name is taken by something else."""


class InvalidJobsError(InputError):
    """Jobs of a batch would be refused; nothing was sent.

    Attributes:
        refused: makes the DataFrame of the jobs that would be, a row each: Name, Error and the
            input's columns.
    """

    def __init__(
        self,
        message: str,
        next_step: str | None = None,
        *,
        refused: Callable[[], pd.DataFrame] | None = None,
        **answer: Any,
    ) -> None:
        super().__init__(message, next_step, **answer)
        self.refused = refused


class NotReadyError(LabextError):
    """It is too early: the thing exists, but is not finished."""

    next_step = "Wait until it is finished."


class BusyError(LabextError):
    """The service asks to slow down (429)."""

    next_step = "Wait a little and try again."


class ServiceError(LabextError):
    """The service failed, or sent an invalid response."""

    next_step = "Look at the service, then try again."


class UnreachableError(ServiceError):
    """No service answers at the address, or the connection broke."""


class ResponseLimitError(ServiceError):
    """A response is larger or slower than allowed, or a list does not end."""

    next_step = "Ask for less: give a limit or a filter."


class OutcomeUnknownError(ServiceError):
    """A change was sent and its answer lost: it may or may not have been made."""


class JobFailedError(LabextError):
    """A watched job ended without being complete."""


class StorageError(LabextError, OSError):
    """The local disk is full, or the folder can't be written."""


class ArchiveError(LabextError):
    """A downloaded archive is damaged, or would write outside its folder."""


class WatchInterrupted(LabextError):
    """The user interrupted a watch; the watched job continues."""


class TransferInterrupted(LabextError):
    """The user interrupted a download; it is resumed from the received bytes the next time."""


class SubmissionInterrupted(LabextError):
    """The user interrupted the submission of a batch; sent parts stay, the rest can follow."""
