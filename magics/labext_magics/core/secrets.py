"""Refuse secrets that are typed on a line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from labext.config.secret_store import PUBLIC_NAMES, SECRET_NAMES, environment_variable
from labext.errors import InputError
from labext.redaction import mask, register_secret
from labext_magics.core.line import Token

_NAMES = re.compile(
    r"--(?:x-)?(?:(?:api|access|auth|client|id|refresh|service)-?)?"
    r"(?:key|token|secret|password|passwd)",
    re.IGNORECASE,
)
_KEY_LIKE = re.compile(r"(?=[^/\\.:]*\d)(?=[^/\\.:]*[A-Za-z])[A-Za-z0-9+=_-]{16,}")


def refuse_options(tokens: Sequence[Token], service: str) -> None:
    """Raise InputError for an option that would hold a secret, with any command."""
    for place, token in enumerate(tokens):
        name, _, value = token.text.partition("=")
        if token.is_option and _NAMES.fullmatch(name.replace("_", "-")):
            _advice(value or (tokens[place + 1].text if place + 1 < len(tokens) else ""))
            raise refusal(f"`{name}`", service, tokens[0].text)


def refuse_value(text: str, service: str, command: str = "") -> None:
    """Raise InputError if an address or a name is, or contains, a key-like string."""
    try:
        parts = urlsplit(text) if "://" in text else None
    except ValueError:  # `http://[`: the parser of the address reports it
        parts = urlsplit("")
    if parts is not None and (parts.username or parts.password or parts.query):
        _advice(parts.password or "")
        raise refusal("an address with a user, a password or a query", service, command)
    if parts is None and (_KEY_LIKE.fullmatch(text) or mask(text) != text):
        _advice(text)
        raise refusal("a key-like string", service, command)


def refuse_name(text: str, service: str, command: str) -> None:
    """Raise InputError if a new name looks like a key.

    Words joined by dashes or underscores are allowed at any length.
    """
    if mask(text) != text or (_KEY_LIKE.fullmatch(text) and not re.search("[-_]", text)):
        _advice(text)
        raise refusal("a key-like string", service, command)


SHORTEST_TYPED = 12
"""Minimum length of typed text that is masked as a key; shorter texts may be words."""


def _advice(text: str) -> None:
    if len(text) >= SHORTEST_TYPED:
        register_secret(text)


def refusal(noun: str, service: str, command: str = "") -> InputError:
    """Return the error for a secret on a line, without repeating the secret.

    `command` tells the keys of model providers from those of the service.
    """
    return InputError(
        f"The line contains {noun}. Lines are saved in the notebook and the history, so it was "
        "not used.",
        "Delete the line, revoke the key if it is a real one, and run "
        f"{_safe_way(service, command)}.",
    )


def _safe_way(service: str, command: str) -> str:
    if command.startswith(("credentials", "models")):
        return (
            f"`%{service} credentials new PROVIDER --name NAME` without it: the key is read "
            f"from LABEXT_{service.upper()}_<PROVIDER>_KEY, or asked for"
        )
    names = [
        environment_variable(service, name)
        for name in SECRET_NAMES.get(service, ())
        if name not in PUBLIC_NAMES
    ]
    return (
        f"`%{service} connect` without it: the key is read from {', '.join(names)} or the "
        "keyring, or asked for"
    )
