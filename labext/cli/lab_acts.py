"""What the verbs on users, apps and what they sign in with do (see `labext.cli.acts`)."""

from __future__ import annotations

import argparse
from functools import partial

from labext import wording
from labext.cli.acts import Acts, Answer, table, with_lost
from labext.cli.keys import Reached, handed
from labext.sandbox import Sandbox
from labext.sandbox.keys import new_key
from labext.sandbox.lab import identifiers
from labext.sandbox.lab.administration import Administration, apps, credentials, opened
from labext.sandbox.lab.administration import people as _people
from labext.sandbox.lab.administration.credentials import KEYS, SECRETS

ACTS = Acts(opened)

_REFUSED = "every call is refused with 403"


@ACTS.add
def add_user(admin: Administration, options: argparse.Namespace) -> Answer:
    """A user."""
    made = _people.add_user(admin, options.tenant, options.email, options.name)
    return made, (
        f"{made['email']} is a user of {options.tenant}, without a key and without a grant: "
        f"`labext sandbox lab grants add --user {made['email']}` lets it see something."
    )


@ACTS.add
def list_users(admin: Administration, options: argparse.Namespace) -> Answer:
    """All users."""
    found = _people.users(admin, options.tenant)
    return found, table(found, "email", "name", "suspended", "keys", "grants", "id")


@ACTS.add
def remove_user(admin: Administration, options: argparse.Namespace) -> Answer:
    """A user with its keys and grants."""
    gone = _people.remove_user(admin, options.tenant, options.email, yes=options.yes)
    return gone, f"{gone['removed']} is removed{with_lost(gone, 'keys', 'grants')}."


@ACTS.add
def user_secret(admin: Administration, options: argparse.Namespace) -> Answer:
    """Return a user's sign-in secret, alone on its line."""
    found = _people.sign_in_secret(admin, options.tenant, options.email, renew=options.renew)
    return found, found["secret"]


@ACTS.add
def add_key(admin: Administration, options: argparse.Namespace) -> Answer:
    """A key: printed with `--json`, kept with `--profile`."""
    key = new_key("sk_")
    made = handed(
        options,
        {"api_key": key},
        partial(_reached, options, "key"),
        lambda: credentials.add(admin, KEYS, options.tenant, options.email, key, options.name),
    )
    return made, f"{made['user']} has the key {made['name']}, {_kept(options)}."


@ACTS.add
def add_app(admin: Administration, options: argparse.Namespace) -> Answer:
    """An app with its first secret: printed with `--json`, kept with `--profile`."""
    client_id, secret = identifiers.new("client"), new_key("cs_")
    made = handed(
        options,
        {"client_id": client_id, "client_secret": secret},
        partial(_reached, options, "oauth"),
        lambda: apps.add_app(admin, options.tenant, options.name, client_id, secret),
    )
    return made, f"The app {made['name']} of {options.tenant} is made, {_kept(options)}."


@ACTS.add
def list_apps(admin: Administration, options: argparse.Namespace) -> Answer:
    """All apps."""
    found = apps.apps(admin, options.tenant)
    columns = ("name", "client_id", "archived", "permissions", "secrets", "grants", "id")
    return found, table(found, *columns)


@ACTS.add
def remove_app(admin: Administration, options: argparse.Namespace) -> Answer:
    """An app with its secrets and grants."""
    gone = apps.remove_app(admin, options.tenant, options.app, yes=options.yes)
    return gone, f"The app {gone['removed']} is removed{with_lost(gone, 'secrets', 'grants')}."


@ACTS.add
def add_secret(admin: Administration, options: argparse.Namespace) -> Answer:
    """One more secret: printed with `--json`, kept with `--profile`."""
    secret = new_key("cs_")
    client_id = apps.app(admin, options.tenant, options.app)["client_id"]
    made = handed(
        options,
        {"client_id": client_id, "client_secret": secret},
        partial(_reached, options, "oauth"),
        lambda: credentials.add(admin, SECRETS, options.tenant, options.app, secret, options.name),
    )
    return made, f"The app {made['app']} has the secret {made['name']}, {_kept(options)}."


def _add_states() -> None:
    """The acts that take access and give it back."""

    def user(has: bool, admin: Administration, options: argparse.Namespace) -> Answer:
        done = _people.set_suspended(admin, options.tenant, options.email, not has)
        return done, f"{done['email']} is {'active' if has else f'suspended: {_REFUSED}'}."

    def app(has: bool, admin: Administration, options: argparse.Namespace) -> Answer:
        done = apps.set_archived(admin, options.tenant, options.app, not has)
        return done, f"The app {done['name']} is {'active' if has else f'archived: {_REFUSED}'}."

    ACTS["suspend_user"], ACTS["unsuspend_user"] = partial(user, False), partial(user, True)
    ACTS["archive_app"], ACTS["unarchive_app"] = partial(app, False), partial(app, True)


def _add_credentials(kind: credentials.Kind, owner: str) -> None:
    """The acts on keys and secrets that are there; `owner` is the option that says whose."""

    def listed(admin: Administration, options: argparse.Namespace) -> Answer:
        found = credentials.listed(admin, kind, options.tenant, getattr(options, owner))
        return found, table(found, kind.owner, "name", "created", "deleted")

    def removed(admin: Administration, options: argparse.Namespace) -> Answer:
        gone = credentials.remove(
            admin, kind, options.tenant, getattr(options, owner), options.name, yes=options.yes
        )
        whose = gone[kind.owner]
        return gone, f"The {kind.noun} {gone['removed']} of {whose} is no longer valid."

    ACTS[f"list_{kind.noun}s"], ACTS[f"remove_{kind.noun}"] = listed, removed


def _add_items(noun: str, name: str) -> None:
    """The acts on what an app has several of."""
    column = apps.ITEMS[noun][0]

    def changed(has: bool, admin: Administration, options: argparse.Namespace) -> Answer:
        value = getattr(options, name)
        done = apps.set_item(admin, options.tenant, options.app, noun, value, has)
        there = wording.count(len(done[column]), noun) + f": {', '.join(done[column])}"
        return done, f"The app {done['name']} has {there if done[column] else f'no {noun}'}."

    def listed(admin: Administration, options: argparse.Namespace) -> Answer:
        every = apps.apps(admin, options.tenant)
        found = [{"app": each["name"], column: each[column]} for each in every]
        return found, table(found, "app", column)

    ACTS[f"add_{name}"], ACTS[f"remove_{name}"] = partial(changed, True), partial(changed, False)
    ACTS[f"list_{name}s"] = listed


_add_states()
_add_credentials(KEYS, "email")
_add_credentials(SECRETS, "app")
_add_items("permission", "permission")
_add_items("redirect URI", "redirect")


def _reached(options: argparse.Namespace, method: str) -> Reached:
    """Where the tenant is, and how to sign in there."""
    lab = Sandbox(options.data_dir).lab
    return Reached(
        "lab", lab.tenants[options.tenant], {"ca_bundle": lab.ca_bundle, "method": method}
    )


def _kept(options: argparse.Namespace) -> str:
    return f"kept in the keyring: `%lab connect {options.profile}` uses it"
