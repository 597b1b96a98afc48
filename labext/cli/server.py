"""`labext server`: serve a group from this machine. `labext worker`: run jobs of a server."""

from __future__ import annotations

import logging
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from labext import messages
from labext.cli import sandbox as sandbox_commands
from labext.cli.groups import Function, Result, VerbGroup, option
from labext.errors import InputError, SetupError
from labext.extras import install_line

if TYPE_CHECKING:
    from labext.sandbox.server import Server


SETTINGS = (
    *("database_url", "processes", "workers", "executor", "certificates", "allow_plaintext"),
    *("max_running_per_account", "max_queued_per_account", "adopt_empty"),
    *("storage", "storage_endpoint", "storage_cache"),
)
"""Options of `start` that are settings of the services, as those of a sandbox."""


class ServerGroup(VerbGroup):
    """The commands on a server as a whole."""

    def call(self, function: Function, data_dir: Path | None, arguments: dict[str, Any]) -> Result:
        """Call a command's function with the server in a folder."""
        from labext.sandbox.server import Server

        arguments["database_url"] = arguments.pop("database", None)
        if arguments.get("storage_cache") is not None:
            arguments["storage_cache"] = messages.parse_size(arguments["storage_cache"])
        settings = {name: arguments.pop(name) for name in SETTINGS if name in arguments}
        result: Result = function(Server(data_dir, **settings), **arguments)
        return result


server = ServerGroup("server", "Serve a group over a network.")
server.modules = {name: f"labext.cli.{name}" for name in ("lab", "jobs", "nb")}

_path = click.Path(path_type=Path, dir_okay=False)
_database = option(
    "--database",
    "URL",
    "Keep the data in PostgreSQL: postgresql+psycopg://…",
    envvar="LABEXT_DATABASE_URL",
)


def _storage(command: Any) -> Any:
    """Add the options that say where the files are."""
    for add in (
        option("--storage-cache", "SIZE", "Size of the copies in the data folder (10 GiB)."),
        option("--storage-endpoint", "URL", "Address of the S3 service, if it is not AWS."),
        option(
            "--storage",
            "URL",
            "Keep files in s3://BUCKET/PREFIX, with the credentials of the environment or of the "
            "files of AWS; or in file:///DIR.",
        ),
    ):
        command = add(command)
    return command


@server.verb("start")
@option("--host", "NAME", "The public host name, such as lab.example.org.")
@option("--listen", "ADDRESS", "The IP address to listen on (default: 0.0.0.0, all).")
@click.option(
    "--port",
    type=int,
    metavar="N",
    help="The first of four ports: lab, jobs, nb and the identity provider (default: 8443).",
)
@click.option("--tls-cert", type=_path, help="PEM file of the certificate and its chain.")
@click.option("--tls-key", type=_path, help="PEM file of its key, readable by the server only.")
@click.option(
    "--ca-bundle", type=_path, help="PEM file of the certificate's authority, if it is your own."
)
@click.option(
    "--behind-proxy",
    is_flag=True,
    help="Serve plain HTTP on a loopback address to a proxy on this machine that ends TLS.",
)
@click.option(
    "--public-url",
    "public_urls",
    multiple=True,
    metavar="ENDPOINT=URL",
    help="Public address of lab, jobs, nb or lab-oidc, if it is not https://HOST:PORT.",
)
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    help="One JSON object per line, also for every request (default: text).",
)
@option("--organization", "NAME", "Your organization; for the first start (default: Laboratory).")
@_database
@_storage
@click.option(
    "--processes",
    type=click.IntRange(min=1),
    metavar="N",
    help="Service processes, with PostgreSQL (default: 1).",
)
@sandbox_commands.executor_options
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of concurrent tasks here (default: the number of cores).",
)
@click.option(
    "--max-running-per-account",
    type=click.IntRange(min=0),
    metavar="N",
    help="Jobs of one account that run at the same time; 0 for no limit. Kept for later starts.",
)
@click.option(
    "--max-queued-per-account",
    type=click.IntRange(min=0),
    metavar="N",
    help="Jobs of one account that wait; more are refused. 0 for no limit. Kept as well.",
)
@click.option(
    "--adopt-empty",
    is_flag=True,
    help="Start although the database is empty or damaged (its files are moved to quarantine), or "
    "its files are missing.",
)
@click.option("--detach", is_flag=True, help="Return once the services answer.")
def start(server: Server, detach: bool, **options: Any) -> Result:
    """Start the services in the foreground, for a service manager.

    Without `--host` it starts with the options of the last time, except those that are given.

    \b
    labext server start --host lab.example.org --tls-cert cert.pem --tls-key key.pem
    """
    server.configure(**_settings(options))
    if not detach:
        server.run()
    status = server.start()
    for notice in status.notices:
        print(f"labext: {notice}", file=sys.stderr)
    return _record(server), _text(server)


@server.verb("status")
def status(server: Server) -> Result:
    """Show whether the services run and are healthy, and where.

    Exits with 3 if they do not run, 4 if one is not healthy.
    """
    problems = server.health()
    text = "\n".join([_text(server), *sandbox_commands.problem_lines(problems)])
    health = {name: reason or "healthy" for name, reason in problems.items()}
    code = sandbox_commands.exit_code(server.status(), problems)
    return _record(server) | {"health": health}, text, code


