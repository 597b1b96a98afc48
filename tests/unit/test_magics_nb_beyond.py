"""What `%nb` takes beyond the contract: each field of Open Notebook's operations has a place."""

from __future__ import annotations

import pytest

from labext.errors import InputError
from labext_magics import grammar, help, nb
from labext_magics.line import read
from labext_magics.scope import Scope

OPERATIONS = {
    # its schema: the operation, what it takes, and the line
    "GET /settings": ("", "settings"),
    "PUT /settings": ("set", "settings"),
    "GET /commands/jobs": ("command status limit", "commands"),
    "GET /commands/jobs/{id}": ("", "commands show command:1"),
    "POST /commands/jobs": ("set app", "commands run NAME"),
    "DELETE /commands/jobs/{id}": ("yes preview", "commands cancel command:1"),
    "GET /commands/registry/debug": ("", "commands kinds"),
    "GET /sources/{id}/insights": ("source notebook all", "insights"),
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


def parse(line: str, *, has_body: bool = False) -> grammar.Wanted:
    return grammar.parse(nb.MAGIC, read(line), Scope({}), has_body=has_body)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_field_has_an_option(operation: str) -> None:
    fields, line = OPERATIONS[operation]
    command = parse(line).command
    assert command is not None
    assert set(fields.split()) <= {option.name for option in command.options}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("settings docling_ocr=no", "no place for `docling_ocr=no`"),
        ("settings --set docling_ocr", "`--set` takes SETTING=VALUE"),
        ("commands shwo", "Did you mean `%nb commands show`?"),
        ("insights x", "it has show, new, save, delete"),
        ("embeddings rebuild --mode some", "existing or all"),
        ("source-chats", "needs --source"),
        ("source-chats show X", "needs --source"),
    ],
)
def test_a_line_that_is_wrong_says_so(line: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(line)
    assert said in str(caught.value)


def test_each_has_help() -> None:
    for noun in ("settings", "commands", "insights", "source-chats", "embeddings"):
        assert f"%nb {noun}" in help.text(nb.MAGIC, noun)
