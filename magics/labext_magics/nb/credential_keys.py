"""Keys of model providers, from the environment or typed by the user."""

from __future__ import annotations

from dataclasses import dataclass

from labext.config.secret_store import environment_variable, from_environment
from labext.errors import InputError, SetupError
from labext.redaction import register_secret
from labext_magics.core import sign_in

_WITHOUT_KEY = frozenset({"ollama", "lmstudio", "vllm", "piper"})
"""Providers that require no key."""

_WITH_ADDRESS = frozenset({"openai_compatible", "azure"})
"""Providers that require the address of a server."""

_OPTIONAL_KEY = frozenset({"openai_compatible"})
"""Providers for which a key is optional."""


def check_address(provider: str, base_url: str | None) -> None:
    """Check that a provider has the required address, else raise InputError."""
    if base_url is None and provider.casefold().replace("-", "_") in _WITH_ADDRESS:
        raise InputError(
            f"A credential of {provider} needs the server's address.",
            "Add it: `--base-url http://localhost:8000/v1`.",
        )


@dataclass(frozen=True)
class Key:
    """A provider's key and its origin.

    Attributes:
        value: the key; None for a provider without a key.
        source: the environment variable with the key; empty if the key was typed.
    """

    value: str | None
    source: str = ""

    @property
    def origin(self) -> str:
        """A suffix for messages with the environment variable; empty if the key was typed."""
        return f", using the key in {self.source}" if self.source else ""

    def __repr__(self) -> str:
        return f"Key(source={self.source!r})"


def key_for(provider: str, *, required: bool = False) -> Key:
    """Return the key of a provider from the environment, or prompt the user for it.

    Args:
        provider: the service's name of the provider.
        required: True to require a key even if the provider needs none.

    Raises:
        SetupError: input is not possible, or the input was empty.
    """
    folded = provider.casefold().replace("-", "_")
    name = f"{folded}_key"
    if value := from_environment("nb", name):
        register_secret(value)
        return Key(value, environment_variable("nb", name))
    if folded in _WITHOUT_KEY and not required:
        return Key(None)
    optional = folded in _OPTIONAL_KEY and not required
    hint = " (leave empty if none is needed)" if optional else ""
    try:
        typed = sign_in.prompt_secret(f"Key of {provider}{hint}: ")
    except sign_in.NonInteractiveError as unavailable:
        suffix = ", or add `--no-key` for a server without a key" if optional else ""
        raise SetupError(
            f"A credential of {provider} needs a key, but input is not possible here.",
            f"Set {environment_variable('nb', name)}, or run this line once in an interactive "
            f"session{suffix}.",
        ) from unavailable
    if not typed and not optional:
        raise SetupError("No key was entered.", "Run the line again and enter it.")
    register_secret(typed or None)
    return Key(typed or None)
