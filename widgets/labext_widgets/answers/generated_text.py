"""Display texts that a model has generated."""

from __future__ import annotations

from typing import Any

from labext.messages import quote_value
from labext_widgets.answers import markdown, static_view
from labext_widgets.core.display import display_html
from labext_widgets.core.front_end import FrontEnd, front_end
from labext_widgets.core.markup import MUTED, UNTYPESET, div, escape, plain, tidy


class GeneratedText:
    """A text that a model has made. A cell that ends with it shows it, its Markdown drawn.

    Attributes:
        text: what the model has made, as it came.
        title: what was made, and of what.
        model: which model has made it; None where that isn't told.
    """

    def __init__(self, text: str, title: str = "", model: str | None = None) -> None:
        self.text = text
        self.title = title
        self.model = model

    def __repr__(self) -> str:
        """One line: what it is."""
        return f"<GeneratedText {quote_value(plain(self.title or self.text))}>"

    def __str__(self) -> str:
        """The text, with nothing in it that steers a terminal."""
        return tidy(self.text) or "The text is empty."

    def _ipython_display_(self, **_: Any) -> None:
        title = plain(self.title)
        told = f"{title}\n\n{self}" if title else str(self)
        if front_end() is FrontEnd.TERMINAL:
            print(told)
            return
        display_html(f'<div class="labext {UNTYPESET}">{self._html()}</div>', told)

    def _html(self) -> str:
        rows = [div(escape(self.title), "font-weight:600")] if self.title else []
        rows.append(div(markdown.to_html(str(self))))
        if self.model:
            rows.append(div(f"Made by {escape(self.model)}.", MUTED))
        return div("".join(rows), static_view.STYLE)


class GeneratedTexts(list[GeneratedText]):
    """Several of them, in their order. A cell that ends with it shows each.

    Attributes:
        text: all of them, each below its title.
    """

    @property
    def text(self) -> str:
        """All of them as one Markdown text, each below its title."""
        return "\n\n".join(f"## {each.title}\n\n{each.text}" for each in self)

    def _ipython_display_(self, **_: Any) -> None:
        for n, each in enumerate(self):
            if n and front_end() is FrontEnd.TERMINAL:
                print()
            each._ipython_display_()
