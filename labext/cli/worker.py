"""`labext worker`: run jobs of a server on this machine."""

from __future__ import annotations

import logging
from importlib.util import find_spec
from pathlib import Path

import click

from labext import messages
from labext.errors import InputError, SetupError
from labext.extras import install_line

_path = click.Path(path_type=Path)


@click.command()
@click.option("--connect", metavar="ADDRESS", help="Scheduler: tls://HOST:PORT.")
@click.option("--slots", type=click.IntRange(min=1), metavar="N", help="Jobs at once.")
@click.option("--memory", metavar="SIZE", help="Memory for jobs, such as 32GiB.")
@click.option("--name", metavar="NAME", help="Name in lists of workers.")
@click.option("--host", metavar="ADDRESS", help="Address of this machine for the scheduler.")
@click.option("--shared-dir", type=_path, metavar="DIR", help="Folder that the server also sees.")
@click.option("--local-dir", type=_path, metavar="DIR", help="Folder for jobs on a local disk.")
@click.option("--tls-ca-file", type=_path, metavar="FILE", help="The cluster's authority.")
@click.option("--tls-cert", type=_path, metavar="FILE", help="Certificate of this worker.")
@click.option("--tls-key", type=_path, metavar="FILE", help="Key of the certificate.")
@click.option("--allow-plaintext", is_flag=True, help="Allow tcp:// to other machines.")
@click.option("--slurm", is_flag=True, help="Submit workers as jobs of a Slurm cluster.")
@click.option("--jobs", type=click.IntRange(1, 1000), default=1, metavar="N", help="Slurm jobs.")
@click.option("--partition", metavar="NAME", help="Slurm partition.")
@click.option("--time", "walltime", metavar="HH:MM:SS", help="Time limit of a Slurm job.")
def worker(
    connect: str | None,
    slots: int | None,
    memory: str | None,
    name: str | None,
    host: str | None,
    shared_dir: Path | None,
    local_dir: Path | None,
    tls_ca_file: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    allow_plaintext: bool,
    slurm: bool,
    jobs: int,
    partition: str | None,
    walltime: str | None,
) -> None:
    """Run jobs of a server on this machine until it is interrupted.

    The server is started with `--executor` and the same scheduler. With `--slurm`, workers are
    submitted to the cluster instead, and the command ends.
    """
    if connect is None:
        raise InputError(
            "The address of the scheduler is missing.",
            "Add `--connect tls://HOST:PORT`, as the server prints it.",
        )
    if find_spec("distributed") is None:
        raise SetupError(
            "A worker needs the package distributed.", f"Run `{install_line('cluster')}`."
        )
    from labext.sandbox.core.executors.cluster.address import TlsFiles, scheduler_address
    from labext.sandbox.core.executors.cluster.dask_worker import WorkerOptions

    tls = TlsFiles.of(tls_ca_file, tls_cert, tls_key)
    options = WorkerOptions(
        scheduler_address(connect, tls, allow_plaintext=allow_plaintext),
        tls,
        slots=slots,
        memory=None if memory is None else messages.parse_size(memory),
        shared_dir=shared_dir,
        local_dir=local_dir,
        host=host,
        name=name,
    )
    if slurm:
        from labext.sandbox.core.executors.cluster.slurm_workers import submit_workers

        if slots is None or memory is None:
            raise InputError("A Slurm job needs a size.", "Add `--slots N --memory SIZE`.")
        numbers = submit_workers(
            options, jobs, partition=partition, walltime=walltime, allow_plaintext=allow_plaintext
        )
        print(f"Submitted {messages.pluralize(jobs, 'worker')}: {', '.join(numbers)}.")
        return
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # we say it shorter
    from labext.sandbox.worker import serve

    serve(options, lambda line: print(line, flush=True))
