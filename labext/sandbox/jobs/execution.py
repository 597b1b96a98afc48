"""Run the tool of a job in the job's own process."""

from __future__ import annotations

import platform
import shutil
import sys
from collections.abc import Collection, Mapping
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from typing import Any

import orjson

from labext.sandbox.core.executors.task_process import TaskError
from labext.sandbox.jobs.files.result_archives import (
    ARCHIVE_FILE,
    OUTPUT_FOLDER,
    walk_files,
    write_archive,
)
from labext.sandbox.jobs.tools import catalogue
from labext.sandbox.jobs.tools.catalogue import all_tools
from labext.sandbox.jobs.tools.tool import Tool
from labext.storage import sync_tree

_DISTRIBUTIONS = {"Bio": "biopython", "RNA": "ViennaRNA", "primer3": "primer3-py"}
"""The distribution names of modules, where they differ from the module names."""


def version_line(tool: Tool) -> str:
    """Return one line with the versions of the tool's packages, labext and Python."""
    packages = [_PACKAGE_VERSIONS[module] for module in tool.requires if _PACKAGE_VERSIONS[module]]
    return f"{tool.name} with {', '.join([*packages, *_RUNTIME_VERSIONS])}"


def _package_version(module: str) -> str:
    """Return the name and version of a module's distribution; empty if it is not installed."""
    try:
        package = distribution(_DISTRIBUTIONS.get(module, module))
    except PackageNotFoundError:
        return ""
    return f"{package.name} {package.version}"


_PACKAGE_VERSIONS = {
    module: _package_version(module) for tool in all_tools() for module in tool.requires
}
_RUNTIME_VERSIONS = (f"labext {version('labext-jupyter')}", f"Python {platform.python_version()}")


_JSON = orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY


def run_job(work: Path, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Run the tool of a job, write the results to disk with their archive, and return the Score.

    The archive contains the tool's files, `settings.json` (as submitted), `score.json` and
    `log.txt` (the versions of the packages, then the output of the process).

    `../inputs/<setting>/` has the input file of a setting; `files` of the payload are the settings
    with input files.
    """
    tool = catalogue.find_tool(payload["tool"])
    if tool is None:
        raise TaskError(f"The job could not start: {catalogue.missing_tool(payload['tool'])}")
    print(version_line(tool), flush=True)
    settings = payload["settings"]
    out = work / OUTPUT_FOLDER
    out.mkdir()
    files = _input_files(work, tool, settings, payload.get("files", ()))
    score = catalogue.run_tool(tool.name, settings, files, out)
    (out / "settings.json").write_bytes(orjson.dumps(settings, option=_JSON))
    (out / "score.json").write_bytes(orjson.dumps(score, option=_JSON))
    sys.stdout.flush()
    sys.stderr.flush()
    shutil.copyfile(work / "log.txt", out / "log.txt")
    sync_tree(work, parents=2)
    write_archive(work / ARCHIVE_FILE, walk_files(out))
    return score


def _input_files(
    work: Path, tool: Tool, settings: Mapping[str, Any], stored: Collection[str]
) -> dict[str, Path]:
    """Return the file of each submitted file setting; content in a setting is written to a file.

    `stored` are the settings whose files were stored with the job.
    """
    files = {}
    for parameter in tool.parameters:
        name = parameter.name
        if not parameter.file or name not in settings:
            continue
        file = next((work.parent / "inputs" / name).glob("*"), None)
        if file is None:
            if name in stored:  # its name must not be taken for its content
                raise TaskError(f"The file of the setting {name} is lost; submit the job again.")
            file = work / f"{name}.{'pdb' if parameter.type == 'pdb' else 'txt'}"
            file.write_text(settings[name], encoding="utf-8")
        files[name] = file
    return files
