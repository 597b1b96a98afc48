"""The log of a job begins with the versions of the tool and its packages."""

from __future__ import annotations

import platform
from importlib.metadata import version

import pytest

import labext

pytestmark = pytest.mark.contract


def test_log_begins_with_package_versions(api, kit):
    name = api.submit("rna_fold", {"sequence": "GGGGAAAACCCC"})
    cut = api.submit("digest", kit.cut())
    assert api.ended(name)["JobStatus"] == api.ended(cut)["JobStatus"] == "Complete"
    around = f"labext {labext.__version__}, Python {platform.python_version()}"
    for job, tool, package in ((name, "rna_fold", "ViennaRNA"), (cut, "digest", "biopython")):
        first = api.archive(job).read("log.txt").decode().splitlines()[0]
        assert first == f"{tool} with {package} {version(package)}, {around}"


def test_version_line_lists_every_required_package():
    from labext.sandbox.jobs import execution
    from labext.sandbox.jobs.tools.catalogue import available_tools

    for tool in available_tools().values():
        made_of = execution.version_line(tool).partition(" with ")[2].split(", ")
        assert len(made_of) == len(tool.requires) + 2, tool.name
        assert all(line.split()[-1][0].isdigit() for line in made_of)
