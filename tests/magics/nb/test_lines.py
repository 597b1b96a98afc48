"""Parsing of `%nb` lines, and the helpers of their handlers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from labext.errors import InputError, NotReadyError
from labext_magics.core import grammar, help
from labext_magics.nb import magic
from labext_magics.nb.chat import unique_title
from labext_magics.nb.scope import order_parameter
from labext_magics.nb.transformations import _title_and_text, _unique_names

Parse = Callable[..., grammar.ParsedLine]


@pytest.mark.parametrize(
    ("line", "values"),
    [
        (
            "models defaults --set chat=openai/gpt-4o:latest --set embedding=x --clear podcast",
            {"set": [{"chat": "openai/gpt-4o:latest"}, {"embedding": "x"}], "clear": ["podcast"]},
        ),
        (
            "credentials register lab --model llama3:8b=llm --model whisper-1=stt",
            {"models": [{"llama3:8b": "llm"}, {"whisper-1": "stt"}], "all_models": False},
        ),
    ],
)
def test_valid_lines(parse: Parse, line: str, values: dict[str, Any]) -> None:
    parsed_values = parse(line).values
    assert {name: parsed_values[name] for name in values} == values


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("sources --all show", "does not take `show`"),
        ("models new x --provider openai", "needs --type"),
        ("models defaults --set chat", "`--set` takes SLOT=MODEL"),
        ("models defaults chat=x", "does not take `chat=x`"),
        ("credentials register lab --model whisper-1", "takes NAME=TYPE"),
        ("credentials new openai", "needs --name"),
        ("transform", "needs TRANSFORMATION"),
        ("settings docling_ocr=no", "does not take `docling_ocr=no`"),
        ("settings --set docling_ocr", "`--set` takes SETTING=VALUE"),
        ("insights x", "it has show, new, save, delete"),
        ("embeddings rebuild --mode some", "existing or all"),
        ("source-chats", "needs --source"),
    ],
)
def test_invalid_line_is_refused(parse: Parse, line: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(line)
    assert message in str(caught.value)


def test_help_is_grouped() -> None:
    help_page = help.help_text(magic.MAGIC)
    headings = [line for line in help_page.splitlines() if line.endswith(":") and line[0] != " "]
    assert headings == [
        *("Most used:", "Notebooks:", "Sources:", "Notes:", "Chats:"),
        *("Transformations:", "Podcasts:", "Models:", "Credentials:", "The service:"),
    ]
    assert all(f"  {command.name} " in help_page for command in magic.MAGIC.commands)
    of_sources = help.help_text(magic.MAGIC, "sources")
    assert "--offset" in of_sources
    assert "sources retry" in of_sources


def test_sort_order_parameter() -> None:
    assert order_parameter(None) is None
    assert order_parameter("name") == "name"
    assert order_parameter("updated_at:desc") == "updated_at desc"


def test_chat_titles_are_unique() -> None:
    assert unique_title("Why?", []) == "Why?"
    assert unique_title("Why?", ["Why?", "Why? (2)"]) == "Why? (3)"
    assert unique_title("several\n words", []) == "several words"
    assert len(unique_title("word " * 40, [])) <= 60


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
def test_source_without_text_has_a_reason(status: str, kind: type[Exception], step: str) -> None:
    with pytest.raises(kind) as caught:
        _title_and_text(source(None, status))
    assert step in str(caught.value)


def test_items_with_the_same_name_are_distinguished() -> None:
    assert _unique_names([("A", "1"), ("B", "2"), ("A", "3")]) == [
        ("A", "1"),
        ("B", "2"),
        ("A (2)", "3"),
    ]
