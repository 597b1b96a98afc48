"""Hands out kept files, also in parts: Range, If-Range and ETag are there."""

from __future__ import annotations

from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.responses import FileResponse
from starlette.types import Message, Receive, Scope, Send

from labext.sandbox.nb.faults import invalid


class Download(FileResponse):
    """A file in pieces that a big one needs to be fast; one deleted before it is open is a 404.

    Args:
        path: the file.
        media_type: what it is said to be; no browser guesses otherwise.
        gone: the refusal where it is not there.
        filename: under which name a browser keeps it; None: it may play it.

    A part that can't be given is refused as anything else is, and a Range of another unit than
    bytes is ignored (RFC 9110, 14.2).

    Raises:
        HTTPException: `gone`; when it is served 400, the Range can't be read; 416, the file has no
            such part.
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
        self._gone, self._size = gone, found.st_size

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        begun: list[Message] = []
        scope["headers"] = [each for each in scope["headers"] if not _of_another_unit(*each)]

        async def once_open(message: Message) -> None:
            if message["type"] == "http.response.start":
                _check(message["status"], self._size)
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


def _of_another_unit(name: bytes, value: bytes) -> bool:
    return name == b"range" and value.partition(b"=")[0].strip().lower() != b"bytes"


def _check(status: int, size: int) -> None:
    """See that what begins is no refusal of the framework's, which is no JSON."""
    if status == 400:
        raise invalid("The header Range can't be read.", "Send one such as bytes=0-499.")
    if status == 416:
        told = {"Content-Range": f"bytes */{size}"}
        raise HTTPException(416, f"There is no such part: the file has {size:,} bytes.", told)
