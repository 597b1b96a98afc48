"""`labext sandbox lab`: administer the local lab platform."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from labext import messages
from labext.cli.groups import (
    Function,
    Result,
    ServiceGroup,
    at_most_one,
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
    table,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from labext.sandbox import Sandbox
    from labext.sandbox.core.administration import Record
    from labext.sandbox.lab.administration import LabAdministration as Admin

TENANTS = ("campus", "clinic")

lab = ServiceGroup("lab", "lab", "Administer the local lab platform, whether it runs or not.")

_tenant = click.option(
    "--tenant",
    type=click.Choice(TENANTS),
    default=TENANTS[0],
    show_default=True,
    help="The tenant.",
)


def _noun(name: str, help: str) -> ServiceGroup:
    return lab.noun(name, help, _tenant)


users = _noun("users", "Users of the platform.")
keys = _noun("keys", "API keys of users.")
apps = _noun("apps", "Service accounts.")
secrets = _noun("secrets", "Client secrets of apps.")
permissions = _noun("permissions", "Permissions of apps.")
redirects = _noun("redirects", "Redirect URIs of apps.")
grants = _noun("grants", "Access of users and apps to organizations, projects and folders.")
places = {
    "organization": _noun("organizations", "Organizations, which contain teams and projects."),
    "team": _noun("teams", "Teams of organizations."),
    "project": _noun("projects", "Projects of organizations."),
    "folder": _noun("folders", "Folders of projects."),
}
sequences = _noun("sequences", "DNA sequences in folders.")
ip = _noun("ip", "IP ranges from which requests are allowed.")
provider = _noun("provider", "The identity provider whose ID tokens are accepted.")
audit = _noun("audit", "The log of calls.")
lab.add_limits()


def _place_options(function: Function) -> Function:
    for kind in reversed(places):
        function = option(f"--{kind}", "NAME", "Its name or identifier.")(function)
    return function


_email = click.argument("email")
_name = click.argument("name")
_app = click.argument("app")


@users.verb("add")
@_email
@option("--name", "NAME", "Name of the user (default: from the address).")
def add_user(admin: Admin, email: str, name: str | None) -> Result:
    """Create a user; `keys add` creates a key for it."""
    from labext.sandbox.core.data_folder import admin_command

    created = admin.add_user(email, name)
    options = ["--user", created["email"], "--organization", "NAME"]
    if admin.tenant != TENANTS[0]:
        options += ["--tenant", admin.tenant]
    return created, (
        f"{created['email']} is a user of {admin.tenant}, without a key and without a grant: "
        f"{admin_command('lab grants add', *options)} lets it see something."
    )


@users.verb("import")
@people_argument
@_place_options
@keys_option
def import_users(admin: Admin, file: Path, keys: Path | None, **place: str | None) -> Result:
    """Create the users of a CSV file with the columns `email` and `name`, such as a class.

    All of them may see the place that is given, such as `--project NAME`.
    """
    return imported(admin.import_users(file, at_most_one(**place), keys), "user", file, keys)


@users.verb("list")
def list_users(admin: Admin) -> Result:
    """List the users."""
    users = admin.users()
    return listing(users, "email", "name", "suspended", "keys", "grants", "id")


@users.verb("suspend")
@_email
def suspend_user(admin: Admin, email: str) -> Result:
    """Suspend a user's access to the API."""
    changed = admin.set_suspended(email, True)
    return changed, f"{changed['email']} is suspended: every call is refused with 403."


@users.verb("unsuspend", "activate")
@_email
def unsuspend_user(admin: Admin, email: str) -> Result:
    """Restore a suspended user's access."""
    changed = admin.set_suspended(email, False)
    return changed, f"{changed['email']} is active."


@users.verb("secret")
@_email
@click.option("--renew", is_flag=True, help="Create a new one; the old one is no longer valid.")
def user_secret(admin: Admin, email: str, renew: bool) -> Result:
    """Print a user's secret of the identity provider.

    A user of an enterprise account signs in with it at the built-in identity provider. It is kept
    in a file that only you can read.
    """
    secret = admin.sign_in_secret(email, renew=renew)
    return secret, secret["secret"]


