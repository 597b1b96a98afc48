"""Reject secrets that are typed on a line."""

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
    """Check that no option has the name of a secret, else raise InputError."""
    for n, token in enumerate(tokens):
        name, _, value = token.text.partition("=")
        if token.is_option and _NAMES.fullmatch(name.replace("_", "-")):
            _mask_typed(value or (tokens[n + 1].text if n + 1 < len(tokens) else ""))
            raise typed_secret_error(f"`{name}`", service, tokens[0].text)


def refuse_value(text: str, service: str, command: str = "") -> None:
    """Check that an address or a name contains no secret, else raise InputError."""
    try:
        parts = urlsplit(text) if "://" in text else None
    except ValueError:  # such as `http://[`, which the address parser reports
        parts = urlsplit("")
    if parts is not None and (parts.username or parts.password or parts.query):
        _mask_typed(parts.password or "")
        raise typed_secret_error("an address with a user, a password or a query", service, command)
    if parts is None and (_KEY_LIKE.fullmatch(text) or mask(text) != text):
        _mask_typed(text)
        raise typed_secret_error("a key-like string", service, command)


def refuse_name(text: str, service: str, command: str) -> None:
    """Check that a new name does not look like a key.

    Words joined by dashes or underscores may have any length.

    Raises:
        InputError: the name looks like a key.
    """
    if mask(text) != text or (_KEY_LIKE.fullmatch(text) and not re.search("[-_]", text)):
        _mask_typed(text)
        raise typed_secret_error("a key-like string", service, command)


MIN_TYPED_LENGTH = 12
"""Minimum length of a typed key to mask; shorter texts may be ordinary words."""


def _mask_typed(text: str) -> None:
    if len(text) >= MIN_TYPED_LENGTH:
        register_secret(text)


def typed_secret_error(noun: str, service: str, command: str = "") -> InputError:
    """Return the error for a secret on a line, without the secret itself.

    The command distinguishes keys of model providers from keys of the service.
    """
    return InputError(
        f"The line contains {noun}. Lines are saved in the notebook and the history, so it was "
        "not used.",
        "Delete the line, revoke the key if it is a real one, and run "
        f"{_safe_alternative(service, command)}.",
    )


def _safe_alternative(service: str, command: str) -> str:
    if command.startswith(("credentials", "models")):
        return (
            f"`%{service} credentials new PROVIDER --name NAME` without it: the key is read "
            f"from LABEXT_{service.upper()}_<PROVIDER>_KEY, or entered at a prompt"
        )
    names = [
        environment_variable(service, name)
        for name in SECRET_NAMES.get(service, ())
        if name not in PUBLIC_NAMES
    ]
    return (
        f"`%{service} connect` without it: the key is read from {', '.join(names)} or the "
        "keyring, or entered at a prompt"
    )
