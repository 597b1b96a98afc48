"""What each verb of `labext sandbox jobs` does, and what it says (see `labext.cli.acts`)."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from labext import sizes, wording
from labext.cli.acts import Acts, Answer, table, with_lost
from labext.cli.keys import Reached, handed
from labext.errors import InputError
from labext.sandbox import Sandbox
from labext.sandbox.jobs.administration import (
    Administration,
    Record,
    opened,
    people,
    pipelines,
    removal,
)
from labext.sandbox.jobs.administration import allowances as allow
from labext.sandbox.jobs.administration import keys as _keys
from labext.sandbox.jobs.limits import LIMITS
from labext.sandbox.keys import new_key

ACTS = Acts(opened)
ACTS.add_limits(LIMITS)


@ACTS.add
def add_account(admin: Administration, options: argparse.Namespace) -> Answer:
    """An account."""
    made = people.add_account(admin, options.email, options.organization, owner=options.owner)
    role = "an owner" if made["owner"] else "an account"
    return made, (
        f"{made['email']} is {role} of {made['organization']}; it has no key yet: "
        f"`labext sandbox jobs keys add {made['email']}` makes one."
    )


@ACTS.add
def set_owner(admin: Administration, options: argparse.Namespace) -> Answer:
    """Whether it owns its organization."""
    done = people.set_owner(admin, options.email, options.owner == "yes")
    return done, f"{done['email']} is {'' if done['owner'] else 'not '}an owner."


@ACTS.add
def list_accounts(admin: Administration, _: argparse.Namespace) -> Answer:
    """All accounts."""
    found = people.accounts(admin)
    columns = ("email", "organization", "owner", "keys", "jobs", "gates", "budget")
    shown = [{**a, "storage": sizes.shown(a["storage_quota"])} for a in found]
    return found, table(shown, *columns, "storage")


@ACTS.add
def remove_account(admin: Administration, options: argparse.Namespace) -> Answer:
    """An account with all that it has."""
    gone = removal.remove_account(admin, options.email, yes=options.yes)
    return gone, f"{gone['removed']} is removed{with_lost(gone, 'keys', 'jobs', 'files')}."


@ACTS.add
def add_organization(admin: Administration, options: argparse.Namespace) -> Answer:
    """An organization."""
    made = people.add_organization(admin, options.name)
    return made, f"The organization {made['name']} is made; it has no accounts yet."


@ACTS.add
def list_organizations(admin: Administration, _: argparse.Namespace) -> Answer:
    """All organizations."""
    found = people.organizations(admin)
    return found, table(found, "name", "accounts", "budget", "used")


@ACTS.add
def remove_organization(admin: Administration, options: argparse.Namespace) -> Answer:
    """An organization with its accounts."""
    gone = removal.remove_organization(admin, options.name, yes=options.yes)
    lost = with_lost(gone, "accounts", "keys", "jobs", "files", "pipelines")
    return gone, f"The organization {gone['removed']} is removed{lost}."


@ACTS.add
def add_key(admin: Administration, options: argparse.Namespace) -> Answer:
    """A key: printed with `--json`, kept with `--profile`."""
    key = new_key()
    made = handed(
        options,
        {"api_key": key},
        lambda: Reached("jobs", Sandbox(options.data_dir).jobs.base_url),
        lambda: _keys.add_key(admin, options.email, key, options.name),
    )
    if options.json:
        made["key"] = made.pop("api_key")
    return made, (
        f"{made['account']} has the key {made['name']}, kept in the keyring: "
        f"`%jobs connect {options.profile}` uses it."
    )


@ACTS.add
def list_keys(admin: Administration, options: argparse.Namespace) -> Answer:
    """The names of keys."""
    found = _keys.keys(admin, options.email)
    return found, table(found, "account", "name", "created")


@ACTS.add
def remove_key(admin: Administration, options: argparse.Namespace) -> Answer:
    """A key."""
    gone = _keys.remove_key(admin, options.email, options.name, yes=options.yes)
    return gone, f"The key {gone['removed']} of {gone['account']} is no longer valid."


@ACTS.add
def set_budget(admin: Administration, options: argparse.Namespace) -> Answer:
    """Weighted hours of an organization or an account."""
    return _budget(admin, options, options.hours)


@ACTS.add
def remove_budget(admin: Administration, options: argparse.Namespace) -> Answer:
    """No budget."""
    return _budget(admin, options, None)


def _budget(admin: Administration, options: argparse.Namespace, hours: float | None) -> Answer:
    done = allow.set_budget(
        admin, hours, organization=options.organization, account=options.account
    )
    whose = f"The {done['of']} {done['name']}"
    may = "has no budget" if hours is None else f"may use {hours:g} weighted hours"
    return done, f"{whose} {may}; {done['used']:g} are used."


@ACTS.add
def list_budgets(admin: Administration, _: argparse.Namespace) -> Answer:
    """All budgets."""
    found = allow.budgets(admin)
    return found, table(found, "of", "name", "budget", "used")


@ACTS.add
def set_quota(admin: Administration, options: argparse.Namespace) -> Answer:
    """An account's storage."""
    return _quota(allow.set_quota(admin, options.email, sizes.parsed(options.size)))


