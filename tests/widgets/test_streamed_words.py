"""Generated texts, and the words of texts and answers that are displayed while they arrive."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

import pytest
from widget_fakes import Placeholders, words

import labext_widgets
from labext.errors import ServiceError
from labext.nb.records import Answer, Citation, Final, Partial, Search, Strategy, Usage, Words
from labext_widgets.answers import generated_text, view
from labext_widgets.answers.generated_text import Draft, GeneratedText, GeneratedTexts
from labext_widgets.core.front_end import FrontEnd
from labext_widgets.core.throttle import Throttle

QUESTION = "Why is glucose added?"
QUOTE = "Glucose lowers cAMP."
PAPER = Citation("source:a1", "paper.pdf", QUOTE, f"In E. coli. {QUOTE} So it is.", 3)
ANSWER = Answer(f"{QUOTE} [source:a1]", (PAPER,), QUESTION, "talker", Usage(1200, 30, 0.0021))
PIECES = ["Glucose ", "lowers ", "cAMP."]


@pytest.fixture
def placeholders(placeholders: Placeholders, set_front_end: Any, monkeypatch: Any) -> Any:
    """The placeholders of an interactive notebook, which draws without a pause."""
    set_front_end(FrontEnd.INTERACTIVE, view)
    monkeypatch.setattr(view, "current_execution", lambda: "the first run")
    monkeypatch.setattr(Throttle, "is_due", lambda _throttle: True)
    return placeholders


def reply(on_words: Callable[[str], None]) -> Answer:
    for piece in PIECES:
        on_words(piece)
    return ANSWER


def test_reply_grows_word_by_word(placeholders: Placeholders) -> None:
    texts: list[str] = []

    def ask(on_words: Callable[[str], None]) -> Answer:
        for piece in PIECES:
            on_words(piece)
            (placeholder,) = placeholders
            drawn = [placeholder.saved[0][0], *(state["html"] for state in placeholder.states)]
            texts.append(words(drawn[-1]))
        return ANSWER

    result = labext_widgets.stream_reply(ask, question=QUESTION)
    assert [text.partition(" ● Writing…")[0] for text in texts] == [
        f"{QUESTION} Glucose",
        f"{QUESTION} Glucose lowers",
        f"{QUESTION} {QUOTE}",
    ]
    last = words(placeholders[0].states[-1]["html"])
    assert "Answered by talker: 1,200 tokens in, 30 out, $0.0021." in last
    result._ipython_display_()
    assert len(placeholders) == 1


@pytest.mark.parametrize("form", ["answer", "generated text"])
def test_saved_view_of_an_unfinished_text_says_so_and_when(
    form: str, placeholders: Placeholders, set_front_end: Any
) -> None:
    """The kernel may end, or the page be closed, before the text is complete."""
    if form == "answer":
        ask = iter([Strategy("One way.", (Search("cAMP"),)), Words("Glucose ")])
        with pytest.raises(ServiceError):
            labext_widgets.stream_answer(ask, question=QUESTION)
        saved = placeholders[0].saved[:-1]
        assert "As of" not in placeholders[0].states[-2]["html"], "which is on the page"
    else:
        set_front_end(FrontEnd.INTERACTIVE, generated_text)
        Draft("Short").add("Glucose ")
        saved = placeholders[0].saved
        assert "As of" not in placeholders[0].states[-1]["html"]
    html, text = saved[-1]
    assert re.search(r"Glucose ● Writing… As of 20..-..-.. ..:.. UTC\.$", words(html))
    assert re.search(r"Glucose\s+Writing… As of 20..-..-.. ..:.. UTC\.$", text)


def test_reply_without_words_is_displayed_by_its_cell(placeholders: Placeholders) -> None:
    result = labext_widgets.stream_reply(lambda _on_words: ANSWER, question=QUESTION)
    assert not list(placeholders)
    result._ipython_display_()
    assert len(placeholders) == 1


def test_failed_reply_keeps_its_words_marked_as_interrupted(placeholders: Placeholders) -> None:
    def ask(on_words: Callable[[str], None]) -> Answer:
        on_words("Glucose")
        raise ServiceError("The provider failed.", "Try again.")

    with pytest.raises(ServiceError):
        labext_widgets.stream_reply(ask, question=QUESTION)
    last = words(placeholders[0].saved[-1][0])
    assert last == f"{QUESTION} Glucose Interrupted: The provider failed."


def test_words_within_the_interval_are_drawn_together(
    placeholders: Placeholders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Throttle, "is_due", lambda _throttle: False)
    labext_widgets.stream_reply(reply, question=QUESTION)
    assert len(placeholders[0].states) <= 3
    assert placeholders[0].states[-1]["complete"]


def test_drawings_take_at_most_a_quarter_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 100.0
    monkeypatch.setattr("time.monotonic", lambda: clock)
    throttle = Throttle(0.5)
    due = []
    for seconds in (0.1, 2.0):
        assert throttle.is_due()
        started = clock
        with throttle.drawing():
            clock += seconds
        while not throttle.is_due():
            clock += 0.125
        due.append(clock - started)
    assert due == pytest.approx([0.5, 8.0], abs=0.125)


def test_small_cost_has_no_exponent() -> None:
    assert str(Usage(12, 3, 2.34e-05)) == "12 tokens in, 3 out, $0.0000234"


@pytest.mark.parametrize("is_due", [True, False])
def test_terminal_prints_words_once(
    is_due: bool, set_front_end: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Throttle, "is_due", lambda _throttle: is_due)
    set_front_end(FrontEnd.TERMINAL, view)
    stream = io.StringIO()
    monkeypatch.setattr("sys.stdout", stream)
    strategy = Strategy("One way.", (Search("cAMP"),))
    events = [strategy, *map(Words, PIECES), Partial(ANSWER.text, (PAPER,)), Final(ANSWER)]
    labext_widgets.stream_answer(iter(events), question=QUESTION)
    assert stream.getvalue() == (
        f"Searching: cAMP\n{QUOTE}\n\n[1] paper.pdf, page 3\n\n"
        "Answered by talker: 1,200 tokens in, 30 out, $0.0021.\n"
    )


def test_words_of_an_interrupted_reply_are_marked_in_a_terminal(
    set_front_end: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    set_front_end(FrontEnd.TERMINAL, view, generated_text)

    def ask(on_words: Callable[[str], None]) -> Answer:
        on_words("Glucose ")
        raise ServiceError("The provider failed.", "Try again.")

    with pytest.raises(ServiceError):
        labext_widgets.stream_reply(ask, question=QUESTION)
    assert capsys.readouterr().out == "Glucose\n(interrupted)\n"
    draft = Draft("Short")
    draft.add("Glucose ")
    draft.interrupt()
    assert capsys.readouterr().out == "Short\n\nGlucose \n(interrupted)\n"


def test_words_of_an_interrupted_text_are_displayed_in_an_executed_notebook(
    set_front_end: Any, record_displays: Any
) -> None:
    set_front_end(FrontEnd.EXECUTED, generated_text)
    displayed = record_displays(generated_text)
    draft = Draft("Short")
    draft.add("Glucose ")
    draft.interrupt()
    ((drawn, _text),) = displayed
    assert words(drawn) == "Short Glucose … (interrupted)"


def test_generated_text_as_the_value_of_its_cell_is_one_line_in_a_terminal(
    set_front_end: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    set_front_end(FrontEnd.TERMINAL, generated_text)
    monkeypatch.setattr(generated_text, "current_execution", lambda: "the first run")
    draft = Draft("Short")
    draft.add("Glucose.")
    text = GeneratedText("Glucose.", "Short")
    draft.finish(text)
    text._ipython_display_()
    assert capsys.readouterr().out == 'Short\n\nGlucose.\n<GeneratedText "Short">\n'


def test_text_names_the_tokens_like_the_html(
    set_front_end: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    set_front_end(FrontEnd.TERMINAL, generated_text)
    draft = Draft("Short")
    draft.add("Glucose.")
    text = GeneratedText("Glucose.", "Short", "talker", "3 tokens in, 1 out")
    draft.finish(text)
    whole = "Short\n\nGlucose.\n\nGenerated by talker: 3 tokens in, 1 out."
    assert capsys.readouterr().out == f"{whole}\n"
    assert text._rendered()[1] == whole


def test_generated_text_replaces_its_words(
    placeholders: Placeholders, set_front_end: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after a reload of the page, which only placeholders survive."""
    set_front_end(FrontEnd.INTERACTIVE, generated_text)
    monkeypatch.setattr(generated_text, "current_execution", lambda: "the first run")
    draft = Draft("Short")
    draft.add("Glu")
    draft.add("cose")
    text = GeneratedText("Glucose.", "Short", "talker", "3 tokens in, 1 out")
    draft.finish(text)
    text._ipython_display_()
    (placeholder,) = placeholders
    drawn = [
        "Short Glu ● Writing…",
        "Short Glucose ● Writing…",
        "Short Glucose. Generated by talker: 3 tokens in, 1 out.",
    ]
    assert [words(html).partition(" As of")[0] for html, _ in placeholder.saved] == drawn
    assert [words(state["html"]) for state in placeholder.states] == drawn
    assert [state["busy"] for state in placeholder.states] == [True, True, False]
    assert placeholder.state["announcement"] == "The text is complete."


