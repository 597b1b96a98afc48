"""Sends what a dialect asks for, and hands the answers back to it."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from labext.errors import LabextError
from labext.nb.dialects import Request, Steps
from labext.transport import Transport
from labext.transport.download import OnBytes
from labext.transport.events import events
from labext.transport.multipart import Multipart

if TYPE_CHECKING:
    from requests import Response

__all__ = ["IDLE", "OnBytes", "Wire"]

T = TypeVar("T")

CONNECT = 5.0
"""Seconds to connect to a server that may then take as long as it works."""

IDLE = 300.0
"""Seconds of silence after which a stream is given up; a slow model needs minutes to begin."""


class Wire:
    """The notebook service over one transport."""

    def __init__(self, transport: Transport) -> None:
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
        reply = self.transport.send(request.op, **arguments(request, on_bytes))
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
        given = arguments(request) | {"timeout": (CONNECT, idle)}
        with self.transport.stream(request.op, **given) as response:
            for event in events(response, plain=plain):
                yield event.json()

    @contextmanager
    def open(self, request: Request) -> Iterator[Response]:
        """Send a request and give its response before the body is read."""
        sent = arguments(request) | {"headers": {"Accept-Encoding": "identity"}}
        with self.transport.stream(request.op, **sent) as response:
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


def arguments(request: Request, on_bytes: OnBytes | None = None) -> dict[str, Any]:
    """What `Transport.send` and `Transport.stream` take for a request."""
    given: dict[str, Any] = {"path": request.path, "params": request.params}
    if request.json is not None:
        given["json"] = request.json
    if request.form is not None:
        fields = {k: _text(v) for k, v in request.form.items() if v is not None}
        form = Multipart(fields.items(), request.files, on_bytes=on_bytes)
        given |= {"content": form.open, "headers": form.headers}
    if request.patient:
        given["timeout"] = (CONNECT, None)
    return given


def _text(value: str | bool) -> str:
    return value if isinstance(value, str) else str(value).lower()
