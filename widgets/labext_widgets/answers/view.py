"""Display an answer while it streams, and as an object afterwards."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from labext.errors import LabextError, ServiceError, WatchInterrupted
from labext.messages import pluralize, quote_value
from labext_widgets.answers import static_view, text
from labext_widgets.answers.text import AnswerState, number_citations, render_answer
from labext_widgets.core.display import display_html
from labext_widgets.core.front_end import FrontEnd, current_execution, front_end
from labext_widgets.core.markup import (
    BAD,
    current_time,
    div,
    edge,
    message_html,
    plain,
    tidy,
    view_html,
)
from labext_widgets.core.throttle import Throttle

if TYPE_CHECKING:
    from labext.nb.records import Answer, AskEvent, Citation
    from labext_widgets.core.placeholder import Placeholder


class CitedSource(Protocol):
    """The source of a citation at its page."""

    def html(self) -> str:
        """Return the page as HTML."""


class OpenCitation(Protocol):
    """Opens the source of a citation at its page."""

    def __call__(self, citation: Citation, /) -> CitedSource:
        """Return the source."""


SAVE_INTERVAL = 2.0
"""Minimum interval in seconds between two updates of the static view while an answer is streamed.

It does not apply in the first seconds, since the live view may not be on the page yet.
"""


DRAW_INTERVAL = 0.03
"""Minimum interval in seconds between two updates with the words of one answer."""


class Surface(Protocol):
    """An output on which an answer is rendered."""

    def show(self, state: AnswerState) -> None:
        """Render the parts received so far."""

    def finish(self, state: AnswerState) -> None:
        """Render the final state."""


def answer_surface(front: FrontEnd, open_citation: OpenCitation | None = None) -> Surface:
    """Return the output for an answer in a front end."""
    if front is FrontEnd.TERMINAL:
        return TerminalOutput()
    return LiveAnswerOutput(open_citation) if front is FrontEnd.INTERACTIVE else FinalOutput()


class FinalOutput:
    """A single display at the end, for notebooks that are executed by a program."""

    def show(self, state: AnswerState) -> None:
        """Do nothing until the end."""

    def finish(self, state: AnswerState) -> None:
        """Display everything received."""
        display_html(view_html(static_view.render_html(state)), text.render_text(state))


class TerminalOutput:
    """Lines of plain text, each printed as soon as it is known, and words as they arrive."""

    def __init__(self) -> None:
        self._stream = sys.stdout
        self._throttle = Throttle(DRAW_INTERVAL)
        self._printed = 0
        self._writing = ""  # the words of the current line that have arrived
        self._line = ""  # those that are printed
        self._streamed = ""  # the last answer printed word by word

    def show(self, state: AnswerState) -> None:
        """Print the new search terms, partial answers and words.

        The latest partial answer is printed with the next event: it may be the final answer.
        """
        if self._writing and not state.writing:
            self._end_line()
            self._printed += 1  # the partial answer with these words
        self._print(state, len(state.partials) - (not state.writing))
        self._writing = state.writing
        if self._throttle.is_due():
            with self._throttle.drawing():
                self._write_words()

    def finish(self, state: AnswerState) -> None:
        """Print the answer and its citations, or mark the printed words as interrupted.

        The reason is left to the error, which is printed below.
        """
        if self._writing:
            self._end_line()
        else:
            self._print(state, len(state.partials) - self._is_last_partial(state))
            if self._printed and state.answer is not None:
                self._stream.write("\n")
        if state.answer is not None:
            self._stream.write(f"{self._answer_text(state.answer)}\n")
        elif self._printed or self._streamed:
            self._stream.write(f"{text.INTERRUPTED}\n")
        self._stream.flush()

    def _answer_text(self, answer: Answer) -> str:
        words = text.without_marks(answer.text, answer.citations)
        is_printed = words.split() == self._streamed.split()
        return text.render_answer(answer, only_citations=is_printed).lstrip("\n")

    def _write_words(self) -> None:
        words = tidy(self._writing)
        self._stream.write(words[len(self._line) :])
        self._stream.flush()
        self._line = words

    def _end_line(self) -> None:
        self._write_words()
        self._stream.write("\n")
        self._streamed, self._line, self._writing = self._line, "", ""

    @staticmethod
    def _is_last_partial(state: AnswerState) -> bool:
        """Return whether the answer repeats the latest partial answer."""
        if state.answer is None or not state.partials:
            return False
        answer = text.without_marks(state.answer.text, state.answer.citations)
        return answer.split() == text.without_marks(*state.partials[-1]).split()

    def _print(self, state: AnswerState, partials: int) -> None:
        """Print the search terms and this number of partial answers, each once."""
        rows = [text.search_text(state)] if state.searches else []
        rows += [text.partial_text(*partial) for partial in state.partials[: max(partials, 0)]]
        for row in rows[self._printed :]:
            self._stream.write(f"{row}\n")
        self._stream.flush()
        self._printed = max(self._printed, len(rows))


class LiveAnswerOutput:
    """A placeholder with a live view; the static view is updated less often."""

    def __init__(self, open_citation: OpenCitation | None) -> None:
        self._open_citation = open_citation
        self._citations: tuple[Citation, ...] = ()  # of the complete answer, by number
        self._placeholder: Any = None
        self._live = False
        self._opened = self._saved = float("-inf")
        self._throttle = Throttle(DRAW_INTERVAL)
        self._written = 0

    def show(self, state: AnswerState) -> None:
        """Render the parts received so far."""
        self._draw(state, over=False)

    def finish(self, state: AnswerState) -> None:
        """Render the final state, also in the static view."""
        self._draw(state, over=True)

    def _draw(self, state: AnswerState, *, over: bool) -> None:
        if self._placeholder is None:
            self._open(state)
            return
        is_same_step = bool(state.writing) and not over and len(state.writing) > self._written > 0
        self._written = len(state.writing)
        if is_same_step and not self._throttle.is_due():
            return
        with self._throttle.drawing():
            self._placeholder.set_state(self._live_state(state))
            now = time.monotonic()
            if (
                over
                or not self._live
                or now - self._opened < SAVE_INTERVAL
                or now - self._saved >= SAVE_INTERVAL
            ):
                self._saved = now
                self._placeholder.update(*_render_static(state))

    def _open(self, state: AnswerState) -> None:
        from labext_widgets.core.placeholder import Placeholder

        self._placeholder = Placeholder(*_render_static(state))
        self._live = self._placeholder.live("answer", self._live_state(state), self._receive)
        self._opened = self._saved = time.monotonic()

    def _live_state(self, state: AnswerState) -> dict[str, Any]:
        if state.answer is not None:
            numbered = number_citations(state.answer.text, state.answer.citations)
            self._citations = numbered.citations
        return static_view.live_state(state, opens=self._open_citation is not None)

    def _receive(self, content: Any, _buffers: list[Any]) -> None:
        """Send the page of a citation that is opened in the live view."""
        if self._open_citation is not None:
            send_opened_page(self._placeholder, content, self._citations, self._open_citation)


def _render_static(state: AnswerState) -> tuple[str, str]:
    """Return the view for saved notebooks as HTML and as text, with the time if unfinished."""
    seen_at = current_time()
    return static_view.render_html(state, seen_at=seen_at), text.render_text(state, seen_at)


def send_opened_page(
    placeholder: Placeholder,
    content: Any,
    citations: Sequence[Citation],
    open_citation: OpenCitation,
) -> None:
    """Answer a live view's message that asks for the page of a citation; ignore others."""
    if not isinstance(content, dict) or content.get("do") != "open":
        return
    number = content.get("citation")
    if not isinstance(number, int) or not 1 <= number <= len(citations):
        return
    try:
        html = open_citation(citations[number - 1]).html()
    except (LabextError, OSError) as error:
        html = div(message_html(str(error)), f"padding:2px 8px;{edge(*BAD)}")
    placeholder.send({"opened": number, "html": html})


