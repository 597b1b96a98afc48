"""Create and hash API keys; sign expiring URLs and pagination cursors."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable
from typing import Any

from itsdangerous import BadSignature, URLSafeSerializer
from itsdangerous import Signer as _Signer

from labext.redaction import register_secret


def new_key(prefix: str = "") -> str:
    """Create a random key of 256 bits after a prefix such as `sk_`; mask it in all messages."""
    key = prefix + secrets.token_urlsafe(32)
    register_secret(key)
    return key


def hash_key(key: str) -> str:
    """Return the stored hash of a key. Keys are long and random, so a plain hash is enough."""
    return hashlib.sha256(key.encode()).hexdigest()


class InvalidSignatureError(ValueError):
    """A signature does not match, or the signed data was changed."""


class ExpiredSignatureError(InvalidSignatureError):
    """The signature is valid, but has expired."""


class Signer:
    """Sign with one secret key; `purpose` separates the signatures of different uses.

    Attributes:
        clock: seconds since the epoch; tests set it.
    """

    def __init__(self, key: str, clock: Callable[[], float] = time.time) -> None:
        self._key = key
        self.clock = clock

    def presign(self, path: str, seconds: float) -> str:
        """Return the query string of a presigned URL of `path`, valid for `seconds`."""
        expires = int(self.clock() + seconds)
        signature = self._signer().get_signature(f"{path}\n{expires}".encode())
        return f"expires={expires}&signature={signature.decode()}"

    def check_presigned(self, path: str, expires: str | None, signature: str | None) -> None:
        """Check a query made by `presign`.

        Raises:
            InvalidSignatureError: it was created for another path or by another key, or changed.
            ExpiredSignatureError: it has expired.
        """
        if not expires or not signature or not expires.isascii() or not expires.isdigit():
            raise InvalidSignatureError("The address carries no valid signature.")
        # Bounded, as int() raises another error for thousands of digits.
        moment = int(expires[:15])
        signed = f"{path}\n{moment}"
        if not self._signer().verify_signature(signed.encode(), signature):
            raise InvalidSignatureError("The address carries no valid signature.")
        if self.clock() >= moment:
            raise ExpiredSignatureError("The address has expired.")

    def seal(self, value: Any, purpose: str) -> str:
        """Serialize and sign a JSON value, such as a cursor."""
        return str(URLSafeSerializer(self._key, salt=f"labext.{purpose}").dumps(value))

    def unseal(self, text: str, purpose: str) -> Any:
        """Return the value of a text created by `seal` for this purpose.

        Raises:
            InvalidSignatureError: it is none.
        """
        try:
            return URLSafeSerializer(self._key, salt=f"labext.{purpose}").loads(text)
        except BadSignature:
            raise InvalidSignatureError("The text was not issued by this service.") from None

    def _signer(self) -> _Signer:
        return _Signer(self._key, salt="labext.presigned")
