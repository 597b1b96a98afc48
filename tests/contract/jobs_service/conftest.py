"""Plain requests against a running job service: independent of labext's own client."""

from __future__ import annotations

import io
import json
import time
import uuid
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import requests
from sqlalchemy import select

from labext.sandbox import Sandbox
from labext.sandbox.database import Database
from labext.sandbox.jobs.store import Account, Limit

ENDED = {"Complete", "Stopped", "AggregationFailed"}
SLOW = {"sequence": "GACUAGCUAGGCAUUAGCGAUCGGAUCUUAGGCAUCGAUUAGC" * 23}
"""989 bases for rna_fold: several seconds."""


class Api:
    """One account's view of a service."""

    def __init__(self, box: Sandbox, key: str | None = None) -> None:
        self.base = box.jobs.base_url
        self.session = requests.Session()
        self.session.headers["x-api-key"] = key or box.jobs.api_key

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

    def submit(self, type: str, settings: dict[str, Any], name: str | None = None) -> str:
        name = name or new_name()
        response = self.post("submit-job", {"jobName": name, "type": type, "settings": settings})
        assert response.status_code == 200, response.text
        return name

    def batch(self, settings: list[dict[str, Any]], type: str = "digest", **more: Any) -> str:
        """A batch with jobs j0, j1, …; its name."""
        name = new_name()
        names = [f"j{place}" for place in range(len(settings))]
        body = {"batchName": name, "type": type, "jobNames": names, "settings": settings} | more
        response = self.post("submit-batch", body)
        assert response.status_code == 200, response.text
        return name

    def until(
        self, name: str, good: Callable[[dict[str, Any]], bool], seconds: float = 90
    ) -> dict[str, Any]:
        """Ask for a row until it is as wanted."""
        deadline = time.monotonic() + seconds
        while not good(row := self.row(name)):
            assert time.monotonic() < deadline, f"not in time: {row}"
            time.sleep(0.02)
        return row

    def ended(self, name: str) -> dict[str, Any]:
        return self.until(name, lambda row: row.get("batchStatus", row["JobStatus"]) in ENDED)

    def address(self, name: str, **more: Any) -> str:
        response = self.post("result", {"jobName": name} | more)
        assert response.status_code == 200, response.text
        return response.text

    def archive(self, name: str, **more: Any) -> zipfile.ZipFile:
        """The archive of a complete job, fetched without a key."""
        response = requests.get(self.address(name, **more), timeout=60)
        assert response.status_code == 200, response.text
        return zipfile.ZipFile(io.BytesIO(response.content))


def new_name() -> str:
    return f"n{uuid.uuid4().hex[:12]}"


def cut(sequence: str = "AAGAATTCAAAAGCTTAA") -> dict[str, Any]:
    """Settings of the fastest tool, digest."""
    return {"sequence": sequence, "enzymes": ["EcoRI", "HindIII"]}


def sentence(response: requests.Response, status: int = 400) -> str:
    """The one sentence of a refusal."""
    assert response.status_code == status, response.text
    body = response.json()
    assert set(body) == {"error"}, body
    text = body["error"]
    assert isinstance(text, str)
    assert text.strip()
    assert "\n" not in text
    return text


class Back:
    """What whoever runs the service may change: limits and accounts, in its database."""

    def __init__(self, box: Sandbox) -> None:
        self.path = box.data_dir / "sandbox.sqlite"

    @contextmanager
    def limit(self, name: str, value: int) -> Iterator[None]:
        """Another value for one of the service's limits."""
        with self._changed(Limit, Limit.name == name, "value", value):
            yield

    @contextmanager
    def quota(self, email: str, value: int) -> Iterator[None]:
        """Another storage quota for an account, in bytes."""
        with self._changed(Account, Account.email == email, "storage_quota", value):
            yield

    @contextmanager
    def _changed(self, table: Any, where: Any, attribute: str, value: int) -> Iterator[None]:
        before = self._set(table, where, attribute, value)
        try:
            yield
        finally:
            self._set(table, where, attribute, before)

    def _set(self, table: Any, where: Any, attribute: str, value: int) -> int:
        database = Database.at(self.path)
        try:
            with database.write() as session:
                row = session.scalars(select(table).where(where)).one()
                before = getattr(row, attribute)
                setattr(row, attribute, value)
        finally:
            database.close()
        return before


def teacher_key(box: Sandbox) -> str:
    return (box.data_dir / "secrets" / "jobs_teacher_key").read_text().strip()


def only_json(text: str) -> Any:
    """The value of a field that holds JSON as a string."""
    assert isinstance(text, str)
    return json.loads(text)


class Kit:
    """The helpers of this folder, which tests get as a fixture."""

    Api, Back = Api, Back
    SLOW = SLOW
    name = staticmethod(new_name)
    cut = staticmethod(cut)
    sentence = staticmethod(sentence)
    json = staticmethod(only_json)
    teacher_key = staticmethod(teacher_key)


@pytest.fixture(scope="session")
def kit() -> type[Kit]:
    return Kit


@pytest.fixture(scope="session")
def api(box: Sandbox) -> Api:
    """The student."""
    return Api(box)


@pytest.fixture(scope="session")
def teacher(box: Sandbox) -> Api:
    """The organization's owner, who may also set gated parameters."""
    return Api(box, teacher_key(box))


@pytest.fixture(scope="session")
def back(box: Sandbox) -> Back:
    return Back(box)
