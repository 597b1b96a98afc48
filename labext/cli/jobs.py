"""`labext sandbox jobs NOUN VERB`: who may use the local job service, and how much.

It is what the job service's web interface does elsewhere. Each noun has `add` (or `set`), `list`
and `remove`; changes hold at once, whether the sandbox runs or not.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from labext.cli.nouns import (
    Entry,
    Noun,
    Verbs,
    add_limits,
    add_nouns,
    add_profile,
    add_service,
    add_yes,
)

ORGANIZATION = "sandbox"
"""The organization that is there from the start."""


def add(verbs: Verbs) -> None:
    """Add `jobs` with its nouns to the verbs of `labext sandbox`."""
    add_service(
        verbs,
        "jobs",
        "administer the local job service: accounts, keys, budgets, limits, …",
        "job service",
        lambda nouns: add_nouns(nouns, (Entry(*each, "labext.cli.jobs_acts") for each in _NOUNS)),
    )


def _accounts(noun: Noun) -> None:
    made = noun.verb("add", "Make an account; `keys add` gives it a key", "add_account")
    _email(made)
    _organization(made)
    made.add_argument("--owner", action="store_true", help="sees its organization's jobs and usage")
    changed = noun.verb("set", "Say whether an account owns its organization", "set_owner")
    _email(changed)
    changed.add_argument("--owner", choices=["yes", "no"], required=True, help="whether it does")
    noun.verb("list", "List the accounts", "list_accounts")
    gone = noun.verb("remove", "Remove an account with all that it has", "remove_account")
    _email(gone)
    add_yes(gone)


def _organizations(noun: Noun) -> None:
    noun.verb("add", "Make an organization", "add_organization").add_argument("name")
    noun.verb("list", "List the organizations", "list_organizations")
    gone = noun.verb("remove", "Remove an organization with its accounts", "remove_organization")
    gone.add_argument("name")
    add_yes(gone)


def _keys(noun: Noun) -> None:
    made = noun.verb("add", "Make one more key for an account", "add_key")
    made.description = (
        "Make one more key for an account. The key is shown once with --json, or kept in your "
        "keyring with --profile, after which `%jobs connect NAME` uses it. This is also the way to "
        "act as the teacher, who owns the organization: "
        "`labext sandbox jobs keys add teacher@sandbox.local --profile teacher`."
    )
    _email(made)
    made.add_argument("--name", help="tells it from the account's others (default: key1, key2, …)")
    add_profile(made, "jobs", "key")
    listed = noun.verb("list", "List the keys: their names, never themselves", "list_keys")
    listed.add_argument("email", nargs="?", help="of this account alone")
    gone = noun.verb("remove", "End a key", "remove_key")
    _email(gone)
    gone.add_argument("name", help="the key's name")
    add_yes(gone)


def _budgets(noun: Noun) -> None:
    made = noun.verb("set", "Set how many weighted hours may be used", "set_budget", "add")
    made.add_argument("hours", type=float, help="weighted hours; 0 lets nothing be submitted")
    gone = noun.verb("remove", "Let use have no end", "remove_budget")
    for parser in (made, gone):
        whose = parser.add_mutually_exclusive_group(required=True)
        whose.add_argument("--organization", metavar="NAME", help="all its accounts together")
        whose.add_argument("--account", metavar="EMAIL", help="one account")
    noun.verb("list", "List the budgets and what is used of them", "list_budgets")


def _quotas(noun: Noun) -> None:
    made = noun.verb("set", "Set how much an account may store", "set_quota", "add")
    _email(made)
    made.add_argument("size", help="500MB, 10GB (of 1,000) or 2GiB (of 1,024)")
    noun.verb("list", "List the quotas and what is stored", "list_quotas")
    _email(noun.verb("remove", "Give an account the quota of a new one", "remove_quota"))


def _gates(noun: Noun) -> None:
    made = noun.verb("add", "Let an account set gated parameters", "add_gate")
    gone = noun.verb("remove", "Let an account set them no more", "remove_gate")
    for parser in (made, gone):
        _email(parser)
        parser.add_argument("gate", help="the permission, such as `advanced`")
    noun.verb("list", "List who may set gated parameters", "list_gates")


def _pipelines(noun: Noun) -> None:
    made = noun.verb("add", "Save a pipeline for an organization", "add_pipeline")
    made.add_argument("name", help="what `%%jobs run-pipeline` calls it")
    made.add_argument("file", type=Path, help="YAML or JSON: the stages, as for %%%%jobs pipeline")
    listed = noun.verb("list", "List the saved pipelines", "list_pipelines")
    listed.add_argument("--organization", metavar="NAME", help="of this organization alone")
    gone = noun.verb("remove", "Remove a saved pipeline", "remove_pipeline")
    gone.add_argument("name")
    for parser in (made, gone):
        _organization(parser)
    add_yes(gone)


_NOUNS: list[tuple[str, str, Callable[[Noun], None]]] = [
    ("accounts", "who may use the service", _accounts),
    ("organizations", "accounts that belong together", _organizations),
    ("keys", "what accounts sign in with", _keys),
    ("budgets", "weighted hours that may be used", _budgets),
    ("quotas", "storage of accounts", _quotas),
    ("limits", "limits of the service", add_limits),
    ("gates", "permissions to set gated parameters", _gates),
    ("pipelines", "saved pipelines of organizations", _pipelines),
]


def _email(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("email", help="the account's address")


def _organization(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--organization", default=ORGANIZATION, metavar="NAME", help="whose (default: %(default)s)"
    )
