"""Declaration of the `%lab` magic."""

from __future__ import annotations

from labext_magics.core.grammar import Magic
from labext_magics.lab import connect, sandbox, sequences

MAGIC = Magic(
    "lab",
    "DNA sequences of the laboratory platform; and the laboratory's services on this machine.",
    [
        *connect.COMMANDS,
        *connect.STATUS_COMMANDS,
        *sequences.COMMANDS,
        sequences.EXPORT,
        *sandbox.COMMANDS,
    ],
)
