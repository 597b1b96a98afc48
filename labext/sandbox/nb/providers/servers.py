"""Resolve the server and key of a model, and describe its failures."""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Select, select
from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException

from labext.actions import Action
from labext.redaction import MASK, MIN_SECRET_LENGTH, mask, mask_line, mask_only
from labext.sandbox.core.data_folder import admin_command
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import errors
from labext.sandbox.nb.limits import get_limit
from labext.sandbox.nb.providers import provider_keys, provider_variables
from labext.sandbox.nb.providers.provider_keys import decrypt_key, key_error
from labext.sandbox.nb.providers.registry import OPENAI_COMPATIBLE, PROVIDERS, ProviderInfo
from labext.sandbox.nb.tables import Credential, Model
from labext.sandbox.nb.text import segmentation

if TYPE_CHECKING:
    import requests

CONNECT_SECONDS = 10
MAX_RESPONSE_BYTES = 64 << 20
"""Maximum bytes of a response."""

_MAX_QUOTE_LENGTH = 300
_SECONDS = re.compile(r"\d{1,5}(?:\.\d+)?")

_DEFAULT_RETRY_AFTER = "10"
"""Seconds to wait after a 429 without a Retry-After header."""

TASK_WAIT_SECONDS = 120.0
"""Seconds that a call of a background task may wait until it is no longer rate-limited."""


NEXT_CALL_WAIT_SECONDS = 60.0
"""The same for a call after others of a request, which a client that waits itself would repeat."""


@dataclass(frozen=True)
class ProviderServer:
    """A model's server.

    Attributes:
        base_url: its address without a trailing slash, such as `https://api.example/v1`.
        key: sent in the header `key_header`; None if it needs none.
        seconds: the time limit of a response, and of each pause of a streamed one.
        on_refusal: the next step if the key is refused.
        refusal_action: the same as data.
        address_name: how messages name its address.
        address_action: changes its address; None if it is from the environment.
        key_header: `Authorization`, which gets `Bearer KEY`, or another header.
        headers: further headers of all requests.
        default_path: appended to an address without a path that answers 404.
        api_version: the version of Azure's interface.
        num_ctx: the length of the context of Ollama's models, in tokens.
        max_wait: seconds that a call may wait until it is no longer rate-limited, in all.
    """

    name: str
    base_url: str
    key: str | None = field(repr=False)
    seconds: float
    on_refusal: str = "Check its key."
    refusal_action: Action | None = None
    address_name: str = "its address"
    address_action: Action | None = None
    provider: str = OPENAI_COMPATIBLE
    form: str = "openai"
    key_header: str = "Authorization"
    headers: Mapping[str, str] = field(default_factory=dict)
    default_path: str = "/v1"
    api_version: str | None = None
    num_ctx: int | None = None
    max_wait: float = 0.0


def response_too_long(provider: ProviderServer) -> HTTPException:
    """Return a 502: the provider's response exceeds the size limit."""
    return errors.bad_gateway(
        f"{_server_name(provider)} answered more than {MAX_RESPONSE_BYTES:,} bytes."
    )


_FORM_TITLES: Mapping[str, str] = {
    "anthropic": "Anthropic's server",
    "elevenlabs": "ElevenLabs' server",
    "google": "Google's server",
    "ollama": "an Ollama server",
    "openai": "an OpenAI-compatible server",
    "piper": "a Piper server",
}


def invalid_response(provider: ProviderServer, text: str) -> HTTPException:
    """Return a 502: the provider's response has an unexpected form."""
    if text.strip() in ("", "null"):
        return errors.bad_gateway(
            f"{_server_name(provider)} sent an empty reply. Try again, or choose another model."
        )
    return errors.bad_gateway(
        f"{_server_name(provider)} answered {_describe_body(provider, text)}, which is not a "
        f"response of {_FORM_TITLES[provider.form]}.",
        f"Check {provider.address_name}.",
        provider.address_action,
    )


def refused(provider: ProviderServer, model: str, reason: str) -> HTTPException:
    """Return a 502: the model refused to answer."""
    words = _quote(provider, reason).removesuffix(".")
    return errors.bad_gateway(
        f"The model {model} of {provider.name} refused to answer: {words}. Ask in other words, or "
        "choose another model."
    )


