"""The columns of a list: which fields are asked for, and how they are taken out of a record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from labext import wording
from labext.errors import InputError
from labext.lab.sequences.fields import KINDS, PARTS, value_of
from labext.lab.sequences.paging import Record


class Columns:
    """The columns that a user chose, of which one may be within a field: `fields.Volume`.

    Args:
        chosen: their names, as several texts or as one with commas; None for whole records.
        needed: the fields that filters look at.

    Raises:
        InputError: there are none, or one that is no text.
    """

    def __init__(self, chosen: Iterable[str] | str | None, needed: Sequence[str] = ()) -> None:
        self.names = None if chosen is None else _names(chosen)
        self._needed = needed
        self._paths = [(name, *name.partition(".")[::2]) for name in self.names or ()]
        unknown = [(name, field) for name, field, _ in self._paths if field not in KINDS]
        self._unsure = dict(unknown)
        self._absent = {
            name
            for name, field, within in self._paths
            if within and within not in PARTS.get(field, ())
        }

    @property
    def fields(self) -> list[str] | None:
        """The fields to ask for; None for all, also where the platform may not know one of them."""
        if self.names is None or self._unsure:
            return None
        # By the ID a record is told from one that came before.
        asked = ["id", *(field for _, field, _ in self._paths), *self._needed]
        return list(dict.fromkeys(asked))

    def check(self, records: Sequence[Record]) -> None:
        """Check the columns that only a record can tell of, by the first records.

        Raises:
            InputError: no record has them; names a near one.
        """
        there = set().union(*records)
        for name, field in self._unsure.items():
            if field not in there:
                near = wording.did_you_mean(field, [*KINDS, *sorted(there)])
                raise InputError(
                    f'Sequences have no column "{name}"{near}.', f"They have {', '.join(KINDS)}."
                )
        self._unsure = {}

    def check_within(self, count: int) -> None:
        """Check the columns within fields, after all of a list's records were taken.

        Raises:
            InputError: there were records, and none has them.
        """
        if count and self._absent:
            missing = wording.listed(sorted(self._absent))
            raise InputError(
                f"No sequence of this list has {missing}.",
                "See what there is with --spread (spread=True).",
            )

    def taken(self, record: Record) -> Record:
        """Return what was chosen of a record."""
        if self.names is None:
            return record
        found = {}
        for name, field, within in self._paths:
            cell = record.get(field)
            if within:
                held = cell if isinstance(cell, dict) else {}
                if within in held:
                    self._absent.discard(name)
                cell = value_of(held.get(within))
            found[name] = cell
        return found


def _names(chosen: Iterable[str] | str) -> list[str]:
    names = chosen.split(",") if isinstance(chosen, str) else list(chosen)
    if not names or not all(isinstance(name, str) and name.strip() for name in names):
        raise InputError(
            f"{wording.shown(chosen)} names no columns.", "Give their names, like id,name,bases."
        )
    return list(dict.fromkeys(name.strip() for name in names))
