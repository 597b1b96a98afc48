"""`labext demo`: open the example notebooks with a running sandbox."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from labext.errors import LabextError, SetupError, StorageError
from labext.extras import install_line
from labext.storage import storage_errors, write_atomic

if TYPE_CHECKING:
    from labext.sandbox import Sandbox

MANIFEST = ".labext-examples.json"
"""The file with a digest for each copied path."""

_SUFFIXES = {
    *(".ipynb", ".md", ".txt"),
    *(".csv", ".fasta", ".gb", ".gbk", ".pdb"),
    *(".docx", ".html", ".pdf"),
}
_EXCLUDED = {"out", ".ipynb_checkpoints", "__pycache__"}


@dataclass
class CopiedExamples:
    """The result of copying the examples, as paths relative to the folder.

    Attributes:
        written: files that were missing, or older than the bundled version and unchanged by the
            user.
        same: files that were already up to date.
        kept: files that the user has changed, left unchanged.
    """

    folder: Path
    written: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)


def examples_folder() -> Path:
    """Return the folder of the notebooks: in the installed package, else in the checkout.

    Raises:
        SetupError: the notebooks are not installed.
    """
    package = Path(__file__).parents[1]
    for folder in (package / "example_notebooks", package.parent / "example_notebooks"):
        if (folder / "jobs.ipynb").is_file():
            return folder
    raise SetupError(
        "The example notebooks are not part of this installation.",
        "Install it again with `pip install --force-reinstall labext-jupyter`.",
    )


def read_examples(folder: Path) -> dict[str, bytes]:
    """Return the content of the notebooks, without outputs, and of their data by relative path."""
    examples = {}
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if (
            path.is_file()
            and path.suffix in _SUFFIXES
            and not _EXCLUDED.intersection(relative.parts)
        ):
            examples[relative.as_posix()] = path.read_bytes()
    return examples


def copy_examples(folder: Path) -> CopiedExamples:
    """Copy the notebooks and their data into `folder`; keep files that the user has changed.

    Raises:
        StorageError: the folder can't be written.
    """
    placed = CopiedExamples(folder)
    ours = read_examples(examples_folder())
    try:
        with storage_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            remembered = _read_digests(folder)
            for name, content in ours.items():
                _copy_file(placed, name, content, remembered)
        digests = json.dumps(remembered, indent=1, sort_keys=True)
        write_atomic(folder / MANIFEST, digests.encode())
    except StorageError as error:
        raise StorageError(error.message, "Choose another folder with `--folder DIR`.") from None
    return placed


def _copy_file(
    placed: CopiedExamples, name: str, content: bytes, remembered: dict[str, str]
) -> None:
    target = placed.folder / PurePosixPath(name)
    digest = _digest(content)
    if target.exists():
        theirs = _digest(target.read_bytes())
        if theirs == digest:
            placed.same.append(name)
            remembered[name] = digest
            return
        if theirs != remembered.get(name):
            placed.kept.append(name)
            return
    target.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(target, content)
    placed.written.append(name)
    remembered[name] = digest


def _read_digests(folder: Path) -> dict[str, str]:
    """Return the digests of the last copy; empty if the manifest is missing or unreadable."""
    try:
        digests = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return dict(digests) if isinstance(digests, dict) else {}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


NOTEBOOK = "jobs.ipynb"
CELL_SECONDS = 600
"""Maximum duration of a cell with `--run`, in seconds."""


class NotebookError(LabextError):
    """A cell of the notebook failed."""


@dataclass(frozen=True)
class NotebookRun:
    """The result of executing a notebook.

    Attributes:
        executed: the copy with its outputs.
        cells: number of code cells that ran.
        complete: number of complete jobs in the sandbox, jobs of batches included.
        seconds: wall-clock duration.
    """

    executed: Path
    cells: int
    complete: int
    seconds: float


def start_demo(folder: Path, data_dir: Path | None) -> tuple[CopiedExamples, Sandbox]:
    """Copy the notebooks into `folder` and start the sandbox.

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

    placed = copy_examples(folder)
    sandbox = Sandbox(data_dir)
    sandbox.start()
    return placed, sandbox


def kernel_environment(data_dir: Path | None) -> dict[str, str]:
    """Return the environment of the kernels, whose `%lab sandbox` is that of the demo."""
    chosen = {} if data_dir is None else {"LABEXT_SANDBOX_DIR": str(data_dir.resolve())}
    return {**os.environ, **chosen}


def lab_command(folder: Path, *, port: int | None, browser: bool) -> list[str]:
    """Return the command that opens JupyterLab with the notebook.

    Its defaults are those of `demo_settings`: no news, and no requests to other servers.
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
    """Replace this process by JupyterLab, which gets its signals and sets its exit code."""
    command = lab_command(folder, port=port, browser=browser)
    sys.stdout.flush()
    os.execve(command[0], command, kernel_environment(data_dir))  # noqa: S606 - no shell is meant


def run_notebook(folder: Path, sandbox: Sandbox, data_dir: Path | None) -> NotebookRun:
    """Execute the notebook in `folder` and write `jobs.executed.ipynb` next to it.

    Raises:
        NotebookError: a cell failed; the copy holds the outputs up to there.
    """
    import nbformat
    from nbclient.exceptions import CellExecutionError

    notebook = nbformat.read(folder / NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    executed = folder / NOTEBOOK.replace(".ipynb", ".executed.ipynb")
    began = time.monotonic()
    try:
        _execute(notebook, folder, kernel_environment(data_dir))
    except CellExecutionError as error:
        raise NotebookError(
            f"A cell of {NOTEBOOK} failed: {error.ename}: {error.evalue}", f"Look at {executed}."
        ) from error
    finally:
        content = nbformat.writes(notebook)  # type: ignore[no-untyped-call]
        write_atomic(executed, f"{content}\n".encode())
    cells = sum(cell.cell_type == "code" and bool(cell.source.strip()) for cell in notebook.cells)
    seconds = time.monotonic() - began
    return NotebookRun(executed, cells, _count_complete(sandbox), seconds)


def _execute(notebook: Any, folder: Path, kernel_environment: dict[str, str]) -> None:
    """Run every cell with nbclient, in a kernel of this environment."""
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
        notebook, km=manager, timeout=CELL_SECONDS, resources={"metadata": {"path": str(folder)}}
    )
    try:
        client.execute(env=kernel_environment)
    finally:
        if manager.has_kernel:
            manager.shutdown_kernel(now=True)
        manager.context.destroy()


def _count_complete(sandbox: Sandbox) -> int:
    """Return the number of complete jobs in the sandbox."""
    from labext.jobs import JobsClient

    client = JobsClient(sandbox.jobs.base_url, api_key=sandbox.jobs.api_key)
    rows = client.iter_jobs(subjobs=True)
    return sum(row.get("JobStatus") == "Complete" and row.get("Type") != "batch" for row in rows)
