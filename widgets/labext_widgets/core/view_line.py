"""The line that opens a source or a note."""

from __future__ import annotations

from labext_widgets.core.markup import FAINT, escape, plain

_MAX_TITLE = 100
"""Maximum length of a title on the line; a longer one is replaced by the identifier."""

_NOT_ON_A_LINE = frozenset('"{}\\$`')
"""Characters of a title that a line would need to escape."""

_CODE = f"{FAINT};border-radius:3px;padding:0 4px;overflow-wrap:anywhere"


def view_line(identifier: str, title: str = "", page: int | None = None) -> str:
    """Return the line that opens a source at a page, or a note; empty for anything else.

    The object is named by its title if that is short and needs no escaping, else by its
    identifier.
    """
    kind = identifier.partition(":")[0]
    if kind not in ("source", "note"):
        return ""
    name = _name(identifier, title)
    if not name:
        return ""
    if kind == "note":
        return f"%nb notes show {name}"
    return f"%nb view {name}" + ("" if page is None else f" --page {page}")


def line_html(line: str) -> str:
    """Return a line to type as HTML."""
    return f'<code style="{_CODE}">{escape(line)}</code>'


def _name(identifier: str, title: str) -> str:
    if (
        0 < len(title) <= _MAX_TITLE
        and plain(title) == title
        and not _NOT_ON_A_LINE.intersection(title)
        and not title.startswith(("source:", "note:"))
    ):
        return f'"{title}"'
    is_plain = plain(identifier, _MAX_TITLE) == identifier and " " not in identifier
    return "" if not is_plain or _NOT_ON_A_LINE.intersection(identifier) else identifier
