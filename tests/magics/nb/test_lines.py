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
    ],
)
def test_valid_lines(parse: Parse, line: str, has_body: bool, values: dict[str, Any]) -> None:
    parsed_values = parse(line, has_body=has_body).values
    assert {name: parsed_values[name] for name in values} == values


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("notebooks foo", "it has show, new, edit, archive, unarchive, link, unlink, delete"),
        ("notes shwo", "Did you mean `%nb notes show`?"),
        ("sources --all show", "does not take `show`"),
        ("sessions 'a title'", "has no subcommand `a title`"),
    ],
)
def test_unknown_verb_lists_the_verbs(parse: Parse, line: str, message: str) -> None:
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
