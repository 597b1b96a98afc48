"""What a command says beside the frame it returns, and how it asks before it destroys."""

from __future__ import annotations

from collections.abc import Sequence

from labext.errors import InputError
from labext.wording import listed


def say(text: str) -> None:
    """Show one line above the result."""
    from labext_widgets import message

    message(text)


def confirmed(what: str, would_go: Sequence[str], *, yes: bool, preview: bool) -> bool:
    """Return whether to destroy now; False for a preview, which says what would go.

    Raises InputError, naming what would go, unless one of the two was asked for.
    """
    if yes and preview:
        raise InputError("--yes and --preview are both there.", "Keep one of the two.")
    if not yes and not preview:
        raise InputError(
            f"This would {what}: {listed(would_go)}.",
            "Add --yes to do it, or --preview to only see what would go.",
        )
    if preview:
        say(f"This would {what}: {listed(would_go)}. Nothing is changed by looking.")
    return yes
