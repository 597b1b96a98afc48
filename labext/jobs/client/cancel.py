"""Client methods that stop and delete jobs, batches and pipelines."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from labext.errors import InputError, NotFoundError, NotReadyError
from labext.jobs import identity, records
from labext.jobs.api import is_not_served
from labext.jobs.client.base import BaseClient
from labext.jobs.records import JobRecord
from labext.messages import pluralize

PartAction = Callable[[str, JobRecord], str]
"""Acts on one job or batch of the service, by its name and row; returns its message."""


class CancelMethods(BaseClient):
    """Stopping and deleting jobs."""

    def stop(self, name: str) -> str:
        """Stop a job, a batch or a pipeline; return the service's message.

        Raises:
            NotFoundError: there is none of that name.
        """
        return self._for_each_part(identity.check_name(name), self._stop_part, "stopped")

    def delete(self, name: str) -> str:
        """Delete a job, a batch or a pipeline with its data; return the service's message.

        Its records on this machine are deleted too; for a batch that was never sent, or is gone
        from the service, only these.

        Raises:
            NotFoundError: there is none of that name.
        """
        identity.check_name(name)
        try:
            message = self._for_each_part(
                name, lambda part, _: self._service.delete(part), "deleted"
            )
        except NotFoundError:
            if not self._journal.has(name):
                raise
            message = f"The service does not have {name}; its records on this machine were deleted."
        self._parts.forget(name)
        self._journal.forget(name)
        self._records.forget(name)
        return message

    def _stop_part(self, part: str, row: JobRecord) -> str:
        """Stop one; a rejection because it has already ended counts as success.

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

    def _for_each_part(self, name: str, act: PartAction, done: str) -> str:
        """Act on each existing part of a split batch, or on the one job or batch."""
        from labext.jobs.batch.merge_parts import find_rows

        rows = find_rows(self._service, self._parts, name)
        existing = {part: row for part, row in rows.items() if row}
        if list(existing) == [name]:
            return act(name, existing[name]) or f"{name} is {done}."
        results: dict[str, str] = {}
        for part, row in existing.items():
            try:
                results[part] = act(part, row) or f"{part} is {done}"
            except NotFoundError:  # deleted since it was looked up
                results[part] = f"{part} no longer exists"
        return f"{name}: {_merge_messages(results)}."


def _merge_messages(messages_by_part: Mapping[str, str]) -> str:
    """Return the messages of the parts, repeated ones merged into one."""
    alike: dict[str, list[str]] = {}
    for part, words in messages_by_part.items():
        alike.setdefault(words.rstrip(".").replace(part, ""), []).append(words.rstrip("."))
    sentences = []
    for same in alike.values():
        more = f", {pluralize(len(same) - 1, 'more part')} too" if len(same) > 1 else ""
        sentences.append(same[0] + more)
    return "; ".join(sentences)
