"""Display a source page by page."""

from __future__ import annotations

import html
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from labext.errors import InputError, LabextError
from labext.messages import quote_value
from labext_widgets.answers import static_view
from labext_widgets.answers.static_view import STYLE, details_html, mark_html
from labext_widgets.core.arguments import as_integer
from labext_widgets.core.markup import (
    MUTED,
    data_uri,
    div,
    escape,
    line_html,
    plain,
    scrolled,
    span,
    text_div,
    tidy,
    view_html,
)
from labext_widgets.core.placeholder import LiveOutput
from labext_widgets.documents.pages import Pages, locate

if TYPE_CHECKING:
    from labext_widgets.core.placeholder import Placeholder


MAX_TEXT = 100_000
"""Maximum number of characters of a text that are displayed."""

_CONTEXT = 1500
"""Number of characters displayed on each side of a passage in a text."""

_PICTURE = (
    "display:block;width:100%;max-width:700px;height:auto;background-color:#fff;"
    "border:1px solid rgba(128,128,128,0.5);box-sizing:border-box;margin:4px 0"
)
_LINES = "white-space:pre-wrap;overflow-wrap:anywhere"


@dataclass(frozen=True)
class PageState:
    """The displayed part of a document.

    Attributes:
        title: the source's title.
        pages: its pages.
        page: the displayed page, from 1.
        passage: the passage to mark; empty for none.
        note: a sentence about the source, such as why there is no picture.
        line: the line that displays this source, without a page.
    """

    title: str
    pages: Pages
    page: int
    passage: str = ""
    note: str = ""
    line: str = ""


def place(state: PageState) -> str:
    """Return `Title, page 3 of 12`, or only the title for a text without pages."""
    title = plain(state.title)
    return title if state.pages.count == 1 else f"{title}, {_page(state)}"


def render_html(state: PageState, *, live: bool = False) -> str:
    """Return the page as HTML; `live` omits the parts that the live view's buttons replace."""
    heading = span(escape(state.title), "font-weight:600")
    many = state.pages.count > 1
    if many and not live:
        heading += span(f" · {_page(state)}", MUTED)
    rows = [div(heading)]
    if state.note:
        rows.append(div(escape(state.note), MUTED))
    picture = state.pages.render(state.page, state.passage)
    if picture is None:
        rows += _text_rows(state)
    else:
        described = escape(f"{_page(state).capitalize()} of {state.title}; its text is below")
        if state.passage and not picture.boxes:
            rows.append(div(_missing_passage(state), MUTED))
        rows.append(
            f'<img src="{data_uri(picture.data, picture.media_type)}" alt="{described}" '
            f'width="{picture.width}" height="{picture.height}" style="{_PICTURE}">'
        )
        rows.append(details_html("Text of this page", _marked(state, whole=True)))
    if many and not live and state.line:
        rows.append(_other_pages(state))
    return div("".join(rows), STYLE)


def render_text(state: PageState) -> str:
    """Return the page as plain text, with the passage between asterisks."""
    text = tidy(state.pages.text(state.page), MAX_TEXT)
    span = locate(state.passage, text) if state.passage else None
    if span:
        text = f"{text[: span[0]]}*{text[slice(*span)]}*{text[span[1] :]}"
    missing = _missing_passage(state) if state.passage and not span else ""
    rows = [place(state), plain(state.note), missing, "", text.strip() or "The page has no text."]
    return "\n".join(row for n, row in enumerate(rows) if row or n == 3)


def _page(state: PageState) -> str:
    return f"page {state.page} of {state.pages.count}"


def _missing_passage(state: PageState) -> str:
    """Return where the passage is that the displayed page does not have, or why none is marked."""
    page = state.pages.find(state.passage)
    if page is not None:
        return f"The passage is on page {page}."
    if not state.pages.text(state.page).strip():
        return "The page is a picture without text, in which no passage can be marked."
    return "The passage was not found in this source."


def _text_rows(state: PageState) -> list[str]:
    """Return a text: with a passage, the part around it before the whole text."""
    text = tidy(state.pages.text(state.page), MAX_TEXT)
    if not text.strip():
        return [div("The text is empty.", MUTED)]
    whole = (
        static_view.to_html(text)
        if state.pages.is_markdown
        else text_div(html.escape(text), _LINES)
    )
    whole = scrolled(whole, "Text")
    if not state.passage:
        return [whole]
    if locate(state.passage, text) is None:
        return [div(_missing_passage(state), MUTED), whole]
    return [scrolled(_marked(state, whole=False), "Passage"), details_html("Whole text", whole)]


