"""`labext sandbox lab NOUN VERB`: who may use the local laboratory platform, and what they see."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from labext.cli.commands import (
    Function,
    Result,
    ServiceGroup,
    at_most_one,
    confirmed,
    exactly_one,
    listing,
    option,
    profile_option,
    removed_with,
    table,
)
from labext.sandbox.lab import administration as service

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labext.sandbox.administration import Administration, Record

TENANTS = ("campus", "clinic")

lab = ServiceGroup(
    "lab", "lab", "Administer the local laboratory platform, whether it runs or not."
)

_tenant = click.option(
    "--tenant",
    type=click.Choice(TENANTS),
    default=TENANTS[0],
    show_default=True,
    help="The tenant.",
)


def _noun(name: str, help: str) -> ServiceGroup:
    return lab.noun(name, help, _tenant)


users = _noun("users", "People who may sign in.")
keys = _noun("keys", "What users sign in with.")
apps = _noun("apps", "Service accounts.")
secrets = _noun("secrets", "What apps sign in with.")
permissions = _noun("permissions", "What apps may do.")
redirects = _noun("redirects", "Redirect URIs of apps.")
grants = _noun("grants", "What users and apps may see.")
places = {
    "organization": _noun("organizations", "Organizations, which hold everything else."),
    "team": _noun("teams", "Teams of organizations."),
    "project": _noun("projects", "Projects of organizations."),
    "folder": _noun("folders", "Folders of projects."),
}
sequences = _noun("sequences", "DNA sequences in folders.")
ip = _noun("ip", "IP ranges from which requests are allowed.")
provider = _noun("provider", "The identity provider whose ID tokens are accepted.")
audit = _noun("audit", "The log of calls.")
lab.add_limits()

_email = click.argument("email")
_name = click.argument("name")
_app = click.argument("app")


@users.verb("add")
@_email
@option("--name", "NAME", "Name of the user (default: from the address).")
def add_user(admin: Administration, tenant: str, email: str, name: str | None) -> Result:
    """Create a user; `keys add` creates a key for it."""
    created = service.people.add_user(admin, tenant, email, name)
    return created, (
        f"{created['email']} is a user of {tenant}, without a key and without a grant: "
        f"`labext sandbox lab grants add --user {created['email']}` lets it see something."
    )


@users.verb("list")
def list_users(admin: Administration, tenant: str) -> Result:
    """List the users."""
    found = service.people.users(admin, tenant)
    return listing(found, "email", "name", "suspended", "keys", "grants", "id")


@users.verb("suspend")
@_email
def suspend_user(admin: Administration, tenant: str, email: str) -> Result:
    """Suspend a user's access to the API."""
    changed = service.people.set_suspended(admin, tenant, email, True)
    return changed, f"{changed['email']} is suspended: every call is refused with 403."


@users.verb("unsuspend", "activate")
@_email
def unsuspend_user(admin: Administration, tenant: str, email: str) -> Result:
    """Restore a suspended user's access."""
    changed = service.people.set_suspended(admin, tenant, email, False)
    return changed, f"{changed['email']} is active."


@users.verb("secret")
@_email
@click.option("--renew", is_flag=True, help="Create a new one; the old one is no longer valid.")
def user_secret(admin: Administration, tenant: str, email: str, renew: bool) -> Result:
    """Print a user's secret of the identity provider.

    A user of an enterprise account signs in with it at the sandbox's identity provider. It is kept
    in a file that only you can read.
    """
    found = service.people.sign_in_secret(admin, tenant, email, renew=renew)
    return found, found["secret"]


@users.verb("remove")
@_email
@confirmed
def remove_user(admin: Administration, tenant: str, email: str, yes: bool) -> Result:
    """Remove a user with its keys and grants."""
    removed = service.people.remove_user(admin, tenant, email, yes=yes)
    return removed, f"{removed['removed']} is removed{removed_with(removed, 'keys', 'grants')}."


