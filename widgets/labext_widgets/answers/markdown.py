"""Render Markdown as safe HTML: CommonMark and tables, without raw HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_SPACED = "margin:6px 0"
_GREY = "background-color:rgba(128,128,128,0.15);border-radius:3px"
_LINE = "rgba(128,128,128,0.4)"
_STYLES = {
    "p": _SPACED,
    "ul": f"{_SPACED};padding-left:24px",
    "ol": f"{_SPACED};padding-left:24px",
    "blockquote": f"{_SPACED};padding:0 0 0 10px;border-left:3px solid {_LINE}",
    "table": f"{_SPACED};border-collapse:collapse",
    "th": f"padding:2px 8px;border-bottom:1px solid {_LINE};text-align:left",
    "td": "padding:2px 8px;text-align:left",
}
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
    renderer.add_render_rule("heading_open", _constant(f'<p style="{_SPACED}"><strong>'))
    renderer.add_render_rule("heading_close", _constant("</strong></p>\n"))
    renderer.add_render_rule("code_inline", _code)
    renderer.add_render_rule("fence", _fence)
    return renderer


def _add_styles(tokens: Sequence[Token]) -> None:
    for token in tokens:
        if token.nesting == 1 and token.tag in _STYLES:
            token.attrSet("style", _STYLES[token.tag])


def _constant(markup: str) -> Any:
    return lambda _self, _tokens, _index, _options, _env: markup


def _code(_self: Any, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    return f'<code style="{_CODE}">{html.escape(tokens[index].content)}</code>'


def _fence(_self: Any, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    return f'<pre style="{_FENCE}">{html.escape(tokens[index].content.rstrip())}</pre>\n'
