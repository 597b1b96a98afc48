"""An answer as a user holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labext.wording import count, shown
from labext_widgets.answers import surfaces, words
from labext_widgets.answers.told import Told
from labext_widgets.front import front_end, this_run
from labext_widgets.markup import plain

if TYPE_CHECKING:
    from labext.nb.answers import Answer, Citation


def answered(answer: Answer) -> AnswerView:
    """Return the view of a finished answer (`labext.nb.answers.Answer`); a cell shows it."""
    return AnswerView(Told(answer.question, answer=answer))


class AnswerView:
    """An answer with its citations. A cell that ends with it shows it, once.

    Attributes:
        answer: the answer as the client gave it.
    """

    def __init__(self, told: Told, drawn_in: object = None) -> None:
        assert told.answer is not None
        self.answer: Answer = told.answer
        self._told = told
        self._drawn_in = drawn_in  # the run of a cell that shows it already

    @property
    def text(self) -> str:
        """The answer; it marks what it cites as `[source:…]` or `[note:…]`."""
        return self.answer.text

    @property
    def citations(self) -> tuple[Citation, ...]:
        """Where the answer has something from."""
        return tuple(self.answer.citations)

    @property
    def question(self) -> str:
        """What was asked."""
        return self._told.question

    def __repr__(self) -> str:
        """One line: the question, and how much is cited."""
        of = f"{shown(plain(self.question))}, " if self.question else ""
        return f"<AnswerView {of}{count(len(self.citations), 'citation')}>"

    def __str__(self) -> str:
        """The answer with numbers for its marks, and its citations below it."""
        return words.whole(self.answer)

    def _ipython_display_(self, **_: Any) -> None:
        if self._drawn_in is None or self._drawn_in != this_run():
            surfaces.surface_for(front_end()).finish(self._told)
