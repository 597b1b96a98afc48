"""HTTP helpers for a running job service, independent of the labext client."""

from __future__ import annotations

import io
import json
import shutil
import socket
import time
import uuid
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest
import requests
import yaml
from databases import open_database
from sqlalchemy import select
from sqlalchemy.orm import Session
from waiting import pause_after

from labext.sandbox import Sandbox
from labext.sandbox.core.database import CoreBase, Database
from labext.sandbox.core.queue import Queue
from labext.sandbox.core.service_protocol import Options, Site
from labext.sandbox.core.signing import Signer
from labext.sandbox.jobs import limits, tasks
from labext.sandbox.jobs.app import JobService
from labext.sandbox.jobs.tables import Account, Base, Limit

ENDED = {"Complete", "Stopped", "AggregationFailed"}
SLOW = {"sequence": "GACUAGCUAGGCAUUAGCGAUCGGAUCUUAGGCAUCGAUUAGC" * 23}
"""Settings of rna_fold with 989 bases, which takes several seconds."""
ONE_RESIDUE = "ATOM      1  CA  ALA A   1      11.104   6.134  -6.504  1.00  0.00           C\n"
"""PDB text too small for normal_modes, which stops with a reason."""


@cache
def operations() -> dict[tuple[str, str], Any]:
    """Return the operations of the service and of `others.openapi.yaml`, by method and path."""
    import schemathesis

    core = json.loads((files("labext.sandbox.jobs") / "openapi.json").read_text())
    others = yaml.safe_load((Path(__file__).parent / "others.openapi.yaml").read_text())
    for kind, named in core["components"].items():
        others["components"][kind] = named | others["components"].get(kind, {})
    others["components"]["schemas"]["Known"] = {"type": "string"}
    return {
        (method.upper(), path): schemathesis.openapi.from_dict(description)[path][method.upper()]
        for description in (core, json.loads(json.dumps(others)))  # aliases are one object
        for path, item in description["paths"].items()
        for method in item
    }


def check_response(response: requests.Response, **_options: Any) -> None:
    """Fail if the status, type or body of a response differs from its description."""
    path = urlsplit(response.url).path.removeprefix("/api")
    if path.startswith("/upload/"):
        path = "/upload/{filename}"
    operation = operations().get((response.request.method or "", path))
    if operation is not None:
        described = operation.definition.raw["responses"]
        assert str(response.status_code) in described, (path, response.status_code, response.text)
        operation.validate_response(response)


class Api:
    """Requests of one account to a service; checks every response against its description."""

    def __init__(self, box: Sandbox, key: str | None = None) -> None:
        self.base = box.jobs.base_url
        self.session = requests.Session()
        self.session.headers["x-api-key"] = key or box.jobs.api_key
        self.session.hooks["response"].append(check_response)

    def get(self, path: str, **query: Any) -> requests.Response:
        return self.session.get(self.base + path, params=query, timeout=60)

    def post(self, path: str, body: Any) -> requests.Response:
        return self.session.post(self.base + path, json=body, timeout=60)

    def delete(self, path: str, body: Any = None, **query: Any) -> requests.Response:
        return self.session.delete(self.base + path, json=body, params=query, timeout=60)

    def upload(self, name: str, content: bytes, **query: Any) -> requests.Response:
        return self.session.put(f"{self.base}upload/{name}", data=content, params=query, timeout=60)

    def row(self, name: str, **query: Any) -> dict[str, Any]:
        response = self.get("jobs", jobName=name, **query)
        assert response.status_code == 200, response.text
        return response.json()

    def rows(self, **query: Any) -> list[dict[str, Any]]:
        response = self.get("jobs", **query)
        assert response.status_code == 200, response.text
        return response.json()["jobs"]

    def accepted(self, path: str, body: Any) -> requests.Response:
        response = self.post(path, body)
        assert response.status_code == 200, response.text
        return response

    def refused(self, path: str, body: Any, status: int = 400) -> str:
        """Return the error message of a refused request."""
        return error_message(self.post(path, body), status)

    def end(self, action: str, name: str) -> None:
        """Stop or delete a job."""
        if action == "stop":
            self.accepted("stop-job", {"jobName": name})
        else:
            assert self.delete("delete-job", {"jobName": name}).status_code == 200

    def submit(self, type: str, settings: dict[str, Any], name: str | None = None) -> str:
        name = name or new_name()
        self.accepted("submit-job", {"jobName": name, "type": type, "settings": settings})
        return name

    def batch(self, settings: list[dict[str, Any]], type: str = "digest", **more: Any) -> str:
        """Submit a batch with jobs j0, j1, …; return its name."""
        name = new_name()
        names = [f"j{number}" for number in range(len(settings))]
        body = {"batchName": name, "type": type, "jobNames": names, "settings": settings} | more
        self.accepted("submit-batch", body)
        return name

    def until(
        self, name: str, condition: Callable[[dict[str, Any]], bool], seconds: float = 90
    ) -> dict[str, Any]:
        """Poll a row until it meets a condition."""
        began = time.monotonic()
        while not condition(row := self.row(name)):
            waited = time.monotonic() - began
            assert waited < seconds, f"timed out: {row}"
            time.sleep(pause_after(waited))
        return row

    def ended(self, name: str) -> dict[str, Any]:
        return self.until(name, lambda row: row.get("batchStatus", row["JobStatus"]) in ENDED)

    def address(self, name: str, **more: Any) -> str:
        return self.accepted("result", {"jobName": name} | more).text

    def archive(self, name: str, **more: Any) -> zipfile.ZipFile:
        """Download the archive of a complete job without a key."""
        response = requests.get(self.address(name, **more), timeout=60)
        assert response.status_code == 200, response.text
        return zipfile.ZipFile(io.BytesIO(response.content))


