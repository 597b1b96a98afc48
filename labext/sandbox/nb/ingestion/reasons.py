"""Why a source can't be processed: one line that whoever added it understands."""

from __future__ import annotations

from labext.sandbox.runner import TaskError


class Unreadable(TaskError):
    """A source has no text that could be read; the message says why, and what to do."""
