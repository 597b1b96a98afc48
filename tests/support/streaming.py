"""A notebook service that streams one scripted answer and records its progress."""

from __future__ import annotations

import json
import queue
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from local_http import QuietHandler, serve

ASK = """import labext_widgets
from labext import NotebookClient
nb = NotebookClient({url!r})
question = "Why is glucose added to the uninduced culture?"
seen = labext_widgets.stream_answer(nb.ask_stream(question), question=question)
seen
"""
WORDS = """window.seenAt = {};
const seek = () => {
  const text = document.querySelector(".jp-Notebook")?.innerText ?? "";
  for (const word of text.match(/word\\d+/g) ?? []) {
    window.seenAt[word] ??= performance.timeOrigin + performance.now();
  }
};
new MutationObserver(() => requestAnimationFrame(() => setTimeout(seek)))
  .observe(document.body, { childList: true, subtree: true, characterData: true });
"""
"""Records when each word such as `word7` was painted on the page, in milliseconds since 1970."""


class Streaming:
    """The service; `send_event` sends an event to all clients.

    Attributes:
        url: its address.
        sent: when each event was sent, in milliseconds since 1970.
    """

    def __init__(self) -> None:
        self._events: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.url = ""
        self.sent: list[float] = []

    def send_event(self, **event: Any) -> None:
        """Send an event."""
        self._events.put(event)

    def hang_up(self) -> None:
        """End the stream."""
        self._events.put(None)

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield the messages until `hang_up` is called."""
        while (event := self._events.get(timeout=60)) is not None:
            yield event
            if event["type"] in ("complete", "error"):
                return


@contextmanager
def streaming() -> Iterator[Streaming]:
    """Serve on loopback."""
    service = Streaming()

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            # The detection of the server: an empty response means one of the contract.
            self.answer(200, {})

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for event in service.events():
                service.sent.append(time.time() * 1000)
                self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
                self.wfile.flush()

    with serve(Handler) as url:
        service.url = f"{url}/api"
        try:
            yield service
        finally:
            service.hang_up()
