"""Display the hits of a search as passages, as an answer shows its citations."""

from __future__ import annotations

import html
import secrets
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from labext.frames.views import VIEW_ATTRIBUTE, RowView, display_width
from labext.messages import pluralize
from labext.nb.records import Citation
from labext_widgets.answers.static_view import (
    STYLE,
    Span,
    header_html,
    mark_html,
    mark_words,
    opening_button,
    passage_text,
)
from labext_widgets.answers.text import header_text, transcript_note
from labext_widgets.core.front_end import FrontEnd, front_end
from labext_widgets.core.markup import (
    BUSY,
    MUTED,
    TRACK,
    color,
    div,
    escape,
    line_html,
    plain,
    span,
    text_div,
    view_html,
    view_line,
)

if TYPE_CHECKING:
    from labext_widgets.answers.view import OpenCitation

MAX_PASSAGES = 100
"""Maximum number of passages that are displayed."""

_MAX_LENGTH = 1500
"""Maximum number of characters of a passage that are displayed."""

_BAR_CELLS = 10  # … of a bar in text
_BODY = "margin:2px 0 0;padding-left:16px"
_LINES = "white-space:pre-line;overflow-wrap:break-word"
_BAR = (
    f"display:inline-block;vertical-align:middle;width:72px;height:6px;{TRACK};"
    "border-radius:3px;overflow:hidden"
)


@dataclass(frozen=True)
class _Passage:
    """A passage as it is displayed.

    Attributes:
        place: the title and the page.
        page: the page number; None without pages.
        table_header: the first row of the table that it continues, or an empty string.
        text: the text, shortened around the marked part.
        marks: the parts of the text that are marked.
        share: the relevance relative to the best hit, from 0 to 1; None if the service has none.
        line: the line that opens the source.
    """

    place: str
    page: int | None
    table_header: str
    text: str
    marks: Sequence[Span]
    share: float | None
    line: str


@dataclass(frozen=True, kw_only=True, eq=False)
class PassageView(RowView):
    """Frames of passages that a search has found; the query is kept in `frame.attrs`."""

    def show_hits(
        self, frame: pd.DataFrame, query: str, open_citation: OpenCitation | None = None
    ) -> pd.DataFrame:
        """Return hits displayed as passages in which the words of the query are marked.

        In JupyterLab they have buttons that open the pages of their sources by `open_citation`.
        """
        view = self.show(frame)
        scores = [score for score in map(_score, view.to_dict("records")) if score is not None]
        view.attrs[VIEW_ATTRIBUTE] |= {
            "query": query,
            "best": max(scores, default=None),
            "opener": _register(open_citation),
        }
        return view

    def applies_to(self, frame: pd.DataFrame) -> bool:
        """Return True if the rows are passages with their titles."""
        return {"title", "match"} <= set(frame.columns) and super().applies_to(frame)

    def text(self, frame: pd.DataFrame) -> str:
        """Return the passages with their matches between asterisks."""
        if not len(frame):
            return super().text(frame)
        width = max(min(display_width(), 100), 40)
        rows = []
        for number, passage in enumerate(self._passages(frame), 1):
            head = f"{number}. {passage.place}"
            if passage.share is not None:
                filled = round(passage.share * _BAR_CELLS)
                bar = "█" * filled + "░" * (_BAR_CELLS - filled)
                head += f"  {bar}"
            marked = _apply_marks(passage, str, lambda text: f"*{text}*")
            wrapper = textwrap.TextWrapper(
                width, initial_indent="   ", subsequent_indent="   ", break_on_hyphens=False
            )
            if passage.table_header:
                marked = f"{header_text(passage.table_header)}\n{marked}"
            lines = (" ".join(line.split()) for line in marked.splitlines())
            body = "\n".join(wrapper.fill(line) for line in lines if line)
            rows.append(
                "\n".join(filter(None, (head, body, passage.line and f"   {passage.line}")))
            )
        rows += filter(None, [_remainder(frame)])
        return "\n\n".join(rows)

    def html(self, frame: pd.DataFrame) -> str | None:
        """Return the passages, each foldable under its title and relevance."""
        if not len(frame):
            return super().html(frame)
        static = self._render_html(frame, opens=False)
        opener = _openers.get(frame.attrs.get(VIEW_ATTRIBUTE, {}).get("opener"))
        if opener is None or front_end() is not FrontEnd.INTERACTIVE:
            return static
        return self._open(frame, static, opener)

    def _open(self, frame: pd.DataFrame, static: str, open_citation: OpenCitation) -> str:
        """Return the passages with a live view whose buttons open the pages of the sources."""
        from labext_widgets.answers.view import send_opened_page
        from labext_widgets.core.placeholder import Placeholder

        hits = citations(frame.head(MAX_PASSAGES))
        placeholder = Placeholder(static, "", displayed=False)

        def receive(content: Any, _buffers: list[Any]) -> None:
            send_opened_page(placeholder, content, hits, open_citation)

        live = self._render_html(frame, opens=True)
        state = {"html": live, "announcement": "", "busy": False, "complete": True}
        placeholder.live("answer", state, receive)
        return placeholder.markup

    def _render_html(self, frame: pd.DataFrame, *, opens: bool) -> str:
        rows = [
            f'<details open style="margin:0 0 8px"><summary style="cursor:pointer">'
            f"{span(escape(passage.place), 'font-weight:600')}{_bar_html(passage)}</summary>"
            f"{div(_body_html(passage, number if opens else None), _BODY)}</details>"
            for number, passage in enumerate(self._passages(frame), 1)
        ]
        if more := _remainder(frame):
            rows.append(div(escape(more), MUTED))
        return view_html(div("".join(rows), STYLE))

    def _passages(self, frame: pd.DataFrame) -> list[_Passage]:
        search = frame.attrs.get(VIEW_ATTRIBUTE, {})
        query, best = str(search.get("query") or ""), search.get("best")
        hits = frame.head(MAX_PASSAGES).to_dict("records")
        texts = [passage_text(_string(hit["match"])) for hit in hits]
        titles = _titles(hits)
        return [
            _Passage(
                _place(hit),
                _page(hit),
                _string(hit.get("table_header")),
                *_shortened(text, spans),
                _share(_score(hit), best),
                _line(hit, titles),
            )
            for hit, text, spans in zip(hits, texts, mark_words(query, texts), strict=True)
        ]


