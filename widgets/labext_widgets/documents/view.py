"""Display a source page by page."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from labext.errors import InputError, LabextError
from labext.messages import quote_value
from labext_widgets.core.live_output import LiveOutput
from labext_widgets.core.markup import UNTYPESET, plain
from labext_widgets.documents import static_view
from labext_widgets.documents.pages import Pages
from labext_widgets.documents.static_view import PageState

if TYPE_CHECKING:
    from labext_widgets.core.placeholder import Placeholder


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
        self._state = replace(self._state, page=self._checked(number))
        self._send_change(self._live_state())
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
        return static_view.render_html(self._state, live=True)

    def __repr__(self) -> str:
        """Return one line with the title and the page."""
        return f"<SourceView {static_view.place(self._state)}>"

    def __str__(self) -> str:
        """Return the title and the text of the displayed page."""
        return static_view.render_text(self._state)

    def _mount(self, output: Placeholder) -> None:
        if self.pages > 1:
            output.live("document", self._live_state(), self._receive)

    def _render(self) -> tuple[str, str]:
        html = static_view.render_html(self._state)
        return f'<div class="labext {UNTYPESET}">{html}</div>', static_view.render_text(self._state)

    def _live_state(self, error: str = "") -> dict[str, Any]:
        return {"page": self.page, "pages": self.pages, "html": self.html(), "error": error}

    def _checked(self, number: Any) -> int:
        """Return a page number if there is such a page."""
        is_integer = hasattr(number, "__index__") and not isinstance(number, bool)
        if is_integer and 1 <= number <= self.pages:
            return int(number)
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