def length_limit_reached(provider: ProviderServer, model: str) -> HTTPException:
    """Return a 502: the reply reached the limit of its length before it had any words."""
    return errors.bad_gateway(
        f"The model {model} of {provider.name} reached the limit of its length before it answered, "
        "since its reasoning counts too. Choose another model, such as one without reasoning."
    )


class RequestTooLongError(errors.ServiceError):
    """A 502: the model does not accept as much text in one request."""

    def __init__(self, message: str) -> None:
        super().__init__(
            502,
            f"{message} The text is longer than the model's context.",
            "Name fewer sources, choose a model with a longer context, or send shorter parts: "
            f"{admin_command('nb limits set model_characters VALUE')}.",
        )


class OptionRefusedError(errors.ServiceError):
    """A 502: the server refused an option of a request for a reply.

    Attributes:
        option: `stream`, `token_limit` or `system`.
    """

    def __init__(self, message: str, option: str) -> None:
        super().__init__(502, message, "Choose another model.")
        self.option = option


def failed_in_reply(provider: ProviderServer, model: str, text: str) -> HTTPException:
    """Return a 502: the provider reported a failure after the reply had begun."""
    message = f"{_server_name(provider)} stopped its reply: “{_quote(provider, text)}”."
    return _known_failure(provider, message, text, model) or errors.bad_gateway(
        f"{message} Try again, or choose another model."
    )


def cut_reply(provider: ProviderServer) -> HTTPException:
    """Return a 502: the response ended before its end."""
    return errors.bad_gateway(
        f"{_server_name(provider)} closed the connection before the end of its response. Try again."
    )


def remove_key(provider: ProviderServer, text: str) -> str:
    """Mask the provider's key in a text; a short key only as a whole word."""
    key = provider.key
    if not key:
        return text
    if len(key) >= MIN_SECRET_LENGTH:
        return mask_only(text, key)
    return re.sub(rf"(?<!\w){re.escape(key)}(?!\w)", MASK, text)


def connection_failed(provider: ProviderServer, error: Exception) -> HTTPException:
    """Return a 502: there was no response, or not in time."""
    import requests  # slow
    from urllib3.exceptions import ProtocolError

    if error.args and isinstance(error.args[0], ProtocolError):  # after connecting
        if not isinstance(error.args[0].args[-1], TimeoutError):
            return cut_reply(provider)
        error = requests.Timeout()
    name = _server_name(provider)
    if isinstance(error, requests.ConnectTimeout):
        return errors.bad_gateway(
            f"{name} did not answer within {CONNECT_SECONDS} seconds. Check that it is running."
        )
    if isinstance(error, requests.Timeout):
        return errors.bad_gateway(
            f"{name} did not answer within {provider.seconds:g} seconds. Try again, or allow more: "
            f"{admin_command('nb limits set model_seconds VALUE')}."
        )
    if "WRONG_VERSION_NUMBER" in str(error):
        problem, step = "has no TLS", "Give it an address with http://."
    elif isinstance(error, requests.exceptions.SSLError):
        problem, step = "has an invalid certificate", f"Check {provider.address_name}."
    else:
        step = f"Check that it is running, and check {provider.address_name}."
        problem = "can't be reached"
    return errors.bad_gateway(f"{name} {problem}.", step, provider.address_action)


def forbidden_address(provider: ProviderServer) -> HTTPException:
    """Return a 502: the provider's address is forbidden."""
    return errors.bad_gateway(
        f"{_server_name(provider)} is at a link-local address or a cloud's metadata service, to "
        "which nothing is sent.",
        f"Check {provider.address_name}.",
        provider.address_action,
    )


