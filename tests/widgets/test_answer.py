"""Answers during streaming, with their citations, on each kind of front end; hostile answers."""

from __future__ import annotations

import html
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from widget_fakes import ParsedHtml, Placeholders, without_styles, words

import labext_widgets
from labext.errors import ServiceError, UnreachableError, WatchInterrupted
from labext.nb.records import Answer, AskEvent, Citation, Final, Partial, Search, Strategy
from labext.redaction import MASK
from labext_widgets.answers import static_view, view
from labext_widgets.answers.text import (
    AnswerState,
    citation_place,
    number_citations,
    render_answer,
    replace_numbers,
)
from labext_widgets.core.front_end import FrontEnd
from labext_widgets.core.markup import message_html

QUESTION = "Why is glucose added?"
QUOTE = "Glucose lowers cAMP."
PAPER = Citation("source:a1", "paper.pdf", QUOTE, f"In E. coli. {QUOTE} So it is.", 3)
LEAKS = Citation("source:a1", "paper.pdf", "Leaks cost yield.", "Leaks cost yield.", 4)
PLAN = Citation("note:b2", "Plan", "Vary arabinose.", "Vary arabinose.")
ANSWER = Answer(f"{QUOTE} [source:a1]\n\n- Then vary it. [note:b2]", (PAPER, PLAN), QUESTION)
STRATEGY = Strategy("Two ways lead there.", (Search("cAMP"), Search("leaks")))
PARTIAL = Partial(f"{QUOTE} [source:a1]", (PAPER,))
EVENTS = [STRATEGY, PARTIAL, Final(ANSWER)]
QUOTED = (
    "Quoted without a language model. `%nb credentials new` and `%nb models setup` connect one."
)
SEARCHED = (
    "Searched without a language model. `%nb search` lists the closest passages, `%nb insights` "
    "the key sentences of sources; `%nb credentials new` and `%nb models setup` connect a model."
)
KEY = "sk-proj-12345678901234567890"


def shown_as(text: str, *citations: Citation) -> str:
    """Return a text with the numbers of its citations: `Yes.[1] paper.pdf 3`."""
    numbered = number_citations(text, citations)
    order = " ".join(f"{item.title} {item.page}" for item in numbered.citations)
    return f"{replace_numbers(numbered.text, lambda n: f'[{n}]')} {order}".strip()


