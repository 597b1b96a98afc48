"""What each verb of `labext sandbox jobs` does, and what it says: a sentence or a table.

An act takes the administration and the command's options, and returns a record, or a list of them,
and its text.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from labext import config, sizes, wording
from labext.errors import InputError
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

Answer = tuple[Record | list[Record], str]
Act = Callable[[Administration, argparse.Namespace], Answer]

ACTS: dict[str, Act] = {}


def run(act: str, options: argparse.Namespace) -> None:
    """Do one act on the sandbox that the options name, and print its answer."""
    with opened(options.data_dir or config.sandbox_dir()) as admin:
        answer, text = ACTS[act](admin, options)
    print(json.dumps(answer, indent=2) if options.json else text)


def _act(function: Act) -> Act:
    ACTS[function.__name__] = function
    return function


@_act
def add_account(admin: Administration, options: argparse.Namespace) -> Answer:
    """An account."""
    made = people.add_account(admin, options.email, options.organization, owner=options.owner)
    role = "an owner" if made["owner"] else "an account"
    return made, (
        f"{made['email']} is {role} of {made['organization']}; it has no key yet: "
        f"`labext sandbox jobs keys add {made['email']}` makes one."
    )


@_act
def set_owner(admin: Administration, options: argparse.Namespace) -> Answer:
    """Whether it owns its organization."""
    done = people.set_owner(admin, options.email, options.owner == "yes")
    return done, f"{done['email']} is {'' if done['owner'] else 'not '}an owner."


@_act
def list_accounts(admin: Administration, _: argparse.Namespace) -> Answer:
    """All accounts."""
    found = people.accounts(admin)
    columns = ("email", "organization", "owner", "keys", "jobs", "gates", "budget")
    shown = [{**a, "storage": sizes.shown(a["storage_quota"])} for a in found]
    return found, _table(shown, *columns, "storage")


@_act
def remove_account(admin: Administration, options: argparse.Namespace) -> Answer:
    """An account with all that it has."""
    gone = removal.remove_account(admin, options.email, yes=options.yes)
    return gone, f"{gone['removed']} is removed{_with(gone, 'keys', 'jobs', 'files')}."


@_act
def add_organization(admin: Administration, options: argparse.Namespace) -> Answer:
    """An organization."""
    made = people.add_organization(admin, options.name)
    return made, f"The organization {made['name']} is made; it has no accounts yet."


@_act
def list_organizations(admin: Administration, _: argparse.Namespace) -> Answer:
    """All organizations."""
    found = people.organizations(admin)
    return found, _table(found, "name", "accounts", "budget", "used")


@_act
def remove_organization(admin: Administration, options: argparse.Namespace) -> Answer:
    """An organization with its accounts."""
    gone = removal.remove_organization(admin, options.name, yes=options.yes)
    lost = _with(gone, "accounts", "keys", "jobs", "files", "pipelines")
    return gone, f"The organization {gone['removed']} is removed{lost}."


@_act
def add_key(admin: Administration, options: argparse.Namespace) -> Answer:
    """A key: printed with `--json`, kept with `--profile`, and never both lost and valid."""
    if not options.json and options.profile is None:
        raise InputError(
            "A key is shown or kept only once, when it is made, and neither was asked for.",
            "Add `--profile NAME` to keep it for `%jobs connect NAME`, or `--json` to print it.",
        )
    key = new_key()
    if options.profile is None:
        made = _keys.add_key(admin, options.email, key, options.name)
        return made | {"key": key}, ""
    from labext.cli_keys import kept

    with kept(options.profile, key, options.data_dir) as address:
        made = _keys.add_key(admin, options.email, key, options.name)
    answer = made | {"profile": options.profile, "base_url": address}
    return answer | ({"key": key} if options.json else {}), (
        f"{made['account']} has the key {made['name']}, kept in the keyring: "
        f"`%jobs connect {options.profile}` uses it."
    )


@_act
def list_keys(admin: Administration, options: argparse.Namespace) -> Answer:
    """The names of keys."""
    found = _keys.keys(admin, options.email)
    return found, _table(found, "account", "name", "created")


@_act
def remove_key(admin: Administration, options: argparse.Namespace) -> Answer:
    """A key."""
    gone = _keys.remove_key(admin, options.email, options.name, yes=options.yes)
    return gone, f"The key {gone['removed']} of {gone['account']} is no longer valid."


@_act
def set_budget(admin: Administration, options: argparse.Namespace) -> Answer:
    """Weighted hours of an organization or an account."""
    return _budget(admin, options, options.hours)


@_act
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


@_act
def list_budgets(admin: Administration, _: argparse.Namespace) -> Answer:
    """All budgets."""
    found = allow.budgets(admin)
    return found, _table(found, "of", "name", "budget", "used")


@_act
def set_quota(admin: Administration, options: argparse.Namespace) -> Answer:
    """An account's storage."""
    return _quota(allow.set_quota(admin, options.email, sizes.parsed(options.size)))


