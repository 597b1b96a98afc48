"""Runs one job's tool, in the job's own process."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from labext.sandbox.jobs import catalogue, versions
from labext.sandbox.jobs.files.archives import ARCHIVE, OUT, files_in, write_archive
from labext.sandbox.jobs.tool import Tool
from labext.sandbox.runner import TaskError

_JSON = orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY


def run(work: Path, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Run the tool and pack what it made; returns the Score.

    The archive holds the tool's files, `settings.json` (as submitted), `score.json` and `log.txt`
    (what it was made by, then what the process printed).

    Args:
        work: the working folder; `../inputs/<setting>/` holds the files that settings refer to.
        payload: `tool` and `settings`.

    Raises:
        TaskError: the tool was there when the job was submitted, and is not now.
    """
    tool = catalogue.tool(payload["tool"])
    if tool is None:
        raise TaskError(f"The tool {payload['tool']} is not installed any more.")
    print(versions.line(tool), flush=True)
    settings = payload["settings"]
    out = work / OUT
    out.mkdir()
    score = catalogue.run(tool.name, settings, _inputs(work, tool, settings), out)
    (out / "settings.json").write_bytes(orjson.dumps(settings, option=_JSON))
    (out / "score.json").write_bytes(orjson.dumps(score, option=_JSON))
    sys.stdout.flush()
    sys.stderr.flush()
    shutil.copyfile(work / "log.txt", out / "log.txt")
    write_archive(work / ARCHIVE, files_in(out))
    return score


def _inputs(work: Path, tool: Tool, settings: Mapping[str, Any]) -> dict[str, Path]:
    """The file of each file setting that was sent; contents that were sent become a file."""
    found = {}
    for parameter in tool.parameters:
        if not parameter.file or parameter.name not in settings:
            continue
        kept = work.parent / "inputs" / parameter.name
        if kept.is_dir():
            found[parameter.name] = next(kept.iterdir())
        else:
            ending = "pdb" if parameter.type == "pdb" else "txt"
            found[parameter.name] = work / f"{parameter.name}.{ending}"
            found[parameter.name].write_text(settings[parameter.name], encoding="utf-8")
    return found
