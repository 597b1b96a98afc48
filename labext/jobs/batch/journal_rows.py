"""A frame's rows as JSON, and back: values and types that JSON has no word for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

_PLAIN = ("int", "uint", "float", "bool", "str", "category")
"""How the types begin whose values JSON holds as they are."""


def rows_out(frame: pd.DataFrame) -> dict[str, Any]:
    """Return a frame's columns, each with its name, its type and its values."""
    columns = [
        {
            "name": str(name),
            "dtype": str(frame.dtypes.iloc[position]),
            "values": frame.iloc[:, position]
            .astype(object)
            .where(frame.iloc[:, position].notna().to_numpy(), None)
            .tolist(),
        }
        for position, name in enumerate(frame.columns)
    ]
    return {"columns": columns}


def rows_in(record: dict[str, Any]) -> pd.DataFrame:
    """Return the frame that `rows_out` was given."""
    import pandas as pd

    columns = [_column(column) for column in record["columns"]]
    frame = pd.concat(columns, axis=1) if columns else pd.DataFrame()
    frame.columns = pd.Index([column["name"] for column in record["columns"]])
    return frame


def _column(record: dict[str, Any]) -> pd.Series[Any]:
    import pandas as pd

    values = pd.Series(record["values"], dtype=object)
    try:
        if record["dtype"].startswith("datetime64"):
            return pd.to_datetime(values, format="ISO8601").astype(record["dtype"])
        if record["dtype"].startswith(_PLAIN):
            return values.astype(record["dtype"])
    except (TypeError, ValueError):
        return values  # a type that this pandas does not have: the values are there all the same
    return values
