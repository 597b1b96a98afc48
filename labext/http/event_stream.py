"""Parse server-sent events (WHATWG HTML) as they arrive."""

from __future__ import annotations

import codecs
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import requests

from labext.errors import ResponseLimitError, ServiceError
from labext.http.connection_pool import MIB, ResponseLimits, ResponseTooLarge
from labext.http.responses import EXCERPT_BYTES, excerpt, parse_json

MAX_EVENT_SIZE = 16 * 1024 * 1024
"""Characters of one event, at most: a stream without end would fill the memory."""

PATIENCE = 5.0
"""Seconds for which a body that is not an event stream is read, for the words of the error."""


@dataclass(frozen=True)
class ServerSentEvent:
    """One event: its name (`message` by default) and its data."""

    name: str
    data: str

    def json(self) -> Any:
        """Return the data parsed as JSON; raise ServiceError if the data is not JSON."""
        try:
            return parse_json(self.data.encode())
        except (ValueError, ResponseTooLarge):
            data = excerpt(self.data)
        raise ServiceError(f"The service sent an event that is not valid JSON: “{data}”.")


class EventReader:
    """Incremental parser of server-sent events, fed with chunks of any size."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._begun = False
        self._after_cr = False
        self._line: list[str] = []
        self._held = 0
        self._name = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> Iterator[ServerSentEvent]:
        """Feed bytes and return the events that they complete.

        Raises:
            ResponseLimitError: an event is too long.
        """
        text = self._decode(chunk)
        if not text:
            return
        if not self._begun:
            self._begun = True
            text = text.removeprefix("\ufeff")
        if self._after_cr:
            text = text.removeprefix("\n")
            self._after_cr = False
        self._after_cr = text.endswith("\r")
        *whole, rest = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        for part in whole:
            self._grow(part)
            line = "".join(self._line)
            self._line.clear()
            event = self._take(line)
            if event is not None:
                yield event
        self._grow(rest)

    def _grow(self, part: str) -> None:
        self._held += len(part)
        if self._held > MAX_EVENT_SIZE:
            raise ResponseLimitError(
                f"The service sends an event of over {MAX_EVENT_SIZE:,} characters.",
                "Ask for less, or tell the administrator of the service.",
            )
        if part:
            self._line.append(part)

    def _take(self, line: str) -> ServerSentEvent | None:
        if not line:
            return self._dispatched()
        name, _, value = line.partition(":")  # a line that begins with a colon is a comment
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._name = value
        return None

    def _dispatched(self) -> ServerSentEvent | None:
        name, data = self._name, self._data
        self._name, self._data, self._held = "", [], 0
        return ServerSentEvent(name or "message", "\n".join(data)) if data else None


def read_events(response: requests.Response, *, plain: bool = False) -> Iterator[ServerSentEvent]:
    """Yield the events of a streamed response as they arrive.

    `plain` accepts the type plain text, which some servers send.

    Raises:
        ServiceError: the response is not an event stream.
        ResponseLimitError: an event, or the whole stream, is too long.
    """
    kind = response.headers.get("Content-Type", "").lower()
    if "text/event-stream" not in kind and not (plain and "text/plain" in kind):
        start = _first_words(response)
        instead = f"“{start}”" if start else "no readable text"
        raise ServiceError(
            f"The service answered {instead} in place of an event stream.",
            "Check the service's address, then try again.",
            status=response.status_code,
        )
    reader, received = EventReader(), 0
    while chunk := response.raw.read1(65536, decode_content=True):
        received += len(chunk)
        if received > ResponseLimits.size:
            raise ResponseLimitError(
                f"The service sends a stream of over {ResponseLimits.size / MIB:g} MiB.",
                "Ask for less, or tell the administrator of the service.",
            )
        yield from reader.feed(chunk)


def read_json(response: requests.Response) -> Any:
    """Return the JSON of a response that is not a stream although one was requested.

    Raises:
        ServiceError: it is not JSON.
        ResponseLimitError: it is too long.
    """
    content = response.raw.read(ResponseLimits.size + 1, decode_content=True)
    if len(content) > ResponseLimits.size:
        raise ResponseLimitError(
            f"The service sends a response of over {ResponseLimits.size / MIB:g} MiB.",
            "Ask for less, or tell the administrator of the service.",
        )
    try:
        return parse_json(content)
    except (ValueError, ResponseTooLarge):
        is_cut = len(content) > EXCERPT_BYTES
        start = excerpt(content[:EXCERPT_BYTES].decode("utf-8", "replace"), is_cut=is_cut)
    raise ServiceError(
        f"The service answered “{start}” in place of JSON.",
        "Check the service's address, then try again.",
        status=response.status_code,
    )


def _first_words(response: requests.Response) -> str:
    """Return the beginning of a body that is not an event stream and may never end."""
    content, end = b"", time.monotonic() + PATIENCE
    while len(content) < EXCERPT_BYTES and time.monotonic() < end:
        chunk = response.raw.read1(EXCERPT_BYTES, decode_content=True)
        if not chunk:
            return excerpt(content.decode("utf-8", "replace"))
        content += chunk
    return excerpt(content.decode("utf-8", "replace"), is_cut=True)
