"""Print messages beside the result, and confirm destructive commands."""

from __future__ import annotations

from collections.abc import Sequence

from labext.errors import InputError
from labext.messages import join_words


def print_message(text: str) -> None:
    """Print one line above the result."""
    from labext_widgets import display_message

    display_message(text)


def print_confirmation(text: str) -> None:
    """Print a service's confirmation, with a full stop."""
    print_message(text if text.endswith((".", "!", "?")) else f"{text}.")


def confirm_destruction(
    question: str, would_go: Sequence[str], *, yes: bool, preview: bool
) -> bool:
    """Return whether to go ahead; False for a preview, which prints the affected objects.

    Raises InputError, listing the affected objects, unless `yes` or `preview` is set.
    """
    if yes and preview:
        raise InputError("--yes and --preview exclude each other.", "Keep one of them.")
    if not yes and not preview:
        raise InputError(
            f"This would {question}: {join_words(would_go)}.",
            "Add --yes to confirm, or --preview to see what would be deleted.",
        )
    if preview:
        print_message(f"This would {question}: {join_words(would_go)}. Nothing was changed.")
    return yes
