"""Manage accounts, keys, budgets, quotas, gates and saved pipelines."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Select, delete, func, select
from sqlalchemy.orm import Session

from labext import messages
from labext.errors import InputError
from labext.sandbox.core import administration
from labext.sandbox.core.account_files import check_new, read_people, write_new_keys
from labext.sandbox.core.administration import Administration, Record
from labext.sandbox.core.database import count_rows
from labext.sandbox.core.queue import MAX_WEIGHT, MIN_WEIGHT, QUEUED, Task
from labext.sandbox.core.validation import (
    already_exists_error,
    next_free_name,
    not_found_error,
    require_confirmation,
    validate_email,
    validate_name,
)
from labext.sandbox.jobs import usage
from labext.sandbox.jobs.app import service
from labext.sandbox.jobs.files import job_files
from labext.sandbox.jobs.limits import LIMITS
from labext.sandbox.jobs.pipelines.schemas import pipeline_error
from labext.sandbox.jobs.seed import STUDENT, initial_organization
from labext.sandbox.jobs.tables import (
    ACTIVE_STATES,
    BATCH,
    PIPELINE,
    Account,
    Job,
    Key,
    Organization,
    SavedPipeline,
    UploadedFile,
    current_timestamp,
    used_storage,
)
from labext.sandbox.jobs.tools.catalogue import all_tools

STOP_SECONDS = 10.0
"""Seconds to wait for the processes of removed jobs to end; the host checks once per second."""

PIPELINE_NAME_LENGTH = 100

AccountSelection = tuple[Sequence[Account], Organization | None]
"""The accounts to remove, and the organization if it is removed as well."""

_SINGLE_JOB = Job.type.not_in((BATCH, PIPELINE))
"""The condition for a job that is neither a batch nor a pipeline."""

_CONTENTS = {"keys": "key", "jobs": "job", "files": "uploaded file", "pipelines": "saved pipeline"}


def _own_limit(name: str, value: int | Literal["default"]) -> int | None:
    return None if value == "default" else LIMITS.check(name, value)


def _scheduling(account: Account) -> Record:
    return {name: getattr(account, name) for name in ("weight", "max_running", "max_queued")}


class JobsAdministration(Administration):
    """Administrative operations on the job service of a sandbox."""

    def organizations(self) -> list[Record]:
        """List the organizations with their number of accounts, budget and used hours."""
        with self.database.read() as session:
            return [
                {
                    "name": organization.name,
                    "accounts": count_rows(session, Account, _belongs_to(organization)),
                    "budget": organization.budget,
                    "used": usage.total_hours(session, _belongs_to(organization)),
                }
                for organization in _select_organizations(session)
            ]

    def add_organization(self, name: str) -> Record:
        """Create an organization without accounts."""
        validate_name("an organization", name)
        with self.database.write() as session:
            if session.scalars(select(Organization.id).where(Organization.name == name)).first():
                raise already_exists_error("an organization", name)
            session.add(Organization(name=name))
        return {"name": name}

    def remove_organization(self, name: str, *, yes: bool) -> Record:
        """Remove an organization with its saved pipelines and accounts; see `remove_account`."""

        def find(session: Session) -> AccountSelection:
            organization = find_organization(session, name)
            accounts = select(Account).where(_belongs_to(organization))
            return session.scalars(accounts).all(), organization

        return {"removed": name} | self._remove(find, yes)

    def accounts(self) -> list[Record]:
        """List the accounts with their permissions, budget and number of keys and jobs."""
        with self.database.read() as session:
            accounts = select(Account, Organization.name).join(Organization)
            rows = session.execute(accounts.order_by(Organization.name, Account.email))
            return [
                {
                    "email": account.email,
                    "organization": organization,
                    "owner": account.owner,
                    "keys": count_rows(session, Key, Key.account_id == account.id),
                    "jobs": count_rows(session, Job, Job.account_id == account.id, _SINGLE_JOB),
                    "gates": account.gates,
                    "budget": account.budget,
                    "storage_quota": account.storage_quota,
                    **_scheduling(account),
                }
                for account, organization in rows.all()
            ]

    def add_account(
        self, email: str, organization: str | None = None, *, owner: bool = False
    ) -> Record:
        """Create an account without a key; an owner can see its organization's jobs and usage.

        None is the organization that the first start has created, here and for pipelines.
        """
        organization = organization or initial_organization(self.site)
        with self.database.write() as session:
            account = _add_account(session, email, organization, owner=owner)
            return {"email": account.email, "organization": organization, "owner": owner}

    def import_accounts(
        self, file: Path, organization: str | None = None, key_file: Path | None = None
    ) -> list[Record]:
        """Create accounts for the people in a CSV file with the column `email`, or none.

        `key_file`, a new CSV file, gets a key for each account.
        """
        emails = [email for email, _ in read_people(file)]
        organization = organization or initial_organization(self.site)
        with self.database.write() as session:
            check_new(file, emails, set(session.scalars(select(Account.email))))
            accounts = [_add_account(session, email, organization) for email in emails]
            if key_file is not None:
                keys = write_new_keys(key_file, emails)
                pairs = zip(accounts, keys, strict=True)
                session.add_all(Key.create(account, "key1", key) for account, key in pairs)
        return [{"email": email, "organization": organization} for email in emails]

    def set_scheduling(
        self,
        email: str,
        *,
        weight: float | None = None,
        max_running: int | Literal["default"] | None = None,
        max_queued: int | Literal["default"] | None = None,
    ) -> Record:
        """Change the share and the limits of an account in the queue; None keeps the value.

        `weight` is the share of job starts relative to other accounts, also of queued jobs. The
        limits are 0 for no limit, `default` for those of all accounts.
        """
        if weight is not None and not MIN_WEIGHT <= weight <= MAX_WEIGHT:
            raise InputError(
                f"The weight of an account can't be {weight:g}.",
                f"Give a number from {MIN_WEIGHT:g} to {MAX_WEIGHT:g}.",
            )
        with self.database.write() as session:
            account = find_account(session, email)
            if weight is not None:
                account.weight = weight
                self.site.queue.set_weight(session, account.queue_owner, weight)
            if max_running is not None:
                account.max_running = _own_limit("max_running_per_account", max_running)
            if max_queued is not None:
                account.max_queued = _own_limit("max_queued_per_account", max_queued)
            return {"email": email} | _scheduling(account)

    def set_owner(self, email: str, owner: bool) -> Record:
        """Grant or revoke the owner role of an account in its organization."""
        with self.database.write() as session:
            find_account(session, email).owner = owner
        return {"email": email, "owner": owner}

    def remove_account(self, email: str, *, yes: bool) -> Record:
        """Remove an account with its keys, jobs, results and files; running jobs are stopped.

        Returns:
            The number of removed `accounts`, `keys`, `jobs`, `files` and `pipelines`.
        """
        return {"removed": email} | self._remove(lambda s: ([find_account(s, email)], None), yes)

    def _remove(self, find: Callable[[Session], AccountSelection], yes: bool) -> dict[str, int]:
        """Delete the database rows, wait for the processes to end, then delete the files.

        A running host kills the processes of cancelled tasks. Processes left behind by a killed
        host are ended when the next host starts.
        """
        with self.database.write() as session:
            accounts, organization = find(session)
            ids = [account.id for account in accounts]
            counts = _count_contents(session, ids, organization)
            if any(counts.values()) or (organization is not None and ids):
                require_confirmation(yes, _removal_effect(session, accounts, organization, counts))
            jobs = session.scalars(select(Job.id).where(Job.account_id.in_(ids))).all()
            files = session.scalars(
                select(UploadedFile.id).where(UploadedFile.account_id.in_(ids))
            ).all()
            for table in (Job, UploadedFile, Key):
                session.execute(delete(table).where(table.account_id.in_(ids)))
            job_files.forget_jobs(session, self.site, jobs)
            self.site.files.forget(session, [f"files/{file}" for file in files])
            running = self._cancel_tasks(session, set(jobs))
            session.execute(delete(Account).where(Account.id.in_(ids)))
            if organization is not None:
                session.execute(delete(Organization).where(Organization.id == organization.id))
        if self.running:
            self.site.queue.wait(self.database, running, STOP_SECONDS)
        job_files.remove_jobs(self.site, jobs)
        for file in files:
            job_files.upload_path(self.site, file).unlink(missing_ok=True)
        return {"accounts": len(ids)} | counts

    def _cancel_tasks(self, session: Session, jobs: set[int]) -> list[str]:
        """Cancel the tasks of removed jobs; return the keys of the running tasks."""
        session.flush()
        queue = self.site.queue
        tasks = session.scalars(select(Task).where(Task.kind.in_(queue.kinds))).all()
        cancelled = [task for task in tasks if task.payload.get("job") in jobs]
        for task in cancelled:  # one by one, since the parameters of a statement are limited
            queue.cancel(session, task.key, "The account of the job was removed.")
        return [task.key for task in cancelled if task.state != QUEUED]

    def keys(self, email: str | None = None) -> list[Record]:
        """List the names of the keys of one or all accounts; the keys themselves are not stored."""
        with self.database.read() as session:
            selected = select(Key, Account.email).join(Account, Account.id == Key.account_id)
            if email is not None:
                selected = selected.where(Account.id == find_account(session, email).id)
            rows = session.execute(selected.order_by(Account.email, Key.id))
            return [
                {"account": account, "name": key.name, "created": key.created}
                for key, account in rows
            ]

    def add_key(self, email: str, key: str, name: str | None = None) -> Record:
        """Add a key to an account; the default name is the next free `key<n>`."""
        with self.database.write() as session:
            account = find_account(session, email)
            name = next_free_name(name, "key", _key_names(session, account))
            session.add(Key.create(account, name, key))
        return {"account": email, "name": name}

    def remove_key(self, email: str, name: str, *, yes: bool) -> Record:
        """Remove a key; requests with it are then refused with 401."""
        with self.database.write() as session:
            account = find_account(session, email)
            key = session.scalars(
                select(Key).where(Key.account_id == account.id, Key.name == name)
            ).one_or_none()
            if key is None:
                raise not_found_error(f"key of {email} called", name, _key_names(session, account))
            student = " It may be the key in connection.json." if email == STUDENT else ""
            require_confirmation(
                yes,
                f"This would remove the key {messages.quote_value(name)} of {email}. Requests "
                f"with it would be refused, and it can't be restored.{student}",
            )
            session.delete(key)
        return {"removed": name, "account": email}

    def budgets(self) -> list[Record]:
        """List the budget and the use of each organization and account, in weighted hours."""
        with self.database.read() as session:
            accounts = session.scalars(select(Account).order_by(Account.email))
            return [
                _budget_record(session, owner)
                for owner in (*_select_organizations(session), *accounts)
            ]

    def set_budget(self, hours: float | None, kind: str, name: str) -> Record:
        """Set the budget in weighted hours, at least 0; None removes it.

        `name` is that of an organization, or the email address of an account, as `kind` says.
        """
        if hours is not None and not (math.isfinite(hours) and hours >= 0):
            raise InputError(
                f"{hours:g} is not a valid budget.", "Give a finite number of hours, at least 0."
            )
        find = find_organization if kind == "organization" else find_account
        with self.database.write() as session:
            holder: Organization | Account = find(session, name)
            holder.budget = hours
            return _budget_record(session, holder)

    def quotas(self) -> list[Record]:
        """List the storage quota and the used storage of each account, in bytes."""
        with self.database.read() as session:
            accounts = session.scalars(select(Account).order_by(Account.email)).all()
            return [_quota_record(session, account) for account in accounts]

    def set_quota(self, email: str, size: int | None) -> Record:
        """Set the storage quota of an account in bytes; None sets the default of new accounts.

        If the quota is below the current use, no file is deleted and further files are refused.
        """
        with self.database.write() as session:
            account = find_account(session, email)
            default = LIMITS.value(session, "storage_quota")
            account.storage_quota = default if size is None else size
            return _quota_record(session, account)

    def gates(self) -> list[Record]:
        """List the gates with their parameters and the accounts that have the permission."""
        parameters_by_gate = list_gates()
        holders: dict[str, list[str]] = {gate: [] for gate in parameters_by_gate}
        with self.database.read() as session:
            for account in session.scalars(select(Account).order_by(Account.email)):
                for gate in account.gates:
                    holders.setdefault(gate, []).append(account.email)
        return [
            {"gate": gate, "parameters": parameters_by_gate.get(gate, []), "accounts": accounts}
            for gate, accounts in sorted(holders.items())
        ]

    def set_gate(self, email: str, gate: str, permitted: bool) -> Record:
        """Grant or revoke an account's permission to set the parameters of a gate."""
        existing = list_gates()
        with self.database.write() as session:
            account = find_account(session, email)
            if permitted and gate not in existing:
                raise not_found_error("gate", gate, existing)
            if not permitted and gate not in account.gates:
                raise not_found_error(f"gate of {email}", gate, account.gates)
            others = [other for other in account.gates if other != gate]
            account.gates = [*others, gate] if permitted else others
        return {"account": email, "gates": account.gates}

    def pipelines(self, organization: str | None = None) -> list[Record]:
        """List the saved pipelines of one or all organizations."""
        with self.database.read() as session:
            selected = select(SavedPipeline, Organization.name).join(
                Organization, Organization.id == SavedPipeline.organization_id
            )
            if organization is not None:
                owner = find_organization(session, organization)
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

    def add_pipeline(self, name: str, organization: str | None, content: Any) -> Record:
        """Save a pipeline for an organization after the same validation as in `/submit-pipeline`.

        `content` is the stages, or the body of a submission, of which only `stages` is saved.
        """
        validate_name("a pipeline", name, PIPELINE_NAME_LENGTH)
        organization = organization or initial_organization(self.site)
        stages = content.get("stages") if isinstance(content, dict) else content
        message = pipeline_error(stages, list_gates())
        if message is not None:
            raise InputError(f"The pipeline {name} is invalid: {message}", "Correct its file.")
        with self.database.write() as session:
            owner = find_organization(session, organization)
            if name in _select_pipelines(session, owner):
                raise already_exists_error("a pipeline", f"{name} of {organization}")
            saved = SavedPipeline(
                organization_id=owner.id, name=name, stages=stages, created=current_timestamp()
            )
            session.add(saved)
        return {"organization": organization, "name": name, "stages": stages}

    def remove_pipeline(self, name: str, organization: str | None, *, yes: bool) -> Record:
        """Remove a saved pipeline; jobs submitted from it are kept."""
        organization = organization or initial_organization(self.site)
        with self.database.write() as session:
            pipelines = _select_pipelines(session, find_organization(session, organization))
            if name not in pipelines:
                raise not_found_error(f"pipeline of {organization} called", name, pipelines)
            require_confirmation(
                yes,
                f"This would remove the pipeline {name} of {organization} with its "
                f"{messages.pluralize(len(pipelines[name].stages), 'stage')}.",
            )
            session.delete(pipelines[name])
        return {"removed": name, "organization": organization}


