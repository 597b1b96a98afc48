"""Run the jobs of a sandbox on another machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from labext.sandbox.core.executors.cluster.dask_worker import WorkerOptions, run_worker
from labext.sandbox.jobs.app import service
from labext.sandbox.jobs.tools import catalogue


def serve(options: WorkerOptions, announce: Callable[[str], None]) -> None:
    """Run jobs of the tools whose packages are installed here; see `run_worker`."""
    tools = tuple(catalogue.available_tools())
    run_worker(replace(options, capabilities=tools, preload=service.preload), announce)
