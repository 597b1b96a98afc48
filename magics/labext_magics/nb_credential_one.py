"""One credential: as a line names it, as a sentence calls it, and as a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labext_magics import kinds
from labext_magics.grammar import Parameter

if TYPE_CHECKING:
    import pandas as pd

    from labext.nb.records import Record

ONE = Parameter(
    "CREDENTIAL", kinds.CREDENTIAL, "a credential, by its name or its id", required=True
)


def called(record: Record) -> str:
    """Return what a sentence about it begins with."""
    return f"The credential {record['name']} of {record['provider']}"


def row(record: Record) -> pd.DataFrame:
    """Return what is known of it, which is not its key."""
    from labext.nb.modelviews import credentials

    return credentials([record])
