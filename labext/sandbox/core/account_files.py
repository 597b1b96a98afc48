"""CSV files of an administrator: people who get an account, and their keys."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path

from labext import messages
from labext.errors import ConflictError, InputError
from labext.sandbox.core.signing import new_key
from labext.storage import user_path, write_atomic
from labext.text_files import decode_text


def read_people(file: Path) -> list[tuple[str, str | None]]:
    """Return the columns `email`, in lower case, and `name`.

    Raises:
        InputError: the file can't be read, lacks the column `email` or has no rows, a row has no
            address, or a quotation mark has no end. Empty rows, as spreadsheets export them, are
            skipped.
    """
    try:
        text = decode_text(user_path(file).read_bytes())
    except OSError as error:
        raise InputError(f"{file} can't be read: {error.strerror}.", "Check the path.") from None
    except ValueError as error:
        raise InputError(f"{file} {error}.", "Give a CSV file.") from None
    header = text.partition("\n")[0]
    delimiter = ";" if ";" in header else ","
    # Otherwise a cell with a quotation mark that has no end has all further rows.
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows.fieldnames = [name.strip().lower() for name in rows.fieldnames or ()]
    if "email" not in rows.fieldnames:
        raise InputError(
            f"{file} has no column email.", "Begin it with the line `email,name`, or `email`."
        )
    people = []
    try:
        for row in rows:
            email, name = ((row.get(column) or "").strip() for column in ("email", "name"))
            if email:
                people.append((email.lower(), name or None))
            elif any(isinstance(cell, str) and cell.strip() for cell in row.values()):
                raise InputError(
                    f"{file} has no address in line {rows.line_num}.", "Add it, or remove the line."
                )
    except csv.Error as error:
        raise InputError(
            f"{file} can't be read: {error}.", "Check the quotation marks of its lines."
        ) from None
    if not people:
        raise InputError(f"{file} has no rows.", "Add a line for each person.")
    return people


def check_new(file: Path, emails: Collection[str], existing: Collection[str]) -> None:
    """Check that no address of a file is listed twice or has an account already.

    Raises:
        ConflictError: the message names the addresses.
    """
    repeated = [email for email, count in Counter(emails).items() if count > 1]
    if repeated:
        raise ConflictError(
            f"{file} lists {messages.join_words(repeated, 10)} more than once.",
            "Remove the repeated lines.",
        )
    known = [email for email in emails if email in existing]
    if known:
        raise ConflictError(
            f"{len(known)} of the {len(emails)} addresses in {file} are registered already: "
            f"{messages.join_words(known, 10)}.",
            "Remove their lines: the other people get accounts.",
        )


def write_new_keys(file: Path, emails: Iterable[str], prefix: str = "") -> list[str]:
    """Write a new key for each address to a new file, which only its owner can read; return them.

    Raises:
        ConflictError: the file exists.
        StorageError: it can't be written.
    """
    path = user_path(file)
    if path.exists():
        raise ConflictError(f"{file} exists already.", "Choose another file for the keys.")
    rows = [(email, new_key(prefix)) for email in emails]
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([("email", "key"), *rows])
    write_atomic(path, text.getvalue().encode(), private=True)
    return [key for _, key in rows]