def test_interrupted_text_is_announced(placeholders: Placeholders, set_front_end: Any) -> None:
    set_front_end(FrontEnd.INTERACTIVE, generated_text)
    draft = Draft("Short")
    draft.add("Glu")
    draft.interrupt()
    assert placeholders[0].state["announcement"] == "(interrupted)"
    assert words(placeholders[0].html) == "Short Glu… (interrupted)"


@pytest.fixture
def displayed(set_front_end: Any, record_displays: Any) -> list[tuple[str, str]]:
    set_front_end(FrontEnd.EXECUTED, generated_text)
    displayed: list[tuple[str, str]] = record_displays(generated_text)
    return displayed


def test_markdown_has_title_and_model(displayed: list[Any]) -> None:
    generated = GeneratedText(
        "- **Glucose** is 2 $ a gram\n- `LacI` binds", "Key findings: Leak", "helper"
    )
    generated._ipython_display_()
    [(html, text)] = displayed
    assert '<li dir="auto"><strong>Glucose</strong> is 2 $ a gram</li>' in html
    assert "mathjax_ignore" in html
    assert html.index("Key findings: Leak") < html.index("Glucose")
    assert "Generated by helper." in html
    assert text == "Key findings: Leak\n\n- **Glucose** is 2 $ a gram\n- `LacI` binds"
    assert repr(generated) == '<GeneratedText "Key findings: Leak">'


