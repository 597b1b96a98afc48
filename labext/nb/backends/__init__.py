"""Backends yield HTTP requests and return records; the executor sends the requests."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from labext.actions import Action
from labext.errors import LabextError, OutcomeUnknownError, ServiceError
from labext.http import HttpClient, Operation, RetryMode
from labext.http.download import OnBytes
from labext.http.event_stream import read_events, read_json
from labext.http.request import build_request
from labext.http.responses import MESSAGE_LIMIT, excerpt
from labext.http.retry_policy import on_incomplete_response
from labext.http.upload import MultipartForm
from labext.nb import records
from labext.nb.error_messages import explain_response
from labext.nb.records import Fields, Record

if TYPE_CHECKING:
    from requests import Response

T = TypeVar("T")


OnWords: TypeAlias = Callable[[str], None]
"""Called with the words of a text as they arrive."""


@dataclass(frozen=True)
class Request:
    """One request of a backend.

    Attributes:
        path: the values of the path's placeholders.
        params: the query parameters; those that are None are omitted.
        json: the body, if it is JSON; not in the repr, since it may hold a credential's key.
        form: the body's fields, if it is a multipart form; fields that are None are omitted.
        files: the form's files, streamed from the disk.
        patient: no read timeout, since the server may work for long before it responds.
        on_words: called with the words of the result while a model writes them, if the server
            streams them; such a request must be patient.
    """

    op: Operation
    path: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    json: Any = field(default=None, repr=False)
    form: Mapping[str, str | bool | None] | None = None
    files: Mapping[str, Path] = field(default_factory=dict)
    patient: bool = False
    on_words: OnWords | None = field(default=None, repr=False)


Steps: TypeAlias = Generator[Request, Any, T]
"""A generator that yields requests, receives their JSON and returns the result."""


def get(name: str, path: str, *, relays: bool = False) -> Operation:
    """Return an operation that reads JSON."""
    return Operation(name, "GET", path, RetryMode.ALWAYS, answer="json", relays=relays)


def put(name: str, path: str) -> Operation:
    """Return an idempotent update that responds with JSON."""
    return Operation(name, "PUT", path, RetryMode.ALWAYS, answer="json")


def post(
    name: str, path: str, next_step: str, action: Action | None = None, *, relays: bool = False
) -> Operation:
    """Return an operation that must not happen twice; `next_step` says how to look it up."""
    return Operation(name, "POST", path, RetryMode.UNSENT, "json", next_step, action, relays)


def create(name: str, path: str, action: Action) -> Operation:
    """Return an operation that creates a record; `action` shows whether it exists already."""
    verb = name.partition(" ")[0]
    return post(
        name, path, f"See {{action}} before you {verb} it again: it may exist already.", action
    )


def delete(name: str, path: str) -> Operation:
    """Return a deletion; a 404 on a repeat means that the first request succeeded."""
    return Operation(name, "DELETE", path, RetryMode.DELETE)


class RecordParser:
    """Parse responses; a backend overrides `normalize` if the JSON of its server differs."""

    def normalize(self, fields: Fields, data: Mapping[str, Any]) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the data of one record with the names and formats of `fields`."""
        return data

    def _normalized(self, fields: Fields, data: Mapping[str, Any]) -> Mapping[str, Any]:
        if fields is records.CREDENTIAL:
            stated = {name: data.get(name) for name in records.CREDENTIAL_OPTIONS}
            data = {**data, "options": {name: value for name, value in stated.items() if value}}
        return self.normalize(fields, data)

    def build_record(self, fields: Fields, data: Mapping[str, Any]) -> Record:
        """Build a record from response data."""
        return records.build_record(fields, self._normalized(fields, data))

    def parse_record(self, fields: Fields, response: Any, noun: str) -> Record:
        """Parse a record that must have an identifier; see `records.parse_record`."""
        data = records.require_mapping(response, noun)
        return records.parse_record(fields, self._normalized(fields, data), noun)

    def parse_records(self, fields: Fields, response: Any, noun: str) -> list[Record]:
        """Parse a list of records that must have identifiers."""
        items = records.require_list(response, noun)
        return [self.parse_record(fields, item, noun) for item in items]


CONNECT_TIMEOUT = 5.0
"""Connect timeout in seconds, for requests without a read timeout."""

IDLE_TIMEOUT = 1_800.0
"""Read timeout of a stream in seconds; a slow model needs many minutes for a first token."""


