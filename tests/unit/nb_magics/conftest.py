"""A line of `%nb`, read."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from labext_magics.core import grammar
from labext_magics.core.line import tokenize
from labext_magics.core.namespace import Namespace
from labext_magics.nb import magic


@pytest.fixture(scope="session")
def parse() -> Callable[..., grammar.ParsedLine]:
    """Read a line as the magic does: `parse("sources", has_body=False)`."""

    def wanted(line: str, *, has_body: bool = False) -> grammar.ParsedLine:
        return grammar.parse(magic.MAGIC, tokenize(line), Namespace({}), has_body=has_body)

    return wanted
