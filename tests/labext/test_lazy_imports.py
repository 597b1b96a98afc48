"""Public names are imported lazily and load no heavy package."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from typing import ClassVar

import pytest
from local_http import QuietHandler, serve

import labext

HEAVY = ("pandas", "numpy", "requests", "ipywidgets", "yaml", "keyring", "orjson", "IPython")


def loaded_by(code: str, after: str = "") -> list[str]:
    """Return the modules that the code loads in a new process, in which `after` has run before."""
    script = f"import sys\n{after}\nbefore = set(sys.modules)\n{code}\n"
    script += "print(*set(sys.modules) - before)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.split()


SHELL = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
"""


@pytest.mark.parametrize(
    ("code", "after", "module"),
    [
        ("import labext.config, labext.errors, labext.progress", "", "labext.progress"),
        ("shell.run_line_magic('load_ext', 'labext')", SHELL, "labext_magics"),
    ],
)
def test_import_loads_no_heavy_package(code: str, after: str, module: str) -> None:
    modules = loaded_by(code, after)
    assert module in modules
    assert not set(HEAVY).intersection(modules)


def test_public_names_are_importable() -> None:
    for name in labext.__all__:
        assert getattr(labext, name).__name__ == name
        assert name in dir(labext)
    assert labext.__version__


@pytest.mark.parametrize(
    "name",
    ["config.save_profile", "errors.NotFoundError", "jobs.cast", "nb.Answer", "sandbox.Sandbox"],
)
def test_import_labext_is_enough_for_its_subpackages(name: str) -> None:
    assert loaded_by(f"labext.{name}", "import labext")


@pytest.mark.parametrize("package", ["labext.jobs", "labext.sandbox", "labext_widgets"])
def test_names_that_are_imported_lazily_are_completed(package: str) -> None:
    module = importlib.import_module(package)
    assert set(module.__all__) <= set(dir(module))


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Jobs'"):
        labext.Jobs  # type: ignore[attr-defined]  # noqa: B018


SUBMIT = """
import os
os.environ["LABEXT_JOBS_BASE_URL"] = "{}"
shell.run_line_magic("load_ext", "labext")
row = shell.run_line_magic("jobs", "submit fold --name a --set sequence=ACGU")
assert row["JobStatus"].tolist() == ["In Queue"], row
"""


class Service(QuietHandler):
    """A job service with one tool, which accepts one job."""

    rows: ClassVar[list[dict[str, str]]] = []

    def do_GET(self) -> None:
        parameter = {"name": "sequence", "required": True, "type": "string"}
        tools = [{"name": "fold", "settings": [parameter]}]
        self.send_json(tools if self.path.startswith("/tools") else {"jobs": self.rows})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "jobName" in body:
            self.rows.append({"JobName": "a", "Type": "fold", "JobStatus": "In Queue"})
        self.send_json("submitted")


def test_submit_imports_no_batches_and_no_results() -> None:
    with serve(Service, rows=[]) as url:
        modules = loaded_by(SUBMIT.format(url), SHELL)
    assert "labext.jobs.client.submit" in modules
    packages = ("labext.jobs.batch", "labext.jobs.results", "labext.jobs.pipelines", "labext.nb")
    assert not [name for name in modules if name.startswith(packages)]
