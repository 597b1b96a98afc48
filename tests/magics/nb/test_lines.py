"""How lines of `%nb` are read."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from labext.errors import InputError
from labext_magics.core import grammar, help
from labext_magics.nb import magic
from labext_magics.nb.chat import unique_title
from labext_magics.nb.scope import order_parameter

Parse = Callable[..., grammar.ParsedLine]


@pytest.mark.parametrize(
    ("line", "has_body", "values"),
    [
        (
            'use "Arabinose induction" --create --description "pBAD30 notes"',
            False,
            {"name": "Arabinose induction", "create": True, "description": "pBAD30 notes"},
        ),
        (
            "add data/paper.pdf data/protocol.docx data/page.html --wait",
            False,
            {"what": ["data/paper.pdf", "data/protocol.docx", "data/page.html"], "wait": True},
        ),
        ('source --title "Bench notes"', True, {"title": "Bench notes"}),
        ("sources", False, {"all_notebooks": False, "limit": None}),
        ('note --title "Plan"', True, {"title": "Plan", "text": None}),
        (
            'search "catabolite repression" --type vector --limit 10 --min-similarity -0.5',
            False,
            {"type": "vector", "limit": 10, "min_similarity": -0.5},
        ),
        (
            'ask "Why is glucose added to the uninduced culture?"',
            False,
            {"question": "Why is glucose added to the uninduced culture?", "all_notebooks": False},
        ),
        ("chat", True, {"message": None}),
        ("notebooks", False, {"archived": None}),
        ('delete "A" --preview', False, {"preview": True, "yes": False}),
        ('delete "A" --yes --delete-sources', False, {"yes": True, "delete_sources": True}),
        ("sources show X", False, {"source": "X"}),
        (
            "search x --source a --source b --note c",
            False,
            {"sources": ["a", "b"], "notes": ["c"]},
        ),
        (
            'transform "Key findings" --source "Bench notes" --source b --save T',
            False,
            {"transformation": "Key findings", "sources": ["Bench notes", "b"], "save": "T"},
        ),
        ("transform Summary", True, {"transformation": "Summary", "text": None, "notes": []}),
        ("transform Summary 'A text.'", False, {"text": "A text."}),
        (
            'transformations new "Methods" --prompt "List every reagent." --apply-default',
            False,
            {"name": "Methods", "prompt": "List every reagent.", "apply_default": True},
        ),
        ("transformations edit M --apply-default no", False, {"apply_default": False}),
        ("transformations prompt", True, {"text": None}),
        (
            "models defaults --set chat=extractive --set text-to-speech=espeak-ng --clear podcast",
            False,
            {
                "set": [{"chat": "extractive"}, {"text-to-speech": "espeak-ng"}],
                "clear": ["podcast"],
            },
        ),
        (
            "models defaults --set chat=openai/gpt-4o:latest",
            False,
            {"set": [{"chat": "openai/gpt-4o:latest"}]},
        ),
        ("credentials new openai --name lab", False, {"provider": "openai", "name": "lab"}),
        ("credentials edit lab --new-key", False, {"new_key": True, "no_key": False}),
        (
            "credentials register lab --model llama3:8b=llm --model whisper-1=stt",
            False,
            {"models": [{"llama3:8b": "llm"}, {"whisper-1": "stt"}], "all_models": False},
        ),
    ],
)
def test_valid_lines(parse: Parse, line: str, has_body: bool, values: dict[str, Any]) -> None:
    parsed_values = parse(line, has_body=has_body).values
    assert {name: parsed_values[name] for name in values} == values


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("notebooks foo", "it has show, new, edit, archive, unarchive, link, unlink, delete"),
        ("sources --all show", "does not take `show`"),
        ("models new x --provider openai", "needs --type"),
        ("models new x --type lm --provider openai", "Did you mean `llm`?"),
        ("models defaults --set chat", "`--set` takes SLOT=MODEL"),
        ("models defaults chat=x", "does not take `chat=x`"),
        ("credentials register lab --model whisper-1", "takes NAME=TYPE"),
        ("credentials new openai", "needs --name"),
        ("transform", "needs TRANSFORMATION"),
        ("transformations new", "needs NAME"),
        ("credentials status x", "does not take `x`"),
        ("settings docling_ocr=no", "does not take `docling_ocr=no`"),
        ("settings --set docling_ocr", "`--set` takes SETTING=VALUE"),
        ("commands shwo", "Did you mean `%nb commands show`?"),
        ("insights x", "it has show, new, save, delete"),
        ("embeddings rebuild --mode some", "existing or all"),
        ("source-chats", "needs --source"),
        ("source-chats show X", "needs --source"),
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


def test_reading_a_line_imports_nothing_heavy() -> None:
    code = (
        "import sys; from labext_magics.core import dispatch; dispatch.help_text('nb');"
        "print([m for m in ('pandas', 'numpy', 'requests', 'ipywidgets') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
