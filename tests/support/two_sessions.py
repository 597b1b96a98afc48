"""Two sessions that run the same lines at the same time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from labext.sandbox import Sandbox

SESSION = """
import sys, time
from pathlib import Path
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "labext")
name, service, *cells = sys.argv[1:]
shell.run_line_magic(service, "connect sandbox")
for number, cell in enumerate(cells):
    Path(f"{name}-{number}").touch()
    while not Path(f"{'ba'[name == 'b']}-{number}").exists():
        time.sleep(0.001)
    shell.run_cell(cell).raise_error()
"""


def run_in_two_sessions(box: Sandbox, service: str, cells: list[str], folder: Path) -> list[str]:
    """Run cells in two sessions that begin each cell together; return what both have printed."""
    sessions = [
        subprocess.Popen(
            [sys.executable, "-c", SESSION, name, service, *cells],
            cwd=folder,
            env={
                **os.environ,
                "IPYTHONDIR": str(folder / f"ipython-{name}"),
                "LABEXT_SANDBOX_DIR": str(box.data_dir),
            },
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in "ab"
    ]
    try:
        printed = [session.communicate(timeout=120)[0] for session in sessions]
    finally:
        for session in sessions:
            session.kill()
    assert [session.returncode for session in sessions] == [0, 0], printed
    return printed
