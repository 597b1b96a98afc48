"""A job service on loopback that records every request and fails by script.

It shares no code with the sandbox: it has the endpoints and response formats of the contract and of
real services that the client uses.
"""

from __future__ import annotations

import hashlib
import io
import json
import threading
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import format_datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from IPython.core.interactiveshell import InteractiveShell
from labext_test_shell import opened
from local_http import QuietHandler, serve

from labext.jobs import JobsClient
from labext.sandbox import Sandbox

KEY = "ledger-key-0123456789"
TOOLS = [
    {
        "name": "fold",
        "displayName": "Fold",
        "description": "Folds.",
        "settings": [
            {"name": "sequence", "required": True, "type": "string"},
            {"name": "temperature", "required": False, "default": 37},
            {"name": "mode", "required": False, "options": ["fast", "slow"]},
            {"name": "pdbFile", "required": False, "type": "pdb"},
        ],
    }
]


@dataclass
class Answer:
    """A scripted response, or a lost connection."""

    status: int = 200
    body: bytes | str | Any = ""
    kind: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    first_acts: bool = False
    lost: bool = False
    corrupt: Callable[[bytes], bytes] | None = None
    stalls: bool = False

    def content(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return (self.body if isinstance(self.body, str) else json.dumps(self.body)).encode()


class Ledger:
    """The job service: records by name, and every request in order."""

    answer = Answer
    key = KEY

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, Any]] = {}
        self.members: dict[str, list[str]] = {}
        self.archives: dict[str, bytes] = {}
        self.files: list[str] = []
        self.tools: list[dict[str, Any]] = json.loads(json.dumps(TOOLS))
        self.scripts: dict[str, list[Answer | None]] = {}
        self.received: list[tuple[str, dict[str, str], Any]] = []
        self.keys: list[tuple[str, str | None]] = []
        self.validates_rows = True
        self.not_served: dict[str, Answer] = {}
        self.usage: Any = {}
        self.stored: dict[str, bytes] = {}
        self.stored_at: dict[str, datetime | None] = {}
        self.tells_md5 = True
        self.moment: datetime | None = None
        """The time used as `Created` of jobs and `Last-Modified` of files."""
        self.done: Counter[str] = Counter()
        self.by_name: Callable[[dict[str, Any]], Any] = lambda row: row
        self.as_list: Callable[[list[dict[str, Any]], str], Any] = lambda rows, key: {
            "jobs": rows,
            "startKey": key,
            "statuses": {},
        }
        self.as_url: Callable[[str], str] = lambda url: url
        self.url = ""
        self.lock = threading.RLock()

    # For the tests

    @staticmethod
    def lost_after() -> Answer:
        """Process the request, then close the connection without a response."""
        return Answer(first_acts=True, lost=True)

    @staticmethod
    def lost_before() -> Answer:
        """Close the connection without processing the request."""
        return Answer(lost=True)

    @staticmethod
    def corrupted(corrupt: Callable[[bytes], bytes], *, stalls: bool = False) -> Answer:
        """Process the request and send `corrupt(response)`, headers included.

        Then close the connection, or keep it open and silent if `stalls` is set.
        """
        return Answer(first_acts=True, corrupt=corrupt, stalls=stalls)

    @staticmethod
    def html(status: int = 200, *, first_acts: bool = False) -> Answer:
        page = "<!DOCTYPE html><title>Welcome to the hotel</title><p>Sign in"
        return Answer(status, page, "text/html", first_acts=first_acts)

    @staticmethod
    def zipped(files: dict[str, str]) -> bytes:
        """Return a ZIP archive of these files."""
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in files.items():
                archive.writestr(name, text)
        return out.getvalue()

    def fail(self, operation: str, *answers: Answer | None) -> None:
        """Script the next responses of an operation; None processes a request normally."""
        self.scripts.setdefault(operation, []).extend(answers)

    def count(self, operation: str) -> int:
        return sum(1 for name, _, _ in self.received if name == operation)

    def bodies(self, operation: str) -> list[Any]:
        return [body for name, _, body in self.received if name == operation]

    def add(self, name: str, type: str = "fold", settings: Any = None, **fields: Any) -> None:
        self.rows[name] = {
            "JobName": name,
            "Type": type,
            "JobStatus": "In Queue",
            "Created": self.moment.isoformat()
            if self.moment
            else f"2026-01-01T00:00:{len(self.rows) % 60:02d}Z",
            "Settings": json.dumps(settings or {}),
            **fields,
        }

    def add_batch(self, name: str, jobs: dict[str, Any], type: str = "fold", **fields: Any) -> None:
        self.add(name, "batch", batchStatus="Running", **fields)
        self.members[name] = [f"{name}-{job}" for job in jobs]
        for job, settings in jobs.items():
            self.add(f"{name}-{job}", type, settings)

    def complete(self, *names: str, results: dict[str, str] | None = None) -> None:
        """Complete jobs or batches, each with a result archive."""
        for name in names:
            row = self.rows[name]
            row["JobStatus"] = "Complete"
            row["Completed"] = "2026-01-01T01:00:00Z"
            for member in self.members.get(name, []):
                self.rows[member]["JobStatus"] = "Complete"
            if name in self.members:
                row["batchStatus"] = "Complete"
            self.archives[name] = self.zipped(results or self._outputs(name))

    def _outputs(self, name: str) -> dict[str, str]:
        if name not in self.members:
            return {"rank_1.pdb": f"ATOM {name}\n", "log.txt": "done\n"}
        own = [member.removeprefix(f"{name}-") for member in self.members[name]]
        outputs = {f"{job}/log.txt": f"{job}\n" for job in own}
        outputs["metrics.csv"] = "job,score\n" + "".join(f"{job},{len(job)}\n" for job in own)
        return outputs

    # Operations

    def act(self, operation: str, query: dict[str, str], body: Any) -> Answer:
        with self.lock:
            if operation in self.not_served:
                return self.not_served[operation]
            return getattr(self, f"do_{operation.replace('-', '_')}")(query, body)

    def do_tools(self, query: dict[str, str], body: Any) -> Answer:
        return Answer(body=self.tools)

    def do_files(self, query: dict[str, str], body: Any) -> Answer:
        return Answer(body=self.files)

    def do_upload(self, query: dict[str, str], body: Any) -> Answer:
        self.files.append(query["name"])
        self.stored[query["name"]] = body
        self.stored_at[query["name"]] = self.moment
        return Answer(body={"message": "ok"})

    def do_validate_job(self, query: dict[str, str], body: Any) -> Answer:
        if isinstance(body["settings"], list):
            return self._validated_rows(body["settings"])
        wrong = body["settings"].get("temperature", 0) > 100
        return Answer(body={"valid": False, "error": "too hot"} if wrong else {"valid": True})

    def _validated_rows(self, rows: list[dict[str, Any]]) -> Answer:
        if not self.validates_rows:
            return Answer(400, {"error": "settings is not an object"})
        results: list[dict[str, Any]] = [
            {"index": index, "valid": False, "error": f"too hot: {row['temperature']}"}
            if row.get("temperature", 0) > 100
            else {"index": index, "valid": True}
            for index, row in enumerate(rows)
        ]
        valid = sum(result["valid"] for result in results)
        count = len(results)
        return Answer(
            body={"valid": valid == count, "count": count, "valid_count": valid, "results": results}
        )

    def do_submit_job(self, query: dict[str, str], body: Any) -> Answer:
        name = body["jobName"]
        if name in self.rows:
            return Answer(400, f"Job name {name} is already taken.", "text/plain")
        self.add(name, body["type"], {**body["settings"], "submit_method": "api"})
        return Answer(body=f"{name} submitted to queue.", kind="text/plain")

    def do_submit_batch(self, query: dict[str, str], body: Any) -> Answer:
        name = body["batchName"]
        if name in self.rows:
            return Answer(400, {"error": f"Batch name {name} already exists"})
        if not 1 <= len(body["jobNames"]) <= 100:
            return Answer(400, "1 to 100 jobs", "text/plain")
        self.add_batch(
            name, dict(zip(body["jobNames"], body["settings"], strict=True)), body["type"]
        )
        return Answer(body=f"{name} submitted to queue.", kind="text/plain")

    def do_submit_pipeline(self, query: dict[str, str], body: Any) -> Answer:
        name = body.pop("jobName")
        if name in self.rows:
            return Answer(400, f"Job name {name} is already taken.", "text/plain")
        self.add(name, "pipeline", body)
        return Answer(body=f"{name} submitted to queue.", kind="text/plain")

    do_run_pipeline = do_submit_pipeline

    def do_usage_statistics(self, query: dict[str, str], body: Any) -> Answer:
        return Answer(body=self.usage)

    def do_getFolders(self, query: dict[str, str], body: Any) -> Answer:
        return Answer(body=["models", "sets"])

    def do_getPresignedUploadUrl(self, query: dict[str, str], body: Any) -> Answer:
        url = f"{self.url}store/{body['filename']}?signature=abcdef0123456789"
        return Answer(body={"uploadUrl": f"{url}&put", "headUrl": f"{url}&head", "key": "k"})

    def do_store(self, query: dict[str, str], body: Any) -> Answer:
        """Store a file (PUT) or describe it (HEAD)."""
        name = query["name"]
        if query["method"] == "PUT":
            self.stored[name] = body
            self.stored_at[name] = self.moment
            self.files.append(name)
            return Answer()
        if name not in self.stored:
            return Answer(404)
        content, stored_at = self.stored[name], self.stored_at.get(name)
        headers = {"Content-Length": str(len(content))}
        if self.tells_md5:
            headers["ETag"] = f'"{hashlib.md5(content).hexdigest()}"'
        if stored_at is not None:
            headers["Last-Modified"] = format_datetime(stored_at, usegmt=True)
        return Answer(headers=headers)

    def do_jobs(self, query: dict[str, str], body: Any) -> Answer:
        name, batch = query.get("jobName"), query.get("batch")
        if name is not None:
            if name not in self.rows:
                return Answer(400, f"Job {name} not found", "text/plain")
            row = dict(self.rows[name])
            if name in self.members:
                row["statuses"] = self._tally(self.members[name])
            return Answer(body=self.by_name(row))
        inner = {member for members in self.members.values() for member in members}
        listing = (
            self.members.get(batch, [])
            if batch is not None
            else [name for name in reversed(self.rows) if name not in inner]
        )
        start, limit = int(query.get("startKey", 0)), int(query.get("limit", 1000))
        rows = [self.rows[name] for name in listing[start : start + limit]]
        key = str(start + limit) if start + limit < len(listing) else ""
        return Answer(body=self.as_list(rows, key))

    def do_result(self, query: dict[str, str], body: Any) -> Answer:
        name = body["jobName"]
        if name not in self.archives:
            state = self.rows.get(name, {}).get("JobStatus")
            if state is None:
                return Answer(400, f"Job {name} does not exist", "text/plain")
            return Answer(400, f"Job {name} is not complete. Status: {state}", "text/plain")
        file = f"/{body['fileName']}" if "fileName" in body else ""
        url = f"{self.url}download/{name}{file}?expires=1&signature=abcdef0123456789"
        return Answer(body=self.as_url(url), kind="text/plain")

    def do_stop_job(self, query: dict[str, str], body: Any) -> Answer:
        name = body["jobName"]
        if name not in self.rows:
            return Answer(400, f"Job {name} not found", "text/plain")
        self.rows[name]["JobStatus"] = "Stopped"
        return Answer(body={"message": f"{name} stopped"})

    do_cancelJob = do_stop_job

    def do_cancelBatch(self, query: dict[str, str], body: Any) -> Answer:
        return self.do_stop_job(query, {"jobName": body["batchName"]})

    def do_delete_job(self, query: dict[str, str], body: Any) -> Answer:
        name = body["jobName"]
        if name not in self.rows:
            return Answer(404, {"error": f"Job {name} not found"})
        for deleted in [name, *self.members.pop(name, [])]:
            del self.rows[deleted]
        return Answer(body={"message": f"{name} deleted"})

    def do_download(self, query: dict[str, str], body: Any) -> Answer:
        name, _, file = query["name"].partition("/")
        if not file:
            return Answer(body=self.archives[name], kind="application/zip")
        with zipfile.ZipFile(io.BytesIO(self.archives[name])) as archive:
            if file not in archive.namelist():
                return Answer(404, "gone")
            return Answer(body=archive.read(file), kind="application/octet-stream")

    def _tally(self, members: list[str]) -> dict[str, int]:
        return dict(Counter(self.rows[member]["JobStatus"] for member in members))


