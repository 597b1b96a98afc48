"""What each verb of `labext sandbox nb models` does, and what it says (see `labext.cli.acts`)."""

from __future__ import annotations

import argparse
import os
import sys

from labext.cli.acts import Acts, Answer, table
from labext.errors import InputError
from labext.redaction import keep_secret
from labext.sandbox.nb.administration import Administration, models, opened

KEY = "LABEXT_NB_MODEL_KEY"
"""The environment's variable with a key."""

ACTS = Acts(opened)


@ACTS.add
def list_models(admin: Administration, _: argparse.Namespace) -> Answer:
    """All models."""
    found = models.models(admin)
    columns = ("name", "type", "provider", "base_url", "key", "default_for", "id")
    return found, table(found, *columns)


@ACTS.add
def add_model(admin: Administration, options: argparse.Namespace) -> Answer:
    """A model of a server."""
    key = _key(options)
    made = models.add_model(admin, options.name, options.type, options.base_url, key)
    return made, (
        f"{made['name']} of {made['base_url']} is added as {made['id']}; "
        f"`labext sandbox nb models default SLOT {made['name']}` has it used."
    )


@ACTS.add
def set_model_key(admin: Administration, options: argparse.Namespace) -> Answer:
    """Another key for a model's server."""
    done = models.set_key(admin, options.name, _key(options))
    return done, f"{done['base_url']} has {'another' if done['key'] else 'no'} key."


@ACTS.add
def set_default(admin: Administration, options: argparse.Namespace) -> Answer:
    """The model of a slot."""
    name = None if options.name == "none" else options.name
    done = models.set_default(admin, options.slot, name)
    return done, f"The model for {done['slot']} is {done['model'] or 'none'}."


@ACTS.add
def remove_model(admin: Administration, options: argparse.Namespace) -> Answer:
    """A model."""
    gone = models.remove_model(admin, options.name, yes=options.yes)
    return gone, f"{gone['removed']} is removed."


def _key(options: argparse.Namespace) -> str | None:
    """The key of the environment, or one that was typed unseen; None where none is wanted."""
    import getpass

    if options.no_key:
        return None
    key = os.environ.get(KEY)
    if not key and not sys.stdin.isatty():
        raise InputError(
            "There is nobody here to ask for the server's key.",
            f"Give it in the environment as {KEY}, or say `--no-key`.",
        )
    key = key or getpass.getpass("The server's key: ")
    keep_secret(key)
    return key
