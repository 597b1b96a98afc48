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
"""Does something to one job or batch of the service, by its name and row; gives its words."""


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
        """Stop what is behind a name; return the service's words."""
        return self._each(name, self._stop, "stopped")

    def delete(self, name: str) -> str:
        """Delete what is behind a name, and what is recorded of it here.

        Of a batch that was never sent, or is gone from the service, that is the record alone.
        """
        try:
            said = self._each(name, lambda part, _: self._service.delete(part), "deleted")
        except NotFoundError:
            if not self._journal.has(name):
                raise
            said = f"Nothing of {name} is on the service; what was recorded of it here is deleted."
        self._parts.forget(name)
        self._journal.forget(name)
        self._contents.forget(name)
        return said

    def _stop(self, part: str, row: JobRecord) -> str:
        """Stop one; where that is refused for what has ended, it has ended.

        A service may refuse to stop what does not run: something that ended by itself, or the
        repeat of a stop whose answer was lost.
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
        found = find_rows(self._service, self._parts, name)
        there = {part: row for part, row in found.items() if row}
        if list(there) == [name]:
            return act(name, there[name]) or f"{name} is {done}."
        said = {part: self._act(part, row, act, done) for part, row in there.items()}
        return f"{name}: {_merge_messages(said)}."

    def _act(self, part: str, row: JobRecord, act: PartAction, done: str) -> str:
        try:
            return act(part, row) or f"{part} is {done}"
        except NotFoundError:
            return f"{part} is not there any more"  # since it was looked up


def _merge_messages(said: Mapping[str, str]) -> str:
    """Return what was said of each part, and what was said of many once."""
    alike: dict[str, list[str]] = {}
    for part, words in said.items():
        alike.setdefault(words.rstrip(".").replace(part, ""), []).append(words.rstrip("."))
    told = []
    for same in alike.values():
        more = f", {pluralize(len(same) - 1, 'more part')} likewise" if len(same) > 1 else ""
        told.append(same[0] + more)
    return "; ".join(told)
