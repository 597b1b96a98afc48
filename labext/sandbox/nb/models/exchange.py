"""One exchange with a model's server: what is sent, how long it may take, how it fails.

Whatever a provider does wrong is a 502 (contract, Errors) with its own words; the key never shows
in them, nor in anything else it says.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import orjson
import requests
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from starlette.exceptions import HTTPException

from labext.redaction import MASK, SHORTEST, mask
from labext.sandbox.nb import faults
from labext.sandbox.nb.models.line import Line
from labext.steering import tame

CONNECT_SECONDS = 10
LARGEST = 64 << 20
"""Bytes of an answer that are read."""

_LONGEST_WORDS = 300
_HERE = {"localhost", "127.0.0.1", "::1"}


@dataclass(frozen=True)
class Provider:
    """A model's server.

    Attributes:
        name: what it is called in a message.
        base_url: its address, without a slash at the end: `https://api.example/v1`.
        key: sent as `Authorization: Bearer …`; None where it asks for none.
        seconds: that an answer may take.
    """

    name: str
    base_url: str
    key: str | None = field(repr=False)
    seconds: float


def post(provider: Provider, path: str, body: Mapping[str, Any], line: Line | None = None) -> Any:
    """Send JSON to a provider, and return the JSON that it answers.

    Args:
        provider: where to.
        path: below its address: `/chat/completions`.
        body: what is sent.
        line: may be hung up while it waits.

    Raises:
        HTTPException: 502, it could not be reached, or did not answer well.
        HungUp: nobody waits any more.
    """
    line = line or Line()
    line.check()
    with _session(line) as session:
        # A proxy of the environment has nothing to do with this machine.
        session.trust_env = urlsplit(provider.base_url).hostname not in _HERE
        try:
            with session.post(
                f"{provider.base_url}{path}",
                data=orjson.dumps(body),
                headers={"Content-Type": "application/json", "Accept": "application/json"},
                auth=_Key(provider.key),
                timeout=(CONNECT_SECONDS, provider.seconds),
                allow_redirects=False,
                stream=True,
            ) as response:
                content = _content(provider, response)
        except (requests.RequestException, OSError) as error:
            line.check()
            raise _unreached(provider, error) from None
    text = content.decode("utf-8", "replace")
    if not 200 <= response.status_code < 300:
        raise _refused(provider, response, text)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise nonsense(provider, text) from None


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
        for form in {key, json.dumps(key)[1:-1]}:
            text = text.replace(form, MASK)
        return text
    return re.sub(rf"(?<!\w){re.escape(key)}(?!\w)", MASK, text)


class _Key(AuthBase):
    """The key and nothing else: without it, requests would look into the user's .netrc."""

    def __init__(self, key: str | None) -> None:
        self._key = key

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._key is not None:
            request.headers["Authorization"] = f"Bearer {self._key}"
        return request


def _session(line: Line) -> requests.Session:
    session = requests.Session()
    for scheme in ("http://", "https://"):
        session.mount(scheme, _Adapter(line))
    return session


class _Adapter(HTTPAdapter):
    """Tells a line of every connection that it opens."""

    def __init__(self, line: Line) -> None:
        self._line = line
        super().__init__()

    def get_connection_with_tls_context(self, *arguments: Any, **options: Any) -> Any:
        pool: Any = super().get_connection_with_tls_context(*arguments, **options)
        line, plain = self._line, pool.ConnectionCls

        class Known(plain):  # type: ignore[misc, valid-type]
            def connect(self) -> None:
                super().connect()
                line.opened(self)

        pool.ConnectionCls = Known
        return pool


def _content(provider: Provider, response: requests.Response) -> bytes:
    return b"".join(_bounded(provider, response))


def _bounded(provider: Provider, response: requests.Response) -> Iterator[bytes]:
    """The body's parts, within the time and the size that an answer may take."""
    until = time.monotonic() + provider.seconds
    size = 0
    for part in response.iter_content(1 << 16):
        size += len(part)
        if size > LARGEST:
            raise faults.external(f"{_named(provider)} answered more than {LARGEST:,} bytes.")
        if time.monotonic() > until:
            raise requests.Timeout
        yield part


def _unreached(provider: Provider, error: Exception) -> HTTPException:
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


def _refused(provider: Provider, response: requests.Response, text: str) -> HTTPException:
    words = _quoted(provider, _words(text)) or response.reason or "nothing more"
    said = f"{_named(provider)} answered {response.status_code}: “{words}”."
    if response.status_code in (401, 403):
        return faults.external(
            f"{said} Check the model's key: `labext sandbox nb models key NAME` gives it another."
        )
    if response.status_code == 429:
        return faults.external(f"{said} Wait a little, then try again.")
    return faults.external(f"{said} Try again, or choose another model.")


def _named(provider: Provider) -> str:
    return f"The model's server {provider.name} ({mask(provider.base_url)})"


def _quoted(provider: Provider, text: str) -> str:
    """A provider's words as they are told: one line, of a bounded length, without a secret."""
    line = " ".join(tame(mask(without_key(provider, text))).split())
    return line if len(line) <= _LONGEST_WORDS else f"{line[:_LONGEST_WORDS]}…"


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