@server.command("certificates")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), metavar="DIR")
@click.option("--host", "hosts", multiple=True, metavar="NAME", help="Host name of the server.")
def certificates(folder: Path, hosts: tuple[str, ...]) -> None:
    """Create an authority, and certificates for the server and the workers of a cluster.

    They encrypt the connections between server, scheduler and workers. Anyone who has one of their
    keys can run programs on the workers.
    """
    from labext.sandbox.core.executors.cluster.address import write_certificates
    from labext.sandbox.lifecycle import check_system

    check_system()
    for file in write_certificates(folder, [*hosts] or ["localhost"]):
        print(file)
    print("Copy ca.pem, worker.pem and worker.key to each worker, readable by their user only.")


server.verb("stop")(sandbox_commands.stop)
server.verb("backup")(sandbox_commands.backup)


@server.verb("restore")
@_database
@_storage
@sandbox_commands.restore_options
def restore(server: Server, file: Path, yes: bool) -> Result:
    """Restore a backup; with `--database` into a PostgreSQL database, also one of a SQLite file."""
    result: Result = sandbox_commands.restore(server, file, yes)
    return result


def _settings(options: dict[str, Any]) -> dict[str, Any]:
    """Return the given options as values of `ServerSettings`."""
    urls = dict[str, str]()
    for text in options.pop("public_urls"):
        endpoint, equals, url = text.partition("=")
        if not equals:
            raise InputError(
                f"{text} names no endpoint.",
                "Give `--public-url jobs=https://jobs.example.org`, for example.",
            )
        urls[endpoint] = url
    values = options | {"public_urls": urls}
    return {
        name: str(value.absolute()) if isinstance(value, Path) else value
        for name, value in values.items()
        if value is not None and value is not False and value != {}  # an empty text is refused
    }


def _record(server: Server) -> dict[str, Any]:
    status = server.status()
    return {"state": status.state, "data_dir": str(status.data_dir), "addresses": status.addresses}


def _text(server: Server) -> str:
    status = server.status()
    lines = [
        f"The server in {status.data_dir} is {status.state}.",
        *(f"The {service} service answers at {url}." for service, url in status.addresses.items()),
        *sandbox_commands.worker_lines(status),
        *status.notices,
    ]
    return "\n".join(lines)


_any_path = click.Path(path_type=Path)


@click.command()
@click.option("--connect", metavar="ADDRESS", help="Scheduler: tls://HOST:PORT.")
@click.option(
    "--slots", type=click.IntRange(min=1), metavar="N", help="Jobs at a time (default: cores)."
)
@click.option("--memory", metavar="SIZE", help="Memory for jobs (default: all of it).")
@click.option("--name", metavar="NAME", help="Name in lists (default: the host's name).")
@click.option("--host", metavar="ADDRESS", help="Address of this machine for the scheduler.")
@click.option(
    "--shared-dir", type=_any_path, metavar="DIR", help="Folder that the server also sees."
)
@click.option("--local-dir", type=_any_path, metavar="DIR", help="Folder for jobs on a local disk.")
@click.option("--tls-ca-file", type=_any_path, metavar="FILE", help="The cluster's authority.")
@click.option("--tls-cert", type=_any_path, metavar="FILE", help="Certificate of this worker.")
@click.option("--tls-key", type=_any_path, metavar="FILE", help="Key of the certificate.")
@click.option("--allow-plaintext", is_flag=True, help="Allow tcp:// to other machines.")
@click.option("--slurm", is_flag=True, help="Submit workers as jobs of a Slurm cluster.")
@click.option("--jobs", type=click.IntRange(1, 1000), metavar="N", help="Slurm jobs (default: 1).")
@click.option("--partition", metavar="NAME", help="Slurm partition.")
@click.option(
    "--time", "walltime", metavar="HH:MM:SS", help="Time limit of a Slurm job (default: 00:30:00)."
)
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
    jobs: int | None,
    partition: str | None,
    walltime: str | None,
) -> None:
    """Run jobs of a server on this machine until it is interrupted.

    The server is started with `--executor` and the same scheduler. With `--slurm`, workers are
    submitted to the cluster instead, and the command ends.

    \b
    labext worker --connect tls://lab.example.org:8786 --slots 8 --memory 32GiB \\
        --tls-ca-file ca.pem --tls-cert worker.pem --tls-key worker.key
    """
    for flag, value in (("--jobs", jobs), ("--partition", partition), ("--time", walltime)):
        if value is not None and not slurm:
            raise InputError(
                f"`{flag}` is for workers that Slurm starts.",
                f"Add `--slurm`, or leave out `{flag}` to start a worker on this machine.",
            )
    if connect is None:
        raise InputError(
            "The address of the scheduler is missing.",
            "Add `--connect tls://HOST:PORT`, as the server prints it.",
        )
    if find_spec("distributed") is None:
        raise SetupError(
            "A worker needs the package distributed.", f"Run `{install_line('cluster')}`."
        )
    from labext.sandbox.lifecycle import check_system

    check_system()
    from labext.sandbox.core.executors.cluster.address import TlsFiles, scheduler_address
    from labext.sandbox.core.executors.cluster.dask_worker import WorkerOptions

    if shared_dir is not None and not shared_dir.is_dir():
        raise InputError(
            f"There is no folder {shared_dir}.",
            "Give a folder that the server sees under the same path, or leave out `--shared-dir`.",
        )
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
        if host is not None:
            raise InputError(
                "`--host` is the address of one machine, and Slurm chooses the machines.",
                "Leave it out.",
            )
        numbers = submit_workers(
            options,
            jobs or 1,
            partition=partition,
            walltime=walltime,
            allow_plaintext=allow_plaintext,
        )
        print(f"Submitted {messages.pluralize(len(numbers), 'worker')}: {', '.join(numbers)}.")
        return
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    from labext.sandbox.worker import serve

    serve(options, lambda line: print(line, flush=True))
