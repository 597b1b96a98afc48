"""The service's identifiers: `<table>:<id>` (contract, Resources and their fields)."""

from __future__ import annotations

import secrets
import string

_LETTERS = string.ascii_lowercase + string.digits
_LENGTH = 20


def new(table: str) -> str:
    """An identifier that was never given before.

    Args:
        table: `notebook`, `source`, `note`, `chat_session`, `source_insight`, `model`, …
    """
    return f"{table}:{''.join(secrets.choice(_LETTERS) for _ in range(_LENGTH))}"
