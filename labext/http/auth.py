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


class HeaderAuth(requests.auth.AuthBase):
    """Authentication by a secret in a header."""

    def __init__(self, header: str, value: str) -> None:
        self._header = header
        self._value = value

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Add the header."""
        request.headers[self._header] = self._value
        return request

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class ApiKeyAuth(HeaderAuth):
    """API key in the header `x-api-key` (JOBS-1)."""

    def __init__(self, key: str) -> None:
        super().__init__("x-api-key", clean_secret(key, "key"))


class BearerAuth(HeaderAuth):
    """Token or password in the header `Authorization: Bearer …`."""

    def __init__(self, token: str) -> None:
        super().__init__("Authorization", f"Bearer {clean_secret(token, 'password')}")


class BasicKeyAuth(HeaderAuth):
    """API key as the user name of HTTP Basic, with an empty password."""

    def __init__(self, key: str) -> None:
        pair = b64encode(f"{clean_secret(key, 'key')}:".encode()).decode("ascii")
        register_secret(pair)
        super().__init__("Authorization", f"Basic {pair}")


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