class Handler(QuietHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # one packet; otherwise delayed ACKs cost 40 ms per response
    ledger: Ledger

    def _handle(self) -> None:
        parts = urlsplit(self.path)
        operation, _, rest = parts.path.removeprefix("/api/").partition("/")
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        if rest:
            query["name"] = unquote(rest)
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        query |= {"method": self.command} if operation == "store" else {}
        is_file = operation in ("upload", "store")
        body = json.loads(content) if content and not is_file else content
        with self.ledger.lock:
            self.ledger.received.append((operation, query, body))
            self.ledger.keys.append((operation, self.headers.get("x-api-key")))
            script = self.ledger.scripts.get(operation) or [None]
            planned = script.pop(0)
        answer = planned
        if planned is None or planned.first_acts:
            done = self.ledger.act(operation, query, body)
            if done.status < 400:
                self.ledger.done[operation] += 1
            answer = planned or done
            if planned is not None and planned.corrupt is not None:
                self._send_corrupted(done, planned.corrupt, stalls=planned.stalls)
                return
        assert answer is not None
        if answer.lost:
            self.close_connection = True
            return
        sent = answer.content()
        self.send_response(answer.status)
        headers = {"Content-Length": str(len(sent)), "Content-Type": answer.kind, **answer.headers}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        self.wfile.write(sent)
        if int(headers["Content-Length"]) != len(sent):
            self.close_connection = True

    def _send_corrupted(
        self, answer: Answer, corrupt: Callable[[bytes], bytes], *, stalls: bool
    ) -> None:
        sent = answer.content()
        headers = {"Content-Length": str(len(sent)), "Content-Type": answer.kind, **answer.headers}
        lines = [f"HTTP/1.1 {answer.status} X", *(f"{k}: {v}" for k, v in headers.items()), "", ""]
        self.wfile.write(corrupt("\r\n".join(lines).encode("latin-1") + sent))
        self.wfile.flush()
        self.close_connection = True
        if stalls:
            self.connection.recv(1)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _handle


@pytest.fixture
def no_pauses(fast_retries: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry submissions without a pause."""
    monkeypatch.setattr("labext.jobs.submission._BACKOFF", 0.0)


@pytest.fixture
def quick_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Poll at once in watches; `test_progress` covers the interval."""
    monkeypatch.setattr("labext.progress.interval", lambda waited: 0.02)


@pytest.fixture
def small_parts() -> Iterator[None]:
    """Split batches into parts of 10 jobs instead of 100."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("labext.jobs.batch.plan.MAX_JOBS", 10)
        yield


@pytest.fixture
def ledger(no_pauses: None) -> Iterator[Ledger]:
    """The service, running on loopback."""
    service = Ledger()
    with serve(Handler, ledger=service) as url:
        service.url = f"{url}/api/"
        yield service


@pytest.fixture
def client(ledger: Ledger) -> Iterator[JobsClient]:
    with JobsClient(ledger.url, KEY, rate=None) as client:
        yield client


@pytest.fixture
def later(ledger: Ledger) -> Iterator[JobsClient]:
    """A second client, as in another process."""
    with JobsClient(ledger.url, KEY, rate=None) as client:
        yield client


@pytest.fixture
def elsewhere(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], JobsClient]]:
    """Make a client as on another machine, without local records."""
    with ExitStack() as clients:

        def make() -> JobsClient:
            monkeypatch.setenv("LABEXT_STATE_DIR", str(tmp_path / "elsewhere"))
            return clients.enter_context(JobsClient(ledger.url, KEY, rate=None))

        yield make


@pytest.fixture
def new_shell(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], InteractiveShell]]:
    """Make shells with the magics, connected to the service."""
    monkeypatch.setenv("LABEXT_JOBS_BASE_URL", ledger.url)
    monkeypatch.setenv("LABEXT_JOBS_API_KEY", KEY)
    with ExitStack() as shells:

        def make() -> InteractiveShell:
            ip = shells.enter_context(opened())
            ip.run_cell("%load_ext labext").raise_error()
            return ip

        yield make


@pytest.fixture
def split(ledger: Ledger) -> Ledger:
    """The service with one complete batch in two parts, b."""
    for number, jobs in ((1, {"x": {}, "yy": {}}), (2, {"zzz": {}})):
        ledger.add_batch(f"b-part{number}of2", jobs)
        ledger.complete(f"b-part{number}of2")
    return ledger


@pytest.fixture
def done(ledger: Ledger) -> Ledger:
    """The service with one complete job, f1."""
    ledger.add("f1", settings={"sequence": "A"})
    ledger.complete("f1")
    return ledger


@pytest.fixture
def pipeline(ledger: Ledger) -> Ledger:
    """The service with one complete pipeline, p1, of two stages."""
    scored = {"pdbFile": "p1-stage1-build/out.pdb"}
    jobs = {"stage1-build": {"sequence": "A"}, "stage2-score-1": scored, "stage2-score-2": scored}
    ledger.add_batch("p1", jobs)
    ledger.complete("p1", results={f"{job}/out.pdb": "ATOM\n" for job in jobs})
    del ledger.rows["p1"]["batchStatus"]
    ledger.rows["p1"] |= {"Type": "pipeline", "Settings": '{"initialInputs": ["A", "C"]}'}
    return ledger


@pytest.fixture
def used(ledger: Ledger) -> Ledger:
    """The service with three runs of `fold`, each of one hour and two weighted hours."""
    for number in range(3):
        ledger.add(f"old{number}", Started="2026-01-01T00:00:00Z", WeightedHours=2.0)
        ledger.complete(f"old{number}")
    ledger.usage = {"total": 6.0, "budgetLeft": 8.0}
    return ledger


@pytest.fixture
def box_client(box: Sandbox) -> Iterator[JobsClient]:
    """A client of the sandbox's job service, without rate limit."""
    with JobsClient(box.jobs.base_url, box.jobs.api_key, rate=None) as client:
        yield client
