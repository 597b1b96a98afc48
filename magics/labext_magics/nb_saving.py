"""What a model has made, kept as notes of a notebook: written anew where it is made again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from labext import wording
from labext.errors import ConflictError
from labext_magics import output

if TYPE_CHECKING:
    from labext.nb.records import Record
    from labext_magics.dispatch import Call
    from labext_magics.session import NotebookInUse


class AiNotes:
    """Notes that a model is about to write, by their titles.

    Raises:
        ConflictError: a title is taken by what a human has written, or by several notes.
    """

    def __init__(self, call: Call, into: NotebookInUse, titles: Sequence[str]) -> None:
        self._notes = call.nb.notes
        self._into = into
        self._titles = list(titles)
        there = list(self._notes.iter(into.id))
        self._before = [_ai_note(there, title, into) for title in titles]

    def write(self, place: int, text: str) -> None:
        """Write one of the notes, by its place among the titles; the same again is kept."""
        title, before, into = self._titles[place], self._before[place], self._into.name
        called = f"The note {wording.shown(title)}"
        if before is None:
            self._notes.create(text, title=title, note_type="ai", notebook=self._into.id)
            output.say(f"{called} is written into {into}.")
        elif (before["content"] or "").strip() == text.strip():
            output.say(f"{called} is in {into} already, and was kept.")
        else:
            self._notes.update(before["id"], content=text)
            output.say(f"{called} of {into} is written anew.")


def _ai_note(there: Sequence[Record], title: str, into: NotebookInUse) -> Record | None:
    """Return the one note of a title that a model has written."""
    found = [each for each in there if each["title"] == title]
    if len(found) > 1 or any(each["note_type"] != "ai" for each in found):
        whose = f"{len(found)} notes are" if len(found) > 1 else "A note of a human is"
        raise ConflictError(
            f"{whose} called {wording.shown(title)} in {into.name} already.",
            "Save it under another title.",
        )
    return found[0] if found else None
