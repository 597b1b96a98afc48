"""Parsing of `%nb` lines; every field of the client has an option."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from labext.errors import InputError, NotReadyError
from labext_magics.core import grammar, help
from labext_magics.core.grammar import ParsedLine
from labext_magics.nb import magic
from labext_magics.nb.chat import unique_title
from labext_magics.nb.scope import order_parameter
from labext_magics.nb.transformations import _title_and_text, _unique_names

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


OPERATIONS = {
    # the operation, its parameters and the line that calls it (NB-18 and following)
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
    "GET /transformations": ("", "transformations"),
    "POST /transformations": (
        "prompt title description apply-default model",
        "transformations new X",
    ),
    "POST /transformations/execute": ("source note model save notebook", "transform X"),
    "GET /transformations/default-prompt": ("", "transformations prompt"),
    "PUT /transformations/default-prompt": ("set clear", "transformations prompt"),
    "GET /transformations/{id}": ("", "transformations show X"),
    "PUT /transformations/{id}": (
        "name prompt title description apply-default model no-model",
        "transformations edit X",
    ),
    "DELETE /transformations/{id}": ("yes preview", "transformations delete X"),
    "GET /models": ("type", "models"),
    "POST /models": ("type provider credential", "models new X --type llm --provider openai"),
    "DELETE /models/{id}": ("yes preview", "models delete X"),
    "POST /models/{id}/test": ("", "models test X"),
    "GET /models/defaults": ("", "models defaults"),
    "PUT /models/defaults": ("set clear", "models defaults"),
    "GET /models/providers": ("", "models providers"),
    "GET /models/discover/{provider}": ("", "models discover openai"),
    "POST /models/sync/{provider}": ("", "models sync openai"),
    "POST /models/sync": ("", "models sync"),
    "POST /models/auto-assign": ("", "models auto-assign"),
    "GET /models/count/{provider}": ("", "models count openai"),
    "GET /models/by-provider/{provider}": ("", "models by-provider openai"),
    "GET /credentials/status": ("", "credentials status"),
    "GET /credentials/env-status": ("", "credentials status"),
    "GET /credentials": ("provider", "credentials"),
    "GET /credentials/by-provider/{provider}": ("", "credentials by-provider openai"),
    "POST /credentials": ("name base-url no-key", "credentials new openai --name lab"),
    "GET /credentials/{id}": ("", "credentials show X"),
    "PUT /credentials/{id}": (
        "name base-url no-base-url new-key no-key",
        "credentials edit X",
    ),
    "DELETE /credentials/{id}": ("yes preview", "credentials delete X"),
    "POST /credentials/{id}/test": ("", "credentials test X"),
    "POST /credentials/{id}/discover": ("", "credentials discover X"),
    "POST /credentials/{id}/register-models": ("model all", "credentials register X"),
    # from the schema of Open Notebook 1.14: fields beyond the contract
    "GET /settings": ("", "settings"),
    "PUT /settings": ("set", "settings"),
    "GET /commands/jobs": ("command status limit", "commands"),
    "GET /commands/jobs/{id}": ("", "commands show command:1"),
    "POST /commands/jobs": ("set app", "commands run NAME"),
    "DELETE /commands/jobs/{id}": ("yes preview", "commands cancel command:1"),
    "GET /commands/registry/debug": ("", "commands kinds"),
    "GET /sources/{id}/insights of many": ("source notebook all", "insights"),
    "POST /sources/{id}/insights": ("source model", "insights new X --source Y"),
    "GET /insights/{id}": ("source", "insights show X"),
    "DELETE /insights/{id}": ("source yes preview", "insights delete X"),
    "POST /insights/{id}/save-as-note": ("notebook", "insights save X"),
    "POST /embed": ("", "sources embed X"),
    "POST /embed of a note": ("", "notes embed X"),
    "POST /embeddings/rebuild": ("mode no-sources no-notes no-insights", "embeddings rebuild"),
    "GET /embeddings/rebuild/{id}/status": ("", "embeddings status command:1"),
    "GET /sources/{id}/chat/sessions": ("source", "source-chats --source X"),
    "POST /sources/{id}/chat/sessions": ("title model new", "sources chat X MESSAGE"),
    "GET /sources/{id}/chat/sessions/{id}": ("source", "source-chats show X --source Y"),
    "PUT /sources/{id}/chat/sessions/{id}": ("title model", "source-chats edit X --source Y"),
    "DELETE /sources/{id}/chat/sessions/{id}": ("yes preview", "source-chats delete X --source Y"),
    "POST /sources/{id}/chat/sessions/{id}/messages": (
        "session model",
        "sources chat X MESSAGE",
    ),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_field_has_an_option(operation: str, parse: Callable[..., ParsedLine]) -> None:
    fields, line = OPERATIONS[operation]
    command = parse(line).command
    assert command is not None
    assert set(fields.split()) <= {option.name for option in command.options}
