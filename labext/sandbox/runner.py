"""The process of one task."""

from __future__ import annotations


class TaskError(Exception):
    """A task can't be done, for a reason that its user can understand: one line."""
