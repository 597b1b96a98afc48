"""Passages: pieces of a text of a size that can be embedded, found and cited."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Piece:
    """A piece of a text before it is stored; its text stands word for word in the whole.

    Attributes:
        page: of a file that has pages, from 1.
    """

    text: str
    page: int | None = None
