"""The client's methods for what the service does in the background."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from labext.errors import InputError
from labext.nb.beyond.following import ENDS, Followed
from labext.nb.group import Group
from labext.nb.making import job_id
from labext.nb.records import Record
from labext.nb.snapshots import phase
from labext.progress import Progress

if TYPE_CHECKING:
    import pandas as pd


class Commands(Group):
    """`nb.commands`: what the service does in the background."""

    def list(
        self, command: str | None = None, status: str | None = None, limit: int | None = None
    ) -> pd.DataFrame:
        """Return commands, a row each, as far as the service tells of them; columns as `COMMAND`.

        Args:
            command: only of this kind: `process_source`.
            status: only in this state: `running`.
            limit: rows at most.
        """
        from labext.nb.beyond.views import commands

        return commands(self.iter(command, status, limit))

    def iter(
        self, command: str | None = None, status: str | None = None, limit: int | None = None
    ) -> Iterator[Record]:
        """Yield commands' records; arguments as for `list`."""
        yield from self._wire.run(self._dialect.commands(command, status, limit))

    def kinds(self) -> pd.DataFrame:
        """Return the commands that the service knows, a row each."""
        from labext.nb.beyond.views import kinds

        return kinds(self._wire.run(self._dialect.command_kinds()))

    def get(self, job: str) -> Record:
        """Return one command's record.

        Args:
            job: its identifier, `command:…`.

        Raises:
            NotFoundError: there is no such command.
        """
        return self._wire.run(self._dialect.command(_job(job)))

    def run(self, command: str, given: Mapping[str, Any], app: str | None = None) -> Record:
        """Begin a command; return its record.

        Args:
            command: which one, of those that `kinds` returns.
            given: what it works with, as the service wants it.
            app: whose it is; found out by default.

        Raises:
            InputError: there is no such command.
            OutcomeUnknownError: the answer was lost; it may have begun.
        """
        from labext import wording

        if app is None:
            every = self._wire.run(self._dialect.command_kinds())
            found = [each["app"] for each in every if each["command"] == command]
            if not found:
                near = wording.did_you_mean(command, [str(each["command"]) for each in every])
                raise InputError(
                    f"There is no command {wording.shown(command)}{near}.",
                    "`%nb commands kinds` lists them.",
                )
            app = str(found[0])
        return self._wire.run(self._dialect.run_command(command, app, given))

    def cancel(self, job: str) -> Record:
        """Ask for a command to be canceled; return its record as it is after that.

        The service says yes whatever becomes of it: the record's status tells.

        Raises:
            InputError: it is over already.
            NotFoundError: there is no such command.
        """
        now = self.get(job)
        if phase(now["status"]) in ENDS:
            raise InputError(
                f"The command {now['job_id']} is over already: it is {now['status']}.",
                "There is nothing to cancel.",
            )
        self._wire.run(self._dialect.cancel_command(_job(job)))
        return self.get(job)

    def watch(
        self, job: str, subject: str | None = None, stop: threading.Event | None = None
    ) -> Iterator[Progress]:
        """Look at a command until it is over; yield what is seen, and ticks.

        Args:
            job: its identifier.
            subject: what the user knows it by.
            stop: ends the watching, not the command.

        Raises:
            NotFoundError: there is no such command.
        """
        return self._followed(job, subject).watch(stop)

    def wait(self, job: str, timeout: float | None = None) -> Record:
        """Wait until a command is completed; return its record.

        Raises:
            JobFailedError: it has failed, or was canceled.
            NotReadyError: it is not completed in time; it goes on.
        """
        followed = self._followed(job, None)
        followed.wait(timeout)
        assert followed.record is not None
        return followed.record

    def _followed(self, job: str, subject: str | None) -> Followed:
        found = _job(job)
        return Followed(lambda: self.get(found), subject or f"The command {found}")


def _job(given: str) -> str:
    """Return a command's identifier."""
    from labext import wording

    found = job_id(given)
    if found is None:
        raise InputError(
            f"{wording.shown(given)} is no command's identifier.",
            "It looks like `command:abc123`; `%nb commands` lists them.",
        )
    return found
