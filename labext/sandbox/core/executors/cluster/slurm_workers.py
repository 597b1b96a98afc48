"""Submit workers as jobs of a Slurm cluster."""

from __future__ import annotations

import asyncio
import shlex
import signal
import sys
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from labext.errors import ServiceError
from labext.sandbox.core.executors.cluster.dask_worker import WorkerOptions

OWN_MEMORY = 1 << 30
"""Bytes that a Slurm job has for the worker itself, beside the memory for tasks."""


def import_slurm() -> Any:
    """Import `dask_jobqueue.slurm`, and keep the handler of SIGINT, which the import replaces."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        from dask_jobqueue import slurm
    finally:
        signal.signal(signal.SIGINT, handler)
    return slurm


def submit_workers(
    options: WorkerOptions,
    jobs: int,
    *,
    partition: str | None,
    walltime: str | None,
    allow_plaintext: bool,
) -> list[str]:
    """Submit this number of workers to Slurm, and return the ids of their Slurm jobs.

    Each job runs `labext worker` with the slots and the memory of the options, which must be given.

    Raises:
        ServiceError: `sbatch` is missing or refuses a job.
    """
    create: Any = import_slurm().SLURMJob
    job = create(
        options.address,
        name="labext-worker",
        job_name="labext-worker",
        cores=options.slots,
        memory=f"{(options.memory or 0) + OWN_MEMORY}B",
        queue=partition,
        walltime=walltime,
        config_name="slurm",
    )
    job._command_template = shlex.join(_command(options, allow_plaintext=allow_plaintext))
    numbers: list[str] = []
    try:
        for _ in range(jobs):
            numbers.append(_run_in_thread(_submit(job)))
    except FileNotFoundError as error:
        raise ServiceError(
            "The command `sbatch` is not on the PATH.", "Run this on a login node of the cluster."
        ) from error
    except (RuntimeError, ValueError) as error:
        lines = str(error).strip().splitlines() or ["no reason was given"]
        submitted = f" Submitted before: {', '.join(numbers)}." if numbers else ""
        raise ServiceError(
            f"Slurm refused the job: {lines[-1]}.{submitted}",
            "Check the partition, the time limit and the size of the worker.",
        ) from error
    return numbers


def _run_in_thread(coroutine: Coroutine[Any, Any, str]) -> str:
    """Run a coroutine to its end, also in a notebook, whose thread has a running event loop."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


async def _submit(job: Any) -> str:
    # Not `job.start()`: it cancels the Slurm job when this process ends.
    with job.job_file() as file:
        output = await job._submit_job(file)
    return str(job._job_id_from_submit_output(output))


def _command(options: WorkerOptions, *, allow_plaintext: bool) -> list[str]:
    command = [sys.executable, "-P", "-m", "labext.cli", "worker", "--connect", options.address]
    command += ["--slots", str(options.slots), "--memory", str(options.memory)]
    if options.name is not None:
        command += ["--name", options.name]
    if options.shared_dir is not None:
        command += ["--shared-dir", str(options.shared_dir)]
    if options.local_dir is not None:
        command += ["--local-dir", str(options.local_dir)]
    if options.tls is not None:
        command += ["--tls-ca-file", str(options.tls.ca.absolute())]
        command += ["--tls-cert", str(options.tls.certificate.absolute())]
        command += ["--tls-key", str(options.tls.key.absolute())]
    return [*command, "--allow-plaintext"] if allow_plaintext else command
