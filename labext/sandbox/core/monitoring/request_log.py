"""Request ids, and logs as text or as one JSON object per line."""

from __future__ import annotations

import json
import logging
import re
import time
import uuid
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from labext.redaction import mask
from labext.sandbox.core.server_settings import ServerSettings

HEADER = "X-Request-ID"

_WELL_FORMED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""Accepted ids of clients; others are replaced, since the id is written to logs."""

_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

OTHER = "other"
"""The route of requests that match none, and the method of those with an unknown one."""

_request_id: ContextVar[str | None] = ContextVar("request_id", default=None)

log = logging.getLogger("labext.sandbox.requests")


@dataclass(frozen=True)
class RequestRecord:
    """A request that has ended.

    Attributes:
        route: the template of its path, such as `/notebooks/{notebook_id}`, without ids.
        status: of the response; 500 if it failed before one was sent.
        account: the id of the account of its credentials; None without an account.
    """

    service: str
    method: str
    route: str
    status: int
    seconds: float
    account: str | None


def set_account(request: Request, account: object) -> None:
    """Note the id of the account that sends a request, for the log."""
    request.state.account = str(account)


class RequestMonitor:
    """Give each request an id, and report it when it has ended."""

    def __init__(self, app: ASGIApp, service: str, on_end: Callable[[RequestRecord], None]) -> None:
        self._app = app
        self._service = service
        self._on_end = on_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = _accepted_id(scope) or uuid.uuid4().hex
        status = 500

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[HEADER] = request_id
            await send(message)

        _request_id.set(request_id)
        scope.setdefault("state", {})
        began = time.perf_counter()
        try:
            await self._app(scope, receive, send_with_id)
        finally:
            seconds = time.perf_counter() - began
            self._on_end(_describe(self._service, scope, status, seconds))


def _accepted_id(scope: Scope) -> str | None:
    values = [value for name, value in scope["headers"] if name == HEADER.lower().encode()]
    text = values[0].decode("latin-1") if len(values) == 1 else ""
    return text if _WELL_FORMED.fullmatch(text) and mask(text) == text else None


def _describe(service: str, scope: Scope, status: int, seconds: float) -> RequestRecord:
    method = scope["method"] if scope["method"] in _METHODS else OTHER
    account = scope["state"].get("account")
    return RequestRecord(service, method, _route_template(scope), status, seconds, account)


def _route_template(scope: Scope) -> str:
    """Return the template of the path, such as `/api/notebooks/{notebook_id}`.

    The path of a route may lack the prefix with which its router is included.
    """
    template: str | None = getattr(scope.get("route"), "path_format", None)
    if template is None:
        return OTHER
    values = {name: str(value) for name, value in scope.get("path_params", {}).items()}
    if template.count("{") == len(values) and all(f"{{{name}}}" in template for name in values):
        path = template.format(**values)
        if scope["path"].endswith(path):
            return str(scope["path"].removesuffix(path)) + template
    return template


def log_request(record: RequestRecord) -> None:
    """Log a request that has ended."""
    fields = {**vars(record), "milliseconds": round(record.seconds * 1000, 1)}
    del fields["seconds"]
    log.info("%s %s %d", record.method, record.route, record.status, extra={"request": fields})


class TextFormatter(logging.Formatter):
    """Format a record as text with the id of its request; mask secrets, also in tracebacks."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Return the first line."""
        request_id = _request_id.get()
        line = super().formatMessage(record)
        return line if request_id is None else f"{line} [request {request_id}]"

    def format(self, record: logging.LogRecord) -> str:
        """Return the text of a record."""
        return mask(super().format(record))


class JsonFormatter(logging.Formatter):
    """Format a record as a JSON object in one line; mask secrets in its texts."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        fields: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": mask(record.getMessage()),
            "request_id": _request_id.get(),
            **getattr(record, "request", {}),
        }
        if record.exc_info:
            fields["traceback"] = mask(self.formatException(record.exc_info))
        return json.dumps({name: value for name, value in fields.items() if value is not None})


def start_logging(server: ServerSettings | None) -> None:
    """Log to the standard error, in the format of the server's settings."""
    handler = logging.StreamHandler()
    in_json = server is not None and server.log_format == "json"
    handler.setFormatter(JsonFormatter() if in_json else TextFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    logging.captureWarnings(in_json)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
