"""Saved pipelines: what the job service's users run by name with `/run-pipeline`."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select

from labext import wording
from labext.errors import InputError
from labext.sandbox.jobs.administration import Administration, Record
from labext.sandbox.jobs.administration.allowances import known_gates
from labext.sandbox.jobs.administration.finding import organization_of
from labext.sandbox.jobs.pipelines.forms import fault
from labext.sandbox.jobs.store import Organization, SavedPipeline, now
from labext.sandbox.naming import absent, check_yes, checked_name, taken

LONGEST = 100


def pipelines(admin: Administration, organization: str | None = None) -> list[Record]:
    """The saved pipelines of an organization, or of all.

    Raises:
        NotFoundError: there is no such organization.
    """
    with admin.database.read() as session:
        selected = select(SavedPipeline, Organization.name).join(
            Organization, Organization.id == SavedPipeline.organization_id
        )
        if organization is not None:
            owner = organization_of(session, organization)
            selected = selected.where(Organization.id == owner.id)
        rows = session.execute(selected.order_by(Organization.name, SavedPipeline.name))
        return [
            {
                "organization": owner_name,
                "name": pipeline.name,
                "created": pipeline.created,
                "stages": pipeline.stages,
            }
            for pipeline, owner_name in rows
        ]


def add_pipeline(admin: Administration, name: str, organization: str, content: Any) -> Record:
    """Save a pipeline, checked as `/submit-pipeline` would check it.

    Args:
        admin: whose.
        name: what it is run by.
        organization: whose accounts may run it.
        content: its stages, or the body of a submission, whose `stages` are taken: an
            `initialInputs` beside them is not saved.

    Raises:
        InputError: it can't be called so, or the stages won't do; says what is wrong.
        NotFoundError: there is no such organization.
        ConflictError: it has such a pipeline.
    """
    checked_name("a pipeline", name, LONGEST)
    stages = content.get("stages") if isinstance(content, dict) else content
    wrong = fault(stages, known_gates())
    if wrong is not None:
        raise InputError(f"The pipeline {name} won't do: {wrong}", "Correct its file.")
    with admin.database.write() as session:
        owner = organization_of(session, organization)
        there = select(SavedPipeline.id).where(
            SavedPipeline.organization_id == owner.id, SavedPipeline.name == name
        )
        if session.scalars(there).first() is not None:
            raise taken("a pipeline", f"{name} of {organization}")
        session.add(
            SavedPipeline(organization_id=owner.id, name=name, stages=stages, created=now())
        )
    return {"organization": organization, "name": name, "stages": stages}


def remove_pipeline(admin: Administration, name: str, organization: str, *, yes: bool) -> Record:
    """Remove a saved pipeline; those that run or have run stay.

    Raises:
        NotFoundError: there is no such organization, or it has no such pipeline.
        InputError: `yes` is not given.
    """
    with admin.database.write() as session:
        owner = organization_of(session, organization)
        mine = SavedPipeline.organization_id == owner.id
        found = session.scalars(
            select(SavedPipeline).where(mine, SavedPipeline.name == name)
        ).one_or_none()
        if found is None:
            names = session.scalars(select(SavedPipeline.name).where(mine))
            raise absent(f"pipeline of {organization} called", name, names)
        check_yes(
            yes,
            f"This would remove the pipeline {name} of {organization} with its "
            f"{wording.count(len(found.stages), 'stage')}.",
        )
        session.delete(found)
    return {"removed": name, "organization": organization}