def new_name() -> str:
    return f"n{uuid.uuid4().hex[:12]}"


def processes_in(folder: Path) -> list[psutil.Process]:
    """Return the processes whose working directory is in a folder."""
    results = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if Path(process.cwd()).is_relative_to(folder):
                results.append(process)
    return results


def send_raw(box: Sandbox, head: str, body: bytes = b"") -> int | None:
    """Send a raw request; return the status, or None without a response."""
    address = urlsplit(box.jobs.base_url)
    head = head.replace("$HOST", address.netloc).replace("$KEY", box.jobs.api_key)
    with socket.create_connection((address.hostname, address.port), timeout=30) as connection:
        with suppress(ConnectionError):  # the service may respond before it has read everything
            connection.sendall(head.replace("\n", "\r\n").encode("latin-1") + b"\r\n" + body)
        response = b""
        with suppress(ConnectionError):
            while b"\r\n" not in response and (more := connection.recv(65536)):
                response += more
    return int(response.split(b" ")[1]) if response else None


def cut(sequence: str = "AAGAATTCAAAAGCTTAA") -> dict[str, Any]:
    """Return settings of digest, the fastest tool."""
    return {"sequence": sequence, "enzymes": ["EcoRI", "HindIII"]}


def error_message(response: requests.Response, status: int = 400) -> str:
    """Return the one-sentence error message of a refused request."""
    assert response.status_code == status, response.text
    body = response.json()
    assert set(body) == {"error"}, body
    text = body["error"]
    assert isinstance(text, str)
    assert text.strip()
    assert "\n" not in text
    return text


class DatabaseAccess:
    """Change limits and accounts directly in the service's database."""

    def __init__(self, box: Sandbox) -> None:
        self.data_dir = box.data_dir

    @contextmanager
    def limit(self, name: str, value: int) -> Iterator[None]:
        """Change a limit of the service during the block."""
        with self.session() as session:
            changed = session.get(Limit, name)
            before = None if changed is None else changed.value
            limits.change_limit(session, name, value)
        try:
            yield
        finally:
            with self.session() as session:
                limits.change_limit(session, name, before)

    @contextmanager
    def quota(self, email: str, value: int) -> Iterator[None]:
        """Change the storage quota of an account (bytes) during the block."""
        before = self._set_quota(email, value)
        try:
            yield
        finally:
            self._set_quota(email, before)

    def _set_quota(self, email: str, value: int) -> int:
        with self.session() as session:
            account = session.scalars(select(Account).where(Account.email == email)).one()
            before, account.storage_quota = account.storage_quota, value
        return before

    @contextmanager
    def session(self) -> Iterator[Session]:
        with closing(open_database(self.data_dir)) as database, database.write() as session:
            yield session


