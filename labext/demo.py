"""`labext demo`: the example notebooks in a folder, a sandbox running, JupyterLab open on them.

With `--run` the first notebook is executed without a browser instead, by a kernel of this very
environment, and the executed copy is written beside it.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labext import examples
from labext.errors import LabextError, SetupError
from labext.extras import install_line

if TYPE_CHECKING:
    from labext.sandbox import Sandbox

NOTEBOOK = "jobs.ipynb"
CELL_SECONDS = 600
"""The longest a cell may run under `--run`."""


class NotebookError(LabextError):
    """A cell of the notebook failed."""


@dataclass(frozen=True)
class Run:
    """What executing the notebook came to.

    Attributes:
        executed: the copy with its outputs.
        cells: how many code cells ran.
        complete: how many jobs of the sandbox are complete, those of batches counted one by one.
        seconds: how long it took, wall clock.
    """

    executed: Path
    cells: int
    complete: int
    seconds: float


def start(folder: Path, data_dir: Path | None) -> tuple[examples.Placed, Sandbox]:
    """Put the notebooks into `folder`, start the sandbox.

    Raises:
        SetupError: an extra is missing.
        StorageError: the folder can't be written.
    """
    missing = [name for name in ("jupyterlab", "ipykernel", "nbclient") if find_spec(name) is None]
    if missing:
        raise SetupError(
            f"The demo needs {', '.join(missing)}, not installed here.",
            f"Run `{install_line('demo')}`.",
        )
    from labext.sandbox import Sandbox

    placed = examples.place(folder)
    sandbox = Sandbox(data_dir)
    sandbox.start()
    return placed, sandbox


def environment(data_dir: Path | None) -> dict[str, str]:
    """The environment of the kernels: their `%lab sandbox` is the one the demo started."""
    chosen = {} if data_dir is None else {"LABEXT_SANDBOX_DIR": str(data_dir.resolve())}
    return {**os.environ, **chosen}


def lab_command(folder: Path, *, port: int | None, browser: bool) -> list[str]:
    """The command that opens JupyterLab on the notebook.

    Its defaults are those of `demo_settings`: nobody is asked about news, nothing is fetched.
    """
    command = [
        *(sys.executable, "-m", "jupyterlab"),
        f"--ServerApp.root_dir={folder.resolve()}",
        f"--LabApp.default_url=/lab/tree/{NOTEBOOK}",
        f"--LabApp.app_settings_dir={Path(__file__).parent / 'demo_settings'}",
    ]
    if port is not None:
        command.append(f"--ServerApp.port={port}")
    if not browser:
        command.append("--no-browser")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    return command


def open_lab(folder: Path, data_dir: Path | None, *, port: int | None, browser: bool) -> None:
    """Become JupyterLab, so that its signals and its exit code are its own. Does not return."""
    command = lab_command(folder, port=port, browser=browser)
    sys.stdout.flush()
    os.execve(command[0], command, environment(data_dir))  # noqa: S606 - no shell is meant


def run(folder: Path, sandbox: Sandbox, data_dir: Path | None) -> Run:
    """Execute the notebook in `folder`, write `jobs.executed.ipynb` beside it.

    Raises:
        NotebookError: a cell failed; the copy holds the outputs up to there.
    """
    import nbformat
    from nbclient.exceptions import CellExecutionError

    notebook = nbformat.read(folder / NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    executed = folder / NOTEBOOK.replace(".ipynb", ".executed.ipynb")
    began = time.monotonic()
    try:
        _execute(notebook, folder, environment(data_dir))
    except CellExecutionError as error:
        raise NotebookError(
            f"A cell of {NOTEBOOK} failed: {error.ename}: {error.evalue}",
            f"Look at {executed}.",
        ) from error
    finally:
        nbformat.write(notebook, executed)  # type: ignore[no-untyped-call]
    cells = sum(cell.cell_type == "code" and bool(cell.source.strip()) for cell in notebook.cells)
    seconds = time.monotonic() - began
    return Run(executed, cells, _complete(sandbox), seconds)


def _execute(notebook: Any, folder: Path, kernel_environment: dict[str, str]) -> None:
    """Run every cell by nbclient, with a kernel of this environment whatever else is installed."""
    from ipykernel.kernelspec import get_kernel_dict
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
    from jupyter_client.manager import KernelManager
    from nbclient import NotebookClient

    class ThisEnvironment(KernelSpecManager):
        def get_kernel_spec(self, kernel_name: str) -> KernelSpec:  # noqa: ARG002
            return KernelSpec(**get_kernel_dict())

    # Without it newer kernels warn that others on this machine could listen; older ones lack it.
    encrypted = (
        {"transport_encryption": "auto"}
        if KernelManager.class_traits().get("transport_encryption")
        else {}
    )
    manager = KernelManager(kernel_spec_manager=ThisEnvironment(), **encrypted)
    client = NotebookClient(
        notebook,
        km=manager,
        timeout=CELL_SECONDS,
        resources={"metadata": {"path": str(folder)}},
    )
    try:
        client.execute(env=kernel_environment)
    finally:
        if manager.has_kernel:
            manager.shutdown_kernel(now=True)
        manager.context.destroy()


def _complete(sandbox: Sandbox) -> int:
    """How many jobs of the sandbox are complete, by asking it as any client would."""
    from labext.jobs import JobsClient

    client = JobsClient(sandbox.jobs.base_url, api_key=sandbox.jobs.api_key)
    rows = client.iter_jobs(subjobs=True)
    return sum(row.get("JobStatus") == "Complete" and row.get("Type") != "batch" for row in rows)
