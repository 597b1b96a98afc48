"""Stop and delete jobs, batches and pipelines."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from labext.errors import InputError, NotFoundError, NotReadyError
from labext.jobs import records
from labext.jobs.api import JobsApi, is_not_served
from labext.jobs.batch.journal import Journal
from labext.jobs.batch.merge_parts import PartFinder, find_rows
from labext.jobs.input_files import ContentRecords
from labext.jobs.records import JobRecord
from labext.messages import pluralize

PartAction = Callable[[str, JobRecord], str]
"""Acts on one job or batch of the service, by its name and row; returns its message."""


class JobActions:
    """Stops and deletes on one service."""

    def __init__(
        self, service: JobsApi, parts: PartFinder, journal: Journal, contents: ContentRecords
    ) -> None:
        self._service = service
        self._parts = parts
        self._journal = journal
        self._contents = contents

    def stop(self, name: str) -> str:
        """Stop the job, batch or pipeline of a name; return the service's message."""
        return self._each(name, self._stop, "stopped")

    def delete(self, name: str) -> str:
        """Delete the job, batch or pipeline of a name, and its records on this machine.

        For a batch that was never sent, or is gone from the service, only the records are deleted.
        """
        try:
            message = self._each(name, lambda part, _: self._service.delete(part), "deleted")
        except NotFoundError:
            if not self._journal.has(name):
                raise
            message = (
                f"Nothing of {name} is on the service; what was recorded of it here is deleted."
            )
        self._parts.forget(name)
        self._journal.forget(name)
        self._contents.forget(name)
        return message

    def _stop(self, part: str, row: JobRecord) -> str:
        """Stop one; a refusal because it has already ended counts as success.

        A service may refuse to stop a job that does not run: one that has ended by itself, or the
        repeat of a stop whose response was lost.
        """
        try:
            return self._service.stop(part, batch=records.is_batch(row))
        except (InputError, NotReadyError) as error:
            now = None if is_not_served(error) else self._service.find(part)
            if now is None or records.outcome(now) is None:
                raise
            return f"{part} is already {records.phase(now)}."

    def _each(self, name: str, act: PartAction, done: str) -> str:
        """Act on each part of a split batch that is there, or on the one job or batch."""
        rows = find_rows(self._service, self._parts, name)
        existing = {part: row for part, row in rows.items() if row}
        if list(existing) == [name]:
            return act(name, existing[name]) or f"{name} is {done}."
        results = {part: self._act(part, row, act, done) for part, row in existing.items()}
        return f"{name}: {_merge_messages(results)}."

    def _act(self, part: str, row: JobRecord, act: PartAction, done: str) -> str:
        try:
            return act(part, row) or f"{part} is {done}"
        except NotFoundError:
            return f"{part} is not there any more"  # since it was looked up


def _merge_messages(messages_by_part: Mapping[str, str]) -> str:
    """Return the messages of the parts, repeated ones merged into one."""
    alike: dict[str, list[str]] = {}
    for part, words in messages_by_part.items():
        alike.setdefault(words.rstrip(".").replace(part, ""), []).append(words.rstrip("."))
    sentences = []
    for same in alike.values():
        more = f", {pluralize(len(same) - 1, 'more part')} likewise" if len(same) > 1 else ""
        sentences.append(same[0] + more)
    return "; ".join(sentences)