open_administration = partial(
    administration.open_administration, service=service, administration=JobsAdministration
)
"""Open the job service of the sandbox in a folder; see `core.administration`."""


def find_organization(session: Session, name: str) -> Organization:
    """Return the organization with this name, or raise NotFoundError."""
    organization = session.scalars(
        select(Organization).where(Organization.name == name)
    ).one_or_none()
    if organization is None:
        raise not_found_error("organization", name, session.scalars(select(Organization.name)))
    return organization


def find_account(session: Session, email: str) -> Account:
    """Return the account with this email address, or raise NotFoundError."""
    account: Account | None = session.scalars(_account_query(email)).first()
    if account is None:
        raise not_found_error("account", email, session.scalars(select(Account.email)))
    return account


def _account_query(email: str) -> Select[Any]:
    """Return the query for an account; addresses match in any case."""
    return select(Account).where(func.lower(Account.email) == email.lower())


def list_gates() -> dict[str, list[str]]:
    """Return the gates of the catalogue, each with its parameters as `tool.parameter`."""
    parameters_by_gate: dict[str, list[str]] = {}
    for tool in all_tools():
        for parameter in tool.parameters:
            if parameter.gate is not None:
                parameters_by_gate.setdefault(parameter.gate, []).append(
                    f"{tool.name}.{parameter.name}"
                )
    return parameters_by_gate