def answer_view(answer: Answer, open_citation: OpenCitation | None = None) -> AnswerView:
    """Return the view of a finished answer (`labext.nb.records.Answer`), for display in a cell.

    Args:
        answer: the answer.
        open_citation: opens the source of a citation; None for no buttons that do so.
    """
    return AnswerView(AnswerState(answer.question, answer=answer), open_citation=open_citation)


class AnswerView:
    """An answer with its citations, displayed once when it is the value of a cell.

    Attributes:
        answer: the answer as returned by the client.
    """

    def __init__(
        self,
        state: AnswerState,
        displayed_in: object = None,
        open_citation: OpenCitation | None = None,
    ) -> None:
        assert state.answer is not None
        self.answer: Answer = state.answer
        self._state = state
        self._open_citation = open_citation
        self._displayed_in = displayed_in  # the cell execution that displays it already

    @property
    def text(self) -> str:
        """The answer's text, with citation marks such as `[source:…]` or `[note:…]`."""
        return self.answer.text

    @property
    def citations(self) -> tuple[Citation, ...]:
        """The citations of the answer."""
        return tuple(self.answer.citations)

    @property
    def question(self) -> str:
        """The question."""
        return self._state.question

    def __repr__(self) -> str:
        """Return one line with the question and the number of citations."""
        question = f"{quote_value(plain(self.question))}, " if self.question else ""
        return f"<AnswerView {question}{pluralize(len(self.citations), 'citation')}>"

    def __str__(self) -> str:
        """Return the answer with numbered marks, followed by its citations."""
        return render_answer(self.answer)

    def _ipython_display_(self, **_: Any) -> None:
        if self._displayed_in is None or self._displayed_in != current_execution():
            answer_surface(front_end(), self._open_citation).finish(self._state)
        elif front_end() is FrontEnd.TERMINAL:
            print(repr(self))  # after IPython's `Out[…]: `