def test_quoted_text_says_that_there_was_no_language_model(displayed: list[Any]) -> None:
    GeneratedText("Glucose.", "Leak", "extractive", "")._ipython_display_()
    [(html, _)] = displayed
    assert "Quoted without a language model." in html
    assert "extractive" not in html


def test_generated_text_is_escaped(displayed: list[Any]) -> None:
    hostile = "<script>alert(1)</script>\x1b[31m<img src=x onerror=y>"
    GeneratedText(hostile, hostile, hostile)._ipython_display_()
    [(html, text)] = displayed
    assert "<script" not in html
    assert "<img" not in html
    assert "\x1b" not in html + text


def test_several_texts_keep_their_order(displayed: list[Any]) -> None:
    generated = GeneratedTexts([GeneratedText("One.", "A"), GeneratedText("Two.", "B")])
    generated._ipython_display_()
    assert [text for _, text in displayed] == ["A\n\nOne.", "B\n\nTwo."]
    assert generated.text == "## A\n\nOne.\n\n## B\n\nTwo."


def test_terminal_prints_the_text(set_front_end: Any, capsys: pytest.CaptureFixture[str]) -> None:
    set_front_end(FrontEnd.TERMINAL, generated_text)
    GeneratedTexts([GeneratedText("One.", "A"), GeneratedText("", "B")])._ipython_display_()
    assert capsys.readouterr().out == "A\n\nOne.\n\nB\n\nThe text is empty.\n"
