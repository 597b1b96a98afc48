"""The key of a provider: from the environment, or asked for; on a line it has no place."""

from __future__ import annotations

from dataclasses import dataclass

from labext.errors import InputError, SetupError
from labext.redaction import keep_secret
from labext.secret_store import from_environment, variable
from labext_magics import asking

_OWN = frozenset({"ollama"})
"""Providers that one runs oneself, and that take no key."""

_OPEN = frozenset({"openai_compatible"})
"""Providers that are a server of an address of its own; some take no key, so none may be typed."""


def check_address(provider: str, base_url: str | None) -> None:
    """Raise InputError for a provider that is reached by an address alone, without one."""
    if base_url is None and provider.casefold().replace("-", "_") in _OPEN:
        raise InputError(
            f"A credential of {provider} needs the server's address.",
            "Add it: `--base-url http://localhost:8000/v1`.",
        )


@dataclass(frozen=True)
class Key:
    """A provider's key, and where it is from.

    Attributes:
        value: the key; None where the provider is to be asked without one.
        source: the variable of the environment that has it; empty where it was typed.
    """

    value: str | None
    source: str = ""

    @property
    def told(self) -> str:
        """Where it is from, at the end of a sentence."""
        return f", with the key of {self.source}" if self.source else ""

    def __repr__(self) -> str:
        return f"Key(source={self.source!r})"


def key_for(provider: str, *, must: bool = False) -> Key:
    """Return the key of a provider: of the environment, else as the user types it.

    Args:
        provider: as the service calls it.
        must: also of a provider that takes none from most.

    Raises:
        SetupError: there is nobody to ask, or nothing was typed.
    """
    folded = provider.casefold().replace("-", "_")
    name = f"{folded}_key"
    if found := from_environment("nb", name):
        keep_secret(found)
        return Key(found, variable("nb", name))
    if folded in _OWN and not must:
        return Key(None)
    without = folded in _OPEN and not must
    hint = " (empty if it takes none)" if without else ""
    try:
        typed = asking.unseen(f"Key of {provider}{hint}: ")
    except asking.NobodyError as nobody:
        also = ", or add `--no-key` for a server that takes none" if without else ""
        raise SetupError(
            f"A credential of {provider} needs a key, and there is nobody here to ask for it.",
            f"Set {variable('nb', name)}, or run this line once where you can type{also}.",
        ) from nobody
    if not typed and not without:
        raise SetupError("No key was given.", "Run the line again and type it.")
    keep_secret(typed or None)
    return Key(typed or None)
