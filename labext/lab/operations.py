"""The lab platform's operations (contract, Endpoints); all of them may be sent twice."""

from __future__ import annotations

from labext.transport import Operation, Repeat

SEQUENCES = Operation("list sequences", "GET", "dna-sequences", Repeat.ALWAYS, answer="json")
FOLDERS = Operation("list folders", "GET", "folders", Repeat.ALWAYS, answer="json")
WHO = Operation("ask who you are", "GET", "users/me", Repeat.ALWAYS, answer="json")
TOKEN = Operation(
    "ask for a token",
    "POST",
    "token",
    Repeat.ALWAYS,  # a second token does no harm
    answer="json",
)
