"""Lists of records as DataFrames, and what is spread out of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from labext.frames import Column, Gathered, Kind
from labext.lab.sequences.fields import KINDS, PARTS, VALUES, value_of
from labext.lab.sequences.paging import Record
from labext.steering import tame

_KINDS: dict[str, Kind] = dict(KINDS)
_KINDS |= {f"{name}.{part}": "text" for name, parts in PARTS.items() for part in parts}


def frame(
    pages: Iterable[Sequence[Record]], names: Sequence[str] | None, *, spread: bool = False
) -> pd.DataFrame:
    """Return a list as a typed DataFrame, each page let go before the next one is asked for.

    Args:
        pages: the records, page by page.
        names: the columns, in their order; None for all of `KINDS`, and what else comes.
        spread: a column for each thing in `fields`, `customFields`, `creator` and `schema`, in
            their place: `fields.Volume`, `creator.name`.
    """
    wanted = list(KINDS) if names is None else list(names)
    if spread:
        wanted = [each for name in wanted for each in _within(name)]
    known = [name for name in wanted if name in _KINDS and not (spread and name in VALUES)]
    gathered = Gathered([Column(name, _KINDS[name]) for name in known])
    for page in pages:
        gathered.take([_spread_out(record) for record in page] if spread else page)
    table = gathered.frame()
    order = _order(wanted, list(table.columns), whole=names is None)
    return table if order == list(table.columns) else table.reindex(columns=order)


def _spread_out(record: Record) -> Record:
    """Return a record with the fields that hold others replaced by those."""
    flat = dict(record)
    for name in PARTS.keys() & flat.keys():
        cell = flat.pop(name)
        held = cell if isinstance(cell, dict) else {}
        flat |= {each: held.get(each.removeprefix(f"{name}.")) for each in _within(name)}
    for name in VALUES:
        cell = flat.pop(name, None)
        if isinstance(cell, dict):
            flat |= {f"{name}.{key}": value_of(each) for key, each in cell.items()}
    return flat


def _within(name: str) -> list[str]:
    return [f"{name}.{part}" for part in PARTS[name]] if name in PARTS else [name]


def _order(wanted: list[str], there: list[str], *, whole: bool) -> list[str]:
    """Return the columns in order: what was spread stands where it was spread from."""
    held = {
        name: [each for each in there if each.startswith(f"{name}.")]
        for name in VALUES
        if name not in there
    }
    order = [each for name in wanted for each in held.get(name, [tame(name)])]
    return list(dict.fromkeys([*order, *(there if whole else ())]))