def error_response(
    provider: ProviderServer, response: requests.Response, text: str
) -> HTTPException:
    """Return the error for an error response of a provider: 429 for its 429, else 502.

    That for an overloaded server has a `Retry-After`, too.
    """
    status, words = response.status_code, _error_message(text)
    quoted = _describe_body(provider, words or response.reason or "nothing more")
    message = f"{_server_name(provider)} answered {status}: {quoted}."
    if 300 <= status < 400:
        return errors.bad_gateway(
            f"{message} It redirects elsewhere, which is not followed.",
            f"Check {provider.address_name}.",
            provider.address_action,
        )
    if status == 402 or (400 <= status < 500 and _NO_CREDIT.search(text)):
        return errors.bad_gateway(
            f"{message} Waiting doesn't help: add credit there, or choose another model."
        )
    if status == 429 and "request too large" not in text.lower():  # for which waiting is no help
        wait = _retry_after(response.headers, text)
        text = f"{message} Wait {wait} seconds, then try again."
        return HTTPException(429, text, headers={"Retry-After": wait})
    is_key = status == 401 or (status == 403 and not _NO_ACCESS.search(words))
    if is_key or (status == 400 and _KEY_REFUSED.search(text)):
        key = provider.key or ""
        owner = next((name for start, name in _KEY_PREFIXES.items() if key.startswith(start)), None)
        if owner is not None and owner != provider.provider:
            message += f" The key looks like one of {owner}, not of {provider.provider}."
        return errors.bad_gateway(message, provider.on_refusal, provider.refusal_action)
    if status == 413 and "multipart" in response.request.headers.get("Content-Type", ""):
        return errors.bad_gateway(
            f"{message} The recording is too long: add it in parts, or choose another model."
        )
    if known := _known_failure(provider, message, words, status=status):
        return known
    error = errors.bad_gateway(f"{message} Try again, or choose another model.")
    if status in _OVERLOADED:
        error.headers = {"Retry-After": _retry_after(response.headers, text)}
    return error


_OVERLOADED = (503, 529)
_INVALID_REQUEST = (400, 405, 422, 501)
_REFUSED_OPTIONS: Mapping[str, re.Pattern[str]] = {
    "stream": re.compile(r"(?i)\bstream(?:ing|ed|s|_options)?\b"),
    "token_limit": re.compile(
        r"(?is)(?=.*max_(?:completion_)?tokens).*(?:unsupported|unrecognized|unknown|unexpected|"
        r"extra|not (?:supported|permitted|allowed))"
    ),
}
_SYSTEM_REFUSED = re.compile(
    r"(?i)system role|role.{0,40}\bsystem\b|developer instruction|roles must alternate"
)
_NO_CREDIT = re.compile(
    r"(?i)insufficient[_ ](?:quota|balance|credit)|credit balance|quota_exceeded"
)
_RETRY_DELAY = re.compile(r'"retryDelay": ?"(\d{1,4})')
_KEY_REFUSED = re.compile(r"(?i)api[ _]key[ _](?:not[ _]valid|invalid)")
_CONTEXT_TOO_LONG = re.compile(
    r"(?i)context.{0,20}(?:length|window|size|limit)|prompt (?:is too long|length)|"
    r"too many (?:input )?tokens|reduce the length|"
    r"token count.{0,40}exceeds|input.{0,20}too long|request too large"
)
_BATCH_TOO_LARGE = re.compile(r"(?i)more batches|batch[ _]size|too many inputs|number of texts")
_MODEL_GONE = re.compile(
    r"(?i)model.{0,120}(?:not found|does not exist|no longer|deprecated|decommissioned|retired|"
    r"not available|not supported)|(?:not found|no such|unknown|invalid)[^.]{0,20}model|^model: "
)
_NO_ACCESS = re.compile(r"(?i)access to (?:the |this )?model\b|\bmodel.{0,80} is blocked")

_KEY_PREFIXES: Mapping[str, str] = {
    "sk-ant-": "anthropic",
    "sk-or-": "openrouter",
    "sk-proj-": "openai",
    "AIza": "google",
    "gsk_": "groq",
    "xai-": "xai",
}


def _known_failure(
    provider: ProviderServer, message: str, text: str, model: str = "", status: int = 0
) -> HTTPException | None:
    """Return the error for too long a context, a refused option or a missing model, else None."""
    if status == 413 or _CONTEXT_TOO_LONG.search(text) or _BATCH_TOO_LARGE.search(text):
        return RequestTooLongError(message)
    if _SYSTEM_REFUSED.search(text):
        return OptionRefusedError(message, "system")
    if status in _INVALID_REQUEST:
        for option, pattern in _REFUSED_OPTIONS.items():
            if pattern.search(text):
                return OptionRefusedError(message, option)
    is_gone = _MODEL_GONE.search(text) or _NO_ACCESS.search(text)
    if is_gone or (status == 404 and model):
        return errors.bad_gateway(
            message, "See the models that it has.", Action.discover_models(provider.name)
        )
    return None


