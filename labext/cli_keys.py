"""Keeps a key that is made for the local job service, as a profile that `%jobs connect` knows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from labext import config, profiles, secret_store
from labext.errors import ConflictError, SetupError
from labext.sandbox import Sandbox


@contextmanager
def kept(profile: str, key: str, data_dir: Path | None) -> Iterator[str]:
    """Keep the key of the sandbox's job service in the keyring, and its address as a profile.

    The key becomes valid in the block; if that fails, what was kept before is kept again.

    Args:
        profile: the name; one that is there already may be the same address's.
        key: as it will be.
        data_dir: where the sandbox lives; None for the usual folder.

    Yields:
        The service's address.

    Raises:
        InputError: `profile` can't be a name.
        NotReadyError: the sandbox does not run, so that its address is not known.
        ConflictError: the profile is there, for another address.
        SetupError: there is no keyring.
    """
    config.check_profile_name(profile)
    address = config.clean_url(Sandbox(data_dir).jobs.base_url)
    known = profiles.read()
    entry = known.get(profile, {}).get("jobs")
    there = entry.get("base_url") if isinstance(entry, dict) else None
    if there is not None and there != address:
        raise ConflictError(
            f"The profile {profile} is there already, for {there}.", "Choose another name."
        )
    with ExitStack() as undo:
        before = secret_store.kept("jobs", profile, "api_key")
        undo.callback(_keep_again, profile, before)
        if not config.save_secret("jobs", profile, "api_key", key):
            raise SetupError(
                "There is no keyring here that keeps the key, so none was made.",
                f"Add `--json` instead of `--profile`; `%jobs connect {address} --save {profile}` "
                "asks for the key that it prints.",
            )
        config.save_profile(profile, "jobs", address)
        undo.callback(profiles.write, known)
        yield address
        undo.pop_all()


def _keep_again(profile: str, key: str | None) -> None:
    if key is None:
        config.forget_secret("jobs", profile, "api_key")
    else:
        config.save_secret("jobs", profile, "api_key", key)