@keys.verb("add")
@_email
@option("--name", "NAME", "Name of the key (default: key1, key2, …).")
@profile_option("lab", "key")
def add_key(
    admin: Administration, tenant: str, email: str, name: str | None, profile: str | None
) -> Result:
    """Create one more key for a user.

    The key is printed once with --json, or stored in your keyring with --profile, after which
    `%lab connect NAME` uses it.
    """
    from labext.sandbox.keys import new_key

    key, kind = new_key("sk_"), service.credentials.KEYS
    created = _issue(
        tenant,
        {"api_key": key},
        lambda: service.credentials.add(admin, kind, tenant, email, key, name),
    )
    return created, f"{created['user']} has the key {created['name']}, {_stored(profile)}."


@apps.verb("add")
@_name
@profile_option("lab", "client id and secret")
def add_app(admin: Administration, tenant: str, name: str, profile: str | None) -> Result:
    """Create an app with a client id and a client secret.

    The secret is printed once with --json, or stored in your keyring with --profile, after which
    `%lab connect NAME` uses it. The app sees nothing before `grants add --app`.
    """
    from labext.sandbox.keys import new_key
    from labext.sandbox.lab import identifiers

    client_id, secret = identifiers.new("client"), new_key("cs_")
    created = _issue(
        tenant,
        {"client_id": client_id, "client_secret": secret},
        lambda: service.apps.add_app(admin, tenant, name, client_id, secret),
    )
    return created, f"The app {name} of {tenant} is created, {_stored(profile)}."


@apps.verb("list")
def list_apps(admin: Administration, tenant: str) -> Result:
    """List the apps."""
    columns = ("name", "client_id", "archived", "permissions", "secrets", "grants", "id")
    return listing(service.apps.apps(admin, tenant), *columns)


@apps.verb("archive")
@_app
def archive_app(admin: Administration, tenant: str, app: str) -> Result:
    """Suspend an app's access to the API."""
    changed = service.apps.set_archived(admin, tenant, app, True)
    return changed, f"The app {changed['name']} is archived: every call is refused with 403."


@apps.verb("unarchive")
@_app
def unarchive_app(admin: Administration, tenant: str, app: str) -> Result:
    """Restore an archived app's access."""
    changed = service.apps.set_archived(admin, tenant, app, False)
    return changed, f"The app {changed['name']} is active."


@apps.verb("remove")
@_app
@confirmed
def remove_app(admin: Administration, tenant: str, app: str, yes: bool) -> Result:
    """Remove an app with its secrets and grants."""
    removed = service.apps.remove_app(admin, tenant, app, yes=yes)
    lost = removed_with(removed, "secrets", "grants")
    return removed, f"The app {removed['removed']} is removed{lost}."


@secrets.verb("add")
@_app
@option("--name", "NAME", "Name of the secret (default: secret1, secret2, …).")
@profile_option("lab", "client id and secret")
def add_secret(
    admin: Administration, tenant: str, app: str, name: str | None, profile: str | None
) -> Result:
    """Create one more client secret for an app.

    It is valid beside the others: change the program, then remove the old one.
    """
    from labext.sandbox.keys import new_key

    secret, kind = new_key("cs_"), service.credentials.SECRETS
    created = _issue(
        tenant,
        {
            "client_id": service.apps.app(admin, tenant, app)["client_id"],
            "client_secret": secret,
        },
        lambda: service.credentials.add(admin, kind, tenant, app, secret, name),
    )
    return (
        created,
        f"The app {created['app']} has the secret {created['name']}, {_stored(profile)}.",
    )


def _issue(tenant: str, new: Mapping[str, str], create: Function) -> dict[str, Any]:
    """Create credentials that reach a tenant; see `labext.cli.credentials.issue`."""
    from labext.cli.credentials import data_folder, issue
    from labext.sandbox import Sandbox

    def connection() -> tuple[str, dict[str, str]]:
        reached = Sandbox(data_folder()).lab
        method = "key" if "api_key" in new else "oauth"
        return reached.tenants[tenant], {"ca_bundle": reached.ca_bundle, "method": method}

    return issue("lab", new, create, connection)


