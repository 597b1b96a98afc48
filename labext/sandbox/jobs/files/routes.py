"""The routes of files: uploads and results, with a key and by presigned addresses."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, Response
from starlette.concurrency import run_in_threadpool
from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import ClientDisconnect
from starlette.responses import FileResponse
from starlette.types import Message, Receive, Scope, Send

from labext.sandbox.jobs.calls import Caller, Content, SiteOf, json_answer, message_answer
from labext.sandbox.jobs.faults import invalid
from labext.sandbox.jobs.files import presigned, results, uploads
from labext.sandbox.service import Site

api = APIRouter()
"""Behind the base address; every request has a key."""

keyless = APIRouter()
"""Beside it; the address is the key."""


class _Name(Convertor[str]):
    """Whatever stands behind the last fixed part of a path; `path` of Starlette stops at a line."""

    regex = r"[\s\S]*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("labext_name", _Name())


@api.post("/result")
def post_result(site: SiteOf, caller: Caller, content: Content) -> Response:
    """Get a presigned address."""
    return PlainTextResponse(results.result_address(site, caller, content))


@api.put("/upload/{filename:labext_name}")
async def put_upload(site: SiteOf, caller: Caller, request: Request, filename: str) -> Response:
    """Upload a file; the content is the body."""
    length = request.headers.get("content-length")
    upload = await run_in_threadpool(
        uploads.begin, site, caller, filename, request.query_params, length
    )
    return await _receive(site, upload, request)


async def _receive(site: Site, upload: uploads.Upload, request: Request) -> Response:
    try:
        return message_answer(await uploads.receive(site, upload, request.stream()))
    except ClientDisconnect:
        raise invalid("The content broke off.") from None  # nobody hears it


@api.post("/getPresignedUploadUrl")
def post_presigned_upload(site: SiteOf, caller: Caller, content: Content) -> Response:
    """Get the presigned addresses of one upload."""
    return json_answer(presigned.addresses(site, caller, content))


@keyless.put(presigned.PREFIX + "/{rest:labext_name}")
async def put_presigned(site: SiteOf, request: Request, rest: str) -> Response:
    """Upload the file of a presigned address."""
    length = request.headers.get("content-length")
    upload = await run_in_threadpool(presigned.begin, site, rest, request.query_params, length)
    return await _receive(site, upload, request)


@keyless.head(presigned.PREFIX + "/{rest:labext_name}")
def head_presigned(site: SiteOf, request: Request, rest: str) -> Response:
    """Describe the file of a presigned address: length, time and checksum."""
    return Response(headers=presigned.headers(site, rest, request.query_params))


@api.get("/files")
def get_files(site: SiteOf, caller: Caller, request: Request) -> Response:
    """List uploaded files."""
    return json_answer(uploads.files(site, caller, request.query_params))


@api.get("/getFolders")
def get_folders(site: SiteOf, caller: Caller) -> Response:
    """List the folders of uploaded files."""
    return json_answer(uploads.folder_names(site, caller))


@api.delete("/delete-file")
def delete_file(site: SiteOf, caller: Caller, request: Request) -> Response:
    """Remove a file or folder."""
    return message_answer(uploads.delete_file(site, caller, request.query_params))


class _Download(FileResponse):
    """A file with Range, If-Range and ETag, in pieces that a big one needs to be fast.

    Nothing is sent before the file is open: it may be deleted until then, and that is a 404.
    """

    chunk_size = 1 << 20

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        held: list[Message] = []

        async def once_open(message: Message) -> None:
            if message["type"] == "http.response.start":
                held.append(message)
                return
            while held:
                await send(held.pop())
            await send(message)

        try:
            await super().__call__(scope, receive, once_open)
        except FileNotFoundError:
            if not held:
                raise
            raise results.gone() from None


@keyless.api_route(results.PREFIX + "/{rest:labext_name}", methods=["GET", "HEAD"])
def get_download(site: SiteOf, request: Request, rest: str) -> Response:
    """A result, for whoever has its presigned address."""
    query = request.query_params
    found = results.download(
        site, f"{results.PREFIX}/{rest}", query.get("expires"), query.get("signature")
    )
    try:
        stat = found.file.stat()
    except FileNotFoundError:
        raise results.gone() from None
    headers = {"X-Content-Type-Options": "nosniff"}
    return _Download(found.file, filename=found.name, headers=headers, stat_result=stat)