def stream_answer(
    events: Iterator[AskEvent], *, question: str, open_citation: OpenCitation | None = None
) -> AnswerView:
    """Render an answer while it is streamed, and return it once it is complete.

    Args:
        events: events of `labext.nb.records`, the last with the answer.
        question: the question.
        open_citation: opens the source of a citation; None for no buttons that do so.

    Raises:
        LabextError: the error that ended the events; the parts received stay, marked as
            interrupted.
        ServiceError: the events ended without an answer.
        WatchInterrupted: the kernel was interrupted.
    """
    surface = answer_surface(front_end(), open_citation)
    state = AnswerState(question)
    try:
        surface.show(state)
        for event in events:
            state = state.with_event(event)
            if state.answer is not None:
                break
            surface.show(state)
        else:
            raise ServiceError("The answer ended before it was complete.", "Ask again.")
    except KeyboardInterrupt:
        _finish_interrupted(surface, state, _INTERRUPTED)
        raise WatchInterrupted("The answer was interrupted.", "Ask again.") from None
    except BaseException as error:
        _finish_interrupted(surface, state, _reason(error))
        raise
    finally:
        if isinstance(events, Generator):
            events.close()
    surface.finish(state)
    return AnswerView(state, current_execution(), open_citation)


def stream_reply(
    ask: Callable[[Callable[[str], None]], Answer],
    *,
    question: str,
    open_citation: OpenCitation | None = None,
) -> AnswerView:
    """Render a reply while its words arrive, and return it once it is complete.

    Args:
        ask: asks for the reply, and passes its words to its argument as they arrive.
        question: the question.
        open_citation: opens the source of a citation; None for no buttons that do so.

    Raises:
        LabextError: the error that `ask` raised; the words received stay, marked as interrupted.
        KeyboardInterrupt: the kernel was interrupted.
    """
    surface: Surface | None = None
    state = AnswerState(question)

    def show(words: str) -> None:
        nonlocal surface, state
        state = replace(state, writing=state.writing + words)
        surface = surface or answer_surface(front_end(), open_citation)
        surface.show(state)

    try:
        state = replace(state, answer=ask(show))
    except BaseException as error:
        if surface is not None:
            _finish_interrupted(surface, state, _reason(error))
        raise
    if surface is None:
        return AnswerView(state, open_citation=open_citation)
    surface.finish(state)
    return AnswerView(state, current_execution(), open_citation)


_INTERRUPTED = "the kernel was interrupted."


def _reason(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return _INTERRUPTED
    return error.message if isinstance(error, LabextError) else str(error)


def _finish_interrupted(surface: Surface, state: AnswerState, reason: str) -> None:
    surface.finish(replace(state, broken=reason or "the stream ended."))