def _marked(state: PageState, *, whole: bool) -> str:
    """Return the page's text with the passage marked, or only the part around it."""
    text = tidy(state.pages.text(state.page), MAX_TEXT)
    span = locate(state.passage, text) if state.passage else None
    if span is None:
        return text_div(html.escape(text) or "The page has no text.", _LINES)
    start, end = span
    before, after = text[:start], text[end:]
    if not whole and len(before) > _CONTEXT:
        before = f"…{before[-_CONTEXT:]}"
    if not whole and len(after) > _CONTEXT:
        after = f"{after[:_CONTEXT]}…"
    marked = f"{html.escape(before)}{mark_html(text[start:end])}{html.escape(after)}"
    return text_div(marked, _LINES)


def _other_pages(state: PageState) -> str:
    """Return the lines that display the previous and the next page."""
    lines = []
    if state.page > 1:
        lines.append(("Previous", state.page - 1))
    if state.page < state.pages.count:
        lines.append(("Next", state.page + 1))
    parts = [f"{name}: {line_html(f'{state.line} --page {number}')}" for name, number in lines]
    return div(" &nbsp; ".join(parts), "margin:4px 0")


class SourceView(LiveOutput):
    """A source with its pages, displayed when it is the value of a cell.

    Args:
        title: the source's title.
        pages: its pages.
        page: the page to display first; by default the one with the passage, or the first.
        passage: a passage that is marked.
        note: a sentence about the source, such as why there are no pictures.
        line: the line that displays this source, without a page.

    Raises:
        InputError: there is no such page.
    """

    def __init__(
        self,
        title: str,
        pages: Pages,
        page: int | None = None,
        passage: str = "",
        note: str = "",
        line: str = "",
    ) -> None:
        super().__init__()
        self._state = PageState(title, pages, 1, passage.strip(), note, line)
        if page is None:
            page = (pages.find(passage) if passage.strip() else None) or 1
        self._state = replace(self._state, page=self._checked(page))

    @property
    def title(self) -> str:
        """The source's title."""
        return self._state.title

    @property
    def page(self) -> int:
        """The displayed page, from 1; can be set."""
        return self._state.page

    @page.setter
    def page(self, number: int) -> None:
        before = self._state
        self._state = replace(before, page=self._checked(number))
        try:
            state = self._live_state()
        except InputError:  # a broken page
            self._state = before
            raise
        self._send_change(state)
        self._update_static()

    @property
    def pages(self) -> int:
        """The number of pages; a text has one."""
        return self._state.pages.count

    @property
    def passage(self) -> str:
        """The passage that is marked, or an empty string."""
        return self._state.passage

    @property
    def text(self) -> str:
        """The text of the displayed page."""
        return self._state.pages.text(self.page)

    def picture(self) -> bytes:
        """Return the displayed page as a PNG, with the passage highlighted.

        Raises:
            InputError: the source is a text, which has no picture.
        """
        png = self._state.pages.png(self.page, self.passage)
        if png is None:
            raise InputError(
                f"{quote_value(plain(self.title))} is displayed as text, so it has no picture.",
                "Use the attribute `text`.",
            )
        return png

    def at(self, page: int | None, passage: str = "") -> SourceView:
        """Return a view of the same source at another page and passage."""
        state = self._state
        return SourceView(state.title, state.pages, page, passage, state.note, state.line)

    def html(self) -> str:
        """Return the displayed page as HTML."""
        return render_html(self._state, live=True)

    def __repr__(self) -> str:
        """Return one line with the title and the page."""
        return f"<SourceView {place(self._state)}>"

    def __str__(self) -> str:
        """Return the title and the text of the displayed page."""
        return render_text(self._state)

    def _mount(self, output: Placeholder) -> None:
        if self.pages > 1:
            output.live("document", self._live_state(), self._receive)

    def _render(self) -> tuple[str, str]:
        return view_html(render_html(self._state)), render_text(self._state)

    def _live_state(self, error: str = "") -> dict[str, Any]:
        return {"page": self.page, "pages": self.pages, "html": self.html(), "error": error}

    def _checked(self, number: Any) -> int:
        """Return a page number if there is such a page."""
        page = as_integer(number)
        if page is not None and 1 <= page <= self.pages:
            return page
        title = quote_value(plain(self.title))
        if self.pages == 1:
            raise InputError(f"{title} has one page only, not a page {number}.", "Use page 1.")
        raise InputError(
            f"{title} has no page {number}; its pages are 1 to {self.pages}.",
            f"Use a number from 1 to {self.pages}.",
        )

    def _receive(self, content: Any, _buffers: list[Any]) -> None:
        """Display the page that was chosen in a live view."""
        if not isinstance(content, dict) or content.get("do") != "page":
            return
        try:
            self.page = content.get("page")  # type: ignore[assignment]
        except LabextError as error:
            self._send_change({"page": self.page, "error": str(error)})
