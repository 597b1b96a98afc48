"""Resolve the server and key of a model, and describe its failures."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import format_datetime, parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Select, select
from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException

from labext.frames.sanitize import strip_control
from labext.redaction import MASK, MIN_SECRET_LENGTH, mask, mask_only
from labext.sandbox.core import provider_variables
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import errors
from labext.sandbox.nb.providers import provider_keys, registry
from labext.sandbox.nb.providers.provider_keys import decrypt_key, key_error
from labext.sandbox.nb.providers.registry import PROVIDERS, ProviderInfo
from labext.sandbox.nb.settings import get_limit
from labext.sandbox.nb.tables import Credential, Model
from labext.sandbox.nb.text import segmentation

if TYPE_CHECKING:
    import requests

CONNECT_SECONDS = 10
MAX_RESPONSE_BYTES = 64 << 20
"""Bytes of an answer that are read."""

_MAX_QUOTE_LENGTH = 300
_MAX_WAIT_DIGITS = 5  # digits of a number of seconds

_DEFAULT_RETRY_AFTER = "10"
"""Seconds to wait after the 429 of a provider that does not say how long."""


@dataclass(frozen=True)
class ProviderServer:
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


def response_too_long(provider: ProviderServer) -> HTTPException:
    """502: the provider's answer has no end."""
    return errors.bad_gateway(
        f"{_server_name(provider)} answered more than {MAX_RESPONSE_BYTES:,} bytes."
    )


def invalid_response(provider: ProviderServer, said: str) -> HTTPException:
    """502: the provider's answer is not what was asked for."""
    if said.strip() in ("", "null"):
        return errors.bad_gateway(
            f"{_server_name(provider)} answered nothing. Try again, or ask another."
        )
    return errors.bad_gateway(
        f"{_server_name(provider)} answered “{_quote(provider, said)}”, which is not what an "
        "OpenAI-compatible server answers. Check its address."
    )


def remove_key(provider: ProviderServer, text: str) -> str:
    """A text without the provider's key; a short one is looked for as a word of its own."""
    key = provider.key
    if not key:
        return text
    if len(key) >= MIN_SECRET_LENGTH:
        return mask_only(text, key)
    return re.sub(rf"(?<!\w){re.escape(key)}(?!\w)", MASK, text)


def connection_failed(provider: ProviderServer, error: Exception) -> HTTPException:
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
    return errors.bad_gateway(f"{_server_name(provider)} {what}")


def forbidden_address(provider: ProviderServer) -> HTTPException:
    """502: the provider's address may not be connected to."""
    return errors.bad_gateway(
        f"{_server_name(provider)} is at a link-local address or a cloud's metadata service, to "
        "which "
        "nothing is sent. Check its address."
    )


def error_response(
    provider: ProviderServer, response: requests.Response, text: str
) -> HTTPException:
    """Return the error of a provider that answered one: 429 for its 429, else 502."""
    quoted = _quote(provider, _error_message(text)) or response.reason or "nothing more"
    said = f"{_server_name(provider)} answered {response.status_code}: “{quoted}”."
    if response.status_code in (401, 403):
        return errors.bad_gateway(f"{said} {provider.on_refusal}")
    if 300 <= response.status_code < 400:
        return errors.bad_gateway(
            f"{said} It sends elsewhere, which is not followed; check its address."
        )
    if response.status_code == 429:
        return errors.too_many_requests(
            f"{said} Wait a little, then try again.", _retry_after(response.headers)
        )
    return errors.bad_gateway(f"{said} Try again, or choose another model.")


def _retry_after(headers: Mapping[str, str]) -> str:
    """Return for how long a provider wants to be left alone: seconds or a date, as it says."""
    value = headers.get("Retry-After", "").strip()
    if value.isdecimal() and len(value) <= _MAX_WAIT_DIGITS:
        return value
    try:
        return format_datetime(parsedate_to_datetime(value).astimezone(UTC), usegmt=True)
    except (ValueError, TypeError):
        return _DEFAULT_RETRY_AFTER


def _server_name(provider: ProviderServer) -> str:
    return f"The model's server {provider.name} ({mask(provider.base_url)})"


def quote_reply(text: str) -> str:
    """What a model or its server said, as it is told: one line, of a bounded length, no secret."""
    line = " ".join(strip_control(mask(segmentation.encodable(text))).split())
    return line if len(line) <= _MAX_QUOTE_LENGTH else f"{line[:_MAX_QUOTE_LENGTH]}…"


def _quote(provider: ProviderServer, text: str) -> str:
    return quote_reply(remove_key(provider, segmentation.encodable(text)))


