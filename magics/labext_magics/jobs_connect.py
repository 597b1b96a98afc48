"""`%jobs connect`, `login` and `status`: which service, with which key, and whether it answers."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from labext import config, wording
from labext.config import SANDBOX, Connection
from labext.errors import AccessError, InputError, SetupError, SignInError
from labext.secret_store import from_environment
from labext_magics import output, secrets
from labext_magics.dispatch import Call

if TYPE_CHECKING:
    import pandas as pd

_COUNTED = 1000


def connect(
    call: Call,  # noqa: ARG001 - every command gets a call
    *,
    where: str,
    save: str | None,
    keep: bool,
    ca_bundle: Path | None,
) -> None:
    """Use a service for this session, once it has accepted the key."""
    if save is not None:
        config.check_profile_name(save)
    target = _by_address(where, save, ca_bundle) if "://" in where else _by_name(where)
    if "://" not in where and (save or ca_bundle):
        raise InputError(
            f"`--save` and `--ca-bundle` go with an address, and {where} is a profile.",
            f"Use the profile as it is: `%jobs connect {where}`.",
        )
    _sign_in(target, keep=keep, save=save)


def login(call: Call, *, keep: bool) -> None:  # noqa: ARG001 - every command gets a call
    """Check the key of the service in use; ask for another one if it isn't accepted."""
    _sign_in(config.connection("jobs"), keep=keep, save=None)


def status(call: Call) -> pd.DataFrame:
    """Return where the service is, and what it has: never a secret."""
    import pandas as pd

    found, jobs = call.session.connected()
    tools = sum(1 for _ in jobs.iter_tools())
    listed = jobs.jobs(limit=_COUNTED)  # a split batch is one row, as in `%jobs list`
    states = Counter(
        str(job if pd.isna(batch) else batch)
        for job, batch in zip(listed["JobStatus"], listed["batchStatus"], strict=True)
    )
    counted = len(listed)
    rows = {
        "profile": found.profile or "none (environment, or connected by address)",
        "address": found.base_url,
        "answers": "yes, and accepts the key",
        "tools": f"{tools:,}",
        "jobs and batches": f"{counted:,}" + (" or more" if counted == _COUNTED else ""),
        **{f"  {state}": f"{number:,}" for state, number in states.most_common()},
    }
    return pd.DataFrame({"value": list(rows.values())}, index=pd.Index(list(rows), name="jobs"))


def _by_name(name: str) -> Connection:
    if name not in config.profiles():
        secrets.refuse_value(name)
    return config.connection("jobs", name)


def _by_address(where: str, save: str | None, ca_bundle: Path | None) -> Connection:
    """Return how to reach an address, with the key that belongs to it if one is known."""
    secrets.refuse_value(where)
    url = config.clean_url(where)
    options = {} if ca_bundle is None else {"ca_bundle": str(_file(ca_bundle))}
    known = None if save is None else _saved(save)
    if known is not None:
        if known.base_url.rstrip("/") != url.rstrip("/"):
            raise InputError(
                f"The profile {save} is there already, for {known.base_url}.",
                "Choose another name, or change the address in the profile's file.",
            )
        return replace(known, options={**known.options, **options})
    own = from_environment("jobs", "base_url") or url
    key = from_environment("jobs", "api_key") if own.rstrip("/") == url.rstrip("/") else None
    return Connection("jobs", save, url, {"api_key": key} if key else {}, options)


def _saved(name: str) -> Connection | None:
    """Return what a profile says of the job service, if it is there and says anything."""
    if name not in config.profiles():
        return None
    try:
        return config.connection("jobs", name)
    except SetupError:
        return None  # a profile of other services


def _file(path: Path) -> Path:
    if not path.is_file():
        raise InputError(f"There is no file {path}.", "Give the path of a PEM file.")
    return path.absolute()


def _sign_in(target: Connection, *, keep: bool, save: str | None) -> None:
    """Check the key by a request, then use the service and keep what is to be kept."""
    if keep and (target.profile is None or target.profile == SANDBOX):
        raise InputError(
            "`--keep` keeps the key under the name of a profile of yours, and there is none.",
            "Connect with `--save NAME --keep`.",
        )
    accepted, tools = _accepted(target)
    if save is not None:
        config.save_profile(save, "jobs", accepted.base_url, accepted.options)
    held = ""
    if keep and not config.save_secret(
        "jobs", accepted.profile, "api_key", accepted.secrets["api_key"]
    ):
        held = " There is no keyring here: the key is held for this session only."
    _use(accepted)
    output.say(f"Connected to {accepted.base_url}: {wording.count(tools, 'tool')}.{held}")


def _use(accepted: Connection) -> None:
    """Choose the profile if it says all there is to know; else hold what was typed."""
    name = accepted.profile
    if name in config.profiles() and config.connection("jobs", name) == accepted:
        config.choose_profile("jobs", name)
    else:
        config.use(accepted)


def _accepted(target: Connection) -> tuple[Connection, int]:
    """Return the connection with a key that the service has accepted, and its number of tools.

    It is asked without a key first where none is known: whether it is there at all shows then.
    """
    key = target.secrets.get("api_key")
    given = target.profile == SANDBOX or (
        key is not None and key == from_environment("jobs", "api_key")
    )
    try:
        return target, _ask_service(target)
    except (SignInError, AccessError) as refusal:
        if given or (key is not None and isinstance(refusal, AccessError)):
            raise
        if key is not None:
            output.say("The key that was kept is not accepted.")
    asked = replace(target, secrets={**target.secrets, "api_key": _ask_user(target.base_url)})
    return asked, _ask_service(asked)


def _ask_service(target: Connection) -> int:
    from labext.jobs import JobsClient

    with JobsClient.reached(target) as client:
        return sum(1 for _ in client.iter_tools())


def _ask_user(base_url: str) -> str:
    """Ask for a key without an echo; SetupError where there is nobody to ask."""
    import getpass
    import warnings

    from labext.redaction import keep_secret

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", getpass.GetPassWarning)
            key = getpass.getpass(f"Key for {base_url}: ").strip()
    except (NotImplementedError, EOFError, OSError, getpass.GetPassWarning) as error:
        raise SetupError(
            f"The service at {base_url} needs a key, and there is nobody here to ask for it.",
            "Set LABEXT_JOBS_API_KEY, or keep the key in the keyring: run "
            "`%jobs connect URL --save NAME --keep` once where you can type.",
        ) from error
    if not key:
        raise SetupError("No key was given.", "Run the line again and type the key.")
    keep_secret(key)
    return key
