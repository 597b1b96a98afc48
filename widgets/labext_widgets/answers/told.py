"""What has come of an answer so far.

Events are known by their fields, so that nothing of `labext.nb` is imported for a drawing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labext.nb.answers import Answer, Citation


@dataclass(frozen=True)
class Told:
    """What has come of an answer so far.

    Attributes:
        question: what was asked.
        reasoning: why the service searches for what it searches.
        searches: the terms it searches for.
        partials: what its searches say, each with its citations.
        answer: the final answer, once it is there.
        broken: why nothing more comes, where the stream ended before the answer did.
    """

    question: str
    reasoning: str = ""
    searches: tuple[str, ...] = ()
    partials: tuple[tuple[str, tuple[Citation, ...]], ...] = ()
    answer: Answer | None = None
    broken: str = ""

    def and_then(self, event: Any) -> Told:
        """Return what has come once an event of `labext.nb.answers` has."""
        if hasattr(event, "searches"):
            terms = tuple(each.term for each in event.searches)
            return replace(self, reasoning=event.reasoning, searches=(*self.searches, *terms))
        if hasattr(event, "answer"):
            return replace(self, answer=event.answer)
        return replace(self, partials=(*self.partials, (event.text, tuple(event.citations))))
