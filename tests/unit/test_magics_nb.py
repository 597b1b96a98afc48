"""What `%nb` takes: each field of the service's operations has a place on a line."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from labext.errors import InputError
from labext_magics import grammar, help, nb
from labext_magics.line import read
from labext_magics.nb_chat import free
from labext_magics.nb_scope import ordered
from labext_magics.scope import Scope

OPERATIONS = {
    # contract, Endpoints: the operation, what it takes, and the line
    "GET /notebooks": ("archived order-by", "notebooks"),
    "POST /notebooks": ("description", "notebooks new NAME"),
    "GET /notebooks/{id}": ("", "notebooks show X"),
    "PUT /notebooks/{id}": ("name description archived", "notebooks edit X"),
    "DELETE /notebooks/{id}": ("delete-sources yes", "notebooks delete X"),
    "GET /notebooks/{id}/delete-preview": ("preview", "notebooks delete X"),
    "POST /notebooks/{id}/sources/{id}": ("", "notebooks link X Y"),
    "DELETE /notebooks/{id}/sources/{id}": ("", "notebooks unlink X Y"),
    "GET /sources": ("notebook all limit offset order-by", "sources"),
    "POST /sources": ("url title topic notebook sync async", "sources new FILE"),
    "POST /sources/json": ("url title topic notebook sync async", "source"),
    "GET /sources/{id}": ("text", "sources show X"),
    "GET /sources/{id}/status": ("", "sources status X"),
    "PUT /sources/{id}": ("title topic", "sources edit X"),
    "DELETE /sources/{id}": ("yes preview", "sources delete X"),
    "GET /sources/{id}/download": ("to", "sources download X"),
    "HEAD /sources/{id}/download": ("check", "sources download X"),
    "POST /sources/{id}/retry": ("wait", "sources retry X"),
    "GET /sources/{id}/insights": ("", "sources insights X"),
    "GET /notes": ("notebook all", "notes"),
    "POST /notes": ("title type notebook", "notes new TEXT"),
    "GET /notes/{id}": ("", "notes show X"),
    "PUT /notes/{id}": ("title type", "notes edit X"),
    "DELETE /notes/{id}": ("yes preview", "notes delete X"),
    "GET /chat/sessions": ("notebook all", "sessions"),
    "POST /chat/sessions": ("notebook title model", "sessions new"),
    "GET /chat/sessions/{id}": ("", "sessions show X"),
    "PUT /chat/sessions/{id}": ("title model", "sessions edit X"),
    "DELETE /chat/sessions/{id}": ("yes preview", "sessions delete X"),
    "POST /chat/execute": ("session no-sources no-notes model source note", "chat MESSAGE"),
    "POST /chat/context": ("notebook no-sources no-notes", "sessions context X"),
    "POST /search": (
        "type limit source note min-similarity no-sources no-notes notebook all",
        "search QUERY",
    ),
    "POST /search/ask": (
        "model limit source note min-similarity no-sources no-notes notebook all "
        "strategy-model answer-model final-answer-model",
        "ask QUESTION",
    ),
    "POST /search/ask/simple": ("simple", "ask QUESTION"),
}


def parse(line: str, *, has_body: bool = False) -> grammar.Wanted:
    return grammar.parse(nb.MAGIC, read(line), Scope({}), has_body=has_body)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_field_has_an_option(operation: str) -> None:
    fields, line = OPERATIONS[operation]
    command = parse(line).command
    assert command is not None
    assert set(fields.split()) <= {option.name for option in command.options}


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
        ("sources", False, {"every": False, "limit": None}),
        ('note --title "Plan"', True, {"title": "Plan", "text": None}),
        (
            'search "catabolite repression" --type vector --limit 10 --min-similarity -0.5',
            False,
            {"type": "vector", "limit": 10, "min_similarity": -0.5},
        ),
        (
            'ask "Why is glucose added to the uninduced culture?"',
            False,
            {"question": "Why is glucose added to the uninduced culture?", "every": False},
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
def test_lines_are_read(line: str, has_body: bool, values: dict[str, Any]) -> None:
    found = parse(line, has_body=has_body).values
    assert {name: found[name] for name in values} == values


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("notebooks foo", "it has show, new, edit, archive, unarchive, link, unlink, delete"),
        ("notes shwo", "Did you mean `%nb notes show`?"),
        ("sources --all show", "no place for `show`"),
        ("sessions 'a title'", "has no verb `a title`"),
    ],
)
def test_a_noun_says_its_verbs(line: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(line)
    assert said in str(caught.value)


def test_help_is_in_groups() -> None:
    told = help.text(nb.MAGIC)
    headings = [line for line in told.splitlines() if line.endswith(":") and line[0] != " "]
    assert headings == [
        *("What is said most:", "Notebooks:", "Sources:", "Notes:", "Chats:"),
        *("Transformations:", "Podcasts:", "Models:", "Credentials:", "The service:"),
    ]
    assert all(f"  {command.name} " in told for command in nb.MAGIC.commands)
    of_sources = help.text(nb.MAGIC, "sources")
    assert "--offset" in of_sources
    assert "sources retry" in of_sources


def test_orders_are_in_the_services_words() -> None:
    assert ordered(None) is None
    assert ordered("name") == "name"
    assert ordered("updated_at:desc") == "updated_at desc"


def test_a_chats_title_is_one_that_no_other_has() -> None:
    assert free("Why?", []) == "Why?"
    assert free("Why?", ["Why?", "Why? (2)"]) == "Why? (3)"
    assert free("several\n words", []) == "several words"
    assert len(free("word " * 40, [])) <= 60


def test_reading_a_line_imports_nothing_heavy() -> None:
    code = (
        "import sys; from labext_magics import nb, help; help.text(nb.MAGIC);"
        "print([m for m in ('pandas', 'numpy', 'requests', 'ipywidgets') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
