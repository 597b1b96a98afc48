"""Small pieces of HTML that read well everywhere: live, saved, untrusted, exported.

A saved notebook that is not trusted goes through JupyterLab's sanitizer, which drops `<style>`,
scripts, `aria-…` and every declaration with a `var()`. So a colour is written twice, first plain
and then by JupyterLab's variable: where both survive, the theme wins. Text takes the colour of
its surroundings and is dimmed by opacity alone, so that it is readable in light and dark.
"""

from __future__ import annotations

import html
import re
import unicodedata

from labext.redaction import mask
from labext.steering import DIRECTION_CONTROLS

UNTYPESET = "tex2jax_ignore mathjax_ignore"
"""Classes that keep MathJax away: a `$` in a name or a reason is a dollar, not a formula."""

MUTED = "opacity:0.7"
FAINT = "background-color:rgba(128,128,128,0.25)"

_BREAKS = {"Cc", "Zl", "Zp"}
_TURNS = re.compile(f"[{DIRECTION_CONTROLS}]")


def plain(text: object, limit: int = 600) -> str:
    """Return `text` on one line of at most `limit` characters.

    Secrets are masked, and nothing stays that steers a terminal or turns the direction of reading.
    """
    shown = _TURNS.sub("", str(text)).encode("utf-8", "replace").decode()
    shown = "".join(" " if unicodedata.category(c) in _BREAKS else c for c in shown)
    line = mask(" ".join(shown.split()))
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def tidy(text: object, limit: int = 100_000) -> str:
    """Return `text` as `plain` does, but with its lines as they are."""
    shown = _TURNS.sub("", str(text)).encode("utf-8", "replace").decode()
    shown = "".join(_kept(c) for c in shown.replace("\r\n", "\n"))
    masked = mask("\n".join(line.rstrip() for line in shown.split("\n")).strip("\n"))
    return masked if len(masked) <= limit else masked[: limit - 1].rstrip() + "…"


def escape(text: object, limit: int = 600) -> str:
    """Return `text` as HTML that shows it and does nothing else."""
    return html.escape(plain(text, limit))


def clock(seconds: float) -> str:
    """Return seconds as `0:07`, `12:07` or `1:12:07`."""
    minutes, rest = divmod(int(max(seconds, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def colour(what: str, variable: str, otherwise: str) -> str:
    """Return the declarations that give `what` the theme's colour, or `otherwise` without one."""
    return f"{what}:{otherwise};{what}:var(--jp-{variable},{otherwise})"


def edge(variable: str, otherwise: str) -> str:
    """Return the declarations of a line on the left in the theme's colour."""
    return f"border-left:3px solid {otherwise};{colour('border-left-color', variable, otherwise)}"


def span(inner: str, style: str = "") -> str:
    """Return `inner`, which is HTML already, in a styled span."""
    return f'<span style="{style}">{inner}</span>' if style else f"<span>{inner}</span>"


def div(inner: str, style: str = "", attributes: str = "") -> str:
    """Return `inner`, which is HTML already, in a styled div."""
    styled = f' style="{style}"' if style else ""
    return f"<div{styled}{attributes and ' ' + attributes}>{inner}</div>"


def _kept(character: str) -> str:
    if character in "\n\t" or unicodedata.category(character) not in _BREAKS:
        return character
    return " "
