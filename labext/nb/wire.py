"""Sends what a dialect asks for, and hands the answers back to it."""

from __future__ import annotations

from typing import Any, TypeVar

from labext.errors import LabextError
from labext.nb.dialects import Request, Steps
from labext.transport import Transport
from labext.transport.multipart import Multipart

T = TypeVar("T")

CONNECT = 5.0
"""Seconds to connect to a server that may then take as long as it works."""


class Wire:
    """The notebook service over one transport."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    def run(self, steps: Steps[T]) -> T:
        """Send the requests of `steps` one after the other; return what it makes of the answers.

        A failure is raised inside it, so that a dialect can make something of that too.
        """
        try:
            request = next(steps)
            while True:
                try:
                    answer = self.send(request)
                except LabextError as error:
                    request = steps.throw(error)
                else:
                    request = steps.send(answer)
        except StopIteration as ended:
            value: T = ended.value
            return value

    def send(self, request: Request) -> Any:
        """Send one request; return its answer's JSON, or None for an empty answer."""
        reply = self.transport.send(request.op, **arguments(request))
        return reply.json() if reply.content else None


def arguments(request: Request) -> dict[str, Any]:
    """What `Transport.send` and `Transport.stream` take for a request."""
    given: dict[str, Any] = {"path": request.path, "params": request.params}
    if request.json is not None:
        given["json"] = request.json
    if request.form is not None:
        fields = {k: _text(v) for k, v in request.form.items() if v is not None}
        form = Multipart(fields.items(), request.files)
        given |= {"content": form.open, "headers": form.headers}
    if request.patient:
        given["timeout"] = (CONNECT, None)
    return given


def _text(value: str | bool) -> str:
    return value if isinstance(value, str) else str(value).lower()
