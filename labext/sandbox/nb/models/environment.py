"""How providers are reached by what the environment says that the service was started with.

`OPENAI_API_KEY` and its like are used where a provider has no credential. Tasks run without them
in their environment, for a task may be anybody's tool; so what the service was started with is kept
until its next start, encrypted, beside the other secrets.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

import orjson
from starlette.exceptions import HTTPException

from labext.redaction import keep_secret
from labext.sandbox.folder import write_secret
from labext.sandbox.nb.models import encryption, locating, variables
from labext.sandbox.nb.models.providers import PROVIDERS, Known
from labext.sandbox.service import Site


@dataclass(frozen=True)
class Given:
    """What the environment says of a provider."""

    base_url: str | None
    key: str | None = field(repr=False)


def take(site: Site, environment: Mapping[str, str] = os.environ) -> None:
    """Keep what the environment says, at a start of the service; forget what an earlier one said.

    Where it can't be encrypted nothing is kept, and the service starts all the same.
    """
    said = {name: environment[name].strip() for name in variables.every() & environment.keys()}
    said = {name: value for name, value in said.items() if value}
    path = site.secrets / "nb_providers"
    path.unlink(missing_ok=True)
    if said and encryption.is_configured(site):
        _mask(said)
        write_secret(path, encryption.sealed(site, orjson.dumps(said)).decode())


def given(site: Site, known: Known) -> Given | None:
    """What the environment says of a provider; None where that is not enough to reach it."""
    return _given(_said(site), known)


def status(site: Site) -> dict[str, bool]:
    """For every provider, whether the environment says how it is reached."""
    said = _said(site)
    return {name: _given(said, known) is not None for name, known in PROVIDERS.items()}


def _given(said: Mapping[str, str], known: Known) -> Given | None:
    key = said.get(variables.key(known.name))
    base_url = said.get(variables.url(known.name))
    if key is None if known.needs_key else base_url is None:
        return None
    try:
        return Given(
            known.base_url if base_url is None else locating.checked(base_url),
            None if key is None else encryption.checked(key),
        )
    except HTTPException:  # no address, or no key
        return None


def _said(site: Site) -> dict[str, str]:
    try:
        kept = (site.secrets / "nb_providers").read_bytes()
    except FileNotFoundError:
        return {}
    try:
        said: dict[str, str] = orjson.loads(encryption.opened(site, kept))
    except (HTTPException, ValueError):  # of an earlier secret
        return {}
    _mask(said)
    return said


def _mask(said: Mapping[str, str]) -> None:
    for name, value in said.items():
        keep_secret(value if name.endswith("_API_KEY") else None)
