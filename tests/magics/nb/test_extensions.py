"""Commands for operations of Open Notebook that are not in the contract."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from labext.errors import InputError
from labext_magics.core import grammar, help
from labext_magics.nb import magic

Parse = Callable[..., grammar.ParsedLine]


@pytest.mark.parametrize(
    ("line", "message"),
    [
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


def test_every_command_has_help() -> None:
    for noun in ("settings", "commands", "insights", "source-chats", "embeddings"):
        assert f"%nb {noun}" in help.help_text(magic.MAGIC, noun)
