"""Isolated folders for a notebook: a copy of the examples, and labext's folders."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from labext.cli import examples
from labext.sandbox import Sandbox


@pytest.fixture(scope="module")
def notebook_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the example notebooks, whose kernels have a separate sandbox.

    Start kernels in module fixtures, since each test gets new folders.
    """
    top = tmp_path_factory.mktemp("notebooks")
    folder = top / "notebooks"
    shutil.copytree(
        examples.examples_folder(),
        folder,
        ignore=shutil.ignore_patterns("out", "*.py", ".*", "__*"),
    )
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("LABEXT_")]:
            patch.delenv(name)
        for name in ("SANDBOX", "STATE", "CONFIG"):
            patch.setenv(f"LABEXT_{name}_DIR", str(top / name.lower()))
        yield folder
        Sandbox(top / "sandbox").stop()
