"""Hands out uploaded files as they came."""

from __future__ import annotations

from starlette.responses import FileResponse, Response
from starlette.types import Message, Receive, Scope, Send

from labext.sandbox.nb import faults
from labext.sandbox.nb.sources import folders, records
from labext.sandbox.service import Site


def original(site: Site, identifier: str) -> Response:
    """The file of an upload, with its name; Range, If-Range and ETag are there.

    Raises:
        HTTPException: 404, there is no such source, or it has no file.
    """
    with site.database.read() as session:
        source = records.found(session, identifier)
    path = folders.original(site, source.id)
    if source.kind != "upload" or not path.is_file():
        raise _none(source.title)
    headers = {"X-Content-Type-Options": "nosniff"}
    return _Download(
        path,
        filename=source.file_name,
        media_type="application/octet-stream",
        headers=headers,
        stat_result=path.stat(),
    )


def _none(title: str) -> Exception:
    return faults.absent("file of the source", title)


class _Download(FileResponse):
    """A file in pieces that a big one needs to be fast; one deleted before it is open is a 404."""

    chunk_size = 1 << 20

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
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
            raise _none(self.filename or "") from None
