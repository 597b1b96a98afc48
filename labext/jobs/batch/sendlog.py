"""What became of a batch's parts, a line an event, in the order in which it happened.

A line is on disk before the next step is taken, so that after a kill at any moment the log says
of each part: it was not begun, it was sent and its answer is not known, it is there.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path

from labext.storage import storage_errors, sync_folder


class Event(Enum):
    """What may happen to a part."""

    SENDING = "sending"
    """It is about to be sent: from here on it may be on the service."""
    REFUSED = "refused"
    """It was sent, and surely is not there."""
    SENT = "sent"
    """The service has it, from here."""
    THERE = "there"
    """The service had the same under its name before it was sent from here."""


@dataclass(frozen=True)
class Sent:
    """What a log says.

    Attributes:
        begun: the parts that were sent, whatever came of it.
        sent: those that the service has confirmed, or was seen to have.
        there: those that the service had before.
        whole: whether every part was there in the end.
    """

    begun: frozenset[str] = frozenset()
    sent: frozenset[str] = frozenset()
    there: frozenset[str] = frozenset()
    whole: bool = False


_WHOLE = "whole"


class SendLog:
    """The log of one batch, in a file of its own."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def note(self, event: Event, part: str) -> None:
        """Add an event.

        Raises:
            StorageError: it can't be written.
        """
        self._add(event.value, part)

    def note_whole(self) -> None:
        """Note that every part is there.

        Raises:
            StorageError: it can't be written.
        """
        self._add(_WHOLE, True)

    def clear(self) -> None:
        """Remove the log."""
        with storage_errors(self._path):
            self._path.unlink(missing_ok=True)

    def read(self) -> Sent:
        """Return what it says; a line that can't be read says nothing.

        Raises:
            OSError: there is a log, and it can't be read.
        """
        try:
            lines = self._path.read_bytes().splitlines()
        except FileNotFoundError:
            return Sent()
        parts: dict[str, Event] = {}
        begun: set[str] = set()
        whole = False
        for line in lines:
            what, value = _event(line)
            if what == _WHOLE:
                whole = True
            elif what in _EVENTS and isinstance(value, str):
                event = parts[value] = Event(what)
                if event is Event.SENDING:
                    begun.add(value)
                    whole = False
                elif event is Event.REFUSED:
                    begun.discard(value)
        return Sent(
            frozenset(begun),
            frozenset(part for part, event in parts.items() if event is Event.SENT),
            frozenset(part for part, event in parts.items() if event is Event.THERE),
            whole,
        )

    def is_whole(self) -> bool:
        """Say whether every part was there in the end; False where the log can't be read."""
        try:
            return self.read().whole
        except OSError:
            return False

    def _add(self, what: str, value: str | bool) -> None:
        line = json.dumps({what: value, "at": datetime.now(UTC).isoformat(timespec="seconds")})
        with storage_errors(self._path):
            is_new = not self._path.exists()
            with open(
                self._path, "ab", opener=lambda path, flags: os.open(path, flags, 0o600)
            ) as out:
                # On a line of its own, whatever a kill has left of the one before.
                out.write(b"\n" + line.encode() + b"\n")
                out.flush()
                os.fsync(out.fileno())
            if is_new:
                sync_folder(self._path.parent)


_EVENTS = frozenset(event.value for event in Event)


def _event(line: bytes) -> tuple[str, object]:
    """Return what a line says: the event and its part; nothing of a line that was cut."""
    try:
        said = json.loads(line)
    except ValueError:
        return "", None
    if not isinstance(said, dict):
        return "", None
    return next(((key, value) for key, value in said.items() if key != "at"), ("", None))
