"""Render an answer and its cited passages as HTML."""

from __future__ import annotations

import html
import re
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import cache
from typing import TYPE_CHECKING, Any

from labext.cjk import UNSPACED
from labext.messages import pluralize
from labext_widgets.answers.text import (
    AnswerState,
    citation_place,
    current_step,
    footer_lines,
    header_text,
    interruption_text,
    number_citations,
    replace_numbers,
    search_text,
    step_text,
    without_marks,
)
from labext_widgets.core.markup import (
    BAD,
    BUSY,
    MUTED,
    color,
    div,
    edge,
    escape,
    line_html,
    message_html,
    span,
    text_div,
    tidy,
    view_line,
)

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

    from labext.nb.records import Answer, Citation


Span = tuple[int, int]
"""A part of a text: start and exclusive end."""

MAX_TERMS = 64
"""Maximum number of search terms that are marked."""

_TERM = re.compile(r'"([^"]*)"|“([^”]*)”|([^\s/:;|()\[\]{}"“”]+)')
_WORD = re.compile(r"\w+")
_UNSPACED = re.compile(f"[{UNSPACED}]+")

_BEGIN, _END = "\ue000", "\ue001"
_WRAPPED = re.compile(r"(?<=[^\n]{40})\n(?=\S)(?![-*+•|#>]|\d+[.)]\s|[A-Z][\w ]{0,30}:\s)")
_ROW = re.compile(r" \| |\t")
_HEADING = re.compile(r"^#{1,6}[ \t]+(?=\S)", re.MULTILINE)
_STOP_WORD_LIST = """
    a an and any are as at be been but by can did do does for from had has have how if in into is it
    its of on or our so than that the their them then there these they this those to was we were
    what when where which who why will with would you your
"""
_STOP_WORDS = frozenset(_STOP_WORD_LIST.split())


def passage_text(text: str) -> str:
    """Return a text for display: a line for each paragraph, and headings without their marks."""
    return _HEADING.sub("", join_wrapped_lines(tidy(text)))


def join_wrapped_lines(text: str) -> str:
    """Replace line breaks inside the paragraphs of extracted text by spaces.

    Short lines, headings, rows of tables, and lines before items of lists and fields such as
    `Year: 1995` keep their line break.
    """

    def replacement(match: re.Match[str]) -> str:
        before = text[: match.start()].rpartition("\n")[2]
        after = text[match.end() :].partition("\n")[0]
        keeps = _ROW.search(before) or _ROW.search(after) or _HEADING.match(before)
        return "\n" if keeps else " "

    return _WRAPPED.sub(replacement, text)


def mark_words(query: str, texts: Sequence[str]) -> list[list[Span]]:
    """Return the parts of each text that match the words and the quoted phrases of a query.

    Words are compared by their stems, without case and accents, as the full-text index of the
    service does: `inductions` matches `induction`. Of Chinese, Japanese and Korean, the pairs of
    adjacent characters that the query has are marked.
    """
    terms = _search_terms(query)
    if not terms or not texts:
        return [[] for _ in texts]
    pairs = _pairs(query)
    matches = _word_matches(terms, texts)
    return [
        _merged([*spans, *_pair_matches(pairs, text)]) if pairs else spans
        for spans, text in zip(matches, texts, strict=True)
    ]


def _pairs(query: str) -> set[str]:
    """Return the pairs of adjacent `UNSPACED` characters of a query, and single ones."""
    runs = _UNSPACED.findall(query)
    return {run[place : place + 2] for run in runs for place in range(max(1, len(run) - 1))}


def _pair_matches(pairs: set[str], text: str) -> list[Span]:
    return [
        (place, place + length)
        for place in range(len(text))
        for length in (1, 2)
        if text[place : place + length] in pairs
    ]


