"""Backends yield HTTP requests and return records; the executor sends the requests."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from labext.errors import LabextError
from labext.http import HttpClient, Operation
from labext.http.download import OnBytes
from labext.http.event_stream import read_events
from labext.http.upload import MultipartForm

if TYPE_CHECKING:
    from requests import Response

T = TypeVar("T")


@dataclass(frozen=True)
class Request:
    """One request of a dialect.

    Attributes:
        path: the values of the path's placeholders.
        params: the query; None leaves one out.
        json: the body, if it is JSON; not in the repr, since it may hold a credential's key.
        form: the body's fields, if it is a multipart form; None leaves one out.
        files: the form's files, streamed from the disk.
        patient: the answer may take as long as the server works: no limit on its silence.
    """

    op: Operation
    path: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    json: Any = field(default=None, repr=False)
    form: Mapping[str, str | bool | None] | None = None
    files: Mapping[str, Path] = field(default_factory=dict)
    patient: bool = False


Steps: TypeAlias = Generator[Request, Any, T]
"""What a dialect's method is: requests on the way to a record."""


__all__ = ["IDLE_TIMEOUT", "OnBytes", "RequestExecutor"]


CONNECT_TIMEOUT = 5.0
"""Seconds to connect to a server that may then take as long as it works."""

IDLE_TIMEOUT = 300.0
"""Seconds of silence after which a stream is given up; a slow model needs minutes to begin."""


class RequestExecutor:
    """The notebook service over one transport."""

    def __init__(self, transport: HttpClient) -> None:
        self.transport = transport

    def run(self, steps: Steps[T], *, on_bytes: OnBytes | None = None) -> T:
        """Send the requests of `steps` one after the other; return what it makes of the answers.

        A failure is raised inside it, so that a dialect can make something of that too, and an
        interrupt, so that it can take away what it had begun. `on_bytes` is told how much of a form
        has gone.
        """
        try:
            request = next(steps)
            while True:
                try:
                    answer = self.send(request, on_bytes)
                except (LabextError, KeyboardInterrupt) as error:
                    request = steps.throw(error)
                else:
                    request = steps.send(answer)
        except StopIteration as ended:
            value: T = ended.value
            return value

    def send(self, request: Request, on_bytes: OnBytes | None = None) -> Any:
        """Send one request; return its answer's JSON, or None for an empty answer."""
        reply = self.transport.send(request.op, **request_arguments(request, on_bytes))
        return reply.json() if reply.content else None

    def events(
        self, request: Request, idle: float | None, *, plain: bool = False
    ) -> Generator[Any, None, None]:
        """Give the JSON of each event of a streamed answer as it comes.

        `plain`: the stream may call itself plain text. `idle` None: silence has no limit.

        Raises:
            UnreachableError: the stream is cut, or is silent for `idle` seconds.
            ServiceError: the answer is no stream of events, or one of them no JSON.
        """
        kwargs = request_arguments(request) | {"timeout": (CONNECT_TIMEOUT, idle)}
        with self.transport.stream(request.op, **kwargs) as response:
            for event in read_events(response, plain=plain):
                yield event.json()

    @contextmanager
    def open(self, request: Request) -> Iterator[Response]:
        """Send a request and give its response before the body is read."""
        kwargs = request_arguments(request) | {"headers": {"Accept-Encoding": "identity"}}
        with self.transport.stream(request.op, **kwargs) as response:
            yield response

    def download(
        self,
        request: Request,
        target: Path,
        on_bytes: OnBytes | None = None,
        *,
        page: bool = False,
    ) -> Path:
        """Stream an answer into a file, which is there only when it is whole.

        `page`: it may be a web page; else one is an answer of something in between.
        """
        return self.transport.fetch(
            request.op,
            target,
            path=request.path,
            params=request.params,
            page=page,
            on_bytes=on_bytes,
        )


def request_arguments(request: Request, on_bytes: OnBytes | None = None) -> dict[str, Any]:
    """What `Transport.send` and `Transport.stream` take for a request."""
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
