"""Routes of the job service, its OpenAPI description and its service object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import PlainTextResponse, Response
from sqlalchemy import MetaData
from starlette.concurrency import run_in_threadpool
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp

from labext.sandbox.core.dependencies import SiteDep
from labext.sandbox.core.file_storage.service_files import with_fetched
from labext.sandbox.core.queue import TaskKind
from labext.sandbox.core.rate_limits import rate_limiter
from labext.sandbox.core.service_protocol import Service, Site
from labext.sandbox.core.web import DownloadResponse, handle_errors
from labext.sandbox.jobs import scheduling, seed, submission, tasks, usage
from labext.sandbox.jobs import service as jobs_service
from labext.sandbox.jobs.dependencies import CallerDep, ContentDep, json_response, message_response
from labext.sandbox.jobs.files import job_files, job_logs, uploaded_files
from labext.sandbox.jobs.pipelines.service import run_pipeline, submit_pipeline
from labext.sandbox.jobs.schemas import bad_request
from labext.sandbox.jobs.service import list_jobs
from labext.sandbox.jobs.tables import Base
from labext.sandbox.jobs.tools import catalogue


class JobService(Service):
    """The job service for the host."""

    name = "jobs"
    endpoints = ("jobs",)
    metadata: MetaData = Base.metadata
    data_folders: Sequence[str] = job_files.DATA_FOLDERS

    @property
    def preload(self) -> Sequence[str]:
        """Modules with the entry points of tasks, and the tools with their imports."""
        entries = ("labext.sandbox.jobs.execution", "labext.sandbox.jobs.files.result_archives")
        return [*entries, *catalogue.preload_modules()]

    def kinds(self, site: Site) -> Sequence[TaskKind]:
        """Return the task kinds: run a job, and build the archive of a batch or pipeline."""
        return tasks.task_kinds(site)

    def seed(self, site: Site) -> None:
        """Create the folders and the initial accounts."""
        job_files.prepare_folders(site)
        seed.seed(site)

    def has_sample_accounts(self, site: Site) -> bool:
        """Return whether the student or the teacher exists."""
        return seed.has_sample_accounts(site)

    def records_files(self, site: Site) -> bool:
        """Return whether there is an uploaded file, or a job with results."""
        return job_files.has_records(site)

    def orphans(self, site: Site) -> Sequence[Path]:
        """Return the uploaded files and job folders without a database row."""
        return job_files.find_orphans(site)

    def connection(self, site: Site) -> Mapping[str, str]:
        """Return the base URL, and for a local sandbox the student's key."""
        record = {"base_url": f"{site.origin}/api/"}
        return record if site.server else record | {"api_key": seed.student_key(site)}

    def apps(self, site: Site) -> Mapping[str, ASGIApp]:
        """Return the application."""
        app = FastAPI(title="labext jobs", openapi_url=None, redirect_slashes=False)
        app.state.site = site
        app.state.limiter = rate_limiter(site.database, "jobs")
        app.include_router(api, prefix="/api")
        app.include_router(keyless)
        handle_errors(app, lambda _status, message: {"error": message})
        return {"jobs": app}


service = JobService()

api = APIRouter()
"""Routes below `/api`; every request except that of the description needs a key."""

keyless = APIRouter()
"""Routes of presigned URLs, which need no key."""


@api.get("/openapi.json")
def get_openapi() -> Response:
    """Return the OpenAPI description; requires no key."""
    return json_response((files("labext.sandbox.jobs") / "openapi.json").read_bytes())


@api.get("/tools")
def get_tools(caller: CallerDep) -> Response:
    """List the tools with the parameters available to the caller."""
    return json_response(
        [tool.record(caller.gates) for tool in catalogue.available_tools().values()]
    )


@api.post("/submit-job")
def post_submit_job(site: SiteDep, caller: CallerDep, content: ContentDep) -> Response:
    """Submit one job."""
    return PlainTextResponse(with_fetched(partial(submission.submit_job, site, caller, content)))


@api.post("/submit-batch")
def post_submit_batch(site: SiteDep, caller: CallerDep, content: ContentDep) -> Response:
    """Submit a batch of jobs of one tool."""
    return PlainTextResponse(with_fetched(partial(submission.submit_batch, site, caller, content)))


@api.post("/submit-pipeline")
def post_submit_pipeline(site: SiteDep, caller: CallerDep, content: ContentDep) -> Response:
    """Submit a pipeline that is defined in the body."""
    return PlainTextResponse(with_fetched(partial(submit_pipeline, site, caller, content)))


@api.post("/run-pipeline")
def post_run_pipeline(site: SiteDep, caller: CallerDep, content: ContentDep) -> Response:
    """Submit a saved pipeline."""
    return PlainTextResponse(with_fetched(partial(run_pipeline, site, caller, content)))


