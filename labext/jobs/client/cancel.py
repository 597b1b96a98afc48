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
"""Operation on one job or batch, given its name and row; returns the service's message."""


class CancelMethods(BaseClient):
    """Stop and delete jobs."""

    def stop(self, name: str) -> str:
        """Stop a job, a batch or a pipeline; return the service's message.

        Raises:
            NotFoundError: no job, batch or pipeline has this name.
        """
        return self._for_each_part(identity.check_name(name), self._stop_part, "stopped")

    def delete(self, name: str) -> str:
        """Delete a job, a batch or a pipeline with its data; return the service's message.

        The records on this machine are deleted too, also those of a batch that does not exist on
        the service.

        Raises:
            NotFoundError: no job, batch or pipeline has this name.
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
        """Stop a job or batch; succeed if it has already ended.

        A service may reject the request if the job has ended: by itself, or by an earlier request
        whose response was lost.
        """
        try:
            return self._service.stop(part, batch=records.is_batch(row))
        except (InputError, NotReadyError) as error:
            current = None if is_not_served(error) else self._service.find(part)
            if current is None or records.outcome(current) is None:
                raise
            return f"{part} is already {records.phase(current)}."

    def _for_each_part(self, name: str, operation: PartAction, participle: str) -> str:
        """Run an operation on each existing part of a split batch, or on a single job or batch."""
        from labext.jobs.batch.merge_parts import find_rows

        rows = find_rows(self._service, self._parts, name)
        existing = {part: row for part, row in rows.items() if row}
        if list(existing) == [name]:
            return operation(name, existing[name]) or f"{name} is {participle}."
        results: dict[str, str] = {}
        for part, row in existing.items():
            try:
                results[part] = operation(part, row) or f"{part} is {participle}"
            except NotFoundError:  # deleted after the lookup
                results[part] = f"{part} no longer exists"
        return f"{name}: {_merge_messages(results)}."


def _merge_messages(messages_by_part: Mapping[str, str]) -> str:
    """Return the messages of the parts, with identical messages merged."""
    groups: dict[str, list[str]] = {}
    for part, message in messages_by_part.items():
        groups.setdefault(message.rstrip(".").replace(part, ""), []).append(message.rstrip("."))
    sentences = []
    for group in groups.values():
        more = f", {pluralize(len(group) - 1, 'more part')} too" if len(group) > 1 else ""
        sentences.append(group[0] + more)
    return "; ".join(sentences)
