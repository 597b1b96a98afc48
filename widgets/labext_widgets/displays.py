"""Outputs of plain HTML and text, the only ones that labext leaves in a notebook."""

from __future__ import annotations

from typing import Any


def show(html: str, text: str, name: str | None = None) -> None:
    """Display HTML and text in the cell that runs; with a name it can be changed later."""
    import IPython.display

    display: Any = IPython.display.display
    display({"text/html": html, "text/plain": text}, raw=True, display_id=name)


def change(html: str, text: str, name: str) -> None:
    """Change what was shown under `name`, from any thread."""
    import IPython.display

    update_display: Any = IPython.display.update_display
    update_display({"text/html": html, "text/plain": text}, raw=True, display_id=name)
