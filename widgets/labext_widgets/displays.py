"""Outputs of plain HTML and text, the only ones that labext leaves in a notebook."""

from __future__ import annotations

from typing import Any

from labext.steering import tame


def show(html: str, text: str, name: str | None = None) -> None:
    """Display HTML and text in the cell that runs; with a name it can be changed later."""
    import IPython.display

    display: Any = IPython.display.display
    display(_outputs(html, text), raw=True, display_id=name)


def change(html: str, text: str, name: str) -> None:
    """Change what was shown under `name`, from any thread."""
    import IPython.display

    update_display: Any = IPython.display.update_display
    update_display(_outputs(html, text), raw=True, display_id=name)


def _outputs(html: str, text: str) -> dict[str, str]:
    """Return both without what steers a terminal or turns the direction of reading."""
    return {"text/html": tame(html), "text/plain": tame(text)}
