"""Hands over a secret that is made for a local service: printed once, or kept as a profile.

A secret that is made is never lost and valid at the same time.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from labext import config, profiles, secret_store
from labext.errors import ConflictError, InputError, SetupError


@dataclass(frozen=True)
class Reached:
    """Where a service is, as a profile has it.

    Attributes:
        service: `lab`, `jobs` or `nb`.
        base_url: its address.
        options: as in `config.OPTIONS`.
    """

    service: config.Service
    base_url: str
    options: Mapping[str, str] = field(default_factory=dict)


def handed(
    options: argparse.Namespace,
    secrets: Mapping[str, str],
    reached: Callable[[], Reached],
    make: Callable[[], dict[str, Any]],
) -> dict[str, Any]:
    """Make what the secrets are for, and hand them over as the options say.

    Args:
        options: `json` prints them, `profile` keeps them.
        secrets: by name, as in `secret_store.NAMES`, as they will be.
        reached: where the service is; called only to keep them.
        make: makes them valid.

    Returns:
        What was made, with the profile, or with the secrets where they are to be printed.

    Raises:
        InputError: neither was asked for; or as `kept`.
    """
    if not options.json and options.profile is None:
        raise InputError(
            "A secret is shown or kept only once, when it is made, and neither was asked for.",
            "Add `--profile NAME` to keep it, or `--json` to print it.",
        )
    shown = dict(secrets) if options.json else {}
    if options.profile is None:
        return make() | shown
    there = reached()
    with kept(options.profile, secrets, there):
        made = make()
    return made | {"profile": options.profile, "base_url": there.base_url} | shown


@contextmanager
def kept(profile: str, secrets: Mapping[str, str], reached: Reached) -> Iterator[None]:
    """Keep secrets in the keyring, and where they belong as a profile.

    They become valid in the block; if that fails, what was kept before is kept again.

    Args:
        profile: the name; one that is there already may be the same address's.
        secrets: by name, as they will be.
        reached: where the service is.

    Raises:
        InputError: `profile` can't be a name.
        ConflictError: the profile is there, for another address.
        SetupError: there is no keyring.
    """
    config.check_profile_name(profile)
    service, address = reached.service, config.service_url(reached.service, reached.base_url)
    known = profiles.read()
    entry = known.get(profile, {}).get(service)
    there = entry.get("base_url") if isinstance(entry, dict) else None
    if there is not None and there != address:
        raise ConflictError(
            f"The profile {profile} is there already, for {there}.", "Choose another name."
        )
    with ExitStack() as undo:
        for name, value in secrets.items():
            before = secret_store.kept(service, profile, name)
            undo.callback(_keep_again, service, profile, name, before)
            if not config.save_secret(service, profile, name, value):
                raise SetupError(
                    "There is no keyring here that keeps a secret, so none was made.",
                    f"Add `--json` instead of `--profile`; `%{service} connect {address} --save "
                    f"{profile}` asks for what it prints.",
                )
        config.save_profile(profile, service, address, reached.options)
        undo.callback(profiles.write, known)
        yield
        undo.pop_all()


def _keep_again(service: config.Service, profile: str, name: str, value: str | None) -> None:
    if value is None:
        config.forget_secret(service, profile, name)
    else:
        config.save_secret(service, profile, name, value)
