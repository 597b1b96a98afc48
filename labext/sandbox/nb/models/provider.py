"""A model's server, and how its failures are told.

What a provider does wrong is a 502 (contract, Errors) with its own words, and its 429 stays a 429
with its Retry-After; the key never shows in them, nor in anything else it says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import format_datetime, parsedate_to_datetime
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException

from labext.redaction import MASK, SHORTEST, mask, mask_only
from labext.sandbox.nb import faults
from labext.sandbox.nb.text import tokens
from labext.steering import tame

if TYPE_CHECKING:
    import requests

CONNECT_SECONDS = 10
LARGEST = 64 << 20
"""Bytes of an answer that are read."""

_LONGEST_WORDS = 300
_LONGEST_WAIT = 5  # digits of a number of seconds

_USUAL_WAIT = "10"
"""Seconds to wait after the 429 of a provider that does not say how long."""


@dataclass(frozen=True)
class Provider:
    """A model's server.

    Attributes:
        name: what it is called in a message.
        base_url: its address, without a slash at the end: `https://api.example/v1`.
        key: sent as `Authorization: Bearer …`; None where it asks for none.
        seconds: that an answer may take.
        on_refusal: what to do where it doesn't accept the key, a sentence.
    """

    name: str
    base_url: str
    key: str | None = field(repr=False)
    seconds: float
    on_refusal: str = "Check its key."


def too_long(provider: Provider) -> HTTPException:
    """502: the provider's answer has no end."""
    return faults.external(f"{_named(provider)} answered more than {LARGEST:,} bytes.")


def nonsense(provider: Provider, said: str) -> HTTPException:
    """502: the provider's answer is not what was asked for."""
    if said.strip() in ("", "null"):
        return faults.external(f"{_named(provider)} answered nothing. Try again, or ask another.")
    return faults.external(
        f"{_named(provider)} answered “{_quoted(provider, said)}”, which is not what an "
        "OpenAI-compatible server answers. Check its address."
    )


def without_key(provider: Provider, text: str) -> str:
    """A text without the provider's key; a short one is looked for as a word of its own."""
    key = provider.key
    if not key:
        return text
    if len(key) >= SHORTEST:
        return mask_only(text, key)
    return re.sub(rf"(?<!\w){re.escape(key)}(?!\w)", MASK, text)


def unreached(provider: Provider, error: Exception) -> HTTPException:
    """502: there was no answer, or not all of it."""
    import requests  # takes its time

    if isinstance(error, requests.ConnectTimeout):
        what = f"did not answer within {CONNECT_SECONDS} seconds. See that it runs."
    elif isinstance(error, requests.Timeout):
        what = (
            f"did not answer within {provider.seconds:g} seconds. Try again, or allow more: "
            "`labext sandbox nb limits set model_seconds`."
        )
    elif isinstance(error, requests.exceptions.ChunkedEncodingError):
        what = "broke off its answer. Try again."
    elif isinstance(error, requests.exceptions.SSLError):
        what = "can't be trusted: its certificate does not hold. Check its address."
    else:
        what = "can't be reached. See that it runs, and check its address."
    return faults.external(f"{_named(provider)} {what}")


def forbidden(provider: Provider) -> HTTPException:
    """502: the provider's address may not be connected to."""
    return faults.external(
        f"{_named(provider)} is at a link-local address or a cloud's metadata service, to which "
        "nothing is sent. Check its address."
    )


def refused(provider: Provider, response: requests.Response, text: str) -> HTTPException:
    """Return the error of a provider that answered one: 429 for its 429, else 502."""
    quoted = _quoted(provider, _words(text)) or response.reason or "nothing more"
    said = f"{_named(provider)} answered {response.status_code}: “{quoted}”."
    if response.status_code in (401, 403):
        return faults.external(f"{said} {provider.on_refusal}")
    if 300 <= response.status_code < 400:
        return faults.external(
            f"{said} It sends elsewhere, which is not followed; check its address."
        )
    if response.status_code == 429:
        return faults.too_many(
            f"{said} Wait a little, then try again.", _retry_after(response.headers)
        )
    return faults.external(f"{said} Try again, or choose another model.")


def _retry_after(headers: Mapping[str, str]) -> str:
    """Return for how long a provider wants to be left alone: seconds or a date, as it says."""
    value = headers.get("Retry-After", "").strip()
    if value.isdecimal() and len(value) <= _LONGEST_WAIT:
        return value
    try:
        return format_datetime(parsedate_to_datetime(value).astimezone(UTC), usegmt=True)
    except (ValueError, TypeError):
        return _USUAL_WAIT


def _named(provider: Provider) -> str:
    return f"The model's server {provider.name} ({mask(provider.base_url)})"


def quoted(text: str) -> str:
    """What a model or its server said, as it is told: one line, of a bounded length, no secret."""
    line = " ".join(tame(mask(tokens.encodable(text))).split())
    return line if len(line) <= _LONGEST_WORDS else f"{line[:_LONGEST_WORDS]}…"


def _quoted(provider: Provider, text: str) -> str:
    return quoted(without_key(provider, tokens.encodable(text)))


def _words(text: str) -> str:
    """What an error's body says: its message, wherever servers put it, or else all of it."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    for name in ("error", "message", "detail"):
        if isinstance(found, dict) and found.get(name):
            found = found[name]
    return found if isinstance(found, str) else text