def _retry_after(headers: Mapping[str, str], text: str) -> str:
    """Return the seconds of the provider's Retry-After, or else of Google's text, or 10."""
    value = headers.get("Retry-After", "").strip()
    with suppress(KeyError, ValueError, TypeError):  # a date, by the clock of the provider
        seconds = parsedate_to_datetime(value) - parsedate_to_datetime(headers["Date"])
        value = str(max(0.0, seconds.total_seconds()))
    if _SECONDS.fullmatch(value):
        return str(math.ceil(float(value)))
    delay = _RETRY_DELAY.search(text)
    return str(int(delay[1]) + 1) if delay else _DEFAULT_RETRY_AFTER


def _server_name(provider: ProviderServer) -> str:
    return f"The model's server {provider.name} ({mask(provider.base_url)})"


def quote_reply(text: str) -> str:
    """Return a reply for use in messages: one line of limited length, without secrets."""
    line = mask_line(segmentation.encodable(text))
    return line if len(line) <= _MAX_QUOTE_LENGTH else f"{line[:_MAX_QUOTE_LENGTH]}…"


def _quote(provider: ProviderServer, text: str) -> str:
    return quote_reply(remove_key(provider, segmentation.encodable(text)))


def _describe_body(provider: ProviderServer, text: str) -> str:
    """Return a quotation of a response; of a web page, its title."""
    if not _WEB_PAGE.match(text):
        return f"“{_quote(provider, text)}”"
    title = _TITLE.search(text[:20_000])
    name = _quote(provider, html.unescape(title.group(1))) if title else ""
    return f"a web page{name and f', “{name}”'}"


_WEB_PAGE = re.compile(r"(?i)\s*<(?:!doctype html|html|head|body)\b")
_TITLE = re.compile(r"(?is)<title[^>]{0,200}>(.{0,500}?)</title>")


def _error_message(text: str) -> str:
    """Return the message in an error body in any common format, else the whole body."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    for name in ("error", "detail", "message"):
        if isinstance(value, dict) and value.get(name):
            metadata = value[name].get("metadata") if isinstance(value[name], dict) else None
            raw = metadata.get("raw") if isinstance(metadata, dict) else None
            if isinstance(raw, str) and raw:  # OpenRouter: the error of the provider behind it
                return _error_message(raw)
            value = value[name]
    return value if isinstance(value, str) else text


MAX_LISTING_SECONDS = 30
"""Maximum seconds for listing the models of a server."""


def server_of_model(site: Site, model: Model) -> ProviderServer:
    """Return the server of a model, with its key."""
    with site.database.read() as session:
        if model.credential_id is not None:
            credential = session.get(Credential, model.credential_id)
            if credential is None:  # another server must not get the text
                raise errors.not_configured(
                    f"The credential of the model {model.name} was deleted.",
                    "Choose another model.",
                    Action.list_models(model.kind),
                )
        else:
            credential = session.scalars(_credentials_query(model.provider)).first()
    if credential is not None:
        server = server_of_credential(site, credential, model.kind)
    else:
        server = _server_of_environment(site, model.provider, model.kind)
    return replace(server, max_wait=TASK_WAIT_SECONDS) if site.in_task else server


def listing_servers(site: Site, provider: str) -> Iterator[tuple[str | None, ProviderServer]]:
    """Yield all servers of a provider for listing models, with their credentials' identifiers."""
    with site.database.read() as session:
        credentials = list(session.scalars(_credentials_query(provider)))
    for credential in credentials:
        yield credential.id, server_of_credential(site, credential)
    if not credentials:
        yield None, _server_of_environment(site, provider)


