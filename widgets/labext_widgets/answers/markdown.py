"""The little Markdown of an answer as HTML: paragraphs, headings, lists, bold, italic, code.

Everything else is shown as it stands. The text may be hostile: no character of it becomes markup,
and it costs no more than its length.
"""

from __future__ import annotations

import html
import re
from typing import NamedTuple

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[^`]*$")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(\S.*)$")
_ITEM = re.compile(r"([ \t]*)(?:[-*+•]|([0-9]{1,9})[.)])[ \t]+(\S.*)$")
_DELIMITER = re.compile(r"(`+|\*{1,3})")
_EMPHASIS = {
    "*": ("<em>", "</em>"),
    "**": ("<strong>", "</strong>"),
    "***": ("<strong><em>", "</em></strong>"),
}

_SPACED = "margin:6px 0"
_GREY = "background-color:rgba(128,128,128,0.15);border-radius:3px"
_SPAN = f"{_GREY};padding:0 3px"
_BLOCK = f"{_GREY};{_SPACED};padding:6px 8px;white-space:pre-wrap;overflow-wrap:break-word"
_DEEPEST = 16
"""Columns of indentation that make lists within lists; more makes no more."""


class _Item(NamedTuple):
    indent: int
    number: str | None
    text: str


def to_html(text: str) -> str:
    """Return tidied text (`markup.tidy`) as HTML that shows it and does nothing else."""
    lines, at = text.split("\n"), 0
    drawn = []
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            at += 1
            continue
        if fence := _FENCE.match(line):
            end = _end_of_code(lines, at, fence[1])
            drawn.append(f'<pre style="{_BLOCK}">{_escaped(lines[at + 1 : end])}</pre>')
            end += 1
        elif heading := _HEADING.match(line):
            words = inline(heading[1].rstrip("# \t"))
            drawn.append(f'<p style="{_SPACED}"><strong>{words}</strong></p>')
            end = at + 1
        elif _ITEM.match(line):
            items, end = _items(lines, at)
            drawn.append(_lists(items))
        else:
            end = _end_of_paragraph(lines, at)
            drawn.append(f'<p style="{_SPACED}">{inline(chr(10).join(lines[at:end]))}</p>')
        at = end
    return "".join(drawn)


def inline(text: str) -> str:
    """Return the text of a paragraph as HTML: bold, italic and code; line ends stay."""
    tokens = _DELIMITER.split(text)
    later: dict[str, list[int]] = {}
    for i in range(len(tokens) - 2, 0, -2):
        later.setdefault(tokens[i], []).append(i)
    drawn: list[str] = []
    opened: dict[str, int] = {}
    i = place = 0
    while i < len(tokens):
        token, end = tokens[i], i
        if i % 2 == 0:
            drawn.append(html.escape(token).replace("\n", "<br>"))
        elif token.startswith("`"):
            while later[token] and later[token][-1] <= i:
                later[token].pop()
            end = later[token][-1] if later[token] else i
            code = "".join(tokens[i + 1 : end])
            drawn.append(f'<code style="{_SPAN}">{_escaped([code])}</code>' if code else token)
            end = end if code else i
        else:
            before = text[max(place - 1, 0) : place]
            after = text[place + len(token) : place + len(token) + 1]
            _emphasis(token, before, after, drawn, opened)
        place += sum(map(len, tokens[i : end + 1]))
        i = end + 1
    return "".join(drawn)


def _emphasis(
    token: str, before: str, after: str, drawn: list[str], opened: dict[str, int]
) -> None:
    """Draw a delimiter of bold or italic; only at the edges of words, `2*3*4` has none."""
    start = opened.get(token)
    if start is not None and before.strip() and not after.isalnum():
        drawn[start], end = _EMPHASIS[token]
        drawn.append(end)
        for other in [each for each, i in opened.items() if i >= start]:
            del opened[other]
        return
    if after.strip() and not before.isalnum():
        opened[token] = len(drawn)
    drawn.append(token)


def _escaped(lines: list[str]) -> str:
    return html.escape("\n".join(lines))


def _end_of_code(lines: list[str], at: int, fence: str) -> int:
    for i in range(at + 1, len(lines)):
        if lines[i].strip().startswith(fence) and not lines[i].strip().strip(fence[0]):
            return i
    return len(lines)


def _end_of_paragraph(lines: list[str], at: int) -> int:
    for i in range(at + 1, len(lines)):
        if not lines[i].strip() or _begins(lines[i]):
            return i
    return len(lines)


def _begins(line: str) -> bool:
    return any(each.match(line) for each in (_FENCE, _HEADING, _ITEM))


def _items(lines: list[str], at: int) -> tuple[list[_Item], int]:
    """Return the items of a list, and the line after it; an empty line may stand between two."""
    items: list[_Item] = []
    while at < len(lines):
        line = lines[at]
        if found := _ITEM.match(line):
            indent = min(len(found[1].expandtabs(4)), _DEEPEST)
            items.append(_Item(indent, found[2], found[3]))
        elif line.strip() and not _begins(line):
            text = f"{items[-1].text}\n{line.strip()}"
            items[-1] = items[-1]._replace(text=text)
        elif line.strip() or not any(map(_ITEM.match, lines[at + 1 : at + 2])):
            break
        at += 1
    return items, at


def _lists(items: list[_Item]) -> str:
    """Return items as lists; those further in belong to the one before them."""
    drawn, kind, at = [], "", 0
    while at < len(items):
        first, end = items[at], at + 1
        while end < len(items) and items[end].indent > first.indent + 1:
            end += 1
        if (new := "ol" if first.number else "ul") != kind:
            start = (
                f' start="{int(first.number)}"' if first.number and int(first.number) != 1 else ""
            )
            drawn.append(
                f'{kind and f"</{kind}>"}<{new}{start} style="{_SPACED};padding-left:24px">'
            )
            kind = new
        drawn.append(f"<li>{inline(first.text)}{_lists(items[at + 1 : end])}</li>")
        at = end
    return "".join([*drawn, f"</{kind}>"]) if drawn else ""
