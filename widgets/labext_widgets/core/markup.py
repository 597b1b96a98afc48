"""HTML fragments that render equally in live, saved, untrusted and exported notebooks."""

from __future__ import annotations

import base64
import html
import re
import time
from collections.abc import Sequence

from labext.redaction import mask, mask_all
from labext.sanitize import DIRECTION_CONTROLS

GOOD, BUSY = ("success-color1", "#388e3c"), ("brand-color1", "#1976d2")
WARN, BAD = ("warn-color1", "#f57c00"), ("error-color1", "#d32f2f")
NEUTRAL = ("ui-font-color3", "#8a8a8a")
WAITING = ("border-color1", "#bdbdbd")

STATES = {
    "Complete": GOOD,
    "Failed": BAD,
    "Stopped": WARN,
    "Deleted": WARN,
    "Running": BUSY,
    "Pending": WAITING,
    "In Queue": WAITING,
}
"""The states of the job service in the order of the bar; unknown ones precede those that wait.
See JOBS-59."""


UNTYPESET = "tex2jax_ignore mathjax_ignore"
"""Classes that disable MathJax: a `$` in a name or a reason is a dollar, not a formula."""

WRAPPED = "overflow-wrap:break-word"
"""The style of a view with names, which may have hundreds of characters without a blank."""

MUTED = "opacity:0.7"
FAINT = "background-color:rgba(128,128,128,0.25)"
COLORED = "forced-color-adjust:none"
"""The style of what keeps its colors in high-contrast modes, such as a bar and its legend."""
TRACK = f"{FAINT};{COLORED}"
"""The background of a bar."""
PAPER = f"background-color:#ffffff;{COLORED}"
"""The background of a picture that is drawn for paper, and may be transparent."""

PRINTED_WHOLE = "<style>@media print{.labext-scrolled{max-height:none!important}}</style>"
"""A rule for elements that are scrolled: paper would show the visible part only.

It is no inline style, which can't depend on the medium; untrusted notebooks lose it.
"""

_BREAKS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""Control characters, and line and paragraph separators."""

_BREAKS_BUT_LINES = re.compile(rf"(?![\n\t]){_BREAKS.pattern}")
_DIRECTION_CONTROLS = re.compile(f"[{DIRECTION_CONTROLS}]")


def plain(text: object, limit: int = 600) -> str:
    """Return `text` on one line of at most `limit` characters.

    Secrets are masked; terminal control characters and direction overrides are removed.
    """
    cleaned = _DIRECTION_CONTROLS.sub("", str(text)).encode("utf-8", "replace").decode()
    return truncate(mask(" ".join(_BREAKS.sub(" ", cleaned).split())), limit)


def tidy(text: object, limit: int = 100_000) -> str:
    """Return `text` cleaned as by `plain`, but with its line breaks."""
    cleaned = _DIRECTION_CONTROLS.sub("", str(text)).encode("utf-8", "replace").decode()
    cleaned = _BREAKS_BUT_LINES.sub(" ", cleaned.replace("\r\n", "\n"))
    masked = mask_all("\n".join(line.rstrip() for line in cleaned.split("\n")).strip("\n"))
    return truncate(masked, limit)


def truncate(text: str, limit: int) -> str:
    """Return `text` shortened to at most `limit` characters."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def shorten_names(names: Sequence[str], limit: int) -> list[str]:
    """Return names shortened at the end, or in the middle if more of them differ then."""
    tail = (limit - 1) // 2
    ends = [truncate(name, limit) for name in names]
    middles = [
        name if len(name) <= limit else f"{truncate(name, limit - tail)}{name[-tail:].lstrip()}"
        for name in names
    ]
    return middles if len(set(middles)) > len(set(ends)) else ends


def escape(text: object, limit: int = 600) -> str:
    """Return `text` escaped for HTML."""
    return html.escape(plain(text, limit))


def data_uri(content: bytes, media_type: str) -> str:
    """Return a file's content as the value of an attribute such as `src`."""
    return f"data:{media_type};base64,{base64.b64encode(content).decode('ascii')}"


def percentage(share: float) -> str:
    """Return a share in percent; only all is `100%` and only none is `0%`."""
    text = f"{share:.0%}"
    if text == "100%" and share < 1:
        return "over 99%"
    return "under 1%" if text == "0%" and share > 0 else text


def clock(seconds: float) -> str:
    """Return seconds as `0:07`, `12:07` or `1:12:07`."""
    minutes, rest = divmod(int(max(seconds, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def color(name: str, variable: str, fallback: str) -> str:
    """Return declarations that set the property to a theme color, or to the fallback."""
    return f"{name}:{fallback};{name}:var(--jp-{variable},{fallback})"


def edge(variable: str, fallback: str) -> str:
    """Return declarations for a line on the left in a theme color."""
    return f"border-left:3px solid {fallback};{color('border-left-color', variable, fallback)}"


def span(inner: str, style: str = "") -> str:
    """Wrap HTML in a styled span."""
    return f'<span style="{style}">{inner}</span>' if style else f"<span>{inner}</span>"


def div(inner: str, style: str = "", attributes: str = "") -> str:
    """Wrap HTML in a styled div."""
    styled = f' style="{style}"' if style else ""
    return f"<div{styled}{attributes and ' ' + attributes}>{inner}</div>"


def text_div(inner: str, style: str) -> str:
    """Wrap a text in a div that runs from right to left if the text does."""
    return div(inner, style, 'dir="auto"')


def view_html(inner: str, style: str = "") -> str:
    """Return HTML as the outermost element of a view."""
    styled = f' style="{style}"' if style else ""
    return f'<div class="labext {UNTYPESET}"{styled}>{inner}</div>'


def scrolled(inner: str, label: str) -> str:
    """Return HTML in a box of limited height that is scrolled by mouse and keyboard."""
    attributes = f'class="labext-scrolled" tabindex="0" role="region" aria-label="{escape(label)}"'
    return PRINTED_WHOLE + div(inner, "max-height:480px;overflow:auto", attributes)


_MAX_TITLE = 100
"""Maximum length of a title on the line; a longer one is replaced by the identifier."""

_NOT_ON_A_LINE = frozenset('"{}\\$`')
"""Characters of a title that a line would need to escape."""

_QUOTED = re.compile(r"`([^`]+)`")
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


def current_time() -> str:
    """Return the current time in UTC, like the times in DataFrames."""
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())


def line_html(line: str) -> str:
    """Return a line to type as HTML."""
    return f'<code style="{_CODE}">{escape(line)}</code>'


def message_html(message: str, limit: int = 600) -> str:
    """Return a message as HTML, with the lines and names that it quotes in backticks as code."""
    return _QUOTED.sub(rf'<code style="{_CODE}">\1</code>', escape(message, limit))


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
