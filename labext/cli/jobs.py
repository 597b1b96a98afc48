"""`labext sandbox jobs`: administer the local job service."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from labext import messages
from labext.cli.groups import (
    Result,
    ServiceGroup,
    confirmed,
    exactly_one,
    imported,
    issue_credentials,
    keys_option,
    listing,
    option,
    people_argument,
    profile_option,
    removed_with,
)
from labext.errors import InputError
from labext.messages import format_number

if TYPE_CHECKING:
    from labext.sandbox import Sandbox
    from labext.sandbox.core.administration import Record
    from labext.sandbox.jobs.administration import JobsAdministration as Admin

jobs = ServiceGroup("jobs", "jobs", "Administer the local job service, whether it runs or not.")
accounts = jobs.noun("accounts", "Accounts of the service.")
organizations = jobs.noun("organizations", "Groups of accounts.")
keys = jobs.noun("keys", "API keys of accounts.")
budgets = jobs.noun("budgets", "Budgets of weighted hours.")
quotas = jobs.noun("quotas", "Storage quotas of accounts.")
jobs.add_limits()
gates = jobs.noun("gates", "Permissions to set parameters that are not for everyone.")
pipelines = jobs.noun("pipelines", "Saved pipelines of organizations.")

_email = click.argument("email")
_organization = option(
    "--organization", "NAME", "The organization's name (default: that of the first start)."
)


@accounts.verb("add")
@_email
@_organization
@click.option("--owner", is_flag=True, help="Sees its organization's jobs and usage.")
def add_account(admin: Admin, email: str, organization: str | None, owner: bool) -> Result:
    """Create an account; `keys add` creates a key for it."""
    from labext.sandbox.core.data_folder import admin_command

    created = admin.add_account(email, organization, owner=owner)
    return created, (
        f"{email} is {'an owner' if owner else 'an account'} of {created['organization']}; it has "
        f"no key yet: {admin_command('jobs keys add', email, '--json')} creates one."
    )


@accounts.verb("import")
@people_argument
@_organization
@keys_option
def import_accounts(
    admin: Admin, file: Path, organization: str | None, keys: Path | None
) -> Result:
    """Create an account for each row of a CSV file with the column `email`, such as a class."""
    created = admin.import_accounts(file, organization, keys)
    return imported(created, "account", file, keys)


def _parse_limit(_context: Any, _parameter: Any, text: str | None) -> int | str | None:
    """Parse a whole number from 0, or `default`."""
    if text is None or text == "default":
        return text
    if not (text.isascii() and text.isdigit()):
        raise click.BadParameter(f"{text!r} is neither a whole number nor `default`.")
    return int(text)


@accounts.verb("set")
@_email
@click.option("--owner", type=click.Choice(["yes", "no"]), help="Whether the account is an owner.")
@click.option(
    "--weight",
    type=float,
    metavar="NUMBER",
    help="Share of the starts of jobs, relative to others (default: 1).",
)
@click.option(
    "--max-running",
    callback=_parse_limit,
    metavar="N",
    help="Jobs that may run at the same time; 0 for no limit, `default` for that of all accounts.",
)
@click.option(
    "--max-queued", callback=_parse_limit, metavar="N", help="Jobs that may wait, in the same way."
)
def set_account(admin: Admin, email: str, owner: str | None, **shares: Any) -> Result:
    """Change the role of an account, or its share in the queue.

    For example `accounts set eve@example.org --weight 2 --max-running 4`.
    """
    scheduling = {name: value for name, value in shares.items() if value is not None}
    if owner is None and not scheduling:
        raise InputError(
            "Nothing is to be changed.",
            "Add `--owner yes`, `--weight 2`, `--max-running 4` or `--max-queued 1000`.",
        )
    changed: Record = {}
    lines = []
    if scheduling:  # first, since it may be refused
        changed |= admin.set_scheduling(email, **scheduling)
        running, queued = (_limit_text(changed[name]) for name in ("max_running", "max_queued"))
        lines.append(
            f"{email} has the weight {changed['weight']:g}, {running} for running jobs and "
            f"{queued} for queued ones."
        )
    if owner is not None:
        changed |= admin.set_owner(email, owner == "yes")
        lines.append(f"{email} is {'' if changed['owner'] else 'not '}an owner.")
    return changed, "\n".join(lines)


def _limit_text(value: int | None) -> str:
    return "the general limit" if value is None else f"the limit {value}" if value else "no limit"


@accounts.verb("list")
def list_accounts(admin: Admin) -> Result:
    """List the accounts."""
    accounts = admin.accounts()
    rows = []
    for account in accounts:
        limits = {name: account[name] for name in ("max_running", "max_queued")}
        row = account | {k: "default" if v is None else v or None for k, v in limits.items()}
        rows.append(row | {"storage": messages.format_size(account["storage_quota"])})
    columns = (
        *("email", "organization", "owner", "keys", "jobs", "gates", "budget", "storage"),
        *("weight", "max_running", "max_queued"),
    )
    return listing(accounts, *columns, rows=rows)


@accounts.verb("remove")
@_email
@confirmed
def remove_account(admin: Admin, email: str, yes: bool) -> Result:
    """Remove an account with its keys, jobs and files."""
    removed = admin.remove_account(email, yes=yes)
    return removed, f"{email} is removed{removed_with(removed, 'keys', 'jobs', 'files')}."


@organizations.verb("add")
@click.argument("name")
def add_organization(admin: Admin, name: str) -> Result:
    """Create an organization."""
    created = admin.add_organization(name)
    return created, f"The organization {name} is created; it has no accounts yet."


@organizations.verb("list")
def list_organizations(admin: Admin) -> Result:
    """List the organizations."""
    return listing(admin.organizations(), "name", "accounts", "budget", "used")


@organizations.verb("remove")
@click.argument("name")
@confirmed
def remove_organization(admin: Admin, name: str, yes: bool) -> Result:
    """Remove an organization with its accounts."""
    removed = admin.remove_organization(name, yes=yes)
    lost = removed_with(removed, "accounts", "keys", "jobs", "files", "pipelines")
    return removed, f"The organization {name} is removed{lost}."


@keys.verb("add")
@_email
@option("--name", "NAME", "Name of the key (default: key1, key2, …).")
@profile_option("jobs", "key")
def add_key(admin: Admin, email: str, name: str | None) -> Result:
    """Create one more key for an account.

    The key is printed once with --json, or stored in your keyring with --profile, after which
    `%jobs connect NAME` uses it. In a sandbox, teacher@sandbox.local sees the jobs of all accounts.
    """
    from labext.sandbox.core.signing import new_key

    key = new_key()
    created, stored = issue_credentials(
        "jobs", {"api_key": key}, lambda: admin.add_key(email, key, name), _profile
    )
    if "api_key" in created:
        created["key"] = created.pop("api_key")
    return created, f"{email} has the key {created['name']}, {stored}."


def _profile(sandbox: Sandbox) -> tuple[str, dict[str, str]]:
    entry = sandbox.connection()["jobs"]
    return entry["base_url"], {k: entry[k] for k in ("ca_bundle",) if k in entry}


@keys.verb("list")
@click.argument("email", required=False)
def list_keys(admin: Admin, email: str | None) -> Result:
    """List the names of the keys of all accounts, or of one."""
    return listing(admin.keys(email), "account", "name", "created")


@keys.verb("remove")
@_email
@click.argument("name")
@confirmed
def remove_key(admin: Admin, email: str, name: str, yes: bool) -> Result:
    """Remove a key: it is no longer valid."""
    removed = admin.remove_key(email, name, yes=yes)
    return removed, f"The key {name} of {email} is no longer valid."


def _set_budget(
    admin: Admin, hours: float | None, organization: str | None, account: str | None
) -> Result:
    target = exactly_one(organization=organization, account=account)
    changed = admin.set_budget(hours, *target)
    may = "has no budget" if hours is None else f"may use {format_number(hours)} weighted hours"
    return changed, (
        f"The {changed['kind']} {changed['name']} {may}; {format_number(changed['used'])} are used."
    )


_budget_organization = option("--organization", "NAME", "All its accounts together.")
_budget_account = option("--account", "EMAIL", "One account.")


@budgets.verb("set", "add")
@click.argument("hours", type=float)
@_budget_organization
@_budget_account
def set_budget(admin: Admin, hours: float, organization: str | None, account: str | None) -> Result:
    """Set how many weighted hours may be used; with 0 nothing can be submitted.

    For example `budgets set 2 --organization NAME`.
    """
    return _set_budget(admin, hours, organization, account)


@budgets.verb("list")
def list_budgets(admin: Admin) -> Result:
    """List the budgets and their use."""
    return listing(admin.budgets(), "kind", "name", "budget", "used")


@budgets.verb("remove")
@_budget_organization
@_budget_account
def remove_budget(admin: Admin, organization: str | None, account: str | None) -> Result:
    """Remove a budget: use is not limited."""
    return _set_budget(admin, None, organization, account)


def _set_quota(admin: Admin, email: str, size: int | None) -> Result:
    changed = admin.set_quota(email, size)
    quota, used = messages.format_size(changed["quota"]), messages.format_size(changed["used"])
    return changed, f"{email} may store {quota}; {used} are used."


@quotas.verb("set", "add")
@_email
@click.argument("size")
def set_quota(admin: Admin, email: str, size: str) -> Result:
    """Set how much an account may store: 500MB, 10GB (of 1,000) or 2GiB (of 1,024)."""
    return _set_quota(admin, email, messages.parse_size(size))


@quotas.verb("list")
def list_quotas(admin: Admin) -> Result:
    """List the quotas and the stored jobs and files."""
    quotas = admin.quotas()
    rows = [
        {
            **quota,
            "quota": messages.format_size(quota["quota"]),
            "used": messages.format_size(quota["used"]),
        }
        for quota in quotas
    ]
    return listing(quotas, "account", "quota", "used", rows=rows)


@quotas.verb("remove")
@_email
def remove_quota(admin: Admin, email: str) -> Result:
    """Reset the quota of an account to that of a new one."""
    return _set_quota(admin, email, None)


@gates.verb("add")
@_email
@click.argument("gate")
def add_gate(admin: Admin, email: str, gate: str) -> Result:
    """Permit an account to set the parameters of a gate, such as `advanced`."""
    from labext.sandbox.jobs.administration import list_gates

    changed = admin.set_gate(email, gate, True)
    return changed, f"{email} may set {', '.join(list_gates()[gate])}."


@gates.verb("list")
def list_gates(admin: Admin) -> Result:
    """List the gates: who may set which parameters."""
    return listing(admin.gates(), "gate", "accounts", "parameters")


@gates.verb("remove")
@_email
@click.argument("gate")
def remove_gate(admin: Admin, email: str, gate: str) -> Result:
    """Withdraw the permission from an account."""
    changed = admin.set_gate(email, gate, False)
    return changed, f"{email} no longer has the gate {gate}."


@pipelines.verb("add")
@click.argument("name")
@click.argument("file", type=click.Path(path_type=Path))
@_organization
def add_pipeline(admin: Admin, name: str, file: Path, organization: str | None) -> Result:
    """Save a pipeline, which `%jobs run-pipeline` runs by its name.

    FILE has the stages as YAML or JSON, as for `%%jobs pipeline`.
    """
    created = admin.add_pipeline(name, organization, _read_yaml(file))
    stages = messages.pluralize(len(created["stages"]), "stage")
    return created, f"The pipeline {name} of {created['organization']} is saved: {stages}."


@pipelines.verb("list")
@option("--organization", "NAME", "Only those of this organization.")
def list_pipelines(admin: Admin, organization: str | None) -> Result:
    """List the saved pipelines."""
    pipelines = admin.pipelines(organization)

    def stages(pipeline: Record) -> str:
        return " → ".join(" + ".join(stage["toolSettings"]) for stage in pipeline["stages"])

    rows = [{**pipeline, "stages": stages(pipeline)} for pipeline in pipelines]
    return listing(pipelines, "organization", "name", "stages", "created", rows=rows)


@pipelines.verb("remove")
@click.argument("name")
@_organization
@confirmed
def remove_pipeline(admin: Admin, name: str, organization: str | None, yes: bool) -> Result:
    """Remove a saved pipeline."""
    removed = admin.remove_pipeline(name, organization, yes=yes)
    return removed, f"The pipeline {name} of {removed['organization']} is removed."


def _read_yaml(file: Path) -> Any:
    """Read YAML; JSON is YAML."""
    import yaml

    try:
        return yaml.safe_load(file.read_text("utf-8"))
    except OSError as error:
        raise InputError(
            f"The file {file} can't be read: {error.strerror}.", "Name a file of YAML or JSON."
        ) from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(
            f"The file {file} is not valid YAML or JSON: {error}.", "Correct it."
        ) from None
