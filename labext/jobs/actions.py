"""Stopping and deleting; of a split batch every part."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from labext.errors import InputError, NotFoundError, NotReadyError
from labext.jobs import rows
from labext.jobs.answers import not_served
from labext.jobs.batch.journal import Journal
from labext.jobs.batch.parts import Parts
from labext.jobs.input_content import ContentRecords
from labext.jobs.lookup import resolve
from labext.jobs.rows import Row
from labext.jobs.service import Service
from labext.wording import count

Act = Callable[[str, Row], str]
"""Does something to one job or batch of the service, by its name and row; gives its words."""


class Actions:
    """Stops and deletes on one service."""

    def __init__(
        self, service: Service, parts: Parts, journal: Journal, contents: ContentRecords
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

    def _stop(self, part: str, row: Row) -> str:
        """Stop one; where that is refused for what has ended, it has ended.

        A service may refuse to stop what does not run: something that ended by itself, or the
        repeat of a stop whose answer was lost.
        """
        try:
            return self._service.stop(part, batch=rows.is_batch(row))
        except (InputError, NotReadyError) as error:
            now = None if not_served(error) else self._service.find(part)
            if now is None or rows.outcome(now) is None:
                raise
            return f"{part} is already {rows.phase(now)}."

    def _each(self, name: str, act: Act, done: str) -> str:
        """Act on each part of a split batch that is there, or on the one job or batch."""
        found = resolve(self._service, self._parts, name)
        there = {part: row for part, row in found.items() if row}
        if list(there) == [name]:
            return act(name, there[name]) or f"{name} is {done}."
        said = {part: self._act(part, row, act, done) for part, row in there.items()}
        return f"{name}: {_folded(said)}."

    def _act(self, part: str, row: Row, act: Act, done: str) -> str:
        try:
            return act(part, row) or f"{part} is {done}"
        except NotFoundError:
            return f"{part} is not there any more"  # since it was looked up


def _folded(said: Mapping[str, str]) -> str:
    """Return what was said of each part, and what was said of many once."""
    alike: dict[str, list[str]] = {}
    for part, words in said.items():
        alike.setdefault(words.rstrip(".").replace(part, ""), []).append(words.rstrip("."))
    told = []
    for same in alike.values():
        more = f", {count(len(same) - 1, 'more part')} likewise" if len(same) > 1 else ""
        told.append(same[0] + more)
    return "; ".join(told)
