"""`labext sandbox nb`: administer the local notebook service."""

from __future__ import annotations

import getpass
import os
import sys
from typing import TYPE_CHECKING

import click

from labext import messages
from labext.cli.groups import Result, ServiceGroup, confirmed, listing, option, program
from labext.errors import InputError

if TYPE_CHECKING:
    from labext.sandbox.nb.administration import NotebookAdministration as Admin

MODEL_TYPES = ("llm", "embedding", "stt", "tts")
MODEL_KEY = "LABEXT_NB_MODEL_KEY"
"""The environment variable with the key of a model's server."""

nb = ServiceGroup("nb", "nb", "Administer the local notebook service, whether it runs or not.")
password = nb.noun("password", "The password of the service.")
fetch = nb.noun("fetch", "Access to web pages of this machine and its network.")
models = nb.noun("models", "Language, embedding and speech models.")
nb.add_limits()

_model = click.argument("name")
_no_key = click.option("--no-key", is_flag=True, help="The server needs no key.")


@nb.verb("status")
def status(admin: Admin) -> Result:
    """Show how the service is set up, and how much it holds."""
    info = admin.status()
    states = info["sources"]
    by_state = ", ".join(f"{number:,} {state}" for state, number in states.items() if number)
    lines = [
        f"It {'answers at ' + info['base_url'] if info['running'] else 'does not run'}.",
        f"A password is {'' if info['password'] else 'not '}required.",
        "Pages of this machine and its network are "
        f"{'' if info['private_fetches'] else 'not '}fetched.",
        f"{messages.pluralize(info['notebooks'], 'notebook')}, "
        f"{messages.pluralize(sum(states.values()), 'source')}"
        f"{f' ({by_state})' if by_state else ''}, "
        f"{messages.pluralize(info['notes'], 'note')}, "
        f"{messages.pluralize(info['sessions'], 'chat session')}.",
        *(f"The model for {slot} is {model}." for slot, model in info["models"].items()),
    ]
    return info, "\n".join(lines)


@password.verb("set", "add")
@click.option("--stdin", is_flag=True, help="Read it from the first line of the standard input.")
def set_password(admin: Admin, stdin: bool) -> Result:
    """Set the password, which is read without echo.

    Never type it on the command line. Requests with another password are rejected from then on.
    """
    from labext.sandbox.core.data_folder import admin_command

    value = sys.stdin.readline().rstrip("\r\n") if stdin else _ask_password()
    changed = admin.set_password(value)
    hint = "" if program() == "labext server" else f" {admin_command('start', '--json')} prints it."
    return changed, f"The password is set.{hint}"


@password.verb("remove")
@confirmed
def remove_password(admin: Admin, yes: bool) -> Result:
    """Remove the password: the service no longer requires one."""
    changed = admin.remove_password(yes=yes)
    return changed, "The notebook service no longer requires a password."


@fetch.verb("allow-private")
def allow_private(admin: Admin) -> Result:
    """Let pages of this machine and its network be sources."""
    changed = admin.set_private_fetches(True)
    return changed, "Pages of this machine and its network may be fetched."


@fetch.verb("deny-private")
def deny_private(admin: Admin) -> Result:
    """Refuse pages of this machine and its network, as by default."""
    changed = admin.set_private_fetches(False)
    return changed, "Pages of this machine and its network are not fetched."


@models.verb("list")
def list_models(admin: Admin) -> Result:
    """List the models, and the slots that they are the default of."""
    columns = ("name", "type", "provider", "base_url", "key", "default_for", "id")
    return listing(admin.models(), *columns)


@models.verb("add")
@_model
@click.option("--type", "kind", type=click.Choice(MODEL_TYPES), default="llm", show_default=True)
@option("--base-url", "URL", "Such as http://localhost:11434/v1.", required=True)
@_no_key
def add_model(admin: Admin, name: str, kind: str, base_url: str, no_key: bool) -> Result:
    """Add a model of an OpenAI-compatible server, by the name that the server has for it.

    For example `models add llama3.2 --base-url http://localhost:11434/v1 --no-key`.

    The key comes from LABEXT_NB_MODEL_KEY or is read without echo; never type it on the command
    line. It is stored encrypted.
    """
    from labext.sandbox.core.data_folder import admin_command

    created = admin.add_model(name, kind, base_url, _read_key(no_key))
    return created, (
        f"{created['name']} of {created['base_url']} is added as {created['id']}; "
        f"{admin_command('nb models default SLOT', created['name'])} selects it."
    )


@models.verb("key")
@_model
@_no_key
def set_model_key(admin: Admin, name: str, no_key: bool) -> Result:
    """Set another key for the server of a model.

    The key comes from LABEXT_NB_MODEL_KEY or is read without echo; never type it on the command
    line. It is stored encrypted.
    """
    changed = admin.set_model_key(name, _read_key(no_key))
    return changed, f"{changed['base_url']} has {'another' if changed['key'] else 'no'} key."


@models.verb("default", "set")
@click.argument("slot")
@_model
def set_default(admin: Admin, slot: str, name: str) -> Result:
    """Set the model of a slot, such as chat, embedding or summary; `none` for no model."""
    changed = admin.set_default(slot, None if name == "none" else name)
    return changed, f"The model for {changed['slot']} is {changed['model'] or 'none'}."


@models.verb("remove")
@_model
@confirmed
def remove_model(admin: Admin, name: str, yes: bool) -> Result:
    """Remove a model."""
    removed = admin.remove_model(name, yes=yes)
    return removed, f"{removed['removed']} is removed."


def _ask_password() -> str:
    if not sys.stdin.isatty():
        raise InputError(
            "The password can't be read without a terminal.",
            "Give it by `--stdin`: a script writes it into the standard input.",
        )
    first, again = getpass.getpass("New password: "), getpass.getpass("Once more: ")
    if first != again:
        raise InputError("The two passwords differ.", "Type the same one twice.")
    return first


def _read_key(no_key: bool) -> str | None:
    """Return the key of a model's server from the environment or the keyboard."""
    from labext.redaction import register_secret

    if no_key:
        return None
    key = os.environ.get(MODEL_KEY)
    if not key and not sys.stdin.isatty():
        raise InputError(
            "The server's key can't be read without a terminal.",
            f"Give it in the environment as {MODEL_KEY}, or add `--no-key`.",
        )
    key = key or getpass.getpass("The server's key: ")
    register_secret(key)
    return key