def _error_message(text: str) -> str:
    """What an error's body says: its message, wherever servers put it, or else all of it."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    for name in ("error", "message", "detail"):
        if isinstance(found, dict) and found.get(name):
            found = found[name]
    return found if isinstance(found, str) else text


MAX_LISTING_SECONDS = 30
"""That a server may take to say which models it has."""


def server_of_model(site: Site, model: Model) -> ProviderServer:
    """The server of a model, with its key.

    Raises:
        HTTPException: 422, it has none, or a key that can't be read.
    """
    with site.database.read() as session:
        if model.credential_id is not None:
            credential = session.get(Credential, model.credential_id)
        else:
            credential = first_credential(session, model.provider)
        seconds = get_limit(session, "model_seconds")
    if credential is not None:
        return server_of_credential(site, credential, seconds)
    return server_of_environment(site, model.provider, seconds)


def listing_servers(site: Site, provider: str) -> Iterator[tuple[str | None, ProviderServer]]:
    """Every server of a provider that may be asked for its models, and its credential's identifier.

    Raises:
        HTTPException: 422, there is none, or one that can't be asked.
    """
    with site.database.read() as session:
        credentials = list(session.scalars(_credentials_query(provider)))
    for credential in credentials:
        yield credential.id, listing_server(site, credential)
    if not credentials:
        yield None, server_of_environment(site, provider, listing_timeout(site))


def listing_server(site: Site, credential: Credential) -> ProviderServer:
    """The server of a credential, to be asked for its models.

    Raises:
        HTTPException: 422, its address isn't known, or its key can't be read.
    """
    return server_of_credential(site, credential, listing_timeout(site))


def listing_timeout(site: Site) -> float:
    """That a server may take to say which models it has."""
    with site.database.read() as session:
        return min(get_limit(session, "model_seconds"), MAX_LISTING_SECONDS)


def server_of_credential(site: Site, credential: Credential, seconds: float) -> ProviderServer:
    """The server of a credential, with its key.

    Raises:
        HTTPException: 422, its address isn't known, or its key can't be read.
    """
    known = PROVIDERS.get(credential.provider)
    base_url = credential.base_url or (known and known.base_url)
    if not base_url:
        raise errors.not_configured(
            f"The credential {credential.name} has no server.",
            f"Give it an address: {registry.new_address_line(credential.name)}.",
        )
    return ProviderServer(
        credential.name,
        base_url.rstrip("/"),
        decrypt_key(site, credential),
        seconds,
        f"Check its key; {registry.new_key_line(credential.name)} gives it another.",
    )


def server_of_environment(site: Site, provider: str, seconds: float) -> ProviderServer:
    """The server of a provider as the environment says.

    Raises:
        HTTPException: 422, it says nothing.
    """
    known = PROVIDERS.get(provider)
    given = None if known is None else provider_keys.provider_from_environment(site, known)
    if known is None or given is None or given.base_url is None:
        raise errors.not_configured(
            f"Nothing opens the provider {provider} here: no credential is given, and nothing of "
            "it is in the environment that the service was started with.",
            f"Add a credential: {registry.new_credential_line(provider)}.",
        )
    return ProviderServer(
        provider,
        given.base_url,
        given.key,
        seconds,
        f"Check {provider_variables.key_variable(provider)} in the environment that the sandbox "
        "is started from, or "
        f"add a credential: {registry.new_credential_line(provider)}.",
    )


def first_credential(session: Session, provider: str) -> Credential | None:
    """The credential that a provider's models have if they name none."""
    found: Credential | None = session.scalars(_credentials_query(provider).limit(1)).first()
    return found


def configured_providers(site: Site, session: Session) -> set[str]:
    """The providers of which as much is known as asking them takes; nobody is asked.

    Of several credentials one will do. Where there are credentials the environment doesn't count.
    """
    given = provider_keys.environment_status(site)
    stored: dict[str, list[Credential]] = {}
    for each in session.scalars(select(Credential)):
        stored.setdefault(each.provider, []).append(each)
    return {
        name
        for name, known in PROVIDERS.items()
        if (
            any(_is_usable(site, known, each) for each in stored[name])
            if name in stored
            else given[name]
        )
    }


def _is_usable(site: Site, known: ProviderInfo, credential: Credential) -> bool:
    return (
        (credential.base_url or known.base_url) is not None
        and (credential.key is not None or credential.base_url is not None or not known.needs_key)
        and key_error(site, credential) is None
    )


def _credentials_query(provider: str) -> Select[Any]:
    wanted = select(Credential).where(Credential.provider == provider)
    return wanted.order_by(Credential.created, Credential.id)
