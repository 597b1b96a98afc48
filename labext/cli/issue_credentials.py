"""Print new credentials of a local service once, or store them as a profile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

import click

from labext import config
from labext.config import read_profiles, secret_store, write_profiles
from labext.errors import ConflictError, InputError, SetupError
from labext.sandbox import Sandbox
from labext.sandbox.core.administration import Record


def issue(
    service: config.Service,
    secrets: Mapping[str, str],
    create: Callable[[], Record],
    connection: Callable[[Sandbox], tuple[str, Mapping[str, str]]],
) -> tuple[Record, str]:
    """Create credentials and hand them over as `--json` and `--profile` of the command say.

    Args:
        service: `lab`, `jobs` or `nb`.
        secrets: by name, as in `secret_store.NAMES`.
        create: makes them valid, and returns a record.
        connection: returns the address and options of the profile; called only to store them.

    Returns:
        The record with the profile, and with the secrets if they are to be printed; and how the
        stored ones are used.
    """
    options = click.get_current_context().params
    profile, as_json = options["profile"], options["as_json"]
    if not as_json and profile is None:
        raise InputError(
            "A secret is shown or stored only once, when it is created, and neither was requested.",
            "Add `--profile NAME` to store it, or `--json` to print it.",
        )
    visible = dict(secrets) if as_json else {}
    if profile is None:
        return create() | visible, "printed once"
    base_url, settings = connection(Sandbox(options["data_dir"]))
    with _stored_profile(service, profile, secrets, base_url, settings):
        record = create()
    stored = f"stored in the keyring: `%{service} connect {profile}` uses it"
    return record | {"profile": profile, "base_url": base_url} | visible, stored


@contextmanager
def _stored_profile(
    service: config.Service,
    profile: str,
    secrets: Mapping[str, str],
    base_url: str,
    settings: Mapping[str, str],
) -> Iterator[None]:
    """Store secrets in the keyring with a profile; restore the former ones if the block fails."""
    config.check_profile_name(profile)
    address, saved = config.service_url(service, base_url), read_profiles()
    entry = saved.get(profile, {}).get(service)
    other = entry.get("base_url") if isinstance(entry, dict) else None
    if other is not None and other != address:
        raise ConflictError(
            f"The profile {profile} exists already, for {other}.", "Choose another name."
        )
    with ExitStack() as undo:
        for name, value in secrets.items():
            former = secret_store.saved_secret(service, profile, name)
            undo.callback(_restore, service, profile, name, former)
            if not config.save_secret(service, profile, name, value):
                raise SetupError(
                    "There is no keyring here that stores a secret, so none was created.",
                    f"Add `--json` instead of `--profile`; `%{service} connect {address} --save "
                    f"{profile}` asks for what it prints.",
                )
        config.save_profile(profile, service, address, settings)
        undo.callback(write_profiles, saved)
        yield
        undo.pop_all()


def _restore(service: config.Service, profile: str, name: str, value: str | None) -> None:
    if value is None:
        config.forget_secret(service, profile, name)
    else:
        config.save_secret(service, profile, name, value)