class TestMarks:
    def test_citations_are_numbered_in_text_order(self) -> None:
        assert shown_as("A. [note:b2] B. [source:a1] C. [note:b2]", PAPER, PLAN) == (
            "A.[1] B.[2] C.[1] Plan None paper.pdf 3"
        )

    def test_recognized_speech_is_marked_as_a_rough_transcript(self) -> None:
        spoken = replace(PLAN, transcript=True, confidence=0.71)
        assert citation_place(spoken) == "Plan (rough transcript, 71 % certain)"
        assert citation_place(replace(PLAN, transcript=True)) == "Plan (rough transcript)"

    def test_marker_refers_to_the_quoted_passage(self) -> None:
        text = f"Leaks cost yield. [source:a1] {QUOTE} [source:a1] Leaks cost yield. [source:a1]"
        assert shown_as(text, PAPER, LEAKS) == (
            f"Leaks cost yield.[1] {QUOTE}[2] Leaks cost yield.[1] paper.pdf 4 paper.pdf 3"
        )

    def test_unquoted_markers_take_passages_in_order(self) -> None:
        output = shown_as("First. [source:a1] Second. [source:a1]", LEAKS, PAPER)
        assert output == "First.[1] Second.[2] paper.pdf 4 paper.pdf 3"

    def test_unquoted_marker_takes_the_most_similar_passage(self) -> None:
        assert shown_as("The yield falls. [source:a1]", PAPER, LEAKS) == (
            "The yield falls.[1] paper.pdf 4 paper.pdf 3"
        )

    def test_marker_with_several_ids_keeps_the_uncited_ones(self) -> None:
        output = shown_as(
            "A. [source:a1, note:b2] B. [source:zz] C. [note:b2, note:zz]", PAPER, PLAN
        )
        assert output.startswith("A.[1][2] B. [source:zz] C.[2] [note:zz]")

    def test_long_blanks_are_read_in_linear_time(self) -> None:
        text = f"A.{' ' * 90_000}B."  # took 20 seconds in quadratic time
        start = time.monotonic()
        assert shown_as(f"{text} [note:b2]", PLAN) == f"{text}[1] Plan None"
        assert time.monotonic() - start < 5

    def test_other_brackets_stay_and_internal_markers_are_stripped(self) -> None:
        text = "[1] [see: Fig. 2] arr[i:j] \ue0001\ue001"
        assert shown_as(text, PAPER) == "[1] [see: Fig. 2] arr[i:j] 1 paper.pdf 3"


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("one\ntwo\n\nthree", "<p>one<br>two</p><p>three</p>"),
        ("# A *title* #", "<p><strong>A <em>title</em></strong></p>"),
        (
            "- a\n- b\n  more\n\n- c",
            "<ul><li><p>a</p></li><li><p>b<br>more</p></li><li><p>c</p></li></ul>",
        ),
        ("3. a\n4. b", '<ol start="3"><li>a</li><li>b</li></ol>'),
        (
            "1. a\n   - b\n   - c\n2. d",
            "<ol><li>a<ul><li>b</li><li>c</li></ul></li><li>d</li></ol>",
        ),
        ("a:\n- b\n\nc", "<p>a:</p><ul><li>b</li></ul><p>c</p>"),
        ("**b** and ***both***", "<p><strong>b</strong> and <em><strong>both</strong></em></p>"),
        ("**open a_b_c * x", "<p>**open a_b_c * x</p>"),
        ("> quoted", "<blockquote><p>quoted</p></blockquote>"),
        (
            "|a|b|\n|-|-:|\n|1|<i>|",
            "<table><thead><tr><th>a</th><th>b</th></tr></thead>"
            "<tbody><tr><td>1</td><td>&lt;i&gt;</td></tr></tbody></table>",
        ),
        ("`a*b*c` ``x`y`` `open", "<p><code>a*b*c</code> <code>x`y</code> `open</p>"),
        ("```py\nif a < b:\n    **c**\n```\nd", "<pre>if a &lt; b:\n    **c**</pre><p>d</p>"),
        ("~~~\nnever closed", "<pre>never closed</pre>"),
        ("[x](javascript:y) $5 & $6", "<p>[x](javascript:y) $5 &amp; $6</p>"),
        ("![x](http://h/y.png) a\\*b", "<p>![x](http://h/y.png) a\\*b</p>"),
        ("<http://h> &amp;", "<p>&lt;http://h&gt; &amp;amp;</p>"),
    ],
)
def test_markdown(text: str, drawn: str) -> None:
    plain = without_styles(static_view.to_html(text))
    assert re.sub(r"(?<=>)\n(?=<)|(?<=<br>)\n|(?<=</p>)\n|(?<=<li>a)\n", "", plain) == drawn


@pytest.mark.parametrize("piece", ["**a ", "*a", "`", "``a` ", "- a\n  ", "***", "1. a\n\n"])
def test_unclosed_markdown_is_shown(piece: str) -> None:
    output = html.unescape(re.sub("<[^>]*>", "", static_view.to_html(piece * 4_000)))
    assert output.count("a") == piece.count("a") * 4_000


@pytest.mark.parametrize(
    ("text", "element"),
    [("نص", "p"), ("# نص", "p"), ("- نص", "li"), ("|a|\n|-|\n|نص|", "td"), ("> نص", "p")],
)
def test_each_block_of_markdown_has_its_own_direction(text: str, element: str) -> None:
    drawn = re.sub("<strong>", "", static_view.to_html(f"Left to right.\n\n{text}"))
    assert re.search(f'<{element} [^>]*dir="auto"[^>]*>نص', drawn)