_MAX_OPENERS = 50
_openers: dict[str | None, OpenCitation] = {}
"""The functions that open the pages of the last searches, by the keys stored in frames."""


def _register(open_citation: OpenCitation | None) -> str | None:
    """Store a function that opens citations, and return its key."""
    if open_citation is None:
        return None
    key = secrets.token_hex(8)
    _openers[key] = open_citation
    while len(_openers) > _MAX_OPENERS:
        _openers.pop(next(iter(_openers)))
    return key


HITS = PassageView(
    name="passages",
    empty="No matches.",
    first=("title", "match", "page", "similarity", "relevance"),
    last=("kind", "id"),
)


def citations(hits: pd.DataFrame) -> list[Citation]:
    """Return the hits of a search as citations, the best first."""
    return [
        Citation(
            _string(hit["id"]),
            _string(hit["title"]),
            passage=_string(hit["match"]),
            page=_page(hit),
            table_header=_string(hit.get("table_header")),
        )
        for hit in hits.to_dict("records")
    ]


def _string(value: Any) -> str:
    return "" if value is None or pd.isna(value) else str(value)


def _page(hit: dict[Any, Any]) -> int | None:
    page = hit.get("page")
    return None if page is None or pd.isna(page) else int(page)


def _place(hit: dict[Any, Any]) -> str:
    title = plain(_string(hit["title"])) or plain(_string(hit.get("id"))) or "Untitled"
    page = _page(hit)
    place = title if page is None else f"{title}, page {page}"
    return place + transcript_note(hit.get("transcript") is True, hit.get("confidence"))


def _titles(hits: Sequence[dict[Any, Any]]) -> dict[str, set[str]]:
    """Return the identifiers of the hits by title; a title with several is ambiguous."""
    titles: dict[str, set[str]] = {}
    for hit in hits:
        titles.setdefault(_string(hit["title"]), set()).add(_string(hit.get("id")))
    return titles


def _line(hit: dict[Any, Any], titles: dict[str, set[str]]) -> str:
    title, identifier = _string(hit["title"]), _string(hit.get("id"))
    return view_line(identifier, title if len(titles[title]) == 1 else "", _page(hit))


def _score(hit: dict[Any, Any]) -> float | None:
    """Return a hit's relevance, or its similarity if the search has no relevance."""
    for column in ("relevance", "similarity"):
        value = hit.get(column)
        if value is not None and not pd.isna(value):
            return float(value)
    return None


def _share(score: float | None, best: Any) -> float | None:
    """Return a score relative to the best one, from 0 to 1."""
    if score is None or not isinstance(best, int | float):
        return None
    return min(max(score / best, 0.0), 1.0) if best > 0 else 0.0


def _shortened(text: str, marks: Sequence[Span]) -> tuple[str, list[Span]]:
    """Return a long text from shortly before its first mark, with the marks that are in it."""
    if len(text) <= _MAX_LENGTH:
        return text, list(marks)
    first = marks[0][0] if marks else 0
    start = max(min(first - _MAX_LENGTH // 3, len(text) - _MAX_LENGTH), 0)
    before = "…" if start else ""
    end = start + _MAX_LENGTH
    shift = len(before) - start
    inside = [
        (max(a, start) + shift, min(b, end) + shift) for a, b in marks if start < b and a < end
    ]
    return f"{before}{text[start:end]}{'…' if end < len(text) else ''}", inside


def _apply_marks(passage: _Passage, write: Any, mark: Any) -> str:
    parts, at = [], 0
    for start, end in passage.marks:
        parts += [write(passage.text[at:start]), mark(passage.text[start:end])]
        at = end
    return "".join([*parts, write(passage.text[at:])])


def _bar_html(passage: _Passage) -> str:
    if passage.share is None:
        return ""
    tint = color("background-color", *BUSY)
    filled = f'<span style="display:block;width:{passage.share:.0%};height:100%;{tint}"></span>'
    label = f"{passage.share:.0%} of the best passage's relevance"
    return (
        f'<span role="img" aria-label="{label}" title="{label}" style="margin-left:8px;{_BAR}">'
        f"{filled}</span>"
    )


def _body_html(passage: _Passage, number: int | None) -> str:
    """Return the text, and the line that opens the source or, with a number, a button."""
    marked = text_div(_apply_marks(passage, html.escape, mark_html), _LINES)
    text = marked if passage.text else div("The service sent no passage.", MUTED)
    rows = [header_html(passage.table_header), text]
    if number is not None and passage.line.startswith("%nb view "):
        rows.append(div(opening_button(number, passage.page, passage.place), "margin-top:2px"))
    elif passage.line:
        rows.append(div(line_html(passage.line), "margin-top:2px"))
    return "".join(rows)


def _remainder(frame: pd.DataFrame) -> str:
    if len(frame) <= MAX_PASSAGES:
        return ""
    return (
        f"Showing {MAX_PASSAGES} of {pluralize(len(frame), 'passage')}; "
        "the frame contains all of them."
    )