def teacher_key(box: Sandbox) -> str:
    return (box.data_dir / "secrets" / "jobs_teacher_key").read_text().strip()


def only_json(text: str) -> Any:
    """Parse a field that contains JSON as a string."""
    assert isinstance(text, str)
    return json.loads(text)


class Kit:
    """Namespace of the helpers, for the fixture `kit`."""

    Api, DatabaseAccess = Api, DatabaseAccess
    SLOW, ONE_RESIDUE = SLOW, ONE_RESIDUE
    processes_in = staticmethod(processes_in)
    send_raw = staticmethod(send_raw)
    name = staticmethod(new_name)
    cut = staticmethod(cut)
    error_message = staticmethod(error_message)
    json = staticmethod(only_json)


@pytest.fixture(scope="session")
def kit() -> type[Kit]:
    return Kit


@pytest.fixture(scope="session")
def api(box: Sandbox) -> Api:
    """Requests of the student."""
    return Api(box)


@pytest.fixture(scope="session")
def teacher(box: Sandbox) -> Api:
    """Requests of the organization's owner, who may also set gated parameters."""
    return Api(box, teacher_key(box))


@pytest.fixture(scope="session")
def helix(api: Api) -> str:
    """Return the name of a complete job whose outputs include `peptide.pdb`."""
    name = api.submit("peptide_build", {"sequence": "ACDEFGHIK"})
    assert api.ended(name)["JobStatus"] == "Complete"
    return name


@pytest.fixture(scope="session")
def helices(api: Api) -> str:
    """Return the name of a complete batch of two such jobs."""
    name = api.batch([{"sequence": "ACDEFGHIK"}, {"sequence": "ACDEFG"}], type="peptide_build")
    assert api.ended(name)["batchStatus"] == "Complete"
    return name


@pytest.fixture(scope="session")
def db(box: Sandbox) -> DatabaseAccess:
    return DatabaseAccess(box)


@pytest.fixture(scope="session")
def one_worker_box(
    tmp_path_factory: pytest.TempPathFactory, services: list[str]
) -> Iterator[Sandbox]:
    folder = tmp_path_factory.mktemp("one") / "data"
    with Sandbox(folder, rate="off", workers=1, services=services) as box:
        yield box


@pytest.fixture
def own_box(one_worker_box: Sandbox) -> Iterator[Sandbox]:
    """A sandbox with one worker in which the student has no jobs and no files before the test."""
    yield one_worker_box
    api = Api(one_worker_box)
    for row in api.rows():
        api.end("delete", row["JobName"])
    for folder in api.get("getFolders").json():
        api.delete("delete-file", folder=folder)
    for file in api.get("files").json():
        api.delete("delete-file", filePath=file)


@pytest.fixture(scope="session")
def services() -> list[str]:
    return ["labext.sandbox.jobs.app:service"]


def open_site(folder: Path) -> Site:
    site = Site(
        folder=folder / "jobs",
        secrets=folder / "secrets",
        database=Database.at(folder / "db"),
        queue=Queue(),
        signer=Signer("key"),
        origins={"jobs": "http://127.0.0.1:1"},
        options=Options(rate="off"),
    )
    for kind in tasks.task_kinds(site):
        site.queue.add(kind)
    return site


@pytest.fixture(scope="session")
def new_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data of a new job service, which are copied faster than created."""
    folder = tmp_path_factory.mktemp("new")
    for name in ("jobs", "secrets"):
        (folder / name).mkdir()
    site = open_site(folder)
    site.database.create(CoreBase.metadata, Base.metadata)
    JobService().seed(site)
    site.database.close()
    return folder


@pytest.fixture
def site(new_folder: Path, tmp_path: Path) -> Iterator[Site]:
    """A job service with a queue, without workers."""
    site = open_site(shutil.copytree(new_folder, tmp_path, dirs_exist_ok=True))
    yield site
    site.database.close()


@pytest.fixture
def student(site):
    with site.database.read() as session:
        return session.scalars(select(Account).where(Account.owner.is_(False))).one()