def _stored(profile: str | None) -> str:
    return f"stored in the keyring: `%lab connect {profile}` uses it"


def _add_credential_verbs(group: ServiceGroup, kind: str, owner: str) -> None:
    def credentials() -> Any:
        return {"key": service.credentials.KEYS, "secret": service.credentials.SECRETS}[kind]

    @group.verb("list", help=f"List the names of the {kind}s of all {owner}s, or of one.")
    @click.argument("owner", metavar=owner.upper(), required=False)
    def list_credentials(admin: Administration, tenant: str, owner: str | None) -> Result:
        found = service.credentials.listed(admin, credentials(), tenant, owner)
        return listing(found, credentials().owner, "name", "created", "deleted")

    @group.verb("remove", help=f"Remove a {kind}: it is no longer valid.")
    @click.argument("owner", metavar=owner.upper())
    @_name
    @confirmed
    def remove(admin: Administration, tenant: str, owner: str, name: str, yes: bool) -> Result:
        removed = service.credentials.remove(admin, credentials(), tenant, owner, name, yes=yes)
        whose = removed[credentials().owner]
        return removed, f"The {kind} {name} of {whose} is no longer valid."


def _add_item_verbs(group: ServiceGroup, noun: str, column: str, example: str) -> None:
    """Add the verbs of a list that an app has; `column` is its name in a record."""

    def set_item(admin: Administration, tenant: str, app: str, value: str, has: bool) -> Result:
        from labext import wording

        changed = service.apps.set_item(admin, tenant, app, noun, value, has)
        items = changed[column]
        text = f"{wording.count(len(items), noun)}: {', '.join(items)}" if items else f"no {noun}"
        return changed, f"The app {changed['name']} has {text}."

    for verb, action, has in (
        ("add", "Give an app a", True),
        ("remove", "Take from an app a", False),
    ):

        @group.verb(verb, help=f"{action} {noun}, such as {example}.")
        @_app
        @click.argument("value", metavar=noun.split()[0].upper())
        def change(
            admin: Administration, tenant: str, app: str, value: str, has: bool = has
        ) -> Result:
            return set_item(admin, tenant, app, value, has)

    @group.verb("list", help=f"List the {noun}s of apps.")
    def list_items(admin: Administration, tenant: str) -> Result:
        found = service.apps.apps(admin, tenant)
        return listing([{"app": app["name"], column: app[column]} for app in found], "app", column)


_add_credential_verbs(keys, "key", "email")
_add_credential_verbs(secrets, "secret", "app")
_add_item_verbs(permissions, "permission", "permissions", "sequences:read")
_add_item_verbs(redirects, "redirect URI", "redirect_uris", "https://app.example/callback")


def _holder_options(function: Function) -> Function:
    for declare in (option("--app", "NAME", "An app."), option("--user", "EMAIL", "A user.")):
        function = declare(function)
    return function


def _place_options(function: Function) -> Function:
    for kind in reversed(places):
        function = option(f"--{kind}", "NAME", "Its name or identifier.")(function)
    return _holder_options(function)


@grants.verb("list")
@_holder_options
def list_grants(admin: Administration, tenant: str, user: str | None, app: str | None) -> Result:
    """List the grants of all users and apps, or of one."""
    at_most_one(user=user, app=app)
    found = service.grants.grants(admin, tenant, service.grants.Holder(user, app))
    return listing(found, "user", "app", "kind", "name", "id")


@grants.verb("add")
@_place_options
def add_grant(
    admin: Administration, tenant: str, user: str | None, app: str | None, **place: str | None
) -> Result:
    """Let a user or an app see a place with all that is in it."""
    exactly_one(user=user, app=app)
    kind, name = exactly_one(**place)
    holder = service.grants.Holder(user, app)
    created = service.grants.add_grant(admin, tenant, holder, kind, name)
    return created, f"{_holder(created)} may see the {kind} {created['name']}."


