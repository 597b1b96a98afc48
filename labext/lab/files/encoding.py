"""Encode names, texts and non-standard fields for sequence file formats."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import unicodedata
import warnings
from collections.abc import Collection, Mapping
from typing import Any

from labext import messages
from labext.errors import InputError

Fields = dict[str, Any]

PRESERVED_MARK = "labext:"
"""Prefix of a text line with preserved values."""

_ESCAPE_PATTERN = re.compile(r"\\.")


_FEATURES = ("annotations", "translations")
_NESTED_LIST = """
    aliases annotations archiveRecord authors creator customFields dnaAlignmentIds fields parts
    primers registrationOrigin schema transcriptions translations
"""
_NESTED = _NESTED_LIST.split()
"""Fields with lists and dictionaries, which a CSV file has as text."""

_NAMED = ("creator", "schema")
"""Dictionaries of which a DataFrame has the name, and the other members as `schema.id`."""

_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,18}(\.0)?")
_STRANDS = {"+": "1", "-": "-1", ".": "0"}

_BOOLEANS = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}
"""Booleans as texts and numbers, such as those of SQLite."""


def to_fields(record: Any) -> Fields:
    """Return a record, or a row of a DataFrame, as a dictionary of JSON values."""
    fields = {str(name): _cell_value(cell) for name, cell in record.items()}
    for name in _NESTED:
        if isinstance(fields.get(name), str):
            fields[name] = _parse_nested(name, fields[name])
    for name in _NAMED:
        _join_members(fields, name)
    circular = str(fields.get("isCircular")).lower()
    if circular in _BOOLEANS:
        fields["isCircular"] = _BOOLEANS[circular]
    return fields


def _join_members(fields: Fields, name: str) -> None:
    """Replace the columns of a dictionary's members by the dictionary; a name alone stays text."""
    columns = [column for column in fields if column.startswith(f"{name}.")]
    members = {column.removeprefix(f"{name}."): fields.pop(column) for column in columns}
    members = {member: value for member, value in members.items() if value is not None}
    cell = fields.get(name)
    if members and not isinstance(cell, dict):
        fields[name] = members if cell is None else {**members, "name": cell}
    elif columns:
        fields.setdefault(name, None)


def _parse_nested(name: str, text: str) -> Any:
    """Return the list or dictionary that was written to a CSV file; other texts as they are."""
    try:
        value = ast.literal_eval(text)
        return text if name in _NAMED and not isinstance(value, dict) else value
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        if name not in _FEATURES:
            return text
    raise InputError(
        f"The {name} {messages.quote_value(text)} are not a list.",
        "Spreadsheets cut long cells; use a Parquet, JSON or CSV file, or omit the column.",
    )


def _cell_value(cell: Any) -> Any:
    """Convert a DataFrame cell to a JSON value: a text for a time, None for a missing value."""
    if hasattr(cell, "columns"):  # a DataFrame of features
        cell = cell.to_dict("records")
    if hasattr(cell, "tolist"):  # of numpy and pandas; Parquet files have arrays within arrays
        cell = cell.tolist()
    if isinstance(cell, dict):
        return {name: _member_value(name, _cell_value(item)) for name, item in cell.items()}
    if isinstance(cell, list | tuple):
        return [_cell_value(item) for item in cell]
    if hasattr(cell, "isoformat"):
        return None if cell != cell else cell.isoformat()
    if type(cell).__name__ == "NAType" or (isinstance(cell, float) and cell != cell):
        return None
    return cell


def _member_value(name: Any, value: Any) -> Any:
    """Return the value; positions and strands of features as integers.

    They are floats beside missing values and texts in tables read as text, and a strand is a sign
    in GFF and BED files.
    """
    if name not in ("start", "end", "strand"):
        return value
    if isinstance(value, str):
        text = _STRANDS.get(value, value) if name == "strand" else value
        return int(text.removesuffix(".0")) if _WHOLE_NUMBER.fullmatch(text) else value
    return int(value) if isinstance(value, float) and value.is_integer() else value


def preserve(visible: Mapping[str, Any], exact: Mapping[str, Any]) -> dict[str, list[list[Any]]]:
    """Return `[visible, exact]` values of each field that a file can't represent exactly.

    Each value is a list with one item, or an empty list if the field is missing.
    """
    return {
        name: [_field_values(visible, name), _field_values(exact, name)]
        for name in dict.fromkeys([*visible, *exact])
        if encode_value(_field_values(visible, name)) != encode_value(_field_values(exact, name))
    }


