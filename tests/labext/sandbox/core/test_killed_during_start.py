"""Kills of the host while no process of a task exists do not count against any task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psutil
import pytest
import requests
from databases import open_database
from waiting import wait_until

from labext import JobsClient
from labext.sandbox import Sandbox
from labext.sandbox.core.queue import QUEUED, Task

pytestmark = pytest.mark.faults

PARTS = Path(__file__).parents[3] / "support"
KILLS = 4
TEXT = "The araBAD promoter of plasmid pBAD30 is activated by AraC in the presence of arabinose. "
CUT = {"sequence": "AAGAATTCAAAAGCTTAA", "enzymes": ["EcoRI", "HindIII"]}


@pytest.fixture
def services() -> list[str]:
    return ["labext_test_hold:service", "labext.sandbox.nb.app:service"]


def tasks(box: Sandbox) -> dict[str, tuple[str, int]]:
    """Return the state and the counted kills of every task, by its kind."""
    database = open_database(box.data_dir)
    try:
        with database.read() as session:
            return {task.kind: (task.state, task.kills) for task in session.query(Task)}
    finally:
        database.close()


def kill_host(box: Sandbox) -> None:
    host = psutil.Process(box.status().pid)
    host.kill()
    host.wait(30)


class Notebook:
    """Requests to the notebook service; its address changes with a restart, its password not."""

    def __init__(self, box: Sandbox) -> None:
        self._box = box
        self._session = requests.Session()
        self._session.headers["Authorization"] = f"Bearer {box.nb.password}"

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        answer = self._session.request(
            method, f"{self._box.nb.base_url}/{path}", json=body, timeout=60
        )
        assert answer.ok, answer.text
        return answer.json()

    def source(self) -> str:
        return str(self.ask("POST", "sources", {"text": TEXT, "process_async": True})["id"])

    def episode(self) -> str:
        notebook = self.ask("POST", "notebooks", {"name": "killed"})["id"]
        self.ask("POST", "notes", {"content": TEXT, "notebook_id": notebook})
        speakers = {"name": "one", "speakers": [{"name": "Ada", "voice_id": None}]}
        body = {
            "notebook_id": notebook,
            "episode_profile_id": self.ask(
                "POST", "episode-profiles", {"name": "short", "num_segments": 1}
            )["id"],
            "speaker_profile_ids": [self.ask("POST", "speaker-profiles", speakers)["id"]],
        }
        return str(self.ask("POST", "podcasts/generate", body)["job_id"])


def test_kills_before_a_task_has_a_process_fail_no_task(new_box, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(PARTS), prepend=":")
    hold = tmp_path / "box" / "hold"
    box = new_box(data_dir=hold.parent, workers=3)
    hold.touch()
    kill_host(box)
    box.start()
    jobs, notebook = JobsClient(box.jobs.base_url, box.jobs.api_key), Notebook(box)
    jobs.submit("cut", "digest", CUT)
    source, episode = notebook.source(), notebook.episode()

    for _ in range(KILLS):
        wait_until(
            lambda: len(tasks(box)) == 3 and QUEUED not in {s for s, _ in tasks(box).values()}
        )
        assert {state for state, _ in tasks(box).values()} == {"starting"}
        assert jobs.job("cut")["JobStatus"] == "In Queue"
        assert notebook.ask("GET", f"sources/{source}")["status"] == "new"
        assert notebook.ask("GET", f"podcasts/jobs/{episode}")["status"] == "new"
        kill_host(box)
        box.start()
        jobs = JobsClient(box.jobs.base_url, box.jobs.api_key)
    assert {kills for _, kills in tasks(box).values()} == {0}

    hold.unlink()
    wait_until(lambda: not tasks(box), 120)
    assert jobs.job("cut")["JobStatus"] == "Complete"
    assert notebook.ask("GET", f"sources/{source}")["status"] == "completed"
    assert notebook.ask("GET", f"podcasts/jobs/{episode}")["status"] == "completed"
