"""DataFrames that are shown in a way of their own, and the pieces of it.

Only the showing differs: what is made of such a frame (a copy, some of its rows or columns, a file,
a pickle) is a plain DataFrame, and shown as any other; but for its `head` and its `tail`, which are
there to be looked at.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from typing import Any, Self

import pandas as pd

from labext.steering import tame


class Shown(pd.DataFrame):
    """A DataFrame with a `__repr__` and a `_repr_html_` of its own."""

    # Both are final to type checkers: each is a slice, on which pandas builds nothing.
    def head(self, n: int = 5) -> Self:  # type: ignore[misc]
        """Return the first rows, shown in the same way."""
        return type(self)(super().head(n))

    def tail(self, n: int = 5) -> Self:  # type: ignore[misc]
        """Return the last rows, shown in the same way."""
        return type(self)(super().tail(n))

    def __reduce__(self) -> str | tuple[Any, ...]:
        return pd.DataFrame, (), plain(self).__getstate__()  # read without labext, too


class Facts(Shown):
    """What is told of one thing, a value a row, each shown whole."""

    def __repr__(self) -> str:
        return self.to_string() if len(self) else super().__repr__()

    def _repr_html_(self) -> str | None:
        with pd.option_context("display.max_colwidth", None):
            return plain(self)._repr_html_()  # type: ignore[operator, no-any-return]


def facts(told: Mapping[str, str], of: str) -> Facts:
    """Return what is told of one thing, by what each value is."""
    return Facts({"value": list(told.values())}, index=pd.Index(list(told), name=of))


def plain(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame as pandas itself would show it."""
    made = pd.DataFrame(frame)
    made.attrs = dict(frame.attrs)
    return made


def width() -> int:
    """Return how many columns of text there are: the terminal's, elsewhere what pandas takes."""
    if sys.stdout.isatty():
        return shutil.get_terminal_size().columns
    return pd.get_option("display.width") or 80


def is_there(cell: Any) -> bool:
    """Say whether a cell holds anything that could be shown."""
    if isinstance(cell, list | dict | tuple):
        return bool(cell)
    if cell is None or cell is pd.NA or cell is pd.NaT:
        return False
    if isinstance(cell, str):
        return bool(cell.strip())
    return bool(cell == cell)


def words(cell: Any) -> str:
    """Return a cell as one line of text; a missing one as none.

    Times are in UTC, to the second. Settings and scores read `residues: 20, atoms: 168`.
    """
    if not is_there(cell):
        return ""
    if isinstance(cell, pd.Timestamp):
        return str(cell.tz_convert("UTC") if cell.tzinfo else cell)[:19]
    if isinstance(cell, dict):
        return ", ".join(f"{words(key)}: {_inner(value)}" for key, value in cell.items())
    if isinstance(cell, list | tuple):
        return ", ".join(map(_inner, cell))
    if isinstance(cell, float):
        return f"{cell:.6g}"
    return tame(" ".join(str(cell).split()))


def clipped(text: str, most: int) -> str:
    """Return a text cut after `most` characters, at the least one."""
    return text if len(text) <= most else f"{text[: max(most - 1, 0)]}…"


def _inner(value: Any) -> str:
    """Return a value within another: a text or a number as it is, the rest as JSON."""
    if isinstance(value, dict | list) or value is None or isinstance(value, bool):
        return words(json.dumps(value, ensure_ascii=False, default=str))
    return words(value)
