"""Reads FASTA as it is pasted and uploaded."""

from __future__ import annotations

from labext.sandbox.jobs.tool import ToolError
from labext.sandbox.jobs.tools import _letters


def records(
    text: str, parameter: str, alphabet: str, kind: str, *, aligned: bool = False
) -> dict[str, str]:
    """Name to sequence, in the order of the file.

    The name is the header's first word; a sequence comes in capitals, without blanks, gaps (- and
    .) and a final stop (*). The rows of an alignment (`aligned`) keep their gaps, all as -, and are
    of one length.

    Raises:
        ToolError: no FASTA, an empty or doubled name, an empty sequence, a wrong letter, rows of
            several lengths.
    """
    gaps: dict[str, str | int | None] = {"-": "-", ".": "-"} if aligned else {"-": "", ".": ""}
    head, *entries = text.replace("\r", "\n").lstrip("\ufeff \n\t").split(">")
    if head.strip() or not entries:
        raise ToolError(f"{parameter}: it is not FASTA: a record starts with > and a name.")
    found: dict[str, str] = {}
    for place, entry in enumerate(entries, 1):
        header, _, body = entry.partition("\n")
        name = next(iter(header.split()), "")
        if not name:
            raise ToolError(f"{parameter}: record {place} has no name.")
        if name in found:
            raise ToolError(f"{parameter}: the name {name} stands twice.")
        plain = body.translate(str.maketrans(gaps)).rstrip().removesuffix("*")
        letters = alphabet + "-" if aligned else alphabet
        found[name] = _letters.clean(f"{parameter}, {name}", plain, letters, kind)
        if not found[name].strip("-"):
            raise ToolError(f"{parameter}: {name} has no letters.")
    if aligned:
        _check_rows(found, parameter)
    return found


def _check_rows(rows: dict[str, str], parameter: str) -> None:
    first, *others = rows
    for name in others:
        if len(rows[name]) != len(rows[first]):
            raise ToolError(
                f"{parameter}: it is no alignment: {name} has {len(rows[name])} columns where "
                f"{first} has {len(rows[first])}."
            )
