"""Keys of providers: taken from the environment, or typed by the user."""

from __future__ import annotations

from dataclasses import dataclass

from labext.config.secret_store import environment_variable, from_environment
from labext.errors import InputError, SetupError
from labext.redaction import register_secret
from labext_magics.core import sign_in

_OWN = frozenset({"ollama"})
"""Providers run by the user, which require no key."""

_ADDRESSED = frozenset({"openai_compatible", "azure"})
"""Providers identified by the address of a server."""

_OPEN = frozenset({"openai_compatible"})
"""Providers identified by the address of a server, for which a key is optional."""


def check_address(provider: str, base_url: str | None) -> None:
    """Raise InputError if the provider requires a server address and none is given."""
    if base_url is None and provider.casefold().replace("-", "_") in _ADDRESSED:
        raise InputError(
            f"A credential of {provider} needs the server's address.",
            "Add it: `--base-url http://localhost:8000/v1`.",
        )


@dataclass(frozen=True)
class Key:
    """A provider's key and its origin.

    Attributes:
        value: the key, or None for a provider without one.
        source: the environment variable that holds it; empty if it was typed.
    """

    value: str | None
    source: str = ""

    @property
    def origin(self) -> str:
        """The key's origin, as the end of a sentence."""
        return f", using the key in {self.source}" if self.source else ""

    def __repr__(self) -> str:
        return f"Key(source={self.source!r})"


def key_for(provider: str, *, must: bool = False) -> Key:
    """Return the key of a provider, from the environment or typed by the user.

    Args:
        provider: the service's name of the provider.
        must: ask for a key even if the provider usually needs none.

    Raises:
        SetupError: input is not possible, or the answer was empty.
    """
    folded = provider.casefold().replace("-", "_")
    name = f"{folded}_key"
    if value := from_environment("nb", name):
        register_secret(value)
        return Key(value, environment_variable("nb", name))
    if folded in _OWN and not must:
        return Key(None)
    without = folded in _OPEN and not must
    hint = " (leave empty if none is needed)" if without else ""
    try:
        typed = sign_in.prompt_secret(f"Key of {provider}{hint}: ")
    except sign_in.NonInteractiveError as unavailable:
        suffix = ", or add `--no-key` for a server without a key" if without else ""
        raise SetupError(
            f"A credential of {provider} needs a key, but input is not possible here.",
            f"Set {environment_variable('nb', name)}, or run this line once where you can enter "
            f"it{suffix}.",
        ) from unavailable
    if not typed and not without:
        raise SetupError("No key was entered.", "Run the line again and enter it.")
    register_secret(typed or None)
    return Key(typed or None)