@grants.verb("remove")
@_place_options
def remove_grant(
    admin: Administration, tenant: str, user: str | None, app: str | None, **place: str | None
) -> Result:
    """Withdraw a grant."""
    exactly_one(user=user, app=app)
    kind, name = exactly_one(**place)
    holder = service.grants.Holder(user, app)
    removed = service.grants.remove_grant(admin, tenant, holder, kind, name)
    return removed, f"{_holder(removed)} no longer has a grant of the {kind} {removed['name']}."


def _holder(record: Record) -> str:
    return str(record["user"]) if record["user"] is not None else f"The app {record['app']}"


def _add_place_verbs(group: ServiceGroup, kind: str, columns: tuple[str, ...]) -> None:
    contents = "; its projects stay" if kind == "team" else " with all that is in it"

    @group.verb("list", help=f"List the {kind}s.")
    def list_places(admin: Administration, tenant: str) -> Result:
        return listing(service.places.listed(admin, tenant, kind), "name", *columns, "grants", "id")

    @group.verb("remove", help=f"Remove a {kind}{contents}.")
    @_name
    @confirmed
    def remove_place(admin: Administration, tenant: str, name: str, yes: bool) -> Result:
        removed = service.places.remove(admin, tenant, kind, name, yes=yes)
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
def add_organization(admin: Administration, tenant: str, name: str) -> Result:
    """Create an organization."""
    created = service.places.add_organization(admin, tenant, name)
    return created, f"The organization {name} ({created['id']}) is created."


@places["team"].verb("add")
@_name
@_organization
def add_team(admin: Administration, tenant: str, name: str, organization: str | None) -> Result:
    """Create a team of an organization."""
    created = service.places.add_team(admin, tenant, name, organization)
    return created, f"The team {name} ({created['id']}) of {created['organization']} is created."


@places["project"].verb("add")
@_name
@_organization
@option("--team", "NAME", "Its team within the organization.")
def add_project(
    admin: Administration, tenant: str, name: str, organization: str | None, team: str | None
) -> Result:
    """Create a project of an organization."""
    created = service.places.add_project(admin, tenant, name, organization, team)
    owner = created["team"] or created["organization"]
    return created, f"The project {name} ({created['id']}) of {owner} is created."


@places["folder"].verb("add")
@_name
@option("--project", "NAME", "Name or identifier of its project.", required=True)
def add_folder(admin: Administration, tenant: str, name: str, project: str) -> Result:
    """Create a folder of a project."""
    created = service.places.add_folder(admin, tenant, name, project)
    return created, f"The folder {name} ({created['id']}) of {created['project']} is created."


@sequences.verb("import", "add")
@click.argument("file", type=click.Path(path_type=Path))
@option("--folder", "NAME", "Name or identifier of the folder.", required=True)
@option(
    "--creator",
    "EMAIL",
    "The user shown as their creator.",
    default="student@sandbox.local",
    show_default=True,
)
def import_sequences(
    admin: Administration, tenant: str, file: Path, folder: str, creator: str
) -> Result:
    """Import the sequences of a FASTA or GenBank file, gzipped or not."""
    from labext import wording

    created = service.sequences.import_file(admin, tenant, file, folder, creator)
    bases = sum(sequence["length"] for sequence in created)
    number = wording.count(len(created), "sequence")
    return created, f"{number} of {file.name} imported into {folder}: {bases:,} bases."


@sequences.verb("list")
def list_sequences(admin: Administration, tenant: str) -> Result:
    """Count the sequences of each folder."""
    columns = ("folder", "id", "project", "organization", "sequences")
    found = [
        {column: folder["name" if column == "folder" else column] for column in columns}
        for folder in service.places.listed(admin, tenant, "folder")
    ]
    return listing(found, *columns)


@ip.verb("add")
@click.argument("network")
def add_range(admin: Administration, tenant: str, network: str) -> Result:
    """Allow a range: 192.0.2.0/24, 2001:db8::/32 or one address; all others are refused."""
    created = service.network.add_range(admin, tenant, network)
    return created, f"{tenant} allows requests from {created['network']}, and from no other range."


