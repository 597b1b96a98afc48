"""`labext sandbox lab NOUN VERB`: who may use the local laboratory platform, and what it may see.

It is what the platform's web interface and developer console do elsewhere. Each noun has `add` (or
`set`), `list` and `remove`; changes hold at once, whether the sandbox runs or not.
"""

from __future__ import annotations

import argparse
from functools import partial
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
    run,
    shared,
)

TENANTS = ("campus", "clinic")

PEOPLE = "labext.cli.lab_acts"
PLACES = "labext.cli.lab_place_acts"
RULES = "labext.cli.lab_rule_acts"


def add(verbs: Verbs) -> None:
    """Add `lab` with its nouns to the verbs of `labext sandbox`."""
    add_service(
        verbs,
        "lab",
        "administer the local laboratory platform: users, apps, keys, grants, …",
        "laboratory platform",
        _add_nouns,
    )


def _add_nouns(nouns: Verbs) -> None:
    tenant = argparse.ArgumentParser(add_help=False)
    tenant.add_argument(
        "--tenant", choices=TENANTS, default=TENANTS[0], help="whose (default: %(default)s)"
    )
    add_nouns(
        nouns,
        [
            Entry("users", "people who may sign in", _users, PEOPLE, [tenant]),
            Entry("keys", "what users sign in with", _keys, PEOPLE, [tenant]),
            Entry("apps", "service accounts", _apps, PEOPLE, [tenant]),
            Entry("secrets", "what apps sign in with", _secrets, PEOPLE, [tenant]),
            Entry("permissions", "what apps may do", _permissions, PEOPLE, [tenant]),
            Entry("redirects", "redirect URIs of apps", _redirects, PEOPLE, [tenant]),
            Entry("grants", "what users and apps may see", _grants, PLACES, [tenant]),
            Entry("organizations", "what all else is in", _organizations, PLACES, [tenant]),
            Entry("teams", "teams of organizations", _teams, PLACES, [tenant]),
            Entry("projects", "projects of organizations", _projects, PLACES, [tenant]),
            Entry("folders", "folders of projects", _folders, PLACES, [tenant]),
            Entry("sequences", "DNA sequences in folders", _sequences, PLACES, [tenant]),
            Entry("ip", "IP ranges that may ask", _ip, RULES, [tenant]),
            Entry("provider", "where ID tokens come from", _provider, RULES, [tenant]),
            Entry("audit", "who has called what", _audit, RULES, [tenant]),
            Entry("limits", "limits of the service", add_limits, RULES),
        ],
    )
    _add_id_token(nouns)


def _users(noun: Noun) -> None:
    made = noun.verb("add", "Make a user; `keys add` gives it a key", "add_user")
    _email(made)
    made.add_argument("--name", help="as it is shown (default: from the address)")
    noun.verb("list", "List the users", "list_users")
    _email(noun.verb("suspend", "Take a user's access to the API", "suspend_user"))
    _email(noun.verb("unsuspend", "Give it back", "unsuspend_user", "activate"))
    secret = noun.verb("secret", "Print a user's secret of the identity provider", "user_secret")
    secret.description = (
        "Print the secret with which a user of an enterprise account signs in at the sandbox's "
        "identity provider. It is kept in a file that only you can read."
    )
    _email(secret)
    secret.add_argument("--renew", action="store_true", help="make a new one; the old one ends")
    gone = noun.verb("remove", "Remove a user with its keys and grants", "remove_user")
    _email(gone)
    add_yes(gone)


def _keys(noun: Noun) -> None:
    made = noun.verb("add", "Make one more key for a user", "add_key")
    made.description = (
        "Make one more key for a user. The key is shown once with --json, or kept in your keyring "
        "with --profile, after which `%lab connect NAME` uses it."
    )
    _email(made)
    made.add_argument("--name", help="tells it from the user's others (default: key1, key2, …)")
    add_profile(made, "lab", "key")
    listed = noun.verb("list", "List the keys: their names, never themselves", "list_keys")
    listed.add_argument("email", nargs="?", help="of this user alone")
    gone = noun.verb("remove", "Delete a key: it is good no more", "remove_key")
    _email(gone)
    gone.add_argument("name", help="the key's name")
    add_yes(gone)


def _apps(noun: Noun) -> None:
    made = noun.verb("add", "Make an app with a client id and a client secret", "add_app")
    made.description = (
        "Make an app. Its secret is shown once with --json, or kept in your keyring with "
        "--profile, after which `%lab connect NAME` uses it. It sees nothing before "
        "`grants add --app`."
    )
    made.add_argument("name")
    add_profile(made, "lab", "client id and secret")
    noun.verb("list", "List the apps", "list_apps")
    _app(noun.verb("archive", "Take an app's access to the API", "archive_app"))
    _app(noun.verb("unarchive", "Give it back", "unarchive_app"))
    gone = noun.verb("remove", "Remove an app with its secrets and grants", "remove_app")
    _app(gone)
    add_yes(gone)


def _secrets(noun: Noun) -> None:
    made = noun.verb("add", "Make one more client secret for an app", "add_secret")
    made.description = (
        "Make one more client secret for an app, which is good beside the others: change the "
        "program, then remove the old one."
    )
    _app(made)
    made.add_argument("--name", help="tells it from the others (default: secret1, secret2, …)")
    add_profile(made, "lab", "client id and secret")
    listed = noun.verb("list", "List the secrets: their names, never themselves", "list_secrets")
    listed.add_argument("app", nargs="?", help="of this app alone")
    gone = noun.verb("remove", "Delete a secret, and end what it was good for", "remove_secret")
    _app(gone)
    gone.add_argument("name", help="the secret's name")
    add_yes(gone)


