"""Each notebook's cells run by nbval in a copy of this folder, with a sandbox of their own.

So the checkout stays clean, outputs are always those of a first run, and neither the data nor the
profiles of whoever runs the tests are touched. Outputs are compared with the committed ones, but
for what depends on the speed of the machine: times (tests/example_notebooks/sanitize.cfg), and how
far a job is at the moment of its submission or when a watch begins.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from nbval.plugin import IPyNbCell, IPyNbFile

from labext.sandbox import Sandbox

pytest_plugins = ("notebook_plugin",)
SUBMITS = ("%jobs submit", "%%jobs pipeline", "%jobs run-pipeline")
WATCHED = re.compile(r"watched \d+:\d\d")


class Notebook(IPyNbFile):  # type: ignore[misc]
    """A notebook whose kernel runs in a fresh copy of its folder."""

    def collect(self) -> Iterator[Cell]:
        """Yield the code cells, each to be compared in our way."""
        for cell in super().collect():
            parts = {"cell_num": cell.cell_num, "cell": cell.cell, "options": cell.options}
            yield Cell.from_parent(self, name=cell.name, **parts)

    def setup(self) -> None:
        """Copy the folder, point labext's own folders beside it, start the kernel there."""
        self.room = Path(tempfile.mkdtemp(prefix="labext-nbval-"))
        self.environment = pytest.MonkeyPatch()
        for name in [name for name in os.environ if name.startswith("LABEXT_")]:
            self.environment.delenv(name)
        for name in ("SANDBOX", "STATE", "CONFIG"):
            self.environment.setenv(f"LABEXT_{name}_DIR", str(self.room / name.lower()))
        self.environment.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
        original = self.path
        folder = self.room / "notebooks"
        shutil.copytree(original.parent, folder, ignore=shutil.ignore_patterns("out", "*.py", ".*"))
        self.path = folder / original.name
        try:
            super().setup()
        finally:
            self.path = original

    def get_sanitize_files(self) -> list[str]:
        """What differs from run to run, wherever pytest was started from."""
        return [str(self.config.rootpath / "tests" / "example_notebooks" / "sanitize.cfg")]

    def teardown(self) -> None:
        """End the kernel, then the sandbox that the notebook started."""
        try:
            super().teardown()
            Sandbox(self.room / "sandbox").stop()
        finally:
            self.environment.undo()
            shutil.rmtree(self.room)


class Cell(IPyNbCell):  # type: ignore[misc]
    """A cell whose outputs are compared without what is a matter of speed."""

    def compare_outputs(
        self, test: Iterable[Any], ref: Iterable[Any], skip_compare: Iterable[str] | None = None
    ) -> bool:
        """Whether the outputs are the committed ones."""
        return bool(super().compare_outputs(self.settled(test), self.settled(ref), skip_compare))

    def settled(self, outputs: Iterable[Any]) -> list[Any]:
        """The outputs as they are on every machine.

        A table's text follows the width of its times: its HTML is compared alone. Of a watch the
        last state counts; of a submission that isn't waited for what it says, not the job's row.
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


def _part(output: Any, kind: str) -> str:
    return str(output.get("data", {}).get(kind, ""))


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> Generator[None, list[Any], list[Any]]:
    """Take nbval's collector of a notebook, put ours in its place."""
    found = yield
    return [
        Notebook.from_parent(parent, path=file_path) if isinstance(node, IPyNbFile) else node
        for node in found
    ]
