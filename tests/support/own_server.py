"""A temporary Jupyter server with its own folders, settings and port."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import labext_test_kernel
from waiting import wait_until

PATIENCE = 90.0  # seconds; long, since only slow machines need them

ROOT = Path(__file__).parents[2]
PACKAGES = [ROOT, ROOT / "magics", ROOT / "widgets", Path(__file__).parent]

OPTIONS = [
    *("--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1", "--ServerApp.port_retries=0"),
    *("--IdentityProvider.token=", "--ServerApp.password="),
    "--ServerApp.disable_check_xsrf=True",
    "--LabApp.expose_app_in_browser=True",
    "--JupyterNotebookApp.expose_app_in_browser=True",
    "--LabApp.news_url=None",
]

SETTINGS = {
    "notebook-extension/tracker": {"windowingMode": "none"},
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}


@dataclass
class Server:
    """The address of the server, the folder of its files, and its root folder."""

    url: str
    home: Path
    folder: Path

    def kernels(self) -> list[dict[str, Any]]:
        """Return the running kernels."""
        return self._ask("/api/kernels")

    def stop_kernels(self) -> None:
        """End every session and its kernel; repeated for a kernel that is being restarted."""
        wait_until(
            lambda: (
                not [session for session in self._ask("/api/sessions") if not self._end(session)]
            )
        )

    def _end(self, session: dict[str, Any]) -> bool:
        address = f"{self.url}/api/sessions/{session['id']}"
        try:
            urllib.request.urlopen(
                urllib.request.Request(address, method="DELETE"), timeout=10
            ).close()
        except urllib.error.HTTPError as error:
            error.close()
            return error.code == 404
        return True

    def _ask(self, path: str) -> list[dict[str, Any]]:
        with urllib.request.urlopen(f"{self.url}{path}", timeout=10) as answer:
            result: list[dict[str, Any]] = json.load(answer)
        return result


@contextmanager
def warm_kernels(home: Path) -> Iterator[None]:
    """Have a server in `home` fork its kernels from a process that has imported their modules."""
    path = home / "kernels.socket"
    labext_test_kernel.write_kernelspec(home / "jupyter" / "kernels" / "python3", path)
    code = f"import labext_test_kernel; labext_test_kernel.fork_kernels({str(path)!r})"
    with (home / "kernels.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            env=environment(home),
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        yield
    finally:
        process.kill()
        process.wait()


@contextmanager
def jupyter_server(home: Path) -> Iterator[Server]:
    """Run JupyterLab, which serves Notebook 7 too, in `home`."""
    folder, log = home / "notebooks", home / "jupyter.log"
    folder.mkdir()
    for name, settings in SETTINGS.items():
        path = home / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(settings))
    configuration = home / "config" / "labconfig" / "page_config.json"
    configuration.parent.mkdir(parents=True)
    configuration.write_text(json.dumps({"buildCheck": False}))  # it runs Node.js for each page
    port = free_port()
    command = [sys.executable, "-m", "jupyterlab", *OPTIONS, f"--ServerApp.port={port}"]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, str(folder)],
            cwd=folder,
            env=environment(home),
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    server = Server(f"http://127.0.0.1:{port}", home, folder)
    try:
        wait_until(lambda: answers(f"{server.url}/api/status"))
        yield server
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(5)


def environment(home: Path) -> dict[str, str]:
    """Return an environment without the user's settings and those of a CI system."""
    own = {k: v for k, v in os.environ.items() if k != "CI" and "JUPYTER" not in k}
    return own | {
        "HOME": str(home),
        "PYTHONPATH": os.pathsep.join(map(str, PACKAGES)),
        "IPYTHONDIR": str(home / "ipython"),
        "JUPYTER_PATH": str(home / "jupyter"),
        "JUPYTER_PLATFORM_DIRS": "1",
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "LABEXT_CONFIG_DIR": str(home / "labext-config"),
        "LABEXT_SANDBOX_DIR": str(home / "labext-sandbox"),
        "LABEXT_STATE_DIR": str(home / "labext-state"),
    }


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def answers(url: str) -> bool:
    """Return whether a GET of `url` gets a response."""
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
