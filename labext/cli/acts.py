"""What the acts of the commands that administer a local service share: how one is told.

An act takes the administration and the command's options, and returns a record, or a list of them,
and its text: a sentence or a table.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from labext import config, wording
from labext.errors import InputError
from labext.sandbox.administration import Administration, Record
from labext.sandbox.limits import Limits

Answer = tuple[Record | list[Record], str]
Act = Callable[[Administration, argparse.Namespace], Answer]


class Acts(dict[str, Act]):
    """A service's acts by their names.

    Args:
        opened: the service of the sandbox in a folder.
    """

    def __init__(self, opened: Callable[[Path], AbstractContextManager[Administration]]) -> None:
        super().__init__()
        self._opened = opened

    def add(self, function: Act) -> Act:
        """Add an act under its function's name: a decorator."""
        self[function.__name__] = function
        return function

    def run(self, act: str, options: argparse.Namespace) -> None:
        """Do one act on the sandbox that the options name, and print its answer."""
        _check_text(options)
        with self._opened(options.data_dir or config.sandbox_dir()) as admin:
            answer, text = self[act](admin, options)
        print(json.dumps(answer, indent=2) if options.json else text)

    def add_limits(self, limits: Limits) -> None:
        """Add the acts on a service's limits."""

        def set_limit(admin: Administration, options: argparse.Namespace) -> Answer:
            value = limits.parsed(options.name, options.value)
            with admin.database.write() as session:
                done = limits.set(session, options.name, value)
            return done, f"{done['name']} is {done['value']:,}."

        def remove_limit(admin: Administration, options: argparse.Namespace) -> Answer:
            with admin.database.write() as session:
                done = limits.set(session, options.name, None)
            return done, f"{done['name']} is {done['value']:,} again."

        def list_limits(admin: Administration, _: argparse.Namespace) -> Answer:
            with admin.database.read() as session:
                found = limits.records(session)
            return found, table(found, "name", "value", "default", "about")

        for act in (set_limit, remove_limit, list_limits):
            self.add(act)


def table(records: Iterable[Mapping[str, Any]], *columns: str) -> str:
    """The columns of records, aligned: numbers to the right, everything else to the left."""
    rows = [[_cell(record[column]) for column in columns] for record in records]
    if not rows:
        return "There are none."
    numbers = [isinstance(record[c], int | float) for record in list(records)[:1] for c in columns]
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    lines = [
        "  ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(row, widths, numbers, strict=True)
        ).rstrip()
        for row in [list(columns), *rows]
    ]
    return "\n".join(lines)


def with_lost(gone: Record, *names: str) -> str:
    """` with 2 keys, 1 job`: what went with something, or nothing."""
    lost = [wording.count(gone[name], name.removesuffix("s")) for name in names if gone[name]]
    return f" with {', '.join(lost)}" if lost else ""


def _check_text(options: argparse.Namespace) -> None:
    """See that what was typed is text; a shell passes on any bytes."""
    for value in vars(options).values():
        if isinstance(value, str) and not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise InputError(
                    f"{value!a} is no text in UTF-8.",
                    "Type it again, or set the terminal to UTF-8.",
                ) from None


def _cell(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:g}" if isinstance(value, float) else str(value)
