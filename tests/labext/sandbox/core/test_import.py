"""Import time of the sandbox, and imports on unsupported systems."""

from __future__ import annotations

import json
import subprocess
import sys

SERVERS = ["fastapi", "itsdangerous", "psutil", "sqlalchemy", "starlette", "uvicorn"]


def _run(code: str, *arguments: str) -> str:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def test_import_loads_neither_server_nor_dataframes():
    code = (
        "import sys, json; from labext.sandbox import Sandbox; Sandbox('nowhere').status()\n"
        "print(json.dumps([name for name in sys.modules if '.' not in name]))"
    )
    loaded = set(json.loads(_run(code)))
    assert loaded.isdisjoint([*SERVERS, "pandas", "numpy", "requests", "ipywidgets", "yaml"])


def test_missing_posix_or_packages_are_reported(tmp_path):
    code = (
        "import sys\n"
        f"for name in {[*SERVERS, 'fcntl', 'resource', 'pwd']!r}: sys.modules[name] = None\n"
        "from labext.sandbox import Sandbox; from labext.errors import SetupError\n"
        "sys.platform = 'win32'\n"
        "box = Sandbox(sys.argv[1]); print(box.status().state, box.stop())\n"
        "try: box.start()\n"
        "except SetupError as error: print(error.message)"
    )
    output = _run(code, str(tmp_path / "box")).splitlines()
    assert output == ["stopped False", "The sandbox needs Linux or macOS."]
    assert not (tmp_path / "box").exists()
