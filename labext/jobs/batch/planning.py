"""From what a user passes to a plan of a batch: every check that needs no word of the service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from labext.errors import InputError
from labext.jobs import names
from labext.jobs.batch import tables
from labext.jobs.batch.parts import refuse_part_name
from labext.jobs.batch.plan import Limits, Plan, named_settings, room
from labext.jobs.catalogue import Catalogue

if TYPE_CHECKING:
    import pandas as pd


def make_plan(
    catalogue: Catalogue,
    name: str,
    type: str,
    jobs: pd.DataFrame | Mapping[str, Any] | Sequence[Mapping[str, Any]],
    constants: Mapping[str, Any],
    name_column: str | None,
    mapping: Mapping[str, str] | None,
    limits: Limits,
) -> Plan:
    """Return the plan of a batch; arguments as for `JobsClient.submit_batch`.

    Raises:
        InputError: a name, a column, a cell or a setting has to be corrected.
    """
    names.check(name, "batch")
    refuse_part_name(name)
    frame = _frame(jobs)
    if frame is not None:
        found = tables.named_settings(
            frame,
            catalogue.tool(type),
            name_column=name_column,
            mapping=mapping,
            constants=constants,
            room=room(name, len(frame)),
        )
    elif name_column is not None or mapping is not None:
        raise InputError("Columns are named, but the jobs are no frame.", "Leave the columns out.")
    else:
        found = named_settings(jobs, dict(constants))
    if not found:
        raise InputError("The batch has no jobs.", "A batch needs at least one job.")
    plan = Plan(name, type, catalogue.check_all(type, found), limits, frame, name_column)
    stored = [f"{part.name}-{job}" for part in plan.parts for job in part.jobs]
    names.check_jobs(list(plan.jobs), stored, name)
    return plan


def _frame(jobs: Any) -> pd.DataFrame | None:
    if isinstance(jobs, Mapping | list | tuple):
        return None
    import pandas as pd

    if not isinstance(jobs, pd.DataFrame):
        return None
    return jobs.set_axis(pd.Index([str(column) for column in jobs.columns]), axis=1)
