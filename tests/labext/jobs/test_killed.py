"""A client submitting 1,000 jobs is killed repeatedly and resumed.

The service is a real sandbox. A relay in front of it kills the client at random moments: before a
request is passed on, after it was processed, and within the response. In other runs the client
kills itself at one of its steps. All moments are drawn from a seeded generator.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import urlsplit

import pytest
from local_http import serve

from labext import JobsClient
from labext.sandbox import Sandbox

pytestmark = pytest.mark.faults

JOBS = 1000
PARTS = JOBS // 100
TOOL = "digest"
PHASES = ("come", "done", "half answered")

CHILD = """
import json, os, signal, sys
from labext import JobsClient

url, what, last = sys.argv[1], sys.argv[2], int(sys.argv[3])
jobs = JobsClient(url, os.environ["RELAY_KEY"])
batch = json.loads(sys.stdin.read())
STEPS = ("open", "os.rename", "os.remove", "socket.connect")
count = 0


def step(event, _):
    global count
    if event in STEPS:
        count += 1
        if count == last:
            os.kill(os.getpid(), signal.SIGKILL)


import pandas
if last:
    sys.addaudithook(step)
if what == "submit":
    jobs.submit_batch("big", "digest", batch)
else:
    jobs.resume("big")
"""


def plan() -> dict[str, dict[str, Any]]:
    return {
        f"j{n:04d}": {"sequence": "GAATTC" + f"{n:012b}".translate({48: "A", 49: "T"}),
                      "enzymes": ["EcoRI"]}
        for n in range(JOBS)
    }  # fmt: skip


@dataclass
class Relay:
    """Forward requests, count batch submissions, and kill the client at one of them."""

    target: str
    pid: int = 0
    at: tuple[int, str] = (0, "")
    count: int = 0
    accepted: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def plan(self, number: int, phase: str) -> None:
        """Kill the client at the `number`-th batch from now on."""
        with self.lock:
            self.count, self.at = 0, (number, phase)

    def kills(self, number: int, phase: str) -> bool:
        if self.at != (number, phase):
            return False
        os.kill(self.pid, signal.SIGKILL)
        return True


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    relay: Relay

    def log_message(self, *_: Any) -> None:
        pass

    def _handle(self) -> None:
        relay, number = self.relay, 0
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path.endswith("/submit-batch"):
            with relay.lock:
                relay.count += 1
                number = relay.count
        if number and relay.kills(number, "come"):
            self.close_connection = True
            return
        target = urlsplit(relay.target)
        onward = http.client.HTTPConnection(str(target.hostname), target.port, timeout=60)
        headers = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "connection")}
        onward.request(self.command, self.path, body, headers)
        response = onward.getresponse()
        content = response.read()
        onward.close()
        if number and response.status == 200:
            with relay.lock:
                relay.accepted[json.loads(body)["batchName"]] += 1
        if number and relay.kills(number, "done"):
            self.close_connection = True
            return
        self.send_response(response.status)
        for name in ("Content-Type", "Retry-After"):
            if response.headers.get(name):
                self.send_header(name, str(response.headers[name]))
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if number and self.relay.at == (number, "half answered"):
            self.wfile.write(content[: len(content) // 2])
            self.wfile.flush()
            relay.kills(number, "half answered")
            self.close_connection = True
            return
        self.wfile.write(content)

    do_GET = do_POST = do_DELETE = _handle


@pytest.fixture
def relay(new_box: Callable[..., Sandbox]) -> Iterator[tuple[Relay, str, str]]:
    box = new_box(workers=1)
    started = Relay(box.jobs.base_url)
    handler = type("RelayHandler", (Handler,), {"relay": started})
    with serve(handler) as url:
        yield started, f"{url}{urlsplit(box.jobs.base_url).path}", box.jobs.api_key


def run(relay: Relay, url: str, key: str, command: str, last_step: int) -> int:
    """Run a client process to its end and return its exit code."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, url, command, str(last_step)],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "RELAY_KEY": key},
    )
    relay.pid = child.pid
    _, errors = child.communicate(json.dumps(plan()).encode(), timeout=60)
    assert child.returncode in (0, -signal.SIGKILL), errors.decode()
    return child.returncode


def test_client_killed_repeatedly_submits_each_job_once(
    relay: tuple[Relay, str, str],
) -> None:
    proxy, url, key = relay
    chance = random.Random(1000)
    phases = chance.sample(PHASES, len(PHASES))
    kills = 0
    for life in range(5):
        in_relay = life in (0, 2, 4)
        step = 0 if in_relay else chance.randint(1, 16)
        proxy.plan(chance.randint(1, 2) if in_relay else 0, phases[life // 2] if in_relay else "")
        ended = run(proxy, url, key, "resume" if life else "submit", step)
        kills += ended == -signal.SIGKILL
    proxy.plan(0, "")
    assert kills == 5
    with JobsClient(url, key) as jobs:
        assert jobs.unfinished()["Name"].tolist() == ["big"]
        done = jobs.resume("big")
        assert len(done.sent) >= 2, "each was killed during the request"
        assert "The service now has the whole batch big, 1,000 jobs." in done.message
        assert jobs.resume("big").sent == ()
        assert jobs.unfinished().empty
        rows = list(jobs.iter_jobs(subjobs=True))
    parents = [row["JobName"] for row in rows if row["Type"] == "batch"]
    assert sorted(parents) == sorted(done.parts)
    submitted = {row["JobName"]: json.loads(row["Settings"]) for row in rows if row["Type"] == TOOL}
    assert len(rows) == JOBS + PARTS
    expected = plan()
    assert submitted == {
        row.JobName: expected[str(row.Name)] for row in done.frame.itertuples(index=False)
    }
    assert proxy.accepted == dict.fromkeys(done.parts, 1)
