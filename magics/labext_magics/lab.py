"""`%lab`: what can be said on its line."""

from __future__ import annotations

from labext_magics import lab_connect, lab_export, lab_look, lab_sandbox, lab_sequences
from labext_magics.grammar import Magic

MAGIC = Magic(
    "lab",
    "DNA sequences of the laboratory platform; and the laboratory's services on this machine.",
    [
        *lab_connect.COMMANDS,
        *lab_look.COMMANDS,
        *lab_sequences.COMMANDS,
        lab_export.EXPORT,
        *lab_sandbox.COMMANDS,
    ],
)