class TestPassages:
    def test_question_and_passage_have_their_own_direction(self) -> None:
        citation = Citation("source:a1", "a.pdf", "نص", "نص عربي")
        state = AnswerState("سؤال", answer=Answer("Yes. [source:a1]", (citation,)))
        drawn = static_view.render_html(state)
        assert re.search('dir="auto">سؤال', drawn)
        assert re.search('dir="auto"><mark[^>]*>نص</mark> عربي', drawn)

    def test_quote_is_highlighted_in_the_passage(self) -> None:
        drawn = without_styles(static_view.passage_html(PAPER))
        assert drawn == f"<div>In E. coli. <mark>{QUOTE}</mark> So it is.</div>"

    def test_quote_is_found_across_line_breaks(self) -> None:
        passage = "So. Glucose\nlowers  cAMP. Yes."
        assert "lowers  cAMP.</mark>" in static_view.passage_html(
            Citation("a:b", "", QUOTE, passage)
        )

    def test_quote_missing_from_the_passage_is_shown_separately(self) -> None:
        drawn = static_view.passage_html(Citation("a:b", "", "Other words.", "A passage."))
        assert "Other words.</mark>" in drawn
        assert words(drawn) == "Other words. A passage."

    def test_long_passage_is_truncated_around_the_quote(self) -> None:
        long = f"{'before ' * 900}{QUOTE}{' after' * 900}"
        drawn = words(static_view.passage_html(Citation("a:b", "", QUOTE, long)))
        assert re.fullmatch(r"….*before Glucose lowers cAMP\. after.*…", drawn)
        assert len(drawn) < 2 * static_view.CONTEXT_LENGTH + 100

    def test_citation_without_passage_says_so(self) -> None:
        assert words(static_view.passage_html(Citation("a:b"))) == "The service sent no passage."


@pytest.fixture
def placeholders(placeholders: Placeholders, set_front_end: Any, monkeypatch: Any) -> Any:
    """The placeholders of an interactive notebook."""
    set_front_end(FrontEnd.INTERACTIVE, view)
    monkeypatch.setattr(view, "current_execution", lambda: "the first run")
    return placeholders


def ask(events: Iterator[AskEvent]) -> view.AnswerView:
    return labext_widgets.stream_answer(events, question=QUESTION)