def restore(visible: Mapping[str, Any], preserved: Any) -> Fields:
    """Return the visible fields, replaced by their preserved values unless they were edited."""
    fields = dict(visible)
    for name, pair in preserved.items() if isinstance(preserved, dict) else ():
        values = pair if isinstance(pair, list) else []
        if len(values) != 2 or not all(isinstance(v, list) and len(v) <= 1 for v in values):
            continue
        original, exact = values
        if encode_value(_field_values(visible, name)) == encode_value(original):
            fields.pop(name, None)
            if exact:
                fields[name] = exact[0]
    return fields


_CHECKSUM = "checksum of bases"
_POSITIONED = ("annotations", "translations", "primers", "parts")
"""Fields with positions in the bases."""


def add_checksum(preserved: Fields, bases: str) -> None:
    """Add a checksum of the bases, to which preserved values belong."""
    if preserved:
        preserved[_CHECKSUM] = _checksum(bases)


def drop_outdated(preserved: Fields, bases: str, name: str) -> None:
    """Remove preserved values with positions in bases that were edited since, with a warning."""
    if preserved.pop(_CHECKSUM, None) in (None, _checksum(bases)):
        return
    preserved.pop("bases", None)  # where upper and lower case change
    outdated = [field for field in _POSITIONED if _has_items(preserved.get(field))]
    for field in outdated:
        del preserved[field]
    if outdated:
        warnings.warn(
            f"{name}: left out {messages.join_words(outdated)}, since the bases were edited.",
            stacklevel=3,
        )


def _has_items(pair: Any) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and pair[1] not in ([], [None], [[]])


def _checksum(bases: str) -> str:
    return hashlib.sha256(bases.upper().encode()).hexdigest()[:16]


def encode_value(value: Any) -> str:
    """Return a value as JSON in printable ASCII without spaces and double quotes.

    The result is a single word that needs no quoting in any file format. Double quotes become
    single quotes; single quotes in the value are escaped.
    """
    text = json.dumps(value, separators=(",", ":"), default=str)
    text = _ESCAPE_PATTERN.sub(lambda match: "\\u0022" if match[0] == '\\"' else match[0], text)
    text = text.replace("'", "\\u0027").replace('"', "'")
    return text.replace(" ", "\\u0020").replace("\x7f", "\\u007f")


def decode_value(text: str) -> Any:
    """Decode the result of `encode_value`; None for any other text."""
    try:
        return json.loads(text.replace("'", '"'))
    except (ValueError, RecursionError):
        return None


def _field_values(fields: Mapping[str, Any], name: str) -> list[Any]:
    return [fields[name]] if name in fields else []


def split_text(text: str, width: int) -> list[str]:
    """Split a text into chunks of `width` characters."""
    return [text[start : start + width] for start in range(0, len(text), width)]


_GREEK = {
    letter: unicodedata.name(letter).split()[-1].lower() for letter in "αβγδεζηθικλμνξοπρσςτυφχψω"
}
_ASCII = str.maketrans(
    {"µ": "u", "ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ı": "i"}
    | {"ẞ": "SS", "Æ": "AE", "Œ": "OE", "Ø": "O", "Ł": "L", "Đ": "D"}
    | {"−": "-", "′": "'", "″": "''", **dict.fromkeys("‐‑‒–—", "-"), **_GREEK}
    | {letter.upper(): name.title() for letter, name in _GREEK.items()}
)
"""ASCII for letters without a decomposition, the minus sign, primes, dashes and Greek letters."""


def to_line(text: str, max_word_length: int = 60) -> str:
    """Return a text as one line of ASCII words, which can be wrapped at any space."""
    text = unicodedata.normalize("NFKD", text.translate(_ASCII))
    ascii_text = text.encode("ascii", "ignore").decode()
    ascii_text = re.sub(r"[^!-~]+", " ", ascii_text).replace('"', "'")
    chunks = (chunk for word in ascii_text.split() for chunk in split_text(word, max_word_length))
    return " ".join(chunks)


def to_token(text: str, max_length: int, fallback: str = "sequence") -> str:
    """Return a text as a single word, used as the name of a sequence in a file.

    It is the fallback if the text has no letters that ASCII can represent, as Japanese.
    """
    word = re.sub(r"[^A-Za-z0-9_.+()-]+", "_", to_line(text, max_length)).strip("_")
    return word[:max_length].strip("_") or fallback


def unique_name(word: str, used: Collection[str], max_length: int) -> str:
    """Return the word, with a numeric suffix if it is already used."""
    name, number = word, 1
    while name in used:
        number += 1
        suffix = f"_{number}"
        name = word[: max_length - len(suffix)] + suffix
    return name