@users.verb("remove")
@_email
@confirmed
def remove_user(admin: Admin, email: str, yes: bool) -> Result:
    """Remove a user with its keys and grants."""
    removed = admin.remove_user(email, yes=yes)
    return removed, f"{removed['removed']} is removed{removed_with(removed, 'keys', 'grants')}."


@keys.verb("add")
@_email
@option("--name", "NAME", "Name of the key (default: key1, key2, …).")
@profile_option("lab", "key")
def add_key(admin: Admin, email: str, name: str | None) -> Result:
    """Create one more key for a user.

    The key is printed once with --json, or stored in your keyring with --profile, after which
    `%lab connect NAME` uses it.
    """
    from labext.sandbox.core.signing import new_key

    key = new_key("sk_")
    created, stored = _issue(
        admin, {"api_key": key}, lambda: admin.add_credential("key", email, key, name)
    )
    return created, f"{created['user']} has the key {created['name']}, {stored}."


@apps.verb("add")
@_name
@profile_option("lab", "client id and secret")
def add_app(admin: Admin, name: str) -> Result:
    """Create an app with a client id and a client secret.

    The secret is printed once with --json, or stored in your keyring with --profile, after which
    `%lab connect NAME` uses it. The app sees nothing before `grants add --app`.
    """
    from labext.sandbox.core.signing import new_key
    from labext.sandbox.lab import tables

    client_id, secret = tables.new_identifier("client"), new_key("cs_")
    created, stored = _issue(
        admin,
        {"client_id": client_id, "client_secret": secret},
        lambda: admin.add_app(name, client_id, secret),
    )
    return created, f"The app {name} of {admin.tenant} is created, {stored}."


@apps.verb("list")
def list_apps(admin: Admin) -> Result:
    """List the apps."""
    columns = ("name", "client_id", "archived", "permissions", "secrets", "grants", "id")
    return listing(admin.apps(), *columns)


@apps.verb("archive")
@_app
def archive_app(admin: Admin, app: str) -> Result:
    """Suspend an app's access to the API."""
    changed = admin.set_archived(app, True)
    return changed, f"The app {changed['name']} is archived: every call is refused with 403."


@apps.verb("unarchive")
@_app
def unarchive_app(admin: Admin, app: str) -> Result:
    """Restore an archived app's access."""
    changed = admin.set_archived(app, False)
    return changed, f"The app {changed['name']} is active."


@apps.verb("remove")
@_app
@confirmed
def remove_app(admin: Admin, app: str, yes: bool) -> Result:
    """Remove an app with its secrets and grants."""
    removed = admin.remove_app(app, yes=yes)
    lost = removed_with(removed, "secrets", "grants")
    return removed, f"The app {removed['removed']} is removed{lost}."


@secrets.verb("add")
@_app
@option("--name", "NAME", "Name of the secret (default: secret1, secret2, …).")
@profile_option("lab", "client id and secret")
def add_secret(admin: Admin, app: str, name: str | None) -> Result:
    """Create one more client secret for an app.

    It is valid beside the others: change the program, then remove the old one.
    """
    from labext.sandbox.core.signing import new_key

    client_id, secret = admin.app(app)["client_id"], new_key("cs_")
    created, stored = _issue(
        admin,
        {"client_id": client_id, "client_secret": secret},
        lambda: admin.add_credential("secret", app, secret, name),
    )
    return created, f"The app {created['app']} has the secret {created['name']}, {stored}."


def _issue(
    admin: Admin, secrets: Mapping[str, str], create: Callable[[], Record]
) -> tuple[Record, str]:

    def connection(sandbox: Sandbox) -> tuple[str, dict[str, str]]:
        method = "key" if "api_key" in secrets else "oauth"
        entry = sandbox.connection()["lab"]
        options = {"ca_bundle": entry["ca_bundle"], "method": method}
        return entry.get("tenants", {}).get(admin.tenant, entry["base_url"]), options

    return issue_credentials("lab", secrets, create, connection)


