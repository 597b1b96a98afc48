"""Operations of the job service, one method per request."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO

from labext.actions import Action, parameter
from labext.config import is_sandbox
from labext.errors import (
    AccessError,
    InputError,
    LabextError,
    NotFoundError,
    ServiceError,
    UnreachableError,
)
from labext.http import HttpClient, Operation, Response, RetryMode
from labext.http.pagination import PageGuard
from labext.jobs import records
from labext.jobs.file_versions import FileVersion
from labext.jobs.records import JobRecord, Page
from labext.messages import end_sentence

_BUDGET_USED_PATTERN = re.compile(r"(?i)\bbudget\b.*\b(?:used up|exhausted|exceeded)")


def budget_step(address: str) -> str:
    """Return how to get a larger budget from the service at this address."""
    if is_sandbox(address):
        return "`labext sandbox jobs budgets set` sets a larger budget."
    return "Ask the administrator of the service for a larger budget."


def _submission(name: str, path: str) -> Operation:
    """Return a submission operation, sent again only if the first request was never sent.

    Whether an earlier request arrived can be looked up by the name of the submission.
    """
    return Operation(
        name,
        "POST",
        path,
        RetryMode.UNSENT,
        next_step="{action} shows whether it exists; sending it again creates no duplicate.",
        action=Action.list_jobs(),
    )


TOOLS = Operation("list tools", "GET", "tools", RetryMode.ALWAYS, answer="json")
JOB = Operation("get a job", "GET", "jobs", RetryMode.ALWAYS, answer="json")
JOBS = Operation("list jobs", "GET", "jobs", RetryMode.ALWAYS, answer="json")
VALIDATE = Operation("validate a job", "POST", "validate-job", RetryMode.ALWAYS, answer="json")
SUBMIT = _submission("submit a job", "submit-job")
SUBMIT_BATCH = _submission("submit a batch", "submit-batch")
SUBMIT_PIPELINE = _submission("submit a pipeline", "submit-pipeline")
RUN_PIPELINE = _submission("run a pipeline", "run-pipeline")
RESULT = Operation("get results", "POST", "result", RetryMode.ALWAYS)
LOG = Operation("read a log", "GET", "job-log", RetryMode.ALWAYS, answer="json")
OUTPUTS = Operation("list output files", "GET", "job-outputs", RetryMode.ALWAYS, answer="json")
OUTPUT = Operation(
    "read an output file", "GET", "job-outputs", RetryMode.ALWAYS, answer="unchecked"
)
WORKERS = Operation("list workers", "GET", "workers", RetryMode.ALWAYS, answer="json")
STOP = Operation("stop a job", "POST", "stop-job", RetryMode.ALWAYS)
CANCEL_JOB = Operation("stop a job", "POST", "cancelJob", RetryMode.ALWAYS)
CANCEL_BATCH = Operation("stop a batch", "POST", "cancelBatch", RetryMode.ALWAYS)
DELETE = Operation("delete a job", "DELETE", "delete-job", RetryMode.DELETE)
UPLOAD = Operation("upload a file", "PUT", "upload/{filename}", RetryMode.ALWAYS)
FILES = Operation("list files", "GET", "files", RetryMode.ALWAYS, answer="json")
FOLDERS = Operation("list folders", "GET", "getFolders", RetryMode.ALWAYS, answer="json")
PRESIGN = Operation(
    "get an upload address",
    "POST",
    "getPresignedUploadUrl",
    RetryMode.ALWAYS,  # creating an address stores nothing, so a repetition is harmless
    answer="json",
)
USAGE = Operation("read the usage", "GET", "usage-statistics", RetryMode.ALWAYS, answer="json")
DELETE_FILE = Operation("delete a file", "DELETE", "delete-file", RetryMode.DELETE)

BY_NAME = frozenset({JOB.name, RESULT.name, STOP.name, CANCEL_BATCH.name, DELETE.name})
"""Names of the operations that look up an existing job by its name."""
PIPELINES = frozenset({SUBMIT_PIPELINE.name, RUN_PIPELINE.name})
SUBMISSIONS = frozenset({SUBMIT.name, SUBMIT_BATCH.name, VALIDATE.name}) | PIPELINES


@contextmanager
def _names_in_action(**names: str | None) -> Iterator[None]:
    """Add the names of a request to the next step of its error, in place of placeholders."""
    try:
        yield
    except LabextError as error:
        arguments = {key: name for key, name in names.items() if name}
        raise error.with_arguments(**arguments) from error.__cause__


def confirmation_text(reply: Response) -> str:
    """Return the message of a confirmation, sent as plain text, a JSON string or an object."""
    answer = _reply_value(reply)
    if isinstance(answer, Mapping):
        return str(answer.get("message") or answer.get("status") or "")
    return answer if isinstance(answer, str) else reply.text().strip()


def presigned_url(reply: Response, name: str) -> str:
    """Return the presigned URL in a response: plain text, a quoted string or an object."""
    answer = _reply_value(reply)
    if isinstance(answer, Mapping):
        answer = next((answer[key] for key in ("url", "resultUrl", "message") if key in answer), "")
    address = str(answer).strip("\"' \t\r\n")
    if not is_http_url(address):
        raise ServiceError(f"The service returned no download address for the results of {name}.")
    return address


def _reply_value(reply: Response) -> Any:
    """Return the JSON value of a response, or its text if it is not JSON."""
    try:
        return reply.json()
    except ServiceError:
        return reply.text().strip()


def is_http_url(text: str) -> bool:
    """Return whether a text is an HTTP or HTTPS URL."""
    return text.lower().startswith(("http://", "https://")) and not any(map(str.isspace, text))


def is_not_served(error: LabextError) -> bool:
    """Return whether an error means that the service lacks the endpoint."""
    if isinstance(error, NotFoundError) and error.status in (403, 404):
        return True
    return not isinstance(error, AccessError) and error.status in (405, 501)


PAGE_SIZE = 1000
"""Number of rows requested per page of a list (JOBS-81)."""


class JobsApi:
    """Operations of the job service at one address."""

    def __init__(self, http: HttpClient) -> None:
        self.http = http
        self.address = http.base_url.rstrip("/")
        self._describes_files = True

    def upload(self, name: str, content: Callable[[], BinaryIO], folder: str | None) -> str:
        """Upload a file's content; return the service's message."""
        reply = self.http.send(
            UPLOAD,
            path={"filename": name},
            params={"folder": folder},
            content=content,
            headers={"Content-Type": "application/octet-stream"},
        )
        return confirmation_text(reply)

    def files(self, folder: str | None = None, *, include_folders: bool = False) -> list[str]:
        """Return the names of the uploaded files."""
        params = {"folder": folder, "includeFolders": include_folders or None}
        return _names_in_list(self.http.send(FILES, params=params).json(), "files")

    def folders(self) -> list[str] | None:
        """Return the names of the folders; None if the service can't list them."""
        try:
            answer = self.http.send(FOLDERS).json()
        except LabextError as error:
            if is_not_served(error):
                return None
            raise
        return _names_in_list(answer, "folders")

    def presigned_upload(self, name: str, folder: str | None) -> tuple[str, str | None]:
        """Return the presigned URL for uploading a file (PUT), and one for checking it (HEAD).

        Raises:
            NotFoundError: the service does not support presigned uploads.
            ServiceError: the response has no upload URL.
        """
        body = {"filename": name} if folder is None else {"filename": name, "folder": folder}
        try:
            answer = self.http.send(PRESIGN, json=body).json()
        except LabextError as error:
            if not is_not_served(error):
                raise
            raise NotFoundError(
                "The service does not support presigned uploads.",
                f"Upload without {parameter('presigned')}.",
                status=error.status,
            ) from None
        address = answer.get("uploadUrl") if isinstance(answer, Mapping) else None
        if not isinstance(address, str) or not is_http_url(address):
            raise ServiceError(f"The service returned no upload address for {name}.")
        head = answer.get("headUrl")
        return address, head if isinstance(head, str) and is_http_url(head) else None

    def stored_version(self, name: str, folder: str | None) -> FileVersion | None:
        """Return the version of an uploaded file as its object store reports it.

        None if the service does not support presigned URLs, or if the request fails.
        """
        if not self._describes_files:
            return None
        try:
            _, head = self.presigned_upload(name, folder)
            if head is None:
                return None
            return FileVersion.from_headers(self.http.store().headers(head, name))
        except NotFoundError as error:
            if error.method != "HEAD":
                self._describes_files = False
            return None
        except LabextError:
            return None

    def delete_file(self, path: str | None, folder: str | None) -> str:
        """Delete an uploaded file, or a folder with its files; return the service's message."""
        params = {"filePath": path, "folder": folder}
        return confirmation_text(self.http.send(DELETE_FILE, params=params))

    def tools(self) -> list[dict[str, Any]]:
        """Return the records of all tools."""
        answer = self.http.send(TOOLS).json()
        if isinstance(answer, Mapping) and isinstance(answer.get("tools"), list):
            answer = answer["tools"]
        if not isinstance(answer, list):
            raise ServiceError("The service returned an invalid list of tools.")
        return [tool for tool in answer if isinstance(tool, dict) and tool.get("name")]

    def row(self, name: str, email: str | None = None) -> JobRecord:
        """Return the row of a job; a batch has its number of jobs by state in `statuses`."""
        params = {"jobName": name, "jobEmail": email}
        return records.parse_record(self.http.send(JOB, params=params).json(), name)

    def find(self, name: str, email: str | None = None) -> JobRecord | None:
        """Return the row of a job; None if no job has this name or the job was deleted."""
        try:
            row = self.row(name, email)
        except NotFoundError:
            return None
        return None if records.phase(row) == "Deleted" else row

    def pages(
        self, *, limit: int | None = None, start_key: str | None = None, **params: Any
    ) -> Iterator[Page]:
        """Yield the pages of a job list, with at most `limit` rows in total."""
        remaining, key, guard = limit, start_key, page_guard(start_key)
        while remaining is None or remaining > 0:
            size = PAGE_SIZE if remaining is None else min(remaining, PAGE_SIZE)
            page = self.page(size, key, **params)
            if remaining is not None:
                page = page._replace(rows=page.rows[:remaining])
                remaining -= len(page.rows)
            yield page
            key = page.start_key
            if not key:
                return
            guard.add_page(row_names(page.rows))
            guard.check_next(key)

    def page(self, limit: int, start_key: str | None = None, **params: Any) -> Page:
        """Return one page of a job list."""
        query = {**params, "limit": limit, "startKey": start_key or None}
        return records.parse_page(self.http.send(JOBS, params=query).json())

    def validate(self, body: Mapping[str, Any]) -> tuple[bool, str] | None:
        """Validate a submission on the service; None if the service can't validate it.

        Returns:
            True if the service would accept the submission, and its error message otherwise.

        Raises:
            AccessError: the budget is used up, which is no fault of the submission.
        """
        try:
            answer = self.http.send(VALIDATE, json=body).json()
        except LabextError as error:
            if is_not_served(error):
                return None
            raise
        if not isinstance(answer, Mapping) or not isinstance(answer.get("valid"), bool):
            return None
        message = str(answer.get("error") or "")
        if not answer["valid"] and _BUDGET_USED_PATTERN.search(message):
            raise AccessError(
                end_sentence(f"The service would refuse a submission: {message}"),
                budget_step(self.address),
            )
        return answer["valid"], message

    def validate_rows(self, body: Mapping[str, Any]) -> dict[int, str] | None:
        """Validate the rows of a batch on the service; return its error messages by row position.

        None if the service does not validate rows: it validates one job per request, or rejects
        the whole request, in which case the submission reports the error.
        """
        try:
            answer = self.http.send(VALIDATE, json=body).json()
        except (InputError, ServiceError) as error:
            if isinstance(error, UnreachableError):
                raise
            return None
        results = answer.get("results") if isinstance(answer, Mapping) else None
        if not isinstance(results, list) or not all(isinstance(row, Mapping) for row in results):
            return None
        validity = {
            row["index"]: row["valid"]
            for row in results
            if isinstance(row.get("index"), int) and isinstance(row.get("valid"), bool)
        }
        if validity.keys() != set(range(len(body["settings"]))):
            return None
        return {
            row["index"]: str(row.get("error") or "it is invalid")
            for row in results
            if not row["valid"]
        }

    def submit(self, operation: Operation, body: Mapping[str, Any]) -> str:
        """Submit a job, a batch of at most 100 jobs or a pipeline; return the service's message."""
        with _names_in_action(tool=body.get("type")):
            return confirmation_text(self.http.send(operation, json=body))

    def result_url(
        self,
        name: str,
        *,
        file: str | None = None,
        pdbs_only: bool = False,
        email: str | None = None,
    ) -> str:
        """Return a new presigned URL of a job's results."""
        fields = {"fileName": file, "pdbsOnly": pdbs_only or None, "jobEmail": email}
        body = {"jobName": name} | {key: v for key, v in fields.items() if v is not None}
        with _names_in_action(name=None if email else name):
            return presigned_url(self.http.send(RESULT, json=body), name)

    def log(self, name: str, offset: int, email: str | None = None) -> Any:
        """Return a part of a job's log; an endpoint of the sandbox (JOBS-188)."""
        params: dict[str, str | int | None] = {"name": name, "offset": offset, "email": email}
        return self.http.send(LOG, params=params).json()

    def outputs(self, name: str, email: str | None = None) -> Any:
        """Return the output files of a job; an endpoint of the sandbox (JOBS-192)."""
        return self.http.send(OUTPUTS, params={"name": name, "email": email}).json()

    def output(self, name: str, file: str, email: str | None = None) -> bytes:
        """Return an output file of a finished job; an endpoint of the sandbox (JOBS-193)."""
        params = {"name": name, "file": file, "email": email}
        return self.http.send(OUTPUT, params=params).content

    def stop(self, name: str, *, batch: bool = False) -> str:
        """Stop a job, a pipeline or a batch; return the service's message.

        Services without `/stop-job` provide `cancelJob` and, for batches, `cancelBatch`.
        """
        try:
            return confirmation_text(self.http.send(STOP, json={"jobName": name}))
        except LabextError as error:
            if not is_not_served(error) or _mentions(error.server, name):
                raise  # the error concerns this job, not the endpoint
            stop_error = error
        cancel = CANCEL_BATCH if batch else CANCEL_JOB
        try:
            return confirmation_text(
                self.http.send(cancel, json={"batchName" if batch else "jobName": name})
            )
        except LabextError as error:
            if not is_not_served(error):
                raise
        raise stop_error

    def delete(self, name: str) -> str:
        """Delete a job or a batch with its data; return the service's message."""
        return confirmation_text(self.http.send(DELETE, json={"jobName": name}))

    def workers(self) -> Any:
        """Return the service's workers unchanged."""
        return self.http.send(WORKERS).json()

    def usage(self, statistic: str, scope: str) -> Any:
        """Return the usage statistics as the service sends them."""
        params = {"statistic": statistic, "scope": scope}
        return self.http.send(USAGE, params=params).json()


def _names_in_list(answer: Any, key: str) -> list[str]:
    """Return the names in a list of files or folders, which may be the value of `key`."""
    if isinstance(answer, Mapping):
        answer = answer.get(key)
    if not isinstance(answer, list):
        raise ServiceError(f"The service returned an invalid list of {key}.")
    return [
        str(entry.get("name") or entry.get("key")) if isinstance(entry, Mapping) else str(entry)
        for entry in answer
    ]


def _mentions(message: str | None, name: str) -> bool:
    """Return whether the service's message contains a job's name as a whole word."""
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", message or "") is not None


def page_guard(start_key: str | None) -> PageGuard:
    """Return a guard against endless pagination of a job list."""
    return PageGuard("The job service's list of jobs", start_key or "")


def row_names(rows: Iterable[JobRecord]) -> list[str | None]:
    """Return the names that identify job rows; None if a row has no name."""
    return [str(row["JobName"]) if row.get("JobName") else None for row in rows]
