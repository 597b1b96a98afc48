"""Stopping and deleting; of a split batch every part."""

from __future__ import annotations

from collections.abc import Callable

from labext.errors import NotFoundError
from labext.jobs.journal import Journal
from labext.jobs.lookup import resolve
from labext.jobs.parts import Parts
from labext.jobs.service import Service


class Actions:
    """Stops and deletes on one service."""

    def __init__(self, service: Service, parts: Parts, journal: Journal) -> None:
        self._service = service
        self._parts = parts
        self._journal = journal

    def stop(self, name: str) -> str:
        """Stop what is behind a name; return the service's words."""
        return self._each(name, self._service.stop, "stopped")

    def delete(self, name: str) -> str:
        """Delete what is behind a name, and what is recorded of it here."""
        said = self._each(name, self._service.delete, "deleted")
        self._parts.forget(name)
        self._journal.forget(name)
        return said

    def _each(self, name: str, act: Callable[[str], str], done: str) -> str:
        """Act on each part of a split batch that is there, or on the one job or batch."""
        there = [part for part, row in resolve(self._service, self._parts, name).items() if row]
        if there == [name]:
            return act(name) or f"{name} is {done}."
        said = [self._act(part, act, done) for part in there]
        return f"{name}: " + "; ".join(words.rstrip(".") for words in said) + "."

    def _act(self, part: str, act: Callable[[str], str], done: str) -> str:
        try:
            return act(part) or f"{part} is {done}"
        except NotFoundError:
            return f"{part} is not there any more"  # since it was looked up
