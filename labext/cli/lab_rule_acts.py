"""What the verbs on addresses, the identity provider, limits and the log do (`labext.cli.acts`)."""

from __future__ import annotations

import argparse

from labext import wording
from labext.cli.acts import Acts, Answer, table
from labext.sandbox.lab.administration import Administration, Record, network, opened, providers
from labext.sandbox.lab.administration import log as _log
from labext.sandbox.lab.limits import LIMITS

ACTS = Acts(opened)
ACTS.add_limits(LIMITS)


@ACTS.add
def add_range(admin: Administration, options: argparse.Namespace) -> Answer:
    """A range of addresses."""
    made = network.add_range(admin, options.tenant, options.network)
    return (
        made,
        f"{options.tenant} may be asked from {made['network']}; what is in no range is not.",
    )


@ACTS.add
def list_ranges(admin: Administration, options: argparse.Namespace) -> Answer:
    """All ranges."""
    found = network.ranges(admin, options.tenant)
    return found, table(found, "network") if found else "There are none: all may ask."


@ACTS.add
def remove_range(admin: Administration, options: argparse.Namespace) -> Answer:
    """A range taken away."""
    gone = network.remove_range(admin, options.tenant, options.network)
    left = wording.count(gone["left"], "range") if gone["left"] else "no range: all may ask"
    return gone, f"The range {gone['removed']} is removed; {options.tenant} has {left}."


@ACTS.add
def set_provider(admin: Administration, options: argparse.Namespace) -> Answer:
    """A provider."""
    url = options.url or providers.own(admin)
    done = providers.set_provider(admin, options.tenant, url, options.audience)
    return done, _provider(done)


@ACTS.add
def list_providers(admin: Administration, options: argparse.Namespace) -> Answer:
    """The provider, and the keys that the sandbox's own publishes."""
    found = providers.provider(admin, options.tenant)
    keys = providers.published_keys(admin)
    told = _provider(found)
    if found["enterprise"]:
        told += f" {_user_secrets(found)}"
    text = f"{told}\n\n{table(keys, 'kid', 'algorithm', 'in_use')}"
    return found | {"sandbox_keys": keys}, text


@ACTS.add
def remove_provider(admin: Administration, options: argparse.Namespace) -> Answer:
    """No provider."""
    done = providers.set_provider(admin, options.tenant, None, None)
    return done, f"{_provider(done)} `provider set` gives it the sandbox's again."


@ACTS.add
def set_user_secrets(admin: Administration, options: argparse.Namespace) -> Answer:
    """Whether the sandbox's provider asks users for their secrets."""
    done = providers.set_user_secrets(admin, options.state == "required")
    return done, _user_secrets(done)


@ACTS.add
def rotate_keys(admin: Administration, _: argparse.Namespace) -> Answer:
    """A new key of the provider."""
    keys = providers.rotate_keys(admin)
    many = wording.count(len(keys), "key")
    return keys, f"The provider signs with {keys[0]['kid']}; it publishes {many}."


@ACTS.add
def list_audit(admin: Administration, options: argparse.Namespace) -> Answer:
    """Who has called what."""
    found = _log.entries(
        admin,
        options.tenant,
        limit=options.limit,
        user=options.user,
        app=options.app,
        status=options.status,
    )
    columns = ("time", "status", "method", "path", "user", "app", "credential", "reason")
    return found, table(found, *columns)


@ACTS.add
def id_token(admin: Administration, options: argparse.Namespace) -> Answer:
    """An ID token, alone on its line: it was asked for."""
    made = providers.id_token(
        admin, options.email, seconds=options.seconds, audience=options.audience
    )
    return made, made["id_token"]


def _user_secrets(record: Record) -> str:
    if record["user_secrets"]:
        return "The sandbox's provider asks users for their secrets."
    return (
        "The sandbox's provider asks users for no secret: every account of this machine can sign "
        "in as any of them."
    )


def _provider(record: Record) -> str:
    if record["configuration_url"] is None:
        return f"{record['tenant']} takes no ID tokens."
    return (
        f"{record['tenant']} takes ID tokens of {record['configuration_url']} for the audience "
        f"{record['audience']}."
    )
