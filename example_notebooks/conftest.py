"""Run each notebook in nbval in a copy of this folder, with a separate sandbox.

Some notebooks then run a second time, in a new kernel, and find what the first run has made.

The checkout stays clean, every run starts without data, and the profiles and data of the user are
not touched. Outputs are compared with the saved ones, except for values that depend on the speed of
the machine: times (tests/example_notebooks/sanitize.cfg), the state of a job right after its
submission, and the intermediate states of a watch.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import tempfile
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import Any

import nbval.kernel
import pytest
import second_runs
from jupyter_client.manager import KernelManager
from nbval.plugin import IPyNbCell, IPyNbFile

from labext.sandbox import Sandbox

pytest_plugins = ("notebook_plugin",)
SUBMITS = ("%jobs submit", "%%jobs pipeline", "%jobs run-pipeline")
WATCHED = re.compile(r"watched \d+:\d\d")


class Notebook(IPyNbFile):  # type: ignore[misc]
    """A notebook whose kernel runs in a fresh copy of its folder."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the code cells, and the second run."""
        for cell in super().collect():
            parts = {"cell_num": cell.cell_num, "cell": cell.cell, "options": cell.options}
            yield Cell.from_parent(self, name=cell.name, **parts)
        if check := second_runs.CHECKS.get(self.path.name):
            yield SecondRun.from_parent(self, name=check.__name__, check=check)

    def setup(self) -> None:
        """Copy the folder, set labext's folders to new ones beside the copy, start the kernel."""
        self.temp_dir = Path(tempfile.mkdtemp(prefix="labext-nbval-"))
        self.environment = pytest.MonkeyPatch()
        for name in [name for name in os.environ if name.startswith("LABEXT_")]:
            self.environment.delenv(name)
        for name in ("SANDBOX", "STATE", "CONFIG"):
            self.environment.setenv(f"LABEXT_{name}_DIR", str(self.temp_dir / name.lower()))
        self.environment.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
        # Unix sockets: another process could bind a free TCP port before the kernel does.
        local = functools.partial(KernelManager, transport="ipc", ip=str(self.temp_dir / "kernel"))
        self.environment.setattr(nbval.kernel, "KernelManager", local)
        original = self.path
        folder = self.temp_dir / "notebooks"
        shutil.copytree(original.parent, folder, ignore=shutil.ignore_patterns("out", "*.py", ".*"))
        self.executed = self.path = folder / original.name
        try:
            super().setup()
        finally:
            self.path = original

    def get_sanitize_files(self) -> list[str]:
        """Return the patterns of values that differ between runs."""
        return [str(self.config.rootpath / "tests" / "example_notebooks" / "sanitize.cfg")]

    def teardown(self) -> None:
        """Stop the kernel, then the sandbox that the notebook started."""
        try:
            super().teardown()
            Sandbox(self.temp_dir / "sandbox").stop()
        finally:
            self.environment.undo()
            shutil.rmtree(self.temp_dir)


class Cell(IPyNbCell):  # type: ignore[misc]
    """A cell whose outputs are compared without those that depend on speed."""

    def compare_outputs(
        self, test: Iterable[Any], ref: Iterable[Any], skip_compare: Iterable[str] | None = None
    ) -> bool:
        """Return whether the outputs equal the saved ones."""
        return bool(super().compare_outputs(self.stable(test), self.stable(ref), skip_compare))

    def stable(self, outputs: Iterable[Any]) -> list[Any]:
        """Return the outputs that are the same on every machine.

        Only the HTML of a table, because the column widths of its text depend on times; only the
        last state of a watch; only the message of a submission without `--wait`.
        """
        outputs = list(outputs)
        watches = [output for output in outputs if WATCHED.search(_part(output, "text/plain"))]
        submits = self.cell.source.startswith(SUBMITS) and "--wait" not in self.cell.source
        kept = []
        for output in outputs:
            if output in watches[:-1]:
                continue
            if submits and output.get("output_type") == "execute_result":
                continue
            if "<table" in _part(output, "text/html"):
                html = {"text/html": output["data"]["text/html"]}
                output = type(output)({**output, "data": html})
            kept.append(output)
        return kept


class SecondRun(pytest.Item):
    """A second run of a notebook, in the folder and with the sandbox of the first run."""

    def __init__(self, *, check: second_runs.Check, **options: Any) -> None:
        super().__init__(**options)
        self.check = check

    def runtest(self) -> None:
        """Check the files and the outputs."""
        assert isinstance(self.parent, Notebook)
        self.check(self.parent.executed)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the notebook and the name of the check."""
        return self.path, 0, f"{self.path.name}::{self.name}"


def _part(output: Any, kind: str) -> str:
    return str(output.get("data", {}).get(kind, ""))


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> Generator[None, list[Any], list[Any]]:
    """Replace nbval's collector of a notebook with `Notebook`."""
    nodes = yield
    return [
        Notebook.from_parent(parent, path=file_path) if isinstance(node, IPyNbFile) else node
        for node in nodes
    ]
