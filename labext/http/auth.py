"""Authentication by API key, bearer token or HTTP Basic."""

from __future__ import annotations

from base64 import b64encode

import requests.auth
from requests import PreparedRequest

from labext.errors import InputError
from labext.redaction import register_secret


class RefreshableAuth(requests.auth.AuthBase):
    """Authentication with a token that is fetched before the request waits for the rate limit."""

    def ready(self) -> None:
        """Fetch credentials for the next request if necessary.

        Raises:
            LabextError: the credentials can't be obtained.
        """
        raise NotImplementedError


class ApiKeyAuth(requests.auth.AuthBase):
    """API key in the header `x-api-key` (JOBS-1)."""

    def __init__(self, key: str) -> None:
        self._key = clean_secret(key, "key")

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Add the header."""
        request.headers["x-api-key"] = self._key
        return request

    def __repr__(self) -> str:
        return f"{type(self).__name__}(x-api-key)"


class BearerAuth(requests.auth.AuthBase):
    """Token or password in the header `Authorization: Bearer …`."""

    def __init__(self, token: str) -> None:
        self._token = clean_secret(token, "password")

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Add the header."""
        request.headers["Authorization"] = f"Bearer {self._token}"
        return request

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class BasicKeyAuth(requests.auth.AuthBase):
    """API key as the user name of HTTP Basic, with an empty password."""

    def __init__(self, key: str) -> None:
        pair = f"{clean_secret(key, 'key')}:".encode()
        self._pair = b64encode(pair).decode("ascii")
        register_secret(self._pair)

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Add the header."""
        request.headers["Authorization"] = f"Basic {self._pair}"
        return request

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def clean_secret(secret: str, label: str) -> str:
    """Strip a secret, register it for masking, and return it.

    Raises:
        InputError: the secret is empty or has characters that are invalid in a header. `requests`
            would raise an error that contains the secret.
    """
    secret = secret.strip() if isinstance(secret, str) else ""
    register_secret(secret)
    if not secret:
        raise InputError(f"The {label} is empty.", f"Give the {label} that the service gave you.")
    if not (secret.isascii() and secret.isprintable()):
        raise InputError(
            f"The {label} holds characters that no {label} has.",
            f"Copy the {label} again, without line breaks and typographic quotes.",
        )
    return secret
