"""Read and validate settings: values, sequences, FASTA text and enzyme names."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from labext import messages
from labext.sandbox.jobs import names
from labext.sandbox.jobs.tools.tool import Settings, ToolError
from labext.text_files import MAX_BYTES, decode_text


def quote_value(value: object) -> str:
    """Return the repr of a value for a message, truncated to 40 characters."""
    return names.quote_value(value, 40)


def read_text(settings: Settings, name: str) -> str:
    """Return a non-empty string setting."""
    value = _require_value(settings, name)
    if not isinstance(value, str):
        raise ToolError(f"{name}: a string is expected, not {quote_value(value)}.")
    if not value.strip():
        raise ToolError(f"{name}: it is empty.")
    return value


def read_file(path: Path, name: str, max_bytes: int = MAX_BYTES) -> str:
    """Return the text of a file setting; the file may be gzipped."""
    try:
        return decode_text(path.read_bytes(), max_bytes)
    except ValueError as error:
        raise ToolError(f"{name}: the file {error}.") from None


def read_choice(settings: Settings, name: str, options: Sequence[str]) -> str:
    """Return a setting that is one of `options`."""
    value = _require_value(settings, name)
    if value not in options:
        raise ToolError(f"{name}: {quote_value(value)} is not one of {', '.join(options)}.")
    return str(value)


def read_flag(settings: Settings, name: str) -> bool:
    """Return a boolean setting; the strings `true` and `false` are accepted."""
    value = _require_value(settings, name)
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    if not isinstance(value, bool):
        raise ToolError(f"{name}: true or false is expected, not {quote_value(value)}.")
    return value


def read_number(settings: Settings, name: str, low: float, high: float) -> float:
    """Return a number setting from `low` to `high`."""
    return _check_bounds(name, _to_number(name, _require_value(settings, name)), low, high)


def read_integer(settings: Settings, name: str, low: int, high: int) -> int:
    """Return an integer setting from `low` to `high`."""
    value = _require_value(settings, name)
    number = _to_number(name, value)
    if not number.is_integer():
        raise ToolError(f"{name}: a whole number is expected, not {quote_value(value)}.")
    return int(_check_bounds(name, number, low, high))


def read_words(settings: Settings, name: str) -> list[str]:
    """Return a setting with a list of strings, or a string split at commas and whitespace."""
    value = _split_text(_require_value(settings, name))
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise ToolError(f"{name}: a list of names is expected, not {quote_value(value)}.")
    if not value:
        raise ToolError(f"{name}: it is empty.")
    return [word.strip() for word in value]


def read_chains(settings: Settings) -> list[str]:
    """Return the chain names in the setting `chains`; empty for all chains."""
    return read_words(settings, "chains") if settings.get("chains") is not None else []


def read_numbers(settings: Settings, name: str, low: float, high: float) -> list[float]:
    """Return a setting with a list of numbers from `low` to `high`, or a string of them."""
    value = _split_text(_require_value(settings, name))
    if not isinstance(value, list):
        raise ToolError(f"{name}: a list of numbers is expected, not {quote_value(value)}.")
    items = ((f"{name}, item {number}", item) for number, item in enumerate(value, 1))
    return [_check_bounds(place, _to_number(place, item), low, high) for place, item in items]


def _split_text(value: Any) -> Any:
    """Split a string at commas, semicolons and whitespace; return other values unchanged."""
    return (
        [word for word in re.split(r"[,;\s]+", value) if word] if isinstance(value, str) else value
    )


def _require_value(settings: Settings, name: str) -> Any:
    if settings.get(name) is None:
        raise ToolError(f"{name}: it is missing.")
    return settings[name]


def _to_number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ToolError(f"{name}: a number is expected, not {quote_value(value)}.")
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise ToolError(f"{name}: a number is expected, not {quote_value(value)}.") from None
    if not math.isfinite(number):
        raise ToolError(f"{name}: a finite number is expected, not {quote_value(value)}.")
    return number


def check_order(low_name: str, low: float, high_name: str, high: float) -> None:
    """Raise ToolError if the value of one setting is above that of another."""
    if low > high:
        raise ToolError(f"{low_name}: {low:g} is more than {high_name}, {high:g}.")


def _check_bounds(name: str, value: float, low: float, high: float) -> float:
    if not low <= value <= high:
        raise ToolError(f"{name}: {value:g} is outside {low:g} to {high:g}.")
    return value


@dataclass(frozen=True)
class Alphabet:
    """The letters of a kind of sequence, the noun for a letter, and a hint for messages."""

    letters: str
    noun: str
    hint: str = ""

    def __add__(self, letters: str) -> Alphabet:
        return replace(self, letters=self.letters + letters)


DNA = Alphabet("ACGT", "DNA base")
IUPAC_DNA = DNA + "RYSWKMBDHVN"
PROTEIN = Alphabet("ACDEFGHIKLMNPQRSTVWY", "amino acid")


def molecule_alphabets(dna: Alphabet) -> dict[str, Alphabet]:
    """Return the alphabets of a tool by its setting `molecule`, whose default is DNA."""
    hint = "; for a protein, set molecule to protein"
    return {"DNA": replace(dna, hint=hint), "protein": PROTEIN + "BZX"}


def read_sequence(
    settings: Settings, name: str, alphabet: Alphabet, min_length: int, max_length: int
) -> str:
    """Return a sequence setting in upper case without whitespace.

    Raises:
        ToolError: a letter is invalid (with its position from 1, ignoring whitespace), or the
            sequence is too short or too long.
    """
    letters = _clean_sequence(name, read_text(settings, name), alphabet)
    check_length(name, letters, min_length, max_length)
    return letters


def _clean_sequence(name: str, text: str, alphabet: Alphabet) -> str:
    """Return `text` in upper case without whitespace; ToolError for letters not in `alphabet`."""
    letters = "".join(text.split())
    allowed = {*alphabet.letters, *alphabet.letters.lower()}
    count = len(letters) - sum(map(letters.count, allowed))
    if count:
        if letters.startswith(">"):
            raise ToolError(f"{name}: it is in FASTA format; send the sequence without its header.")
        # Only three of them, since a text can have millions of invalid letters.
        matches = islice(re.finditer(f"[^{re.escape(''.join(allowed))}]", letters), 3)
        first = [f"{match[0]!r} at {match.end()}" for match in matches]
        more = f" and {count - 3} more" if count > 3 else ""
        nouns = alphabet.noun if count == 1 else f"{alphabet.noun}s"
        raise ToolError(
            f"{name}: invalid {nouns} {', '.join(first)}{more} (allowed: {alphabet.letters})"
            f"{alphabet.hint}."
        )
    return letters.upper()


_MIN_DNA_LENGTH = 20


def check_default_molecule(settings: Settings, name: str, letters: str) -> None:
    """Raise ToolError if a sequence is read as protein by default and is probably DNA.

    A, C, G, T and N are amino acids too, so that DNA would give a meaningless result.
    """
    is_dna = {*DNA.letters} <= {*letters} <= {*DNA.letters, "N"}
    if "molecule" not in settings and is_dna and len(letters) >= _MIN_DNA_LENGTH:
        raise ToolError(
            f"molecule: send it, DNA or protein, since the letters of {name} are those of DNA."
        )


def check_length(name: str, letters: str, min_length: int, max_length: int) -> None:
    """Raise ToolError if a sequence is too short or too long."""
    if not min_length <= len(letters) <= max_length:
        raise ToolError(
            f"{name}: it has {messages.pluralize(len(letters), 'letter')}; {min_length:,} to "
            f"{max_length:,} are allowed."
        )


def parse_fasta(
    text: str, parameter: str, alphabet: Alphabet, max_count: int, *, aligned: bool = False
) -> dict[str, str]:
    """Parse FASTA; return the sequences by name, in the order of the file.

    The name is the first word of the header. Sequences are in upper case, without whitespace, gaps
    (- and .) and a final stop (*). With `aligned`, gaps are kept as - and all rows must have the
    same length.
    """
    gaps: dict[str, str | int | None] = {"-": "-", ".": "-"} if aligned else {"-": "", ".": ""}
    plain_text = text.replace("\r", "\n").lstrip("\ufeff \n\t")
    if not plain_text:
        raise ToolError(f"{parameter}: it is empty.")
    # Names may contain >, as in c.524G>A.
    head, *entries = re.split(r"^[ \t]*>", plain_text, flags=re.MULTILINE)
    if head:
        raise ToolError(f"{parameter}: it is not FASTA; a record starts with > and a name.")
    if len(entries) > max_count:  # a text can have millions of records
        raise ToolError(
            f"{parameter}: {len(entries):,} sequences; at most {max_count:,} are allowed."
        )
    sequences: dict[str, str] = {}
    for number, entry in enumerate(entries, 1):
        header, _, body = entry.partition("\n")
        name = next(iter(header.split()), "")
        if not name:
            raise ToolError(f"{parameter}: record {number} has no name.")
        if name in sequences:
            raise ToolError(
                f"{parameter}: the name {name} occurs twice; a name ends at the first space."
            )
        plain = body.translate(str.maketrans(gaps)).rstrip().removesuffix("*")
        letters = alphabet + "-" if aligned else alphabet
        sequences[name] = _clean_sequence(f"{parameter}, {name}", plain, letters)
        if not sequences[name].strip("-"):
            raise ToolError(f"{parameter}: {name} has no letters.")
    if aligned:
        _check_aligned_rows(sequences, parameter)
    return sequences


def _check_aligned_rows(rows: dict[str, str], parameter: str) -> None:
    first, *others = rows
    for name in others:
        if len(rows[name]) != len(rows[first]):
            raise ToolError(
                f"{parameter}: it is not an alignment: {name} has "
                f"{messages.pluralize(len(rows[name]), 'column')}, but {first} has "
                f"{len(rows[first]):,}."
            )


_ROMAN_NUMERALS = str.maketrans({"1": "i", "2": "ii", "3": "iii"})


def read_enzymes(settings: Settings, name: str, max_count: int) -> list[Any]:
    """Return the enzymes of a setting as Biopython classes, in order and without duplicates."""
    names = read_words(settings, name)
    if len(names) > max_count:
        raise ToolError(f"{name}: {len(names)} enzymes; at most {max_count} are allowed.")
    return list(
        {str(enzyme): enzyme for enzyme in (_find_enzyme(word, name) for word in names)}.values()
    )


@cache
def _all_enzymes() -> dict[str, Any]:
    """Return Biopython's enzyme classes by lower-case name."""
    from Bio.Restriction import AllEnzymes

    return {str(enzyme).lower(): enzyme for enzyme in AllEnzymes}


def _find_enzyme(word: str, name: str) -> Any:
    known = _all_enzymes()
    enzyme = known.get(word.lower())
    if enzyme is None:
        roman = word.lower().translate(_ROMAN_NUMERALS)
        match = roman if roman in known else messages.closest_match(word, sorted(known))
        hint = f"; did you mean {known[match]}?" if match else "."
        raise ToolError(f"{name}: {quote_value(word)} is not in REBASE{hint}")
    return enzyme
