"""Routes for uploads and results, authenticated by key or by presigned URL."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, Response
from starlette.concurrency import run_in_threadpool
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.requests import ClientDisconnect

from labext.sandbox.core.dependencies import SiteDep
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.core.web import DownloadResponse
from labext.sandbox.jobs.dependencies import CallerDep, ContentDep, json_response, message_response
from labext.sandbox.jobs.files import job_files, job_logs, uploaded_files
from labext.sandbox.jobs.schemas import bad_request

router = APIRouter()
"""Routes below `/api`; every request needs a key."""

keyless_router = APIRouter()
"""Routes of presigned URLs, which need no key."""


class _AnyPathConvertor(PathConvertor):
    """Match the rest of a path including line breaks, unlike Starlette's `path`."""

    regex = r"[\s\S]*"


register_url_convertor("labext_name", _AnyPathConvertor())


@router.post("/result")
def post_result(site: SiteDep, caller: CallerDep, content: ContentDep) -> Response:
    """Return the presigned URL of a result."""
    return PlainTextResponse(job_files.create_result_url(site, caller, content))


@router.put("/upload/{filename:labext_name}")
async def put_upload(site: SiteDep, caller: CallerDep, request: Request, filename: str) -> Response:
    """Upload the request body as a file."""
    length = request.headers.get("content-length")
    upload = await run_in_threadpool(
        uploaded_files.begin_upload, site, caller, filename, request.query_params, length
    )
    return await _receive_upload(site, upload, request)


async def _receive_upload(site: Site, upload: uploaded_files.Upload, request: Request) -> Response:
    try:
        return message_response(await uploaded_files.receive_upload(site, upload, request.stream()))
    except ClientDisconnect:
        raise bad_request("The content is incomplete.") from None  # no client receives this


@router.post("/getPresignedUploadUrl")
def post_presigned_upload(site: SiteDep, caller: CallerDep, content: ContentDep) -> Response:
    """Return the presigned URLs of an upload."""
    return json_response(uploaded_files.create_upload_urls(site, caller, content))


@keyless_router.put(uploaded_files.UPLOAD_PREFIX + "/{rest:labext_name}")
async def put_presigned(site: SiteDep, request: Request, rest: str) -> Response:
    """Upload a file to its presigned URL."""
    length = request.headers.get("content-length")
    upload = await run_in_threadpool(
        uploaded_files.begin_presigned_upload, site, rest, request.query_params, length
    )
    return await _receive_upload(site, upload, request)


@keyless_router.head(uploaded_files.UPLOAD_PREFIX + "/{rest:labext_name}")
def head_presigned(site: SiteDep, request: Request, rest: str) -> Response:
    """Return the length, upload time and checksum of a presigned URL's file as headers."""
    return Response(headers=uploaded_files.presigned_headers(site, rest, request.query_params))


@router.get("/files")
def get_files(site: SiteDep, caller: CallerDep, request: Request) -> Response:
    """List uploaded files."""
    return json_response(uploaded_files.list_files(site, caller, request.query_params))


@router.get("/getFolders")
def get_folders(site: SiteDep, caller: CallerDep) -> Response:
    """List the folders of uploaded files."""
    return json_response(uploaded_files.list_folders(site, caller))


@router.delete("/delete-file")
def delete_file(site: SiteDep, caller: CallerDep, request: Request) -> Response:
    """Delete a file or folder."""
    return message_response(uploaded_files.delete_file(site, caller, request.query_params))


@router.get("/job-log")
def get_job_log(site: SiteDep, caller: CallerDep, request: Request) -> Response:
    """Return the log of a job in any state."""
    return json_response(job_logs.read_log(site, caller, request.query_params))


@router.get("/job-outputs")
def get_job_outputs(site: SiteDep, caller: CallerDep, request: Request) -> Response:
    """List the files that a job has written, or send one of them."""
    query = request.query_params
    if "file" not in query:
        return json_response(job_logs.list_job_outputs(site, caller, query))
    return _attachment(job_logs.find_job_output(site, caller, query), "application/octet-stream")


@keyless_router.api_route(
    job_files.DOWNLOAD_PREFIX + "/{rest:labext_name}", methods=["GET", "HEAD"]
)
def get_download(site: SiteDep, request: Request, rest: str) -> Response:
    """Send the result of a presigned URL."""
    query = request.query_params
    download = job_files.find_download(
        site, f"{job_files.DOWNLOAD_PREFIX}/{rest}", query.get("expires"), query.get("signature")
    )
    return _attachment(download)


def _attachment(download: job_files.DownloadFile, media_type: str | None = None) -> Response:
    """Send a file as an attachment; the default media type is guessed from its name."""
    error = job_files.deleted_file_error()
    return DownloadResponse(download.file, error, media_type, download.name)