def _add_credential_verbs(group: ServiceGroup, kind: str, holder: str, argument: str) -> None:
    """Add `list` and `remove` of a kind of credentials, which users or apps hold."""

    @group.verb("list", help=f"List the names of the {kind}s of all {holder}s, or of one.")
    @click.argument("owner", metavar=f"[{argument}]", required=False)
    def list_credentials(admin: Admin, owner: str | None) -> Result:
        credentials = admin.credentials(kind, owner)
        return listing(credentials, holder, "name", "created", "deleted")

    @group.verb("remove", help=f"Remove a {kind}: it is no longer valid.")
    @click.argument("owner", metavar=argument)
    @_name
    @confirmed
    def remove(admin: Admin, owner: str, name: str, yes: bool) -> Result:
        removed = admin.remove_credential(kind, owner, name, yes=yes)
        return removed, f"The {kind} {name} of {removed[holder]} is no longer valid."


def _add_item_verbs(group: ServiceGroup, noun: str, column: str, example: str) -> None:
    """Add the verbs of a list that an app has; `column` is its name in a record."""

    def change(admin: Admin, app: str, value: str, present: bool) -> Result:
        changed = admin.set_item(app, noun, value, present)
        items = changed[column]
        text = (
            f"{messages.pluralize(len(items), noun)}: {', '.join(items)}" if items else f"no {noun}"
        )
        return changed, f"The app {changed['name']} has {text}."

    value = click.argument("value", metavar=noun.split()[0].upper())
    add = group.verb("add", help=f"Add a {noun} to an app, such as {example}.")
    add(_app(value(partial(change, present=True))))
    remove = group.verb("remove", help=f"Remove a {noun} from an app.")
    remove(_app(value(partial(change, present=False))))

    @group.verb("list", help=f"List the {noun}s of apps.")
    def list_items(admin: Admin) -> Result:
        apps = admin.apps()
        return listing([{"app": app["name"], column: app[column]} for app in apps], "app", column)


_add_credential_verbs(keys, "key", "user", "EMAIL")
_add_credential_verbs(secrets, "secret", "app", "APP")
_add_item_verbs(permissions, "permission", "permissions", "sequences:read")
_add_item_verbs(redirects, "redirect URI", "redirect_uris", "https://app.example/callback")


def _holder_options(function: Function) -> Function:
    user, app = option("--user", "EMAIL", "A user."), option("--app", "NAME", "An app.")
    holder: Function = user(app(function))
    return holder


def _grant_options(function: Function) -> Function:
    return _holder_options(_place_options(function))


@grants.verb("list")
@_holder_options
def list_grants(admin: Admin, user: str | None, app: str | None) -> Result:
    """List the grants of all users and apps, or of one."""
    grants = admin.grants(at_most_one(user=user, app=app))
    return listing(grants, "user", "app", "kind", "name", "id")


@grants.verb("add")
@_grant_options
def add_grant(admin: Admin, user: str | None, app: str | None, **place: str | None) -> Result:
    """Let a user or an app see a place with all that is in it.

    For example `grants add --user eve@example.org --project Course`.
    """
    holder = exactly_one(user=user, app=app)
    created = admin.add_grant(holder, *exactly_one(**place))
    return created, f"{_holder(created)} may see the {created['kind']} {created['name']}."


@grants.verb("remove")
@_grant_options
def remove_grant(admin: Admin, user: str | None, app: str | None, **place: str | None) -> Result:
    """Withdraw a grant."""
    holder = exactly_one(user=user, app=app)
    removed = admin.remove_grant(holder, *exactly_one(**place))
    place_name = f"{removed['kind']} {removed['name']}"
    return removed, f"{_holder(removed)} no longer has a grant of the {place_name}."


def _holder(record: Record) -> str:
    return str(record["user"]) if record["user"] is not None else f"The app {record['app']}"


