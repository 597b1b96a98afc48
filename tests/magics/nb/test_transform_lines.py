"""`%nb transform` reads sources and notes before a model is called."""

from __future__ import annotations

from typing import Any

import pytest

from labext.errors import InputError, NotReadyError
from labext_magics.nb.transformations import _title_and_text, _unique_names


def source(text: str | None, status: str) -> dict[str, Any]:
    return {"id": "source:a", "title": "Bench notes", "full_text": text, "status": status}


def test_full_text_of_source_and_note_is_shown() -> None:
    assert _title_and_text(source("Induced.", "completed")) == ("Bench notes", "Induced.")
    note = {"id": "note:a", "title": None, "content": "Leaks."}
    assert _title_and_text(note) == ("note:a", "Leaks.")


@pytest.mark.parametrize(
    ("status", "kind", "step"),
    [
        ("running", NotReadyError, '`%nb sources wait "Bench notes"`'),
        ("queued", NotReadyError, '`%nb sources wait "Bench notes"`'),
        ("failed", InputError, '`%nb sources show "Bench notes"` shows the reason.'),
        ("completed", InputError, "Omit it."),
    ],
)
def test_source_without_text_says_why(status: str, kind: type[Exception], step: str) -> None:
    with pytest.raises(kind) as caught:
        _title_and_text(source(None, status))
    assert step in str(caught.value)


def test_items_with_the_same_name_are_distinguished() -> None:
    assert _unique_names([("A", "1"), ("B", "2"), ("A", "3")]) == [
        ("A", "1"),
        ("B", "2"),
        ("A (2)", "3"),
    ]
