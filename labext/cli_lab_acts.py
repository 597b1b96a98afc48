"""What the verbs on users, apps and what they sign in with do (see `labext.cli_acts`)."""

from __future__ import annotations

import argparse
import secrets
from functools import partial

from labext import wording
from labext.cli_acts import Acts, Answer, table, with_lost
from labext.cli_keys import Reached, handed
from labext.sandbox import Sandbox
from labext.sandbox.keys import new_key
from labext.sandbox.lab.administration import Administration, Record, apps, credentials, opened
from labext.sandbox.lab.administration import people as _people
from labext.sandbox.lab.administration.credentials import KEYS, SECRETS

ACTS = Acts(opened)


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
def suspend_user(admin: Administration, options: argparse.Namespace) -> Answer:
    """A user without access."""
    done = _people.set_suspended(admin, options.tenant, options.email, True)
    return done, f"{done['email']} is suspended: every call is refused with 403."


@ACTS.add
def unsuspend_user(admin: Administration, options: argparse.Namespace) -> Answer:
    """A user with access again."""
    done = _people.set_suspended(admin, options.tenant, options.email, False)
    return done, f"{done['email']} is active."


@ACTS.add
def remove_user(admin: Administration, options: argparse.Namespace) -> Answer:
    """A user with its keys and grants."""
    gone = _people.remove_user(admin, options.tenant, options.email, yes=options.yes)
    return gone, f"{gone['removed']} is removed{with_lost(gone, 'keys', 'grants')}."


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
def list_keys(admin: Administration, options: argparse.Namespace) -> Answer:
    """The names of keys."""
    found = credentials.listed(admin, KEYS, options.tenant, options.email)
    return found, table(found, "user", "name", "created", "deleted")


@ACTS.add
def remove_key(admin: Administration, options: argparse.Namespace) -> Answer:
    """A key that is good no more."""
    gone = credentials.remove(
        admin, KEYS, options.tenant, options.email, options.name, yes=options.yes
    )
    return gone, f"The key {gone['removed']} of {gone['user']} is no longer valid."


@ACTS.add
def add_app(admin: Administration, options: argparse.Namespace) -> Answer:
    """An app with its first secret: printed with `--json`, kept with `--profile`."""
    client_id, secret = f"client_{secrets.token_hex(12)}", new_key("cs_")
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
def archive_app(admin: Administration, options: argparse.Namespace) -> Answer:
    """An app without access."""
    done = apps.set_archived(admin, options.tenant, options.app, True)
    return done, f"The app {done['name']} is archived: every call is refused with 403."


@ACTS.add
def unarchive_app(admin: Administration, options: argparse.Namespace) -> Answer:
    """An app with access again."""
    done = apps.set_archived(admin, options.tenant, options.app, False)
    return done, f"The app {done['name']} is active."


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


@ACTS.add
def list_secrets(admin: Administration, options: argparse.Namespace) -> Answer:
    """The names of secrets."""
    found = credentials.listed(admin, SECRETS, options.tenant, options.app)
    return found, table(found, "app", "name", "created", "deleted")


@ACTS.add
def remove_secret(admin: Administration, options: argparse.Namespace) -> Answer:
    """A secret that is good no more."""
    gone = credentials.remove(
        admin, SECRETS, options.tenant, options.app, options.name, yes=options.yes
    )
    return gone, (
        f"The secret {gone['removed']} of {gone['app']} is no longer valid, nor are its tokens."
    )


@ACTS.add
def add_permission(admin: Administration, options: argparse.Namespace) -> Answer:
    """A permission."""
    done = apps.set_permission(admin, options.tenant, options.app, options.permission, True)
    return done, _told(done, "permissions", "permission")


@ACTS.add
def remove_permission(admin: Administration, options: argparse.Namespace) -> Answer:
    """A permission taken away."""
    done = apps.set_permission(admin, options.tenant, options.app, options.permission, False)
    return done, _told(done, "permissions", "permission")


@ACTS.add
def list_permissions(admin: Administration, options: argparse.Namespace) -> Answer:
    """What apps may do."""
    return _of_apps(admin, options, "permissions")


@ACTS.add
def add_redirect(admin: Administration, options: argparse.Namespace) -> Answer:
    """A redirect URI."""
    done = apps.set_redirect(admin, options.tenant, options.app, options.uri, True)
    return done, _told(done, "redirect_uris", "redirect URI")


@ACTS.add
def remove_redirect(admin: Administration, options: argparse.Namespace) -> Answer:
    """A redirect URI taken away."""
    done = apps.set_redirect(admin, options.tenant, options.app, options.uri, False)
    return done, _told(done, "redirect_uris", "redirect URI")


@ACTS.add
def list_redirects(admin: Administration, options: argparse.Namespace) -> Answer:
    """Where apps send people back to."""
    return _of_apps(admin, options, "redirect_uris")


def _of_apps(admin: Administration, options: argparse.Namespace, column: str) -> Answer:
    found = [
        {"app": each["name"], column: each[column]} for each in apps.apps(admin, options.tenant)
    ]
    return found, table(found, "app", column)


def _told(done: Record, column: str, noun: str) -> str:
    there = ", ".join(done[column])
    return f"The app {done['name']} has " + (
        f"{wording.count(len(done[column]), noun)}: {there}." if there else f"no {noun}."
    )


def _reached(options: argparse.Namespace, method: str) -> Reached:
    """Where the tenant is, and how to sign in there."""
    lab = Sandbox(options.data_dir).lab
    return Reached(
        "lab", lab.tenants[options.tenant], {"ca_bundle": lab.ca_bundle, "method": method}
    )


def _kept(options: argparse.Namespace) -> str:
    return f"kept in the keyring: `%lab connect {options.profile}` uses it"
