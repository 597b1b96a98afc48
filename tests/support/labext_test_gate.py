"""The job service with a gate before its tools, so that tests can hold jobs in a state."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from labext.sandbox import Sandbox
from labext.sandbox.core.queue import TaskKind
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.jobs import execution
from labext.sandbox.jobs.app import JobService

SECONDS = 240.0  # maximum wait of a job, so that it ends even if its test fails


class Gate:
    """Delays the jobs of a tool, in a sandbox with this service."""

    def __init__(self, box: Sandbox) -> None:
        self._folder = box.data_dir

    def hold(self, tool: str, *, after: int = 0) -> None:
        """Let only the first `after` jobs of the service run."""
        draft = self._folder / "gate.draft"
        draft.write_text(str(after))
        draft.replace(_file(self._folder, tool))

    def open(self, tool: str) -> None:
        """Let all jobs run."""
        _file(self._folder, tool).unlink()


def _file(data_dir: Path, tool: str) -> Path:
    return data_dir / f"gate-{tool}"


def run(work: Path, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Wait until the gate is open for this job, then run its tool."""
    file = _file(work.parents[3], payload["tool"])
    end = time.monotonic() + SECONDS
    while payload["job"] > _let_through(file) and time.monotonic() < end:
        time.sleep(0.02)
    return execution.run_job(work, payload)


def _let_through(file: Path) -> float:
    try:
        return float(file.read_text())
    except FileNotFoundError:
        return float("inf")


class Service(JobService):
    @property
    def preload(self) -> Sequence[str]:
        return [__name__, *super().preload]

    def kinds(self, site: Site) -> list[TaskKind]:
        gated = {"labext.sandbox.jobs.execution:run_job": f"{__name__}:run"}
        return [replace(k, entry=gated.get(k.entry, k.entry)) for k in super().kinds(site)]


service = Service()
