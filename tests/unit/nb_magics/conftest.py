"""A line of `%nb`, read."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from labext_magics import grammar, nb
from labext_magics.line import read
from labext_magics.scope import Scope


@pytest.fixture(scope="session")
def parse() -> Callable[..., grammar.Wanted]:
    """Read a line as the magic does: `parse("sources", has_body=False)`."""

    def wanted(line: str, *, has_body: bool = False) -> grammar.Wanted:
        return grammar.parse(nb.MAGIC, read(line), Scope({}), has_body=has_body)

    return wanted