@api.post("/validate-job")
def post_validate_job(site: SiteDep, caller: CallerDep, content: ContentDep) -> Response:
    """Check a job, or the rows of a batch, without submitting anything."""
    return json_response(submission.validate_submission(site, caller, content))


@api.get("/jobs")
def get_jobs(site: SiteDep, caller: CallerDep, request: Request) -> Response:
    """List jobs, or return one job by name."""
    return json_response(list_jobs(site, caller, request.query_params))


@api.post("/stop-job")
def post_stop_job(site: SiteDep, caller: CallerDep, content: ContentDep) -> Response:
    """Stop a running or queued job."""
    return message_response(jobs_service.stop_job(site, caller, content))


@api.post("/cancelJob")
def post_cancel_job(site: SiteDep, caller: CallerDep, content: ContentDep) -> Response:
    """Stop a job that is not a batch."""
    return message_response(jobs_service.stop_job(site, caller, content, batch=False))


@api.post("/cancelBatch")
def post_cancel_batch(site: SiteDep, caller: CallerDep, content: ContentDep) -> Response:
    """Stop a batch with all its jobs."""
    return message_response(jobs_service.cancel_batch(site, caller, content))


@api.delete("/delete-job")
def delete_job(site: SiteDep, caller: CallerDep, content: ContentDep, request: Request) -> Response:
    """Delete a job and its data; the name may be in the query instead of the body."""
    name = request.query_params.get("jobName")
    return message_response(
        with_fetched(partial(jobs_service.delete_job, site, caller, content, name))
    )


@api.get("/workers")
def get_workers(site: SiteDep, caller: CallerDep) -> Response:
    """List the workers that run jobs."""
    return json_response(scheduling.list_workers(site, caller))


@api.get("/usage-statistics")
def get_usage_statistics(site: SiteDep, caller: CallerDep, request: Request) -> Response:
    """Return the usage of the caller or its organization."""
    return json_response(usage.usage_statistics(site, caller, request.query_params))


class _AnyPathConvertor(PathConvertor):
    """Match the rest of a path including line breaks, unlike Starlette's `path`."""

    regex = r"[\s\S]*"


register_url_convertor("labext_name", _AnyPathConvertor())


@api.post("/result")
def post_result(site: SiteDep, caller: CallerDep, content: ContentDep) -> Response:
    """Return the presigned URL of a result."""
    return PlainTextResponse(job_files.create_result_url(site, caller, content))


@api.put("/upload/{filename:labext_name}")
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


@api.post("/getPresignedUploadUrl")
def post_presigned_upload(site: SiteDep, caller: CallerDep, content: ContentDep) -> Response:
    """Return the presigned URLs of an upload."""
    return json_response(uploaded_files.create_upload_urls(site, caller, content))


@keyless.put(uploaded_files.UPLOAD_PREFIX + "/{rest:labext_name}")
async def put_presigned(site: SiteDep, request: Request, rest: str) -> Response:
    """Upload a file to its presigned URL."""
    length = request.headers.get("content-length")
    upload = await run_in_threadpool(
        uploaded_files.begin_presigned_upload, site, rest, request.query_params, length
    )
    return await _receive_upload(site, upload, request)


@keyless.head(uploaded_files.UPLOAD_PREFIX + "/{rest:labext_name}")
def head_presigned(site: SiteDep, request: Request, rest: str) -> Response:
    """Return the length, upload time and checksum of a presigned URL's file as headers."""
    return Response(headers=uploaded_files.presigned_headers(site, rest, request.query_params))


@api.get("/files")
def get_files(site: SiteDep, caller: CallerDep, request: Request) -> Response:
    """List uploaded files."""
    return json_response(uploaded_files.list_files(site, caller, request.query_params))


@api.get("/getFolders")
def get_folders(site: SiteDep, caller: CallerDep) -> Response:
    """List the folders of uploaded files."""
    return json_response(uploaded_files.list_folders(site, caller))


@api.delete("/delete-file")
def delete_file(site: SiteDep, caller: CallerDep, request: Request) -> Response:
    """Delete a file or folder."""
    return message_response(uploaded_files.delete_file(site, caller, request.query_params))


@api.get("/job-log")
def get_job_log(site: SiteDep, caller: CallerDep, request: Request) -> Response:
    """Return the log of a job in any state."""
    return json_response(job_logs.read_log(site, caller, request.query_params))


@api.get("/job-outputs")
def get_job_outputs(site: SiteDep, caller: CallerDep, request: Request) -> Response:
    """List the files that a job has written, or send one of them."""
    query = request.query_params
    if "file" not in query:
        return json_response(job_logs.list_job_outputs(site, caller, query))
    return _attachment(job_logs.find_job_output(site, caller, query), "application/octet-stream")


@keyless.api_route(job_files.DOWNLOAD_PREFIX + "/{rest:labext_name}", methods=["GET", "HEAD"])
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
