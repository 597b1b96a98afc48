"""Requests to a job service with its files in an object store."""

from __future__ import annotations

from typing import Any

import requests
from waiting import wait_until

from labext.sandbox import Sandbox

JOBS = ["labext.sandbox.jobs.app:service"]
CUT = {"sequence": "AAGAATTCAAAAGCTTAA", "enzymes": ["EcoRI", "HindIII"]}


class Jobs:
    """Requests of the student to the job service."""

    def __init__(self, box: Sandbox) -> None:
        self.box = box
        self.base = box.jobs.base_url
        self.session = requests.Session()
        self.session.headers["x-api-key"] = box.jobs.api_key

    def upload(self, name: str, content: bytes) -> requests.Response:
        return self.session.put(f"{self.base}upload/{name}", data=content, timeout=120)

    def submit(self, name: str, type: str = "digest", settings: Any = CUT) -> None:
        body = {"jobName": name, "type": type, "settings": settings}
        answer = self.session.post(f"{self.base}submit-job", json=body, timeout=60)
        assert answer.status_code == 200, answer.text

    def row(self, name: str) -> dict[str, Any]:
        answer = self.session.get(f"{self.base}jobs", params={"jobName": name}, timeout=60)
        row: dict[str, Any] = answer.json()
        return row

    def completed(self, name: str) -> dict[str, Any]:
        wait_until(lambda: self.row(name)["JobStatus"] not in ("Running", "In Queue"))
        row = self.row(name)
        assert row["JobStatus"] == "Complete", row
        return row

    def run(self, name: str) -> None:
        """Submit a job and wait until it is complete."""
        self.submit(name)
        self.completed(name)

    def delete(self, name: str) -> None:
        body = {"jobName": name}
        answer = self.session.delete(f"{self.base}delete-job", json=body, timeout=60)
        assert answer.status_code == 200, answer.text

    def files(self) -> list[str]:
        files: list[str] = self.session.get(f"{self.base}files", timeout=60).json()
        return files

    def result(self, name: str, **more: Any) -> requests.Response:
        body = {"jobName": name} | more
        url = self.session.post(f"{self.base}result", json=body, timeout=60)
        assert url.status_code == 200, url.text
        return requests.get(url.text, timeout=60)

    def health(self) -> requests.Response:
        return requests.get(self.base.removesuffix("api/") + "health", timeout=60)