def _count_contents(
    session: Session, accounts: Sequence[int], organization: Organization | None
) -> dict[str, int]:
    owner = SavedPipeline.organization_id == (organization.id if organization else None)
    return {
        "keys": count_rows(session, Key, Key.account_id.in_(accounts)),
        "jobs": count_rows(session, Job, Job.account_id.in_(accounts), _SINGLE_JOB),
        "files": count_rows(session, UploadedFile, UploadedFile.account_id.in_(accounts)),
        "pipelines": count_rows(session, SavedPipeline, owner),
    }


def _removal_effect(
    session: Session,
    accounts: Sequence[Account],
    organization: Organization | None,
    counts: dict[str, int],
) -> str:
    subject = (
        f"the account {accounts[0].email}"
        if organization is None
        else f"the organization {organization.name} with "
        f"{messages.pluralize(len(accounts), 'account')}"
    )
    contents = [
        messages.pluralize(counts[name], noun) for name, noun in _CONTENTS.items() if counts[name]
    ]
    text = f"This would remove {subject}"
    if contents:
        text += f", including {', '.join(contents)}"
    if counts["jobs"]:
        text += " and the results of the jobs"
    of_accounts = Job.account_id.in_([account.id for account in accounts])
    unfinished = count_rows(session, Job, of_accounts, Job.status.in_(ACTIVE_STATES), _SINGLE_JOB)
    if unfinished:
        text += f"; {messages.pluralize(unfinished, 'unfinished job')} would be stopped"
    if any(account.email == STUDENT for account in accounts):
        return f"{text}; the key in connection.json would become invalid."
    return f"{text}."


