"""The job service: its routes, and what the host needs to serve it.

The routes only take a request apart; each calls one function of this package. They are plain
functions where they touch the disk or the database, so that these run beside the event loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.responses import PlainTextResponse, Response
from sqlalchemy import MetaData
from starlette.concurrency import run_in_threadpool
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import FileResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from labext.sandbox.jobs import (
    catalogue,
    ending,
    folders,
    limits,
    listing,
    results,
    seed,
    submission,
    tasks,
    uploads,
)
from labext.sandbox.jobs.faults import invalid
from labext.sandbox.jobs.identity import account_of
from labext.sandbox.jobs.store import Account, Base
from labext.sandbox.queue import Kind
from labext.sandbox.service import Site
from labext.sandbox.web import FloodGuard, handle_errors

LARGEST_BODY = 64 << 20
"""Bytes of a JSON body."""


class JobService:
    """The job service, as the host knows it (`labext.sandbox.service.Service`)."""

    name = "jobs"
    metadata: MetaData = Base.metadata

    @property
    def preload(self) -> Sequence[str]:
        """The tools and what they import, and the entries of the tasks."""
        entries = ("labext.sandbox.jobs.execution", "labext.sandbox.jobs.aggregation")
        return [*entries, *catalogue.preload_modules()]

    def kinds(self, site: Site) -> Sequence[Kind]:
        """Running a job, and aggregating a batch."""
        return tasks.kinds(site)

    def seed(self, site: Site) -> None:
        """Accounts and limits; and what a kill has left behind is cleared away."""
        folders.prepare(site)
        seed.seed(site)

    def connection(self, site: Site) -> Mapping[str, str]:
        """The student's: where it is, and its key."""
        return {"base_url": f"{site.origin}/api/", "api_key": seed.student_key(site)}

    def app(self, site: Site) -> ASGIApp:
        """The application."""
        app = FastAPI(title="labext jobs", openapi_url=None, redirect_slashes=False)
        app.state.site = site
        app.state.flood = FloodGuard(None)
        app.include_router(api, prefix="/api")
        app.include_router(presigned)
        handle_errors(app, lambda _status, sentence: {"error": sentence})
        return app


service = JobService()


async def _site(request: Request) -> Site:
    site: Site = request.app.state.site
    return site


SiteOf = Annotated[Site, Depends(_site)]


def _caller(site: SiteOf, request: Request) -> Account:
    """The account that asks: 401 without a valid key, 429 in a flood."""
    with site.database.read() as session:
        account = account_of(session, request.headers.get("x-api-key"))
        flood: FloodGuard = request.app.state.flood
        if site.rate == "named":
            flood.requests = limits.limit(session, "flood_requests")
    allowance = flood.take(str(account.id))
    if not allowance.allowed:
        raise HTTPException(
            429,
            f"More than {allowance.limit} requests in {flood.seconds:g} seconds; wait a little.",
            headers=allowance.retry_after,
        )
    return account


Caller = Annotated[Account, Depends(_caller)]


async def _content(request: Request, _caller: Caller) -> bytes:
    """The body of a request that holds JSON; 400 for one that is too big."""
    parts, size = [], 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > LARGEST_BODY:
                raise invalid(f"The body is bigger than {LARGEST_BODY:,} bytes.")
            parts.append(part)
    except ClientDisconnect:
        raise invalid("The body broke off.") from None  # nobody hears it
    return b"".join(parts)


Content = Annotated[bytes, Depends(_content)]


def _json(value: Any) -> Response:
    return Response(value if isinstance(value, bytes) else orjson.dumps(value), media_type=JSON)


def _message(text: str) -> Response:
    return _json({"message": text})


JSON = "application/json"

api = APIRouter()
presigned = APIRouter()


@api.get("/tools")
def get_tools(caller: Caller) -> Response:
    """Every tool with its parameters; gated ones only for those who may set them."""
    return _json([tool.record(caller.gates) for tool in catalogue.catalogue().values()])


@api.post("/submit-job")
def post_submit_job(site: SiteOf, caller: Caller, content: Content) -> Response:
    """Submit one job."""
    return PlainTextResponse(submission.submit_job(site, caller, content))


@api.post("/submit-batch")
def post_submit_batch(site: SiteOf, caller: Caller, content: Content) -> Response:
    """Submit many jobs of one tool."""
    return PlainTextResponse(submission.submit_batch(site, caller, content))


@api.post("/validate-job")
def post_validate_job(site: SiteOf, caller: Caller, content: Content) -> Response:
    """Check a job without submitting it."""
    return _json(submission.validate_job(site, caller, content))


@api.get("/jobs")
def get_jobs(site: SiteOf, caller: Caller, request: Request) -> Response:
    """List or inspect jobs."""
    return _json(listing.jobs(site, caller, request.query_params))


@api.post("/result")
def post_result(site: SiteOf, caller: Caller, content: Content) -> Response:
    """Get a presigned address."""
    return PlainTextResponse(results.result_address(site, caller, content))


@api.post("/stop-job")
def post_stop_job(site: SiteOf, caller: Caller, content: Content) -> Response:
    """Stop a running or queued job."""
    return _message(ending.stop_job(site, caller, content))


@api.delete("/delete-job")
def delete_job(site: SiteOf, caller: Caller, content: Content, request: Request) -> Response:
    """Delete a job and its data; the name may come in the query, where a client sends no body."""
    name = request.query_params.get("jobName")
    return _message(ending.delete_job(site, caller, content, name))


class _Name(Convertor[str]):
    """Whatever stands behind the last fixed part of a path; `path` of Starlette stops at a line."""

    regex = r"[\s\S]*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("labext_name", _Name())


@api.put("/upload/{filename:labext_name}")
async def put_upload(site: SiteOf, caller: Caller, request: Request, filename: str) -> Response:
    """Upload a file; the content is the body."""
    length = request.headers.get("content-length")
    upload = await run_in_threadpool(
        uploads.begin, site, caller, filename, request.query_params, length
    )
    try:
        return _message(await uploads.receive(site, upload, request.stream()))
    except ClientDisconnect:
        raise invalid("The content broke off.") from None  # nobody hears it


@api.get("/files")
def get_files(site: SiteOf, caller: Caller, request: Request) -> Response:
    """List uploaded files."""
    return _json(uploads.files(site, caller, request.query_params))


@api.delete("/delete-file")
def delete_file(site: SiteOf, caller: Caller, request: Request) -> Response:
    """Remove a file or folder."""
    return _message(uploads.delete_file(site, caller, request.query_params))


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


@presigned.api_route(results.PREFIX + "/{rest:labext_name}", methods=["GET", "HEAD"])
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
