"""Hands out kept files, also in parts: Range, If-Range and ETag are there."""

from __future__ import annotations

from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.responses import FileResponse
from starlette.types import Message, Receive, Scope, Send


class Download(FileResponse):
    """A file in pieces that a big one needs to be fast; one deleted before it is open is a 404.

    Args:
        path: the file.
        media_type: what it is said to be; no browser guesses otherwise.
        gone: the refusal where it is not there.
        filename: under which name a browser keeps it; None: it may play it.

    Raises:
        HTTPException: `gone`.
    """

    chunk_size = 1 << 20

    def __init__(
        self, path: Path, media_type: str, gone: HTTPException, filename: str | None = None
    ) -> None:
        try:
            found = path.stat()
        except OSError:
            raise gone from None
        super().__init__(
            path,
            filename=filename,
            media_type=media_type,
            headers={"X-Content-Type-Options": "nosniff"},
            stat_result=found,
        )
        self._gone = gone

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        begun: list[Message] = []

        async def once_open(message: Message) -> None:
            if message["type"] == "http.response.start":
                begun.append(message)
                return
            while begun:
                await send(begun.pop())
            await send(message)

        try:
            await super().__call__(scope, receive, once_open)
        except FileNotFoundError:
            if not begun:
                raise
            raise self._gone from None
