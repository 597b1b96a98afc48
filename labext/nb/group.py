"""What the client's groups of methods have in common."""

from __future__ import annotations

from labext.nb.dialects.contract import Contract
from labext.nb.titles import Titles
from labext.nb.wire import Wire


class Group:
    """The methods about one kind of thing.

    Wherever a method takes a thing, it takes its identifier or its title. A title that fits
    nothing is a NotFoundError that tells a near one, one that fits several a ConflictError that
    lists them.
    """

    def __init__(self, wire: Wire, dialect: Contract, titles: Titles) -> None:
        self._wire = wire
        self._dialect = dialect
        self._titles = titles

    def _notebook(self, given: str | None) -> str | None:
        return None if given is None else self._titles.notebook(given)


UNCHANGED = "Give what is to be changed."
"""The next step where a change names nothing."""
