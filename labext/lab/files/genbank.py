"""GenBank as text, by Biopython: records to it, and back."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from labext.lab.files.keeping import Fields
from labext.lab.seqrecords import from_seqrecord, longest_name, to_seqrecord

from Bio import BiopythonWarning, SeqIO  # isort: skip - seqrecords says what to do without it

__all__ = ["entries", "longest_name", "written"]


def written(records: Iterable[Mapping[str, Any]], names: Iterable[str]) -> str:
    """Return records as text, under the names that the first line of each shows."""
    out = io.StringIO()
    made = (to_seqrecord(row, name=name) for row, name in zip(records, names, strict=True))
    SeqIO.write(made, out, "genbank")
    return out.getvalue()


def entries(text: str) -> list[Fields]:
    """Return the records of a text.

    Raises:
        ValueError: it is no GenBank.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BiopythonWarning)  # of lines that are not as they should be
        try:
            return [from_seqrecord(made) for made in SeqIO.parse(io.StringIO(text), "genbank")]
        except ValueError:
            raise
        except Exception as failure:  # noqa: BLE001 - whatever the parser makes of other text
            why = f"{type(failure).__name__}: {failure}"
    raise ValueError(why)