def _add_place_verbs(group: ServiceGroup, kind: str, columns: tuple[str, ...]) -> None:
    article = "an" if kind == "organization" else "a"
    contents = "; its projects stay" if kind == "team" else " with all that is in it"

    @group.verb("list", help=f"List the {kind}s.")
    def list_places(admin: Admin) -> Result:
        return listing(admin.places(kind), "name", *columns, "grants", "id")

    @group.verb("remove", help=f"Remove {article} {kind}{contents}.")
    @_name
    @confirmed
    def remove_place(admin: Admin, name: str, yes: bool) -> Result:
        removed = admin.remove_place(kind, name, yes=yes)
        lost = [key for key in removed if isinstance(removed[key], int)]
        return removed, f"The {kind} {removed['removed']} is removed{removed_with(removed, *lost)}."


_add_place_verbs(
    places["organization"], "organization", ("teams", "projects", "folders", "sequences")
)
_add_place_verbs(places["team"], "team", ("organization",))
_add_place_verbs(places["project"], "project", ("organization", "team", "folders", "sequences"))
_add_place_verbs(places["folder"], "folder", ("project", "organization", "sequences"))

_organization = option("--organization", "NAME", "Its organization (default: the only one).")


@places["organization"].verb("add")
@_name
def add_organization(admin: Admin, name: str) -> Result:
    """Create an organization."""
    created = admin.add_organization(name)
    return created, f"The organization {name} ({created['id']}) is created."


@places["team"].verb("add")
@_name
@_organization
def add_team(admin: Admin, name: str, organization: str | None) -> Result:
    """Create a team of an organization."""
    created = admin.add_team(name, organization)
    return created, f"The team {name} ({created['id']}) of {created['organization']} is created."


@places["project"].verb("add")
@_name
@_organization
@option("--team", "NAME", "Its team within the organization.")
def add_project(admin: Admin, name: str, organization: str | None, team: str | None) -> Result:
    """Create a project of an organization."""
    created = admin.add_project(name, organization, team)
    owner = created["team"] or created["organization"]
    return created, f"The project {name} ({created['id']}) of {owner} is created."


@places["folder"].verb("add")
@_name
@option("--project", "NAME", "Name or identifier of its project.", required=True)
def add_folder(admin: Admin, name: str, project: str) -> Result:
    """Create a folder of a project."""
    created = admin.add_folder(name, project)
    return created, f"The folder {name} ({created['id']}) of {created['project']} is created."


@sequences.verb("import", "add")
@click.argument("file", type=click.Path(path_type=Path))
@option("--folder", "NAME", "Name or identifier of the folder.", required=True)
@option(
    "--creator",
    "EMAIL",
    "The user shown as their creator; in a sandbox by default student@sandbox.local.",
)
def import_sequences(admin: Admin, file: Path, folder: str, creator: str | None) -> Result:
    """Import the sequences of a FASTA or GenBank file, gzipped or not.

    Parts of features in other records, features with invalid positions, references and comments
    are lost.
    """
    created = admin.import_sequences(file, folder, creator)
    bases = sum(sequence["length"] for sequence in created)
    number = messages.pluralize(len(created), "sequence")
    text = f"{number} of {file.name} imported into {folder}: {bases:,} bases."
    if omitted := sum(sequence.get("omittedFeatures", 0) for sequence in created):
        features = messages.pluralize(omitted, "feature")
        verb = "was" if omitted == 1 else "were"
        text += f" {features} without a valid position {verb} left out."
    return created, text


@sequences.verb("list")
def list_sequences(admin: Admin) -> Result:
    """Count the sequences of each folder."""
    columns = ("folder", "id", "project", "organization", "sequences")
    sequences = [
        {column: folder["name" if column == "folder" else column] for column in columns}
        for folder in admin.places("folder")
    ]
    return listing(sequences, *columns)


@ip.verb("add")
@click.argument("network")
def add_range(admin: Admin, network: str) -> Result:
    """Allow a range: 192.0.2.0/24, 2001:db8::/32 or one address; all others are refused."""
    created = admin.add_range(network)
    return (
        created,
        f"{admin.tenant} allows requests from {created['network']}, and from no other range.",
    )


