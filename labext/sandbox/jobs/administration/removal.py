"""Removes accounts with all that they have: keys, jobs, results and files, whatever runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from labext import wording
from labext.errors import InputError
from labext.sandbox.database import counted
from labext.sandbox.jobs.administration import Administration, Record
from labext.sandbox.jobs.administration.finding import account_of, organization_of
from labext.sandbox.jobs.files import folders
from labext.sandbox.jobs.seed import STUDENT
from labext.sandbox.jobs.store import (
    BATCH,
    LIVING,
    PIPELINE,
    Account,
    Job,
    Key,
    Organization,
    SavedPipeline,
    UploadedFile,
)
from labext.sandbox.queue import QUEUED, Task

STOP_SECONDS = 10.0
"""How long the processes of removed jobs are waited for; the host looks for them once a second."""

Found = tuple[Sequence[Account], Organization | None]
"""The accounts that are to go, and their organization if it goes too."""

_NOUNS = (
    ("keys", "key"),
    ("jobs", "job"),
    ("files", "uploaded file"),
    ("pipelines", "saved pipeline"),
)


def remove_account(admin: Administration, email: str, *, yes: bool) -> Record:
    """Remove an account with its keys, jobs, results and files; what runs is stopped.

    Returns:
        How many `accounts`, `keys`, `jobs`, `files` and `pipelines` are gone.

    Raises:
        NotFoundError: there is none.
        InputError: it has any of these, and `yes` is not given; says what would go.
    """
    removed = _remove(admin, lambda session: ([account_of(session, email)], None), yes=yes)
    return {"removed": email} | removed


def remove_organization(admin: Administration, name: str, *, yes: bool) -> Record:
    """Remove an organization with its saved pipelines, its accounts, and all that they have.

    Returns and raises as `remove_account`.
    """

    def found(session: Session) -> Found:
        organization = organization_of(session, name)
        mine = Account.organization_id == organization.id
        return session.scalars(select(Account).where(mine)).all(), organization

    return {"removed": name} | _remove(admin, found, yes=yes)


def _remove(admin: Administration, find: Callable[[Session], Found], *, yes: bool) -> Record:
    """Rows, processes, bytes.

    A host that runs sees that the tasks of the jobs are to be stopped; a task that a killed host
    has left behind ends when the next one starts.
    """
    with admin.database.write() as session:
        accounts, organization = find(session)
        numbers = [account.id for account in accounts]
        counts = _counts(session, numbers, organization)
        lost = any(counts.values()) or (organization is not None and bool(numbers))
        if lost and not yes:
            raise _refusal(accounts, organization, counts)
        jobs = session.scalars(select(Job.id).where(Job.account_id.in_(numbers))).all()
        files = session.scalars(
            select(UploadedFile.id).where(UploadedFile.account_id.in_(numbers))
        ).all()
        for table in (Job, UploadedFile, Key):
            session.execute(delete(table).where(table.account_id.in_(numbers)))
        stopped = _cancel(admin, session, set(jobs))
        session.execute(delete(Account).where(Account.id.in_(numbers)))
        if organization is not None:
            session.execute(delete(Organization).where(Organization.id == organization.id))
    if admin.running:
        admin.site.queue.wait_all(admin.database, stopped, STOP_SECONDS)
    folders.remove_jobs(admin.site, jobs)
    for file in files:
        folders.upload_path(admin.site, file).unlink(missing_ok=True)
    return {"accounts": len(accounts)} | {name: counts[name] for name, _ in _NOUNS}


def _counts(
    session: Session, accounts: Sequence[int], organization: Organization | None
) -> dict[str, int]:
    mine = Job.account_id.in_(accounts)
    theirs = SavedPipeline.organization_id == (organization.id if organization else None)
    return {
        "keys": counted(session, Key, Key.account_id.in_(accounts)),
        "jobs": counted(session, Job, mine),
        "living": counted(
            session, Job, mine, Job.status.in_(LIVING), Job.type.not_in((BATCH, PIPELINE))
        ),
        "files": counted(session, UploadedFile, UploadedFile.account_id.in_(accounts)),
        "pipelines": counted(session, SavedPipeline, theirs),
    }


def _cancel(admin: Administration, session: Session, jobs: set[int]) -> list[str]:
    """Cancel every task of these jobs, whose rows are gone; returns the keys of those that ran."""
    session.flush()
    queue = admin.site.queue
    tasks = session.scalars(select(Task).where(Task.kind.in_(queue.kinds))).all()
    mine = [task for task in tasks if task.payload.get("job") in jobs]
    for task in mine:  # one by one: a statement takes only so many keys
        queue.cancel(session, task.key, "Its account was removed.")
    return [task.key for task in mine if task.state != QUEUED]


def _refusal(
    accounts: Sequence[Account], organization: Organization | None, counts: dict[str, int]
) -> InputError:
    what = ", ".join(wording.count(counts[name], noun) for name, noun in _NOUNS if counts[name])
    whose = (
        f"the account {accounts[0].email}"
        if organization is None
        else f"the organization {organization.name} with {wording.count(len(accounts), 'account')}"
    )
    results = ", the jobs' results too" if counts["jobs"] else ""
    living = f"; {wording.count(counts['living'], 'job')} not ended yet" if counts["living"] else ""
    student = any(account.email == STUDENT for account in accounts)
    return InputError(
        f"This would remove {whose}"
        + (f", and with it {what}{results}{living}" if what else "")
        + ("; the key that the sandbox hands out would be no longer valid." if student else "."),
        "Add `--yes` to do it.",
    )
