"""Turn what a user passes into the draft of a batch: its rows, with the faults of each.

A row is faulty if a cell is empty, a setting breaks a rule of its tool or names a file that is not
there, or if the service would refuse it. Faults are collected by row, so that all are named at once
and the other rows can be submitted without them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from labext import wording
from labext.errors import InputError, InvalidJobsError
from labext.jobs import joining, names
from labext.jobs.batch import tables
from labext.jobs.batch.parts import refuse_part_name
from labext.jobs.batch.plan import Limits, Plan, named_settings, room
from labext.jobs.catalogue import Catalogue
from labext.steering import tame

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 20
"""Faults, and rows of one fault, that a message names."""


@dataclass
class Draft:
    """A batch whose rows may have faults.

    Attributes:
        name: the batch's name.
        type: the tool.
        limits: the time limit of each job, and the budget.
        names: the jobs' own names, in the input's order; empty where a row has none.
        settings: the settings to send, in the same order.
        frame: the input's rows, where they came in a frame.
        name_column: the column of `frame` that holds the jobs' names.
        faults: what is wrong, by the position of the row.
        errors: the error for a set of faulty rows, where there is a better one than a list of
            their faults.
    """

    name: str
    type: str
    limits: Limits
    names: list[str]
    settings: list[dict[str, Any]]
    frame: pd.DataFrame | None = None
    name_column: str | None = None
    faults: dict[int, list[str]] = field(default_factory=dict)
    errors: dict[frozenset[int], InputError] = field(default_factory=dict)
    _by_service: bool = False

    @property
    def valid_rows(self) -> list[int]:
        """The positions of the rows without a fault."""
        return [row for row in range(len(self.names)) if row not in self.faults]

    def add_faults(self, faults: Mapping[int, list[str]]) -> None:
        """Add faults to rows that have none."""
        self.faults |= {row: words for row, words in faults.items() if row not in self.faults}

    def add_refusals(self, refused: Mapping[str, str]) -> None:
        """Add the service's words about the jobs that it would refuse, by their own names."""
        rows = {name: row for row, name in enumerate(self.names)}
        self.add_faults({rows[job]: [words] for job, words in refused.items()})
        self._by_service = self._by_service or bool(refused)

    def plan(self) -> Plan:
        """Return the plan of the rows without a fault.

        Raises:
            InvalidJobsError: there are none.
        """
        rows = self.valid_rows
        if not rows:
            raise self.error()
        frame = self.frame
        if frame is not None and self.faults:
            frame = frame.iloc[rows].reset_index(drop=True)
        jobs = {self.names[row]: self.settings[row] for row in rows}
        plan = Plan(self.name, self.type, jobs, self.limits, frame, self.name_column)
        stored = [f"{part.name}-{job}" for part in plan.parts for job in part.jobs]
        names.check_jobs(list(plan.jobs), stored, self.name)
        return plan

    def refused(self) -> pd.DataFrame:
        """Return the rows with a fault: Name, Error, and the input's columns or Settings.

        The column of the names is among them only where some were adapted.
        """
        import pandas as pd

        from labext.jobs.rowviews import REFUSED

        rows = sorted(self.faults)
        cells = [(self.names[row] or None, tame("; ".join(self.faults[row]))) for row in rows]
        frame = pd.DataFrame(cells, columns=["Name", "Error"], index=range(len(rows)))
        if self.frame is not None:
            beside = self.frame.iloc[rows]
            if (
                self.name_column is not None
                and [self.names[row] for row in rows]
                == beside[self.name_column].astype(str).tolist()
            ):
                beside = beside.drop(columns=self.name_column)
            return REFUSED.show(joining.beside(frame, beside))
        settings = pd.Series([self.settings[row] for row in rows], dtype=object)
        return REFUSED.show(frame.assign(Settings=settings))

    def error(self) -> InvalidJobsError:
        """Return the error that names every faulty row."""
        better = self.errors.get(frozenset(self.faults))
        if better is not None:
            what, step = better.what, better.next_step
        else:
            what = f"{self._what()}: {'; '.join(self.listed())}."
            step = f"See `%jobs tool {self.type}`."
        if others := len(self.valid_rows):
            step += f" `--skip-invalid` submits the other {wording.count(others, 'job')}."
        return InvalidJobsError(what, step, refused=self.refused)

    def _what(self) -> str:
        if not self._by_service:
            return f"These settings of {self.type} can't be used"
        jobs = wording.count(len(self.names), "job")
        if len(self.faults) == len(self.names):
            return f"The service would refuse {jobs} of {self.name}"
        return f"The service would refuse {len(self.faults):,} of {jobs} of {self.name}"

    def listed(self) -> list[str]:
        """Return each fault once, with the jobs that have it."""
        grouped: dict[str, list[str]] = {}
        for row, faults in sorted(self.faults.items()):
            job = self.names[row] or f"row {row + 1}"
            for fault in faults:
                grouped.setdefault(fault.rstrip("."), []).append(job)
        words = [
            fault
            if len(jobs) == len(self.names)
            else f"{fault} (in {wording.listed(jobs, _SHOWN)})"
            for fault, jobs in grouped.items()
        ]
        if len(words) > _SHOWN:
            return [*words[:_SHOWN], f"{len(words) - _SHOWN:,} faults more"]
        return words


def make_draft(
    catalogue: Catalogue,
    name: str,
    type: str,
    jobs: pd.DataFrame | Mapping[str, Any] | Sequence[Mapping[str, Any]],
    constants: Mapping[str, Any],
    name_column: str | None,
    mapping: Mapping[str, str] | None,
    limits: Limits,
) -> Draft:
    """Return the draft of a batch, checked by what is known here.

    Arguments as for `JobsClient.submit_batch`.

    Raises:
        InputError: the batch's name, a job's name or a column has to be corrected.
    """
    names.check(name, "batch")
    refuse_part_name(name)
    frame = _frame(jobs)
    draft = Draft(name, type, limits, [], [], frame, name_column)
    if frame is not None:
        rows = tables.read_rows(
            frame,
            catalogue.tool(type),
            name_column=name_column,
            mapping=mapping,
            constants=constants,
            room=room(name, len(frame)),
        )
        draft.names, settings = rows.names, rows.settings
        draft.add_faults({row: [words] for row, words in rows.faults.items()})
        if rows.error is not None:
            draft.errors[frozenset(draft.faults)] = rows.error
    elif name_column is not None or mapping is not None:
        raise InputError("Columns are named, but the jobs are no frame.", "Leave the columns out.")
    else:
        by_name = named_settings(jobs, dict(constants))
        draft.names, settings = list(by_name), list(by_name.values())
    if not draft.names:
        raise InputError("The batch has no jobs.", "A batch needs at least one job.")
    draft.settings, faults = catalogue.clean_all(type, settings)
    draft.add_faults(faults)
    return draft


def _frame(jobs: Any) -> pd.DataFrame | None:
    if isinstance(jobs, Mapping | list | tuple):
        return None
    import pandas as pd

    if not isinstance(jobs, pd.DataFrame):
        return None
    return jobs.set_axis(pd.Index([str(column) for column in jobs.columns]), axis=1)