class TestInANotebook:
    def test_each_event_is_drawn_at_once(self, placeholders: Placeholders) -> None:
        received = []

        def events() -> Iterator[AskEvent]:
            for event in EVENTS:
                yield event
                received.append(words(placeholders[0].states[-1]["html"]))

        ask(events())
        assert words(placeholders[0].states[0]["html"]) == f"{QUESTION} ● Asking…"
        assert received[0] == f"{QUESTION} Searching: cAMP; leaks ● Searching…"
        assert f"Searching: cAMP; leaks {QUOTE} 1 [1] paper.pdf, page 3" in received[1]
        last = placeholders[0].states[-1]
        assert (last["busy"], last["complete"]) == (False, True)
        assert last["announcement"] == "The answer is complete, with 2 citations."

    def test_live_citation_markers_are_labelled_buttons(self, placeholders: Placeholders) -> None:
        ask(iter(EVENTS))
        buttons = re.findall("<button.*?</button>", placeholders[0].states[-1]["html"])
        assert [re.findall('aria-label="(.*?)"|>(.)<', button) for button in buttons] == [
            [("Citation 1: paper.pdf, page 3", ""), ("", "1")],
            [("Citation 2: Plan", ""), ("", "2")],
        ]

    def test_saved_answer_has_folded_citations(self, placeholders: Placeholders) -> None:
        ask(iter(EVENTS))
        drawn, text = placeholders[0].saved[-1]
        assert "button" not in drawn
        assert words(drawn).startswith(f"{QUESTION} {QUOTE} [1] Then vary it. [2]")
        assert re.findall("<summary.*?>(.*?)</summary>", drawn) == [
            "[1] paper.pdf, page 3",
            "[2] Plan",
            "Search steps",
        ]
        assert text.splitlines()[-1] == "[2] Plan: “Vary arabinose.”"

    def test_final_answer_folds_the_partial_answers(self, placeholders: Placeholders) -> None:
        ask(iter([STRATEGY, Partial("Half of it. [source:a1]", (PAPER,)), Final(ANSWER)]))
        before, _, after = placeholders[0].saved[-1][0].partition("Search steps")
        assert "Half of it." not in before
        assert words(after).endswith("Searching: cAMP; leaks Half of it.")

    def test_streaming_cell_does_not_display_the_answer_twice(
        self, placeholders: Placeholders, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        answer = ask(iter(EVENTS))
        answer._ipython_display_()
        assert [placeholder.view for placeholder in placeholders] == ["answer"]
        monkeypatch.setattr(view, "current_execution", lambda: "another run")
        answer._ipython_display_()
        assert len(placeholders) == 2
        assert placeholders[1].states[0] == placeholders[0].states[-1]

    def test_answer_without_citations_says_so(self) -> None:
        assert "No citations." in static_view.render_html(AnswerState("", answer=Answer("No.")))

    @pytest.mark.parametrize(
        ("model", "citations", "line"),
        [
            ("talker", (), "Answered by talker."),
            ("talker", (PAPER,), "Answered by talker."),
            ("extractive", (PAPER,), QUOTED),
            ("model:extractive", (PAPER,), QUOTED),
            ("extractive", (), SEARCHED),
        ],
    )
    def test_answer_names_its_model_or_says_that_none_was_used(
        self, model: str, citations: tuple[Citation, ...], line: str
    ) -> None:
        answer = Answer("No.", citations, model=model)
        drawn = static_view.render_html(AnswerState("", answer=answer))
        assert words(drawn).endswith(line.replace("`", ""))
        assert render_answer(answer).endswith(line)

    def test_lines_to_run_are_code(self) -> None:
        drawn = static_view.render_html(AnswerState("", answer=Answer("No.", model="extractive")))
        assert re.search("<code [^>]+>%nb models setup</code>", drawn)

    @pytest.mark.parametrize("message", ["5` to 3`: <b>", "The 5` end: <b>", "``: <b>"])
    def test_messages_are_escaped_whatever_they_quote(self, message: str) -> None:
        shown = html.unescape(re.sub("</?code[^>]*>", "", message_html(message)))
        assert shown.replace("`", "") == message.replace("`", "")

    def test_answer_shows_the_note_of_its_searches(self) -> None:
        answer = Answer("No.", note="Searched by words alone: <b>down</b>.")
        assert render_answer(answer).endswith("Searched by words alone: <b>down</b>.")
        drawn = static_view.render_html(AnswerState("", answer=answer))
        assert "Searched by words alone: &lt;b&gt;down&lt;/b&gt;." in drawn


def then(error: BaseException) -> Iterator[AskEvent]:
    yield STRATEGY
    yield PARTIAL
    raise error


class TestBrokenOff:
    def test_error_keeps_the_partial_answer_and_is_raised(self, placeholders: Placeholders) -> None:
        with pytest.raises(UnreachableError):
            ask(then(UnreachableError("The answer was cut off.", "Ask again.")))
        output = words(placeholders[0].saved[-1][0])
        assert f"{QUOTE} [1]" in output
        assert output.endswith("Interrupted: The answer was cut off.")
        assert not placeholders[0].states[-1]["busy"]
        assert placeholders[0].saved[-1][1].endswith("\nInterrupted: The answer was cut off.")

    def test_stream_without_final_answer_is_an_error(self, placeholders: Placeholders) -> None:
        with pytest.raises(ServiceError):
            ask(iter([STRATEGY]))
        assert "Interrupted: The answer ended" in words(placeholders[0].saved[-1][0])

    def test_interrupt_ends_the_answer(self, placeholders: Placeholders) -> None:
        with pytest.raises(WatchInterrupted):
            ask(then(KeyboardInterrupt()))
        assert words(placeholders[0].saved[-1][0]).endswith(
            "Interrupted: the kernel was interrupted."
        )

    def test_stream_is_closed_after_the_answer(self, placeholders: Placeholders) -> None:
        ended = []

        def going(events: list[AskEvent]) -> Iterator[AskEvent]:
            try:
                yield from events
                yield STRATEGY
                pytest.fail("nothing is read after the answer")
            finally:
                ended.append(True)

        ask(going(EVENTS))
        assert ended == [True]


class TestInATerminal:
    @pytest.fixture(autouse=True)
    def terminal(self, set_front_end: Any) -> None:
        set_front_end(FrontEnd.TERMINAL, view)

    def test_streamed_text_is_printed_with_citations_below(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        so_far = []

        def events() -> Iterator[AskEvent]:
            for event in EVENTS:
                yield event
                so_far.append(capsys.readouterr().out)

        ask(events())
        assert so_far == ["Searching: cAMP; leaks\n", ""]
        assert capsys.readouterr().out == (
            f"· {QUOTE}\n\n{QUOTE} [1]\n\n- Then vary it. [2]\n\n"
            "[1] paper.pdf, page 3\n[2] Plan: “Vary arabinose.”\n"
        )

    def test_streamed_text_as_the_value_of_its_cell_is_one_line(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(view, "current_execution", lambda: "the first run")
        answer = ask(iter(EVENTS))
        capsys.readouterr()
        answer._ipython_display_()
        assert capsys.readouterr().out == f'<AnswerView "{QUESTION}", 2 citations>\n'

    def test_answer_that_repeats_its_only_part_is_printed_once(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        answer = Answer(f"{QUOTE} [source:a1]", (PAPER,), QUESTION)
        ask(iter([STRATEGY, PARTIAL, Final(answer)]))
        assert capsys.readouterr().out == (
            f"Searching: cAMP; leaks\n\n{QUOTE} [1]\n\n[1] paper.pdf, page 3\n"
        )

    def test_interrupted_answer_is_marked_and_leaves_the_reason_to_the_error(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for error in (UnreachableError("Gone.", "Ask again."), KeyboardInterrupt()):
            with pytest.raises((UnreachableError, WatchInterrupted)):
                ask(then(error))
            assert capsys.readouterr().out.endswith(f"· {QUOTE}\n(interrupted)\n")
        with pytest.raises(ServiceError):
            ask(iter([]))
        assert capsys.readouterr().out == ""


def test_executed_notebook_gets_the_finished_answer_alone(
    set_front_end: Any, record_displays: Any
) -> None:
    set_front_end(FrontEnd.EXECUTED, view)
    displayed = record_displays(view)
    answer = ask(iter(EVENTS))
    ((drawn, text),) = displayed
    assert QUOTE in words(drawn)
    assert text == f"{QUESTION}\n\n{answer}"


SAFE = {
    *("div", "span", "p", "br", "strong", "em", "code", "pre", "ul", "ol", "li", "mark"),
    *("details", "summary", "sup", "button", "blockquote", "hr"),
    *("table", "thead", "tbody", "tr", "th", "td"),
    *("style", "class", "dir", "start", "type", "aria-label", "aria-expanded"),
}
PIECES = [
    *("\n> ", "\n|a|\n|-|\n|", "\n---\n"),
    *("<script>", "</p>", "</summary>", "<img\tsrc=x\tonerror=y>", "]]>", "<!--", '"', "'", "&lt;"),
    *("`", "```", "**", "*", "- ", "1. ", "# ", " ", "\n", "[source:a1]", "9"),
    *("\x1b[2J", "\u202e", "\ue0001\ue001", "\ue0009\ue001"),
]
HOSTILE = st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(max_size=20)
HOSTILE_CITATIONS = st.lists(
    st.builds(Citation, st.just("source:a1") | HOSTILE, HOSTILE, HOSTILE, HOSTILE), max_size=3
)


@given(HOSTILE, HOSTILE, HOSTILE_CITATIONS)
def test_answer_text_is_escaped(text: str, question: str, citations: list[Citation]) -> None:
    answer = Answer(text, tuple(citations), question, text)
    state = AnswerState(question, text, (text,), ((text, tuple(citations)),))
    for answer_state in (
        state,
        AnswerState(question, text, (text,), state.partials, answer, broken=text),
    ):
        for live in (False, True):
            received = ParsedHtml(static_view.render_html(answer_state, live=live))
            assert received.tags | received.attribute_names <= SAFE
            assert not re.search("[\x1b\u202e]", received.text)


@given(st.text(st.sampled_from("ab c<&\"'\n\t.$"), max_size=80))
def test_plain_text_is_shown_unchanged(text: str) -> None:
    assert ParsedHtml(static_view.to_html(text)).raw_text.split() == text.split()


def test_secret_in_an_answer_is_masked_everywhere() -> None:
    leak = f"The key {KEY} is bad."
    citation = Citation("source:a1", leak, leak, f"Before. {leak} After.")
    answer = Answer(f"{leak} [source:a1]", (citation,), leak)
    first_state = AnswerState(leak, leak, (leak,), ((leak, (citation,)),))
    whole = AnswerState(leak, leak, (leak,), first_state.partials, answer)
    outputs = [
        static_view.render_html(text, live=live)
        for text in (first_state, whole)
        for live in (True, False)
    ]
    outputs += [
        static_view.render_html(AnswerState("", broken=leak)),
        str(labext_widgets.answer_view(answer)),
    ]
    outputs += [repr(labext_widgets.answer_view(answer))]
    assert not [output for output in outputs if KEY in output]
    assert all(MASK in output for output in outputs)
