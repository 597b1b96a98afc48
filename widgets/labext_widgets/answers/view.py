"""Display an answer while it streams, and as an object afterwards."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from labext.errors import LabextError, ServiceError, WatchInterrupted
from labext.messages import pluralize, quote_value
from labext_widgets.answers import static_view, text
from labext_widgets.answers.text import AnswerState, render_answer
from labext_widgets.core.display import display_html
from labext_widgets.core.front_end import FrontEnd, current_execution, front_end
from labext_widgets.core.markup import UNTYPESET, plain

if TYPE_CHECKING:
    from labext.nb.records import Answer, AskEvent, Citation

SAVED = 2.0
"""Seconds at least between two saved pictures while an answer comes.

In the first seconds there is no such limit: the live view may not be on the page yet.
"""


class Surface(Protocol):
    """What an answer is drawn on."""

    def show(self, told: AnswerState) -> None:
        """Draw what has come so far."""

    def finish(self, told: AnswerState) -> None:
        """Draw all there is; nothing more comes."""


def answer_surface(front: FrontEnd) -> Surface:
    """Return what an answer is drawn on in a front end."""
    if front is FrontEnd.TERMINAL:
        return TerminalOutput()
    return LiveOutput() if front is FrontEnd.INTERACTIVE else FinalOutput()


class FinalOutput:
    """One plain display at the end; for notebooks that a program executes."""

    def show(self, told: AnswerState) -> None:
        """Wait for the end."""

    def finish(self, told: AnswerState) -> None:
        """Display everything that came."""
        display_html(
            f'<div class="labext {UNTYPESET}">{static_view.render_html(told)}</div>',
            text.render_text(told),
        )


class TerminalOutput:
    """Lines of plain text, each printed as soon as it is known."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._printed = 0

    def show(self, told: AnswerState) -> None:
        """Print what is new of the way to the answer."""
        rows = [text.search_text(told), *(text.partial_text(*each) for each in told.partials)]
        self._print([each for each in rows if each])

    def finish(self, told: AnswerState) -> None:
        """Print the answer and its citations, or why there is none."""
        self._stream.write("\n" if self._printed and told.answer is not None else "")
        end = (
            text.interruption_text(told) if told.answer is None else text.render_answer(told.answer)
        )
        self._stream.write(f"{end}\n")
        self._stream.flush()

    def _print(self, rows: list[str]) -> None:
        for row in rows[self._printed :]:
            self._stream.write(f"{row}\n")
        self._stream.flush()
        self._printed = len(rows)


class LiveOutput:
    """A placeholder with a live view, which has every event at once; the saved picture follows."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._placeholder: Any = None
        self._live = False
        self._opened = self._saved = float("-inf")

    def show(self, told: AnswerState) -> None:
        """Draw what has come so far."""
        self._draw(told, over=False)

    def finish(self, told: AnswerState) -> None:
        """Draw all there is, in the saved picture too."""
        self._draw(told, over=True)

    def _draw(self, told: AnswerState, *, over: bool) -> None:
        if self._placeholder is None:
            self._open(told)
            return
        self._placeholder.set_state(static_view.live_state(told))
        now = self._clock()
        if over or not self._live or now - self._opened < SAVED or now - self._saved >= SAVED:
            self._saved = now
            self._placeholder.update(static_view.render_html(told), text.render_text(told))

    def _open(self, told: AnswerState) -> None:
        from labext_widgets.core.placeholder import Placeholder

        self._placeholder = Placeholder(static_view.render_html(told), text.render_text(told))
        self._live = self._placeholder.live("answer", static_view.live_state(told))
        self._opened = self._saved = self._clock()


def answer_view(answer: Answer) -> AnswerView:
    """Return the view of a finished answer (`labext.nb.records.Answer`); a cell shows it."""
    return AnswerView(AnswerState(answer.question, answer=answer))


class AnswerView:
    """An answer with its citations. A cell that ends with it shows it, once.

    Attributes:
        answer: the answer as the client gave it.
    """

    def __init__(self, told: AnswerState, drawn_in: object = None) -> None:
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
        of = f"{quote_value(plain(self.question))}, " if self.question else ""
        return f"<AnswerView {of}{pluralize(len(self.citations), 'citation')}>"

    def __str__(self) -> str:
        """The answer with numbers for its marks, and its citations below it."""
        return render_answer(self.answer)

    def _ipython_display_(self, **_: Any) -> None:
        if self._drawn_in is None or self._drawn_in != current_execution():
            answer_surface(front_end()).finish(self._told)


def stream_answer(events: Iterator[AskEvent], *, question: str) -> AnswerView:
    """Draw an answer as it comes, and return it once it is whole.

    Args:
        events: of `labext.nb.records`, the last with the answer.
        question: what was asked.

    Raises:
        LabextError: what ended the events. What had come stays, marked as broken off.
        ServiceError: they ended without an answer.
        WatchInterrupted: the kernel was interrupted.
    """
    surface = answer_surface(front_end())
    told = AnswerState(question)
    try:
        surface.show(told)
        for event in events:
            told = told.and_then(event)
            if told.answer is not None:
                break
            surface.show(told)
        else:
            raise ServiceError("The answer ended before it was complete.", "Ask again.")
    except KeyboardInterrupt:
        _finish_interrupted(surface, told, "it was interrupted.")
        raise WatchInterrupted("The answer was interrupted.", "Ask again for all of it.") from None
    except BaseException as error:
        _finish_interrupted(
            surface, told, error.what if isinstance(error, LabextError) else str(error)
        )
        raise
    finally:
        if isinstance(events, Generator):
            events.close()
    surface.finish(told)
    return AnswerView(told, drawn_in=current_execution())


def _finish_interrupted(surface: Surface, told: AnswerState, why: str) -> None:
    surface.finish(replace(told, broken=why or "the stream ended."))