class RequestExecutor:
    """Send the requests of a backend over HTTP."""

    def __init__(self, http: HttpClient) -> None:
        self.http = http

    def run(self, steps: Steps[T], *, on_bytes: OnBytes | None = None) -> T:
        """Send the requests of `steps` one by one; return the result of the generator.

        Errors are raised inside the generator, so that a backend can handle them, and so are
        interrupts, so that it can clean up. `on_bytes` is called with the progress of an upload.
        """
        try:
            request = next(steps)
            while True:
                try:
                    response = self.send(request, on_bytes)
                except (LabextError, KeyboardInterrupt) as error:
                    request = steps.throw(error)
                else:
                    request = self._resume(steps, request, response)
        except StopIteration as ended:
            value: T = ended.value
            return value

    def _resume(self, steps: Steps[T], request: Request, response: Any) -> Request:
        """Return the next request; an invalid response to a change has an unknown outcome."""
        try:
            return steps.send(response)
        except ServiceError as error:
            is_change = request.op.repeat is RetryMode.UNSENT
            if not is_change or error.next_step != ServiceError.next_step:
                raise
            sent = build_request(request.op, self.http.base_url, path=request.path)
            raise on_incomplete_response(sent, error) from None

    def send(self, request: Request, on_bytes: OnBytes | None = None) -> Any:
        """Send one request; return the JSON of the response, or None if the body is empty."""
        if request.on_words is not None:
            return self._send_streamed(request, request.on_words)
        reply = self.http.send(request.op, **request_arguments(request, on_bytes))
        return reply.json() if reply.content else None

    def _send_streamed(self, request: Request, on_words: OnWords) -> Any:
        """Send a request whose result may arrive as events; return it once it is complete.

        Raises:
            OutcomeUnknownError: the response was cut off, or is not one of the service.
            ServiceError: the server reports a failure after the first words.
        """
        op = request.op
        kwargs = request_arguments(request) | {
            "headers": {"Accept": "text/event-stream, application/json"}
        }
        begun, failure = False, None
        reason = ", since the service closed the stream before its end."
        try:
            with self.http.stream(op, **kwargs) as response:
                begun = True
                if "text/event-stream" not in response.headers.get("Content-Type", ""):
                    return read_json(response)
                for event in read_events(response):
                    data = records.require_mapping(event.json(), op.name)
                    match data.get("type"):
                        case "words":
                            on_words(str(data.get("content") or ""))
                        case "complete":
                            return data
                        case "error":
                            step = "Try again, or choose another model."
                            failure = event_failure(data, op.name, step)
                            break
        except ServiceError as error:
            if not begun:
                raise
            reason = f": {error.message}"
        raise failure or OutcomeUnknownError(
            f"The reply was lost{reason}", op.next_step, action=op.action
        ) from None

    def events(
        self, request: Request, idle: float | None, *, plain: bool = False
    ) -> Generator[Any, None, None]:
        """Yield the JSON of each event of a streamed response.

        `plain` accepts a stream with the type plain text. `idle` None disables the read timeout.

        Raises:
            UnreachableError: the stream is cut off, or silent for `idle` seconds.
            ServiceError: the response is not an event stream, or an event is not JSON.
        """
        kwargs = request_arguments(request) | {"timeout": (CONNECT_TIMEOUT, idle)}
        with self.http.stream(request.op, **kwargs) as response:
            for event in read_events(response, plain=plain):
                yield event.json()

    @contextmanager
    def open(self, request: Request) -> Iterator[Response]:
        """Send a request and yield its response before the body is read."""
        kwargs = request_arguments(request) | {"headers": {"Accept-Encoding": "identity"}}
        with self.http.stream(request.op, **kwargs) as response:
            yield response

    def download(
        self,
        request: Request,
        target: Path,
        on_bytes: OnBytes | None = None,
        *,
        page: bool = False,
        overwrite: bool = False,
    ) -> Path:
        """Stream a response into a file, which appears only when it is complete.

        `page` accepts a web page; otherwise one is treated as the response of a proxy. `overwrite`
        replaces a file with other content.
        """
        return self.http.fetch(
            request.op,
            target,
            path=request.path,
            params=request.params,
            page=page,
            overwrite=overwrite,
            on_bytes=on_bytes,
        )


def event_failure(data: Mapping[str, Any], doing: str, step: str, prefix: str = "") -> ServiceError:
    """Return the error for an event that reports the failure of the operation `doing`."""
    words = excerpt(str(data.get("message") or ""), MESSAGE_LIMIT)
    server_action = Action.from_json(data.get("action"))
    explanation = explain_response(words, doing, step, server_action=server_action)
    reason = explanation.message.rstrip(".") or "the service gives no reason"
    return ServiceError(
        f"{prefix}{reason}.", explanation.next_step, action=explanation.action, server=words
    )


def request_arguments(request: Request, on_bytes: OnBytes | None = None) -> dict[str, Any]:
    """Return the arguments of `HttpClient.send` and `HttpClient.stream` for a request."""
    kwargs: dict[str, Any] = {"path": request.path, "params": request.params}
    if request.json is not None:
        kwargs["json"] = request.json
    if request.form is not None:
        fields = {k: _form_value(v) for k, v in request.form.items() if v is not None}
        form = MultipartForm(fields.items(), request.files, on_bytes=on_bytes)
        kwargs |= {"content": form.open, "headers": form.headers}
    if request.patient:
        kwargs["timeout"] = (CONNECT_TIMEOUT, None)
    return kwargs


def _form_value(value: str | bool) -> str:
    return value if isinstance(value, str) else str(value).lower()
