"""Print messages and progress, and confirm destructive commands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from labext.errors import InputError
from labext.messages import end_sentence, join_words
from labext.progress import Outcome, Progress

if TYPE_CHECKING:
    from labext_widgets import ListProgress

_MAX_NAMED = 50
"""Maximum number of objects that a preview names, such as the files of a folder."""


def print_message(text: str) -> None:
    """Print a message of one line above the result."""
    from labext_widgets import display_message

    display_message(text)


def print_confirmation(text: str) -> None:
    """Print a service's confirmation, adding a missing full stop."""
    print_message(end_sentence(text))


@contextmanager
def list_progress(
    subject: str, kind: str = "list", phase: str = "Reading"
) -> Iterator[Callable[[int, int | None], None]]:
    """Yield a function to call after each page of a long list, with the numbers of its items.

    It takes the number of items received, and that of all or None. A list of one page, for which it
    is not called, needs no widgets. The arguments are those of `ListProgress`.
    """
    progress: ListProgress | None = None
    with ExitStack() as stack:

        def on_page(received: int, total: int | None) -> None:
            nonlocal progress
            if progress is None:
                import labext_widgets

                progress = stack.enter_context(labext_widgets.ListProgress(subject, kind, phase))
            progress.items(received, total)

        yield on_page


def watch(
    snapshots: Iterator[Progress],
    *,
    again: str,
    background: bool = False,
    stop: Callable[[], None] | None = None,
) -> Progress | None:
    """Show progress for a caller that raises an error with the reason of a failure.

    Text output omits the reason, since the error with it is on the next line. The arguments and the
    result are those of `labext_widgets.watch`.
    """
    import labext_widgets
    from labext_widgets.core.front_end import FrontEnd, front_end

    is_text = not background and front_end() is not FrontEnd.INTERACTIVE
    last: Progress | None = None

    def displayed() -> Iterator[Progress]:
        nonlocal last
        for last in snapshots:
            has_failed = last.outcome not in (None, Outcome.COMPLETE)
            yield replace(last, reason="") if is_text and has_failed else last

    shown = labext_widgets.watch(displayed(), again=again, background=background, stop=stop)
    return None if shown is None else last


def confirm_destruction(
    operation: str, affected: Sequence[str], *, yes: bool, preview: bool
) -> bool:
    """Return True if a destructive operation is confirmed; False after printing a preview.

    Raises:
        InputError: neither or both of `yes` and `preview` are set; the error lists the objects.
    """
    names = join_words(affected, _MAX_NAMED)
    if yes and preview:
        raise InputError("--yes and --preview exclude each other.", "Keep one of them.")
    if not yes and not preview:
        raise InputError(
            f"This would {operation}: {names}.",
            "Add --yes to confirm, or --preview to see what would be deleted.",
        )
    if preview:
        print_message(f"This would {operation}: {names}. Nothing was changed.")
    return yes


def delete_each(
    labels: Mapping[str, str], delete: Callable[[str], object], *, yes: bool, preview: bool
) -> None:
    """Delete objects once this is confirmed, with a message for each.

    `labels` has descriptions of the objects by identifier, such as `the note Plan`.
    """
    if confirm_destruction("delete", list(labels.values()), yes=yes, preview=preview):
        for identifier, label in labels.items():
            delete(identifier)
            print_message(f"Deleted {label}.")