@ip.verb("list")
def list_ranges(admin: Administration, tenant: str) -> Result:
    """List the ranges; without any, requests are allowed from everywhere."""
    found = service.network.ranges(admin, tenant)
    return found, table(found, "network") if found else "There are none: all may ask."


@ip.verb("remove")
@click.argument("network")
def remove_range(admin: Administration, tenant: str, network: str) -> Result:
    """Remove a range."""
    from labext import wording

    removed = service.network.remove_range(admin, tenant, network)
    left = wording.count(removed["left"], "range") if removed["left"] else "no range: all may ask"
    return removed, f"The range {removed['removed']} is removed; {tenant} has {left}."


@provider.verb("set", "add")
@click.argument("url", required=False)
@option("--audience", "NAME", "Audience of its tokens.")
def set_provider(
    admin: Administration, tenant: str, url: str | None, audience: str | None
) -> Result:
    """Accept the ID tokens of a provider.

    URL is its OpenID configuration, by default that of the sandbox's own provider.
    """
    url = url or service.providers.own(admin)
    changed = service.providers.set_provider(admin, tenant, url, audience)
    return changed, _provider(changed)


@provider.verb("list")
def list_providers(admin: Administration, tenant: str) -> Result:
    """Show the provider, and the keys that the sandbox's own publishes."""
    found = service.providers.provider(admin, tenant)
    published = service.providers.published_keys(admin)
    text = f"{_provider(found)} {_user_secrets(found)}" if found["enterprise"] else _provider(found)
    keys_table = table(published, "kid", "algorithm", "in_use")
    return found | {"sandbox_keys": published}, f"{text}\n\n{keys_table}"


@provider.verb("remove")
def remove_provider(admin: Administration, tenant: str) -> Result:
    """Accept no ID tokens any more."""
    changed = service.providers.set_provider(admin, tenant, None, None)
    return changed, f"{_provider(changed)} `provider set` gives it the sandbox's again."


@provider.verb("secrets")
@click.argument("state", type=click.Choice(["required", "off"]))
def set_user_secrets(admin: Administration, tenant: str, state: str) -> Result:  # noqa: ARG001
    """Require users' secrets at the sandbox's provider, or not; for the tenant campus.

    Without them every account of this machine can sign in as any user: switch them off only for a
    demonstration.
    """
    changed = service.providers.set_user_secrets(admin, state == "required")
    return changed, _user_secrets(changed)


@provider.verb("rotate")
def rotate_keys(admin: Administration, tenant: str) -> Result:  # noqa: ARG001
    """Sign with a new key at the sandbox's provider."""
    from labext import wording

    published = service.providers.rotate_keys(admin)
    number = wording.count(len(published), "key")
    return published, f"The provider signs with {published[0]['kid']}; it publishes {number}."


def _user_secrets(record: Record) -> str:
    if record["user_secrets"]:
        return "The sandbox's provider asks users for their secrets."
    return (
        "The sandbox's provider asks users for no secret: every account of this machine can sign "
        "in as any of them."
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
def list_audit(admin: Administration, tenant: str, **filters: Any) -> Result:
    """List the calls, the newest first."""
    found = service.log.entries(admin, tenant, **filters)
    columns = ("time", "status", "method", "path", "user", "app", "credential", "reason")
    return listing(found, *columns)


@lab.verb("id-token")
@_email
@click.option(
    "--seconds", type=int, metavar="N", help="How long it is valid; below 0: it has expired."
)
@option("--audience", "NAME", "Audience of the token (default: campus).")
def id_token(
    admin: Administration, email: str, seconds: int | None, audience: str | None
) -> Result:
    """Print an ID token of the sandbox's identity provider, for the tenant campus.

    EMAIL is the address that it claims; it need not be that of a user.
    """
    created = service.providers.id_token(admin, email, seconds=seconds, audience=audience)
    return created, created["id_token"]
