"""Each notebook's cells run by nbval in a copy of this folder, with a sandbox of their own.

So the checkout stays clean, outputs are always those of a first run, and neither the data nor the
profiles of whoever runs the tests are touched.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from nbval.plugin import IPyNbFile

from labext.sandbox import Sandbox


class Notebook(IPyNbFile):  # type: ignore[misc]
    """A notebook whose kernel runs in a fresh copy of its folder."""

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
        return [str(self.config.rootpath / "tests" / "notebooks" / "sanitize.cfg")]

    def teardown(self) -> None:
        """End the kernel, then the sandbox that the notebook started."""
        try:
            super().teardown()
            Sandbox(self.room / "sandbox").stop()
        finally:
            self.environment.undo()
            shutil.rmtree(self.room)


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