@ip.verb("list")
def list_ranges(admin: Admin) -> Result:
    """List the ranges; without any, requests are allowed from everywhere."""
    ranges = admin.ranges()
    return ranges, table(ranges, "network") if ranges else "No ranges: all addresses are allowed."


@ip.verb("remove")
@click.argument("network")
def remove_range(admin: Admin, network: str) -> Result:
    """Remove a range."""
    removed = admin.remove_range(network)
    left = (
        messages.pluralize(removed["left"], "range")
        if removed["left"]
        else "no range: all addresses are allowed"
    )
    return removed, f"The range {removed['removed']} is removed; {admin.tenant} has {left}."


@provider.verb("set", "add")
@click.argument("url", required=False)
@option("--audience", "NAME", "Audience of its tokens.")
def set_provider(admin: Admin, url: str | None, audience: str | None) -> Result:
    """Accept the ID tokens of a provider.

    URL is its OpenID configuration, by default that of the built-in provider.
    """
    url = url or admin.own_provider()
    changed = admin.set_provider(url, audience)
    return changed, _provider(changed)


@provider.verb("list")
def list_providers(admin: Admin) -> Result:
    """Show the provider, and the keys that the built-in one publishes."""
    provider = admin.provider()
    published = admin.published_keys()
    text = (
        f"{_provider(provider)} {_user_secrets(provider)}"
        if provider["enterprise"]
        else _provider(provider)
    )
    keys_table = table(published, "kid", "algorithm", "in_use")
    return provider | {"sandbox_keys": published}, f"{text}\n\n{keys_table}"


@provider.verb("remove")
def remove_provider(admin: Admin) -> Result:
    """Accept no ID tokens any more."""
    changed = admin.set_provider(None, None)
    return changed, f"{_provider(changed)} `provider set` restores the built-in provider."


@provider.verb("secrets")
@click.argument("state", type=click.Choice(["required", "off"]))
def set_user_secrets(admin: Admin, state: str) -> Result:
    """Require users' secrets at the built-in provider, or not; for the tenant campus.

    Without them everyone who can reach it can sign in as any user: switch them off only for a
    demonstration.
    """
    changed = admin.set_user_secrets(state == "required")
    return changed, _user_secrets(changed)


@provider.verb("rotate")
def rotate_keys(admin: Admin) -> Result:
    """Sign with a new key at the built-in provider."""
    published = admin.rotate_keys()
    number = messages.pluralize(len(published), "key")
    return published, f"The provider signs with {published[0]['kid']}; it publishes {number}."


def _user_secrets(record: Record) -> str:
    if record["user_secrets"]:
        return "The built-in provider asks users for their secrets."
    return (
        "The built-in provider does not ask users for a secret: everyone who can reach it can "
        "sign in as any of them."
    )


def _provider(record: Record) -> str:
    if record["configuration_url"] is None:
        return f"{record['tenant']} accepts no ID tokens."
    return (
        f"{record['tenant']} accepts ID tokens of {record['configuration_url']} for the audience "
        f"{record['audience']}."
    )


@audit.verb("list")
@click.option("--limit", type=int, default=50, show_default=True, metavar="N")
@option("--user", "EMAIL", "Only calls of this user.")
@option("--app", "NAME", "Only calls of this app.")
@click.option("--status", type=int, metavar="N", help="Only calls with this status.")
def list_audit(admin: Admin, **filters: Any) -> Result:
    """List the calls, the newest first."""
    entries = admin.audit_log(**filters)
    columns = ("time", "status", "method", "path", "user", "app", "credential", "reason")
    return listing(entries, *columns)


@lab.verb("id-token")
@_email
@click.option(
    "--seconds",
    type=int,
    metavar="N",
    help="How long it is valid (default: 3600); below 0: it has expired.",
)
@option("--audience", "NAME", "Audience of the token (default: the one that campus expects).")
def id_token(admin: Admin, email: str, seconds: int | None, audience: str | None) -> Result:
    """Print an ID token of the built-in identity provider, for the tenant campus.

    EMAIL is the address that it claims; it need not be that of a user.
    """
    created = admin.id_token(email, seconds=seconds, audience=audience)
    return created, created["id_token"]