def _merged(spans: Iterable[Span]) -> list[Span]:
    """Return spans in order, with those that overlap or touch as one."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _word_matches(terms: Sequence[str], texts: Sequence[str]) -> list[list[Span]]:
    try:
        return _stemmed_matches(terms, texts)
    except sqlite3.Error:  # a SQLite without full-text search
        words = {word.casefold() for term in terms for word in _WORD.findall(term)}
        return [
            [match.span() for match in _WORD.finditer(text) if match[0].casefold() in words]
            for text in texts
        ]


def _search_terms(query: str) -> list[str]:
    """Return the phrases and words of a query, without stop words unless there is nothing else."""
    matches = [next(filter(None, match.groups()), "") for match in _TERM.finditer(query)]
    terms = [term for term in dict.fromkeys(matches) if any(map(str.isalnum, term))]
    content = [term for term in terms if term.casefold() not in _STOP_WORDS]
    return (content or terms)[:MAX_TERMS]


def _stemmed_matches(terms: Sequence[str], texts: Sequence[str]) -> list[list[Span]]:
    expression = " OR ".join(f'"{_clean(term)}"' for term in terms)
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(
            "CREATE VIRTUAL TABLE passages USING fts5"
            "(text, tokenize = 'porter unicode61 remove_diacritics 2')"
        )
        database.executemany(
            "INSERT INTO passages (rowid, text) VALUES (?, ?)",
            ((number, _clean(text)) for number, text in enumerate(texts)),
        )
        rows = database.execute(
            "SELECT rowid, highlight(passages, 0, ?, ?) FROM passages WHERE passages MATCH ?",
            (_BEGIN, _END, expression),
        )
        marked = {number: _spans(highlighted) for number, highlighted in rows}
    return [marked.get(number, []) for number in range(len(texts))]


def _clean(text: str) -> str:
    """Return a text of the same length that SQLite accepts, without quotes and marks."""
    blank = dict.fromkeys(map(ord, f'\0"{_BEGIN}{_END}'), " ")
    return text.translate(blank).encode("utf-8", "replace").decode()


def _spans(highlighted: str) -> list[Span]:
    spans, start = [], 0
    for removed, match in enumerate(re.finditer(f"[{_BEGIN}{_END}]", highlighted)):
        place = match.start() - removed
        if match[0] == _BEGIN:
            start = place
        else:
            spans.append((start, place))
    return spans


_SPACED = "margin:6px 0"
_GREY = "background-color:rgba(128,128,128,0.15);border-radius:3px"
_LINE = "rgba(128,128,128,0.4)"
_STYLES = {
    "p": _SPACED,
    "ul": f"{_SPACED};padding:0 24px",
    "ol": f"{_SPACED};padding:0 24px",
    "blockquote": f"{_SPACED};padding:0 0 0 10px;border-left:3px solid {_LINE}",
    "table": f"{_SPACED};border-collapse:collapse",
    "th": f"padding:2px 8px;border-bottom:1px solid {_LINE};text-align:left",
    "td": "padding:2px 8px;text-align:left",
}
_DIRECTED = ("p", "li", "th", "td")
"""Elements whose text runs from left to right or from right to left."""

_CODE = f"{_GREY};padding:0 3px"
_FENCE = f"{_GREY};{_SPACED};padding:6px 8px;white-space:pre-wrap;overflow-wrap:break-word"

_AS_TEXT = ("autolink", "entity", "escape", "html_inline", "image", "link")
_NOT_BLOCKS = ("code", "html_block", "lheading", "reference")


def to_html(text: str) -> str:
    """Return tidied text (`markup.tidy`) as HTML without active content."""
    rendered: str = _renderer().render(text)
    return rendered.strip()


@cache
def _renderer() -> MarkdownIt:
    from markdown_it import MarkdownIt  # imported only if there is Markdown to render

    renderer = MarkdownIt("commonmark", {"html": False, "breaks": True, "xhtmlOut": False})
    renderer.enable("table").disable([*_AS_TEXT, *_NOT_BLOCKS])
    renderer.core.ruler.push("styles", lambda state: _add_styles(state.tokens))
    # Headings of the text must not become headings of the notebook.
    renderer.add_render_rule("heading_open", _constant(f'<p style="{_SPACED}" dir="auto"><strong>'))
    renderer.add_render_rule("heading_close", _constant("</strong></p>\n"))
    renderer.add_render_rule("code_inline", _code)
    renderer.add_render_rule("fence", _fence)
    return renderer


def _add_styles(tokens: Sequence[Token]) -> None:
    for token in tokens:
        if token.nesting == 1 and token.tag in _STYLES:
            token.attrSet("style", _STYLES[token.tag])
        if token.nesting == 1 and token.tag in _DIRECTED:
            token.attrSet("dir", "auto")


def _constant(markup: str) -> Any:
    return lambda _self, _tokens, _index, _options, _env: markup


def _code(_self: Any, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    return f'<code style="{_CODE}">{html.escape(tokens[index].content)}</code>'


def _fence(_self: Any, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    return f'<pre style="{_FENCE}">{html.escape(tokens[index].content.rstrip())}</pre>\n'


CONTEXT_LENGTH = 1500
"""Maximum length of the passage on each side of the quote, in characters."""

_MARK = "background-color:#ffe082;color:#212121;border-radius:2px"  # readable in both themes
_LINES = "white-space:pre-line;overflow-wrap:break-word"


def passage_html(citation: Citation) -> str:
    """Return the passage with the quote marked, or both separately if the quote is not in it."""
    passage, quote = map(passage_text, (citation.passage, citation.quote))
    place = _locate_quote(quote, passage)
    if place is None:
        rows = [mark_html(quote)] if quote else []
        rows += [html.escape(_head(passage, 2 * CONTEXT_LENGTH))] if passage else []
        if not rows:
            return div("The service sent no passage.", MUTED)
    else:
        start, end = place
        before, after = _tail(passage[:start], CONTEXT_LENGTH), _head(passage[end:], CONTEXT_LENGTH)
        rows = [f"{html.escape(before)}{mark_html(passage[start:end])}{html.escape(after)}"]
    header = "" if citation.table_header in passage else header_html(citation.table_header)
    return header + "".join(text_div(row, _LINES) for row in rows)


def header_html(table_header: str) -> str:
    """Return the first row of the table that a passage continues; empty if there is none."""
    return div(escape(header_text(table_header)), MUTED) if table_header else ""


def _locate_quote(quote: str, passage: str) -> tuple[int, int] | None:
    """Return the position of the quote, ignoring differences in line breaks."""
    if not quote.strip():
        return None
    match = re.search(r"\s+".join(map(re.escape, quote.split())), passage)
    return match and match.span()


def mark_html(text: str) -> str:
    """Return a text as HTML, marked."""
    return f'<mark style="{_MARK}">{html.escape(text)}</mark>'


def _tail(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"…{text[-limit:].lstrip()}"


def _head(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit].rstrip()}…"


LONG = 4000
"""Maximum length of a question, or of the reasoning behind the searches, in characters."""

STYLE = "max-width:700px;padding:4px 0;font-size:13px;line-height:1.6;overflow-wrap:break-word"
_SIDE = "margin:6px 0;padding:0 0 0 10px;border-left:3px solid rgba(128,128,128,0.4)"


def render_html(
    state: AnswerState, *, live: bool = False, opens: bool = False, seen_at: str = ""
) -> str:
    """Return the answer's state as HTML.

    Args:
        state: the state.
        live: the marks are buttons for `js/answer.js`.
        opens: the citations of the answer have buttons that open their sources.
        seen_at: the time of the state, for an unfinished answer that may be seen much later.
    """
    rows = [text_div(escape(state.question, LONG), "font-weight:600")] if state.question else []
    rows += (
        _pending_html(state, live, seen_at)
        if state.answer is None
        else _answer_html(state, state.answer, live, opens)
    )
    return div("".join(rows), STYLE)


def live_state(state: AnswerState, *, opens: bool = False) -> dict[str, Any]:
    """Return the state of the live view; with `opens`, citations can open their sources."""
    return {
        "html": render_html(state, live=True, opens=opens),
        "announcement": announcement(state),
        "busy": state.answer is None and not state.broken,
        "complete": state.answer is not None,
    }


def announcement(state: AnswerState) -> str:
    """Return the text for screen readers while the answer is streamed."""
    if state.answer is not None:
        return f"The answer is complete, with {pluralize(len(state.answer.citations), 'citation')}."
    return interruption_text(state) or current_step(state)


def _pending_html(state: AnswerState, live: bool, seen_at: str) -> list[str]:
    """Return the rows before the answer: searches and partial answers."""
    rows: list[str] = []
    cited: list[Citation] = []
    if state.searches:
        rows.append(div(escape(search_text(state), LONG), MUTED))
    for text, citations in state.partials:
        rendered, ordered = _text_html(text, citations, live, len(cited))
        cited += ordered
        rows.append(div(rendered, _SIDE))
    if state.writing:
        rows.append(div(to_html(tidy(state.writing))))
    rows.append(_citations_html(cited))
    if state.broken:
        rows.append(
            div(escape(interruption_text(state)), f"margin:6px 0;padding:2px 8px;{edge(*BAD)}")
        )
    else:
        rows.append(step_html(current_step(state), seen_at))
    return rows


def _answer_html(state: AnswerState, answer: Answer, live: bool, opens: bool) -> list[str]:
    rendered, cited = _text_html(answer.text, answer.citations, live, 0)
    rows = [
        div(rendered),
        _citations_html(cited, opens=opens) or div("No citations.", MUTED),
        _search_steps_html(state),
    ]
    rows += [div(message_html(line), MUTED) for line in footer_lines(answer)]
    return rows


def step_html(step: str, seen_at: str) -> str:
    """Return the step of an unfinished text, with the time at which it was seen."""
    dot = span("●", color("color", *BUSY))
    line = span(escape(step_text(step, seen_at)), MUTED)
    return f'<span class="labext-phase">{dot} {line}</span>'


def cited_html(text: str, citations: Sequence[Citation]) -> str:
    """Return a text with its numbered citations below it."""
    rendered, cited = _text_html(text, citations, False, 0)
    return div(rendered) + _citations_html(cited)


def _text_html(
    text: str, citations: Sequence[Citation], live: bool, before: int
) -> tuple[str, tuple[Citation, ...]]:
    """Return a text with numbered marks starting after `before`, and its citations in order."""
    numbered = number_citations(text, citations)

    def mark(number: int) -> str:
        if not live:
            return f'<sup style="line-height:0">[{before + number}]</sup>'
        place = escape(citation_place(numbered.citations[number - 1]))
        name = f'aria-label="Citation {before + number}: {place}" aria-expanded="false"'
        return f'<button type="button" class="labext-cite" {name}>{before + number}</button>'

    return replace_numbers(to_html(numbered.text), mark), numbered.citations


def _citations_html(citations: Sequence[Citation], *, opens: bool = False) -> str:
    """Return the citations, each with its passage folded, and how to open its source."""
    rows = [
        details_html(
            f"[{number}] {escape(citation_place(citation))}",
            passage_html(citation) + _opening_html(citation, number, citations, opens),
            'class="labext-citation"',
        )
        for number, citation in enumerate(citations, 1)
    ]
    return div("".join(rows), "margin:8px 0") if rows else ""


def _opening_html(
    citation: Citation, number: int, citations: Sequence[Citation], opens: bool
) -> str:
    """Return a button that opens the cited source, or the line that does the same."""
    if opens and citation.id.startswith("source:"):
        button = opening_button(number, citation.page, citation_place(citation))
        return div(button, "margin-top:4px")
    is_unique = len({other.id for other in citations if other.title == citation.title}) == 1
    line = view_line(citation.id, citation.title if is_unique else "", citation.page)
    return div(line_html(line), "margin-top:4px") if line else ""


def opening_button(number: int, page: int | None, place: str) -> str:
    """Return a button of a live view that opens the source of a citation."""
    name = "Open the source" if page is None else f"Open page {page}"
    return (
        f'<button type="button" class="labext-button labext-open" value="{number}" '
        f'aria-expanded="false" title="{escape(place)}">{name}</button>'
    )


def _search_steps_html(state: AnswerState) -> str:
    """Return the searches and partial answers, folded."""
    rows = [div(escape(state.reasoning, LONG), MUTED)] if state.reasoning else []
    rows += [div(escape(search_text(state), LONG))] if state.searches else []
    for partial in state.partials:
        rows.append(div(to_html(without_marks(*partial)), _SIDE))
    return details_html("Search steps", "".join(rows)) if rows else ""


def details_html(title: str, inner: str, attributes: str = "") -> str:
    """Return HTML that is folded below its title."""
    body = div(inner, "margin:2px 0 8px;padding-left:16px")
    summary = f'<summary style="cursor:pointer">{title}</summary>'
    return f"<details{attributes and ' ' + attributes}>{summary}{body}</details>"
