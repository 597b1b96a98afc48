"""The rows that a batch is made of, whatever the user has them in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from labext import wording
from labext.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


def rows_of(value: Any) -> Any:
    """Return a DataFrame or a mapping of names to settings; InputError for anything else."""
    if isinstance(value, Mapping) and all(isinstance(v, Mapping) for v in value.values()):
        return value
    return frame_of(value, "a DataFrame or a dict of names to settings")


def frame_of(value: Any, wanted: str = "a DataFrame") -> pd.DataFrame:
    """Return a DataFrame, also of a list of records; InputError for anything else."""
    import pandas as pd

    if isinstance(value, pd.DataFrame):
        return value
    if isinstance(value, list) and value and all(isinstance(v, Mapping) for v in value):
        return pd.DataFrame(value)
    step = "Make a frame of it first: `pd.DataFrame(…)`."
    if isinstance(value, pd.Series):
        step = "Two brackets keep a frame: `frame.iloc[[0]]` one row, `frame[['name']]` a column."
    raise InputError(f"`--from` takes {wanted}, not {wording.article(type(value).__name__)}.", step)
