"""Shell commands of the administrator, as messages of the services name them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

from labext.sandbox.core.data_folder import DataFolder

KIND_VARIABLE = "LABEXT_SERVICES"
"""`server` in the processes of a server, also in those of its tasks."""

_kind: ContextVar[Literal["sandbox", "server"] | None] = ContextVar("kind", default=None)


def admin_command(words: str) -> str:
    """Return a command in backticks: `labext sandbox WORDS`, or `labext server WORDS`."""
    return f"`labext {_kind.get() or os.environ.get(KIND_VARIABLE, 'sandbox')} {words}`"


@contextmanager
def use_kind_of(folder: DataFolder) -> Iterator[None]:
    """Name the commands of the sandbox or the server in a folder within the context."""
    token = _kind.set("server" if folder.is_server() else "sandbox")
    try:
        yield
    finally:
        _kind.reset(token)