def _items(what: str, example: str, noun: Noun) -> None:
    """The verbs on what an app has several of."""
    for verb, help in (("add", f"Give an app a {what}"), ("remove", f"Take a {what} from an app")):
        parser = noun.verb(verb, help, f"{verb}_{what}")
        _app(parser)
        parser.add_argument(what, help=f"such as {example}")
    noun.verb("list", f"List the {what}s of apps", f"list_{what}s")


_permissions = partial(_items, "permission", "sequences:read")
_redirects = partial(_items, "redirect", "https://app.example/callback")


def _grants(noun: Noun) -> None:
    listed = noun.verb("list", "List the grants", "list_grants")
    _who(listed.add_mutually_exclusive_group())
    for verb, help, act in (
        ("add", "Let a user or an app see a place with all that is in it", "add_grant"),
        ("remove", "Let it see that no more", "remove_grant"),
    ):
        parser = noun.verb(verb, help, act)
        _who(parser.add_mutually_exclusive_group(required=True))
        what = parser.add_mutually_exclusive_group(required=True)
        for kind in ("organization", "team", "project", "folder"):
            what.add_argument(f"--{kind}", metavar="NAME", help="its name or identifier")


def _organizations(noun: Noun) -> None:
    noun.verb("add", "Make an organization", "add_organization").add_argument("name")
    _list_and_remove(noun, "organization")


def _teams(noun: Noun) -> None:
    made = noun.verb("add", "Make a team of an organization", "add_team")
    made.add_argument("name")
    _organization(made)
    _list_and_remove(noun, "team")


def _projects(noun: Noun) -> None:
    made = noun.verb("add", "Make a project of an organization", "add_project")
    made.add_argument("name")
    _organization(made)
    made.add_argument("--team", metavar="NAME", help="whose it is within the organization")
    _list_and_remove(noun, "project")


def _folders(noun: Noun) -> None:
    made = noun.verb("add", "Make a folder of a project", "add_folder")
    made.add_argument("name")
    made.add_argument("--project", metavar="NAME", required=True, help="its name or identifier")
    _list_and_remove(noun, "folder")


def _sequences(noun: Noun) -> None:
    made = noun.verb("import", "File the sequences of a file", "import_sequences", "add")
    made.add_argument("file", type=Path, help="FASTA or GenBank, gzipped or not")
    made.add_argument("--folder", metavar="NAME", required=True, help="its name or identifier")
    made.add_argument(
        "--creator",
        metavar="EMAIL",
        default="student@sandbox.local",
        help="who is shown to have made them (default: %(default)s)",
    )
    noun.verb("list", "Count the sequences of each folder", "list_sequences")


def _ip(noun: Noun) -> None:
    made = noun.verb("add", "Allow a range; what is in none is refused", "add_range")
    noun.verb("list", "List the ranges; without any all may ask", "list_ranges")
    gone = noun.verb("remove", "Take a range away", "remove_range")
    for parser in (made, gone):
        parser.add_argument("network", help="192.0.2.0/24, 2001:db8::/32 or one address")


def _provider(noun: Noun) -> None:
    made = noun.verb("set", "Take the ID tokens of a provider", "set_provider", "add")
    made.add_argument("url", nargs="?", help="its OpenID configuration (default: the sandbox's)")
    made.add_argument("--audience", metavar="NAME", help="whom its tokens are for")
    noun.verb("list", "Tell the provider", "list_providers")
    noun.verb("remove", "Take no ID tokens any more", "remove_provider")
    asked = noun.verb("secrets", "Ask users for their secrets, or not", "set_user_secrets")
    asked.description = (
        "Whether the sandbox's provider asks users for their secrets. Without them every account "
        "of this machine can sign in as any user: switch them off for a demonstration alone."
    )
    asked.add_argument("state", choices=["required", "off"], help="at the tenant campus")
    noun.verb("rotate", "Let the sandbox's provider sign with a new key", "rotate_keys")


def _audit(noun: Noun) -> None:
    listed = noun.verb("list", "List the calls, the newest first", "list_audit")
    listed.add_argument("--limit", type=int, default=50, metavar="N", help="(default: %(default)s)")
    listed.add_argument("--user", metavar="EMAIL", help="of this user alone")
    listed.add_argument("--app", metavar="NAME", help="of this app alone")
    listed.add_argument("--status", type=int, metavar="N", help="only those answered so")


def _add_id_token(nouns: Verbs) -> None:
    parser = nouns.add_parser(
        "id-token",
        parents=[shared()],
        help="print an ID token of the sandbox's identity provider",
        description="Print an ID token of the sandbox's identity provider, for the tenant campus.",
    )
    parser.add_argument("email", help="the address that it claims, also one that nobody has")
    parser.add_argument(
        "--seconds", type=int, metavar="N", help="how long it is good; below 0: it has expired"
    )
    parser.add_argument("--audience", metavar="NAME", help="whom it is for (default: campus)")
    parser.set_defaults(run=partial(run, RULES, "id_token"))


def _list_and_remove(noun: Noun, kind: str) -> None:
    noun.verb("list", f"List the {kind}s", f"list_{kind}s")
    inside = "; its projects stay" if kind == "team" else " with all that is in it"
    gone = noun.verb("remove", f"Remove a {kind}{inside}", f"remove_{kind}")
    gone.add_argument("name", help="its name or identifier")
    add_yes(gone)


def _who(group: argparse._MutuallyExclusiveGroup) -> None:
    group.add_argument("--user", metavar="EMAIL", help="of a user")
    group.add_argument("--app", metavar="NAME", help="of an app")


def _organization(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--organization", metavar="NAME", help="whose (default: the only one)")


def _email(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("email", help="the user's address")


def _app(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("app", help="the app's name or identifier")
