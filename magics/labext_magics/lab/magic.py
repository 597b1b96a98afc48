"""Declaration of the `%lab` magic."""

from __future__ import annotations

from labext_magics.core.grammar import Magic
from labext_magics.lab import connect, sandbox, sequences

MAGIC = Magic(
    "lab",
    "DNA sequences of the lab platform, and the local sandbox.",
    [*connect.COMMANDS, *sequences.COMMANDS, sequences.EXPORT, *sandbox.COMMANDS],
)
