"""Client methods that read logs and list output files, also of unfinished jobs."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from labext import messages, progress
from labext.actions import Action
from labext.errors import InputError, LabextError, NotFoundError, NotReadyError, ServiceError
from labext.jobs import identity, records
from labext.jobs.api import is_not_served
from labext.jobs.client.list import ListMethods
from labext.jobs.output_kinds import view_label
from labext.progress import Outcome

if TYPE_CHECKING:
    import pandas as pd

LOG_FILE = "log.txt"
MAX_LOG_BYTES = 16 << 20
"""Maximum number of bytes read from a log; a longer log is truncated at the beginning."""


@dataclass(frozen=True)
class _LogPart:
    """Part of a log.

    Attributes:
        start, offset: positions of the first byte and after the last byte.
    """

    text: str
    start: int
    offset: int
    size: int
    is_active: bool

    @classmethod
    def parse(cls, answer: Any) -> _LogPart:
        """Parse a response; raise ServiceError if the response is invalid."""
        if isinstance(answer, Mapping):
            numbers = [answer.get(key) for key in ("start", "offset", "size")]
            text, running = answer.get("text"), answer.get("running")
            valid = all(type(number) is int and number >= 0 for number in numbers)
            if valid and isinstance(text, str) and isinstance(running, bool):
                start, offset, size = (int(number or 0) for number in numbers)
                return cls(text, start, offset, size, running)
        raise ServiceError("The service returned an invalid log.")


class LogMethods(ListMethods):
    """Read the logs and output files of jobs."""

    def log(self, name: str, *, email: str | None = None) -> str:
        """Return the log of a job in any state: the raw output of its tool so far.

        A log of more than 16 MiB is truncated at the beginning, with a note in its first line. If
        the service has no endpoint for logs, the `log.txt` in the results of a complete job is
        returned.

        Args:
            name: full name of a single job, such as `<batch>-<job>`.
            email: owner of the job, if it is a teammate's.

        Raises:
            NotFoundError: the job does not exist.
            InputError: `name` is a batch or a pipeline.
            NotReadyError: the job is not complete, and the service keeps no logs of unfinished
                jobs.
        """
        identity.check_name(name)
        try:
            part = self._log_part(name, email, 0)
        except LabextError as error:
            return self._archived_log(name, email, error)
        parts = [part.text]
        if part.size > MAX_LOG_BYTES:
            omitted = part.size - MAX_LOG_BYTES
            part = self._log_part(name, email, omitted)
            parts = [f"[The first {omitted:,} bytes of this log are omitted.]\n", part.text]
        end = part.size
        while part.offset < end and part.text:
            part = self._log_part(name, email, part.offset)
            parts.append(part.text)
        return "".join(parts)

    def follow_log(
        self, name: str, stop: threading.Event | None = None, email: str | None = None
    ) -> Iterator[str]:
        """Yield the log of a job in parts as it grows, until the job has ended.

        While there is no new text, an empty string is yielded four times per second, so that the
        caller can check for other events. If the service restarts the job, the new log is yielded
        after the old one.

        Args:
            name: name of a single job.
            stop: event that ends the iteration, but not the job.
            email: owner of the job, if it is a teammate's.

        Raises:
            NotFoundError, InputError, NotReadyError: as for `log`.
            ServiceError, BusyError, AccessError: the service did not respond to the first request,
                or for ten minutes, or denied access.
        """
        from labext.jobs.watch import OUTAGE_ERRORS

        identity.check_name(name)
        try:
            part = self._log_part(name, email, 0)
        except LabextError as error:
            yield self._archived_log(name, email, error)
            return
        yield part.text
        started = time.monotonic()
        outage = progress.Outage()
        while part.is_active or part.offset < part.size:
            if part.offset >= part.size or not part.text:
                now = time.monotonic()
                for _ in progress.ticks_until(now + progress.interval(now - started), stop):
                    yield ""
            if stop is not None and stop.is_set():
                return
            previous = part
            try:
                part = self._log_part(name, email, part.offset)
            except OUTAGE_ERRORS as error:
                outage.record_failure(error)
                part = replace(part, text="", is_active=True)
                continue
            outage.record_success()
            if part.text:
                yield part.text
            elif not part.is_active and part.offset == previous.offset:
                return

    def outputs(self, name: str, email: str | None = None) -> pd.DataFrame:
        """Return the files that a job has written so far, one row per file.

        Columns: file, bytes, modified (UTC) and view (the kind of viewer, such as `structure`,
        `table` or `map and gel`; missing if no viewer supports the file). `modified` is missing if
        the service only lists the files of complete jobs.

        Args:
            name: name of a single job, or of a complete batch or pipeline.
            email: owner of the job, if it is a teammate's.

        Raises:
            NotFoundError: the job does not exist.
            NotReadyError: the job is not complete, and the service does not list files of
                unfinished jobs.
        """
        from labext.frames.conversion import make_columns, records_to_frame
        from labext.jobs.frames import OUTPUTS

        identity.check_name(name)
        rows = [
            {"file": file, "bytes": size, "modified": modified, "view": view_label(file)}
            for file, size, modified in self._written_files(name, email)
        ]
        columns = make_columns(file="text", bytes="integer", modified="time", view="text")
        return OUTPUTS.show(records_to_frame(rows, columns))

    def read_output(self, name: str, file: str, email: str | None = None) -> bytes:
        """Return the content of one output file of a complete, failed or stopped job.

        Args:
            name: name of a single job, or of a complete batch or pipeline.
            file: path as listed by `outputs`.
            email: owner of the job, if it is a teammate's.

        Raises:
            NotFoundError: the job or file does not exist.
            NotReadyError: the job has not ended, or it is not complete and the service only keeps
                files of complete jobs.
        """
        identity.check_name(name)
        try:
            return self._service.output(name, file, email)
        except LabextError as error:
            refusal = error
        if isinstance(refusal, NotReadyError):
            raise refusal
        try:
            self._service.outputs(name, email)
        except LabextError as error:
            self._check_fallback(name, email, error, "files", parents=True)
            return self.read_result(name, file, email)
        if isinstance(refusal, NotFoundError):  # the endpoint exists, so the file is missing
            raise refusal.with_next_step(None, Action.list_outputs(name))
        raise refusal

    def _log_part(self, name: str, email: str | None, offset: int) -> _LogPart:
        return _LogPart.parse(self._service.log(name, offset, email))

    def _archived_log(self, name: str, email: str | None, refusal: LabextError) -> str:
        """Return the log in the results of a complete job, for services without log endpoint."""
        self._check_fallback(name, email, refusal, "logs")
        try:
            content = self.read_result(name, LOG_FILE, email)
        except NotFoundError:
            raise NotFoundError(
                f"The results of {name} have no {LOG_FILE}.",
                "{action} lists its files.",
                action=Action.list_outputs(name),
            ) from None
        return content.decode("utf-8", "replace")

    def _written_files(
        self, name: str, email: str | None
    ) -> list[tuple[str, int | None, str | None]]:
        try:
            answer = self._service.outputs(name, email)
        except LabextError as error:
            self._check_fallback(name, email, error, "files", parents=True)
            return [(file, size, None) for file, size in self.result_sizes(name, email).items()]
        files = answer.get("files") if isinstance(answer, Mapping) else None
        if not isinstance(files, list) or not all(
            isinstance(file, Mapping) and isinstance(file.get("path"), str) for file in files
        ):
            raise ServiceError("The service returned an invalid list of output files.")
        return [(file["path"], file.get("bytes"), file.get("modified")) for file in files]

    def _check_fallback(
        self,
        name: str,
        email: str | None,
        refusal: LabextError,
        noun: str,
        *,
        parents: bool = False,
    ) -> None:
        """Check that the results of a job can replace the response of a missing endpoint.

        The errors of a missing endpoint and a missing job are the same, so the row of the job is
        requested. With `parents`, the results of a batch or pipeline are accepted, too.
        """
        refused_parent = isinstance(refusal, InputError) and refusal.status == 400
        if not is_not_served(refusal) and not refused_parent:
            raise refusal
        row = self.job(name, email)
        if records.is_parent(row) and not (parents and records.outcome(row) is Outcome.COMPLETE):
            raise InputError(
                f"{name} is a {records.kind(row)}; {noun} are kept for each of its jobs.",
                "{action} lists them.",
                action=Action.list_jobs(name),
            ) from None
        if refused_parent and not records.is_parent(row):
            raise refusal
        if records.outcome(row) is not Outcome.COMPLETE:
            raise NotReadyError(
                f"This service keeps no {noun} of jobs that are not complete; "
                f"{name} is {messages.quote_value(records.phase(row))}.",
                "{action} shows its state.",
                action=Action.show_job(name),
            ) from None
