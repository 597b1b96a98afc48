"""A user's API key, as the user of HTTP Basic with an empty password (contract, method 1)."""

from __future__ import annotations

import re
from hashlib import sha256

from requests import PreparedRequest

from labext.errors import InputError
from labext.lab.address import check_https
from labext.transport.auth import BasicKey, clean_secret

_HEADER = re.compile(r"(?i)(?:authorization\s*:|basic\s|bearer\s)")
_TOKEN = re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]*")


class ApiKey(BasicKey):
    """A user's key; what is done with it counts as done by that user.

    Args:
        key: as the profile settings showed it; blanks around it are left out.

    Raises:
        InputError: it can't be a key: empty, with blanks or a colon within, a whole header, or a
            token of one of the other ways to sign in. It is not sent then.
    """

    method = "key"

    def __init__(self, key: str) -> None:
        key = clean_secret(key, "key")
        wrong = _wrong(key)
        if wrong is not None:
            raise InputError(*wrong)
        super().__init__(key)
        self.identity = f"key {sha256(key.encode()).hexdigest()[:16]}"

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Add the header."""
        check_https(request.url or "")
        return super().__call__(request)


def _wrong(key: str) -> tuple[str, str] | None:
    """Return why a text is no key, and what to do; None where it may be one."""
    if _HEADER.match(key):
        return "That is a whole header, not a key.", "Give what stands in it as the key alone."
    if _TOKEN.fullmatch(key):
        return (
            "That is a token, not an API key.",
            "Sign in with `%lab login --method oidc`, or take a key from the profile settings.",
        )
    if re.search(r"\s", key):
        return "The key has blanks within.", "Copy the key again: it is one word."
    if ":" in key:
        return "The key has a colon within.", "Give the key alone, without a password."
    if key[0] in "\"'`<" or key[-1] in "\"'`>":
        return "The key stands in quotes.", "Give the key without them."
    return None
