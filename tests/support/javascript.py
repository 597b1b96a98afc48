"""Run the JavaScript of the widgets in Node.js."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest


def run_javascript(code: str, value: Any = None, folder: str = ".") -> Any:
    """Run code in a folder of `widgets/js` with a `value`; return the `answers` it computes."""
    read = 'import { readFileSync } from "node:fs"; const value = JSON.parse(readFileSync(0));'
    code = f"{read}{code};console.log(JSON.stringify(answers));"
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not on the PATH; the page's code can't be run")
    ran = subprocess.run(
        [node, "--input-type=module", "-e", code],
        cwd=Path(__file__).parents[2] / "widgets" / "js" / folder,
        input=json.dumps(value),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)