def _seconds(site: Site, kind: str | None) -> float:
    """Return the time limit of a call of a model of a type, or of a list of models."""
    with site.database.read() as session:
        seconds = get_limit(session, "model_seconds")
    return min(seconds, MAX_LISTING_SECONDS) if kind is None else seconds


def server_of_credential(
    site: Site, credential: Credential, kind: str | None = None
) -> ProviderServer:
    """Return the server of a credential with its key, for a type of models or for their list."""
    provider = PROVIDERS.get(credential.provider)
    base_url = credential.address(kind) or (provider and provider.base_url)
    if not base_url:
        raise errors.not_configured(
            f"The credential {credential.name} has no server.",
            "Give it an address.",
            Action.set_address_and_key(credential.name),
        )
    names_vertex = any(map(credential.option, ("project", "location", "credentials_path")))
    if credential.provider == "google" and credential.key is None and names_vertex:
        raise errors.not_configured(
            f"{credential.name} has no key, and Vertex AI, which its `project`, `location` or "
            "`credentials_path` belong to, is not supported.",
            "Give it a key of the Gemini API.",
            Action.set_key(credential.name),
        )
    return ProviderServer(
        credential.name,
        base_url.rstrip("/"),
        decrypt_key(site, credential),
        _seconds(site, kind),
        "Check its key, or give it another.",
        Action.set_key(credential.name),
        address_action=Action.set_address(credential.name),
        api_version=credential.option("api_version"),
        num_ctx=credential.option("num_ctx"),
        **_wire_options(credential.provider, base_url),
    )


_HEADERS: Mapping[str, Mapping[str, str]] = {"anthropic": {"anthropic-version": "2023-06-01"}}


def _wire_options(provider: str, base_url: str) -> dict[str, Any]:
    """Return the wire form of a provider's server at an address."""
    info = PROVIDERS.get(provider, PROVIDERS[OPENAI_COMPATIBLE])
    form = info.form
    if form == "ollama" and base_url.rstrip("/").endswith("/v1"):
        form = "openai"  # Ollama's OpenAI-compatible interface
    return {
        "provider": provider,
        "form": form,
        "key_header": info.key_header,
        "headers": _HEADERS.get(form, {}),
        "default_path": info.default_path,
    }


def _server_of_environment(site: Site, provider: str, kind: str | None = None) -> ProviderServer:
    """Return the server of a provider from the environment."""
    info = PROVIDERS.get(provider)
    settings = None if info is None else provider_keys.provider_from_environment(site, info)
    if info is None or settings is None or settings.base_url is None:
        raise errors.not_configured(
            f"The provider {provider} is not configured: it has no credential, and no variable in "
            "the environment that the service was started with.",
            "Add a credential.",
            Action.add_credential(provider),
        )
    return ProviderServer(
        provider,
        settings.base_url,
        settings.key,
        _seconds(site, kind),
        f"Check {provider_variables.key_variable(provider)} in the environment that the sandbox "
        "is started from, or add a credential.",
        Action.add_credential(provider),
        f"`{provider_variables.url_variable(provider)}` in the environment that the sandbox is "
        "started from",
        **_wire_options(provider, settings.base_url),
    )


def configured_providers(site: Site, session: Session) -> set[str]:
    """Return the providers that are configured; no server is contacted.

    One usable credential suffices. If there are credentials, the environment is ignored.
    """
    from_environment = provider_keys.environment_status(site)
    stored: dict[str, list[Credential]] = {}
    for credential in session.scalars(select(Credential)):
        stored.setdefault(credential.provider, []).append(credential)
    return {
        name
        for name, provider in PROVIDERS.items()
        if (
            any(_is_usable(site, provider, item) for item in stored[name])
            if name in stored
            else from_environment[name]
        )
    }


def _is_usable(site: Site, provider: ProviderInfo, credential: Credential) -> bool:
    return (
        (credential.address() or provider.base_url) is not None
        and (
            credential.key is not None or credential.address() is not None or not provider.needs_key
        )
        and key_error(site, credential) is None
    )


def _credentials_query(provider: str) -> Select[Any]:
    """Select the credentials of a provider; the oldest one is the default of its models."""
    query = select(Credential).where(Credential.provider == provider)
    return query.order_by(Credential.created, Credential.id)