@ACTS.add
def remove_quota(admin: Administration, options: argparse.Namespace) -> Answer:
    """The storage that a new account gets."""
    return _quota(allow.set_quota(admin, options.email, None))


def _quota(done: Record) -> Answer:
    quota, used = sizes.shown(done["quota"]), sizes.shown(done["used"])
    return done, f"{done['account']} may store {quota}; {used} are used."


@ACTS.add
def list_quotas(admin: Administration, _: argparse.Namespace) -> Answer:
    """Everybody's storage."""
    found = allow.quotas(admin)
    shown = [{**q, "quota": sizes.shown(q["quota"]), "used": sizes.shown(q["used"])} for q in found]
    return found, table(shown, "account", "quota", "used")


@ACTS.add
def add_gate(admin: Administration, options: argparse.Namespace) -> Answer:
    """A permission."""
    done = allow.set_gate(admin, options.email, options.gate, True)
    may = ", ".join(allow.known_gates()[options.gate])
    return done, f"{done['account']} may set {may}."


@ACTS.add
def remove_gate(admin: Administration, options: argparse.Namespace) -> Answer:
    """A permission taken away."""
    done = allow.set_gate(admin, options.email, options.gate, False)
    return done, f"{done['account']} has no longer the gate {options.gate}."


@ACTS.add
def list_gates(admin: Administration, _: argparse.Namespace) -> Answer:
    """Who has which permission."""
    found = allow.gates(admin)
    return found, table(found, "gate", "accounts", "parameters")


@ACTS.add
def add_pipeline(admin: Administration, options: argparse.Namespace) -> Answer:
    """A saved pipeline."""
    content = _content(options.file)
    made = pipelines.add_pipeline(admin, options.name, options.organization, content)
    stages = wording.count(len(made["stages"]), "stage")
    return made, f"The pipeline {made['name']} of {made['organization']} is saved: {stages}."


@ACTS.add
def list_pipelines(admin: Administration, options: argparse.Namespace) -> Answer:
    """Saved pipelines."""
    found = pipelines.pipelines(admin, options.organization)
    shown = [
        {**p, "stages": " → ".join(" + ".join(s["toolSettings"]) for s in p["stages"])}
        for p in found
    ]
    return found, table(shown, "organization", "name", "stages", "created")


@ACTS.add
def remove_pipeline(admin: Administration, options: argparse.Namespace) -> Answer:
    """A saved pipeline removed."""
    gone = pipelines.remove_pipeline(admin, options.name, options.organization, yes=options.yes)
    return gone, f"The pipeline {gone['removed']} of {gone['organization']} is removed."


def _content(file: Path) -> Any:
    """What a file of YAML says; JSON is YAML."""
    import yaml

    try:
        return yaml.safe_load(file.read_text("utf-8"))
    except OSError as error:
        raise InputError(
            f"The file {file} can't be read: {error.strerror}.", "Name a file of YAML or JSON."
        ) from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"The file {file} is no YAML or JSON: {error}.", "Correct it.") from None
