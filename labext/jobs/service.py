"""One method for each request that the client makes of the job service.

Here an answer's many forms become one; nothing is decided.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO

from labext.errors import AccessError, LabextError, NotFoundError, ServiceError
from labext.jobs import operations, rows
from labext.jobs.rows import Page, Row
from labext.transport import Reply, Transport

PAGE = 1000
"""Rows asked for in one page of a list (job service contract, Limits)."""


class Service:
    """The job service at one address, over one transport."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.address = transport.base_url.rstrip("/")

    def tools(self) -> list[dict[str, Any]]:
        """Return every tool's record."""
        answer = self.transport.send(operations.TOOLS).json()
        if isinstance(answer, Mapping) and isinstance(answer.get("tools"), list):
            answer = answer["tools"]
        if not isinstance(answer, list):
            raise ServiceError("The service's list of tools makes no sense.")
        return [tool for tool in answer if isinstance(tool, dict) and tool.get("name")]

    def row(self, name: str, email: str | None = None) -> Row:
        """Return one job's row, with the tally of its jobs as `statuses` if it is a batch.

        Raises:
            NotFoundError: no job has the name.
        """
        params = {"jobName": name, "jobEmail": email}
        return rows.record(self.transport.send(operations.JOB, params=params).json(), name)

    def find(self, name: str, email: str | None = None) -> Row | None:
        """Return one job's row; None where no job has the name, or it was deleted."""
        try:
            row = self.row(name, email)
        except NotFoundError:
            return None
        return None if rows.phase(row) == "Deleted" else row

    def pages(
        self, *, limit: int | None = None, start_key: str | None = None, **params: Any
    ) -> Iterator[Page]:
        """Yield the pages of a list, of at most `limit` rows in all.

        Raises:
            ServiceError: the service gives the same key twice, so that the list would never end.
        """
        left, key, seen = limit, start_key, set[str]()
        while left is None or left > 0:
            asked = PAGE if left is None else min(left, PAGE)
            query = {**params, "limit": asked, "startKey": key or None}
            page = rows.page(self.transport.send(operations.JOBS, params=query).json())
            if left is not None:
                page = page._replace(rows=page.rows[:left])
                left -= len(page.rows)
            yield page
            key = page.start_key
            if not key:
                return
            if key in seen:
                raise circle()
            seen.add(key)

    def validate(self, body: Mapping[str, Any]) -> tuple[bool, str] | None:
        """Ask whether a submission would be accepted; None where the service can't be asked.

        Returns:
            Whether it would, and the service's words if not.
        """
        try:
            answer = self.transport.send(operations.VALIDATE, json=body).json()
        except LabextError as error:
            if _not_served(error):
                return None
            raise
        if not isinstance(answer, Mapping) or not isinstance(answer.get("valid"), bool):
            return None
        return answer["valid"], str(answer.get("error") or "")

    def submit_job(self, body: Mapping[str, Any]) -> str:
        """Submit a job; return the service's words."""
        return said(self.transport.send(operations.SUBMIT, json=body))

    def submit_batch(self, body: Mapping[str, Any]) -> str:
        """Submit a batch of at most 100 jobs; return the service's words."""
        return said(self.transport.send(operations.SUBMIT_BATCH, json=body))

    def result_url(
        self,
        name: str,
        *,
        file: str | None = None,
        pdbs_only: bool = False,
        email: str | None = None,
    ) -> str:
        """Return a fresh presigned address of a job's results."""
        body: dict[str, Any] = {"jobName": name}
        if file is not None:
            body["fileName"] = file
        if pdbs_only:
            body["pdbsOnly"] = True
        if email is not None:
            body["jobEmail"] = email
        return _address(self.transport.send(operations.RESULT, json=body), name)

    def stop(self, name: str) -> str:
        """Stop a job or a batch; return the service's words."""
        return said(self.transport.send(operations.STOP, json={"jobName": name}))

    def delete(self, name: str) -> str:
        """Delete a job or a batch with its data; return the service's words."""
        return said(self.transport.send(operations.DELETE, json={"jobName": name}))

    def upload(self, name: str, content: Callable[[], BinaryIO], folder: str | None) -> str:
        """Upload a file's content; return the service's words."""
        reply = self.transport.send(
            operations.UPLOAD,
            path={"filename": name},
            params={"folder": folder},
            content=content,
            headers={"Content-Type": "application/octet-stream"},
        )
        return said(reply)

    def files(self, folder: str | None = None, *, include_folders: bool = False) -> list[str]:
        """Return the names of the uploaded files."""
        params = {"folder": folder, "includeFolders": include_folders or None}
        answer = self.transport.send(operations.FILES, params=params).json()
        if isinstance(answer, Mapping):
            answer = answer.get("files")
        if not isinstance(answer, list):
            raise ServiceError("The service's list of files makes no sense.")
        return [
            str(entry.get("name") or entry.get("key")) if isinstance(entry, Mapping) else str(entry)
            for entry in answer
        ]

    def delete_file(self, path: str | None, folder: str | None) -> str:
        """Delete an uploaded file, or a folder with its files; return the service's words."""
        params = {"filePath": path, "folder": folder}
        return said(self.transport.send(operations.DELETE_FILE, params=params))


def circle() -> ServiceError:
    """Return the error for a list whose keys come again."""
    return ServiceError("The service's list of jobs goes round in a circle.")


def said(reply: Reply) -> str:
    """Return a confirmation: plain text, a JSON string, or an object with `message`."""
    text = reply.text().strip()
    try:
        answer = json.loads(text)
    except ValueError:
        return text
    if isinstance(answer, Mapping):
        return str(answer.get("message") or answer.get("status") or "")
    return answer if isinstance(answer, str) else text


def _address(reply: Reply, name: str) -> str:
    """Return the presigned address: bare, in quotes, or in an object."""
    text = reply.text().strip()
    try:
        answer = json.loads(text)
    except ValueError:
        answer = text.strip("\"' \t\r\n")
    if isinstance(answer, Mapping):
        answer = next((answer[key] for key in ("url", "resultUrl", "message") if key in answer), "")
    address = str(answer).strip()
    if not address.lower().startswith(("http://", "https://")) or any(map(str.isspace, address)):
        raise ServiceError(f"The service gave no address for the results of {name}.")
    return address


def _not_served(error: LabextError) -> bool:
    if isinstance(error, NotFoundError) and error.status in (403, 404):
        return True
    return not isinstance(error, AccessError) and error.status in (405, 501)
