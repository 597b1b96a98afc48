"""The platform's identifiers: a prefix and eight letters and digits: `seq_a1B2c3D4`."""

from __future__ import annotations

import hashlib
import secrets
import string

PATTERN = r"[0-9A-Za-z]{8}"
"""What follows the prefix and the underscore."""

_LETTERS = string.digits + string.ascii_letters
_LENGTH = 8


def new(prefix: str) -> str:
    """An identifier that was never given before.

    Args:
        prefix: `seq` for a sequence, `lib` a folder, `src` a project, `ent` a user, `ts` a schema;
            ours are `org`, `team`, `app`.
    """
    return f"{prefix}_{''.join(secrets.choice(_LETTERS) for _ in range(_LENGTH))}"


def of(prefix: str, *names: object) -> str:
    """The identifier that what is called so has in every sandbox, so that notebooks stay true."""
    digest = hashlib.sha256("\0".join(map(str, names)).encode()).digest()
    number = int.from_bytes(digest)
    letters = []
    for _ in range(_LENGTH):
        number, letter = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[letter])
    return f"{prefix}_{''.join(letters)}"