def _belongs_to(organization: Organization) -> Any:
    return Account.organization_id == organization.id


def _select_organizations(session: Session) -> Sequence[Organization]:
    return session.scalars(select(Organization).order_by(Organization.name)).all()


def _add_account(
    session: Session, email: str, organization: str, *, owner: bool = False
) -> Account:
    email = validate_email(email)
    if session.scalars(_account_query(email)).first():
        raise already_exists_error("an account", email, "address")
    account = Account(
        organization_id=find_organization(session, organization).id,
        email=email,
        owner=owner,
        gates=[],
        storage_quota=LIMITS.value(session, "storage_quota"),
    )
    session.add(account)
    session.flush()
    return account


def _key_names(session: Session, account: Account) -> Sequence[str]:
    return session.scalars(select(Key.name).where(Key.account_id == account.id)).all()


def _select_pipelines(session: Session, organization: Organization) -> dict[str, SavedPipeline]:
    saved = select(SavedPipeline).where(SavedPipeline.organization_id == organization.id)
    return {pipeline.name: pipeline for pipeline in session.scalars(saved)}


def _budget_record(session: Session, holder: Organization | Account) -> Record:
    organization = isinstance(holder, Organization)
    accounts = _belongs_to(holder) if isinstance(holder, Organization) else Account.id == holder.id
    return {
        "kind": "organization" if organization else "account",
        "name": holder.name if isinstance(holder, Organization) else holder.email,
        "budget": holder.budget,
        "used": usage.total_hours(session, accounts),
    }


def _quota_record(session: Session, account: Account) -> Record:
    used = used_storage(session, account.id)
    return {"account": account.email, "quota": account.storage_quota, "used": used}