@_act
def remove_quota(admin: Administration, options: argparse.Namespace) -> Answer:
    """The storage that a new account gets."""
    return _quota(allow.set_quota(admin, options.email, None))


def _quota(done: Record) -> Answer:
    quota, used = sizes.shown(done["quota"]), sizes.shown(done["used"])
    return done, f"{done['account']} may store {quota}; {used} are used."


@_act
def list_quotas(admin: Administration, _: argparse.Namespace) -> Answer:
    """Everybody's storage."""
    found = allow.quotas(admin)
    shown = [{**q, "quota": sizes.shown(q["quota"]), "used": sizes.shown(q["used"])} for q in found]
    return found, _table(shown, "account", "quota", "used")


@_act
def set_limit(admin: Administration, options: argparse.Namespace) -> Answer:
    """A limit of the service."""
    done = allow.set_limit(admin, options.name, LIMITS.parsed(options.name, options.value))
    return done, f"{done['name']} is {done['value']:,}."


@_act
def remove_limit(admin: Administration, options: argparse.Namespace) -> Answer:
    """The default of a limit."""
    done = allow.set_limit(admin, options.name, None)
    return done, f"{done['name']} is {done['value']:,} again."


@_act
def list_limits(admin: Administration, _: argparse.Namespace) -> Answer:
    """All limits."""
    found = allow.limits(admin)
    return found, _table(found, "name", "value", "default", "about")


@_act
def add_gate(admin: Administration, options: argparse.Namespace) -> Answer:
    """A permission."""
    done = allow.set_gate(admin, options.email, options.gate, True)
    may = ", ".join(allow.known_gates()[options.gate])
    return done, f"{done['account']} may set {may}."


@_act
def remove_gate(admin: Administration, options: argparse.Namespace) -> Answer:
    """A permission taken away."""
    done = allow.set_gate(admin, options.email, options.gate, False)
    return done, f"{done['account']} has no longer the gate {options.gate}."


@_act
def list_gates(admin: Administration, _: argparse.Namespace) -> Answer:
    """Who has which permission."""
    found = allow.gates(admin)
    return found, _table(found, "gate", "accounts", "parameters")


@_act
def add_pipeline(admin: Administration, options: argparse.Namespace) -> Answer:
    """A saved pipeline."""
    content = _content(options.file)
    made = pipelines.add_pipeline(admin, options.name, options.organization, content)
    stages = wording.count(len(made["stages"]), "stage")
    return made, f"The pipeline {made['name']} of {made['organization']} is saved: {stages}."


@_act
def list_pipelines(admin: Administration, options: argparse.Namespace) -> Answer:
    """Saved pipelines."""
    found = pipelines.pipelines(admin, options.organization)
    shown = [
        {**p, "stages": " → ".join(" + ".join(s["toolSettings"]) for s in p["stages"])}
        for p in found
    ]
    return found, _table(shown, "organization", "name", "stages", "created")


@_act
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


def _table(records: Iterable[Mapping[str, Any]], *columns: str) -> str:
    """The columns of records, aligned: numbers to the right, everything else to the left."""
    rows = [[_cell(record[column]) for column in columns] for record in records]
    if not rows:
        return "There are none."
    numbers = [isinstance(record[c], int | float) for record in list(records)[:1] for c in columns]
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    lines = [
        "  ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(row, widths, numbers, strict=True)
        ).rstrip()
        for row in [list(columns), *rows]
    ]
    return "\n".join(lines)


def _cell(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _with(gone: Record, *names: str) -> str:
    lost = [wording.count(gone[name], name.removesuffix("s")) for name in names if gone[name]]
    return f" with {', '.join(lost)}" if lost else ""
