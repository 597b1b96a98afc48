"""The public names come when they are used, and bring nothing before."""

from __future__ import annotations

import subprocess
import sys

import pytest

import labext

HEAVY = ("pandas", "numpy", "requests", "ipywidgets", "yaml", "keyring", "orjson", "IPython")


def loaded_by(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    return {name.partition(".")[0] for name in done.stdout.split()}


@pytest.mark.parametrize("module", ["labext", "labext.config", "labext.errors", "labext.progress"])
def test_an_import_loads_nothing_heavy(module: str) -> None:
    assert not loaded_by(f"import {module}").intersection(HEAVY)


def test_loading_the_extension_loads_nothing_heavy() -> None:
    shell = "from IPython.core.interactiveshell import InteractiveShell"
    before = loaded_by(f"{shell}\nInteractiveShell.instance()")
    after = loaded_by(f"{shell}\nInteractiveShell.instance().run_line_magic('load_ext', 'labext')")
    assert "labext_magics" in after
    assert not (after - before).intersection(HEAVY)


def test_every_public_name_is_there() -> None:
    for name in labext.__all__:
        assert getattr(labext, name).__name__ == name
        assert name in dir(labext)
    assert labext.__version__


def test_another_name_is_not() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Jobs'"):
        labext.Jobs  # noqa: B018
