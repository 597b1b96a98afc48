"""Hands out uploaded files as they came."""

from __future__ import annotations

from starlette.responses import Response

from labext.sandbox.nb import faults
from labext.sandbox.nb.downloads import Download
from labext.sandbox.nb.sources import folders, records
from labext.sandbox.service import Site


def original(site: Site, identifier: str) -> Response:
    """The file of an upload, with its name; Range, If-Range and ETag are there.

    Raises:
        HTTPException: 404, there is no such source, or it has no file.
    """
    with site.database.read() as session:
        source = records.found(session, identifier)
    gone = faults.absent("file of the source", source.title)
    if source.kind != "upload":
        raise gone
    path = folders.original(site, source.id)
    return Download(path, "application/octet-stream", gone, source.file_name)
