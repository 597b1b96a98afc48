"""Fork kernels from a warm process: imports take most of the start of a kernel.

`fork_kernels` is the process that forks. The kernelspec runs this file as a script, which requests
a kernel and waits for it; if either ends, so does the other.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import NoReturn

MODULES = (
    *("ipykernel.kernelapp", "ipykernel.ipkernel", "ipywidgets", "anywidget", "pandas"),
    *("PIL.Image", "Bio.SeqIO", "matplotlib.figure", "matplotlib.backends.backend_svg"),
    *("biotite.structure.io.pdb", "biotite.structure.io.pdbx"),
)
"""Modules that kernels of the tests import. Those of labext are imported in each kernel."""


def write_kernelspec(folder: Path, path: Path) -> None:
    """Write the kernelspec of the kernels that the process at a socket forks."""
    command = [sys.executable, "-IS", __file__, str(path), "{connection_file}"]
    spec = {"argv": command, "display_name": "Python 3", "language": "python"}
    folder.mkdir(parents=True)
    # The script is not the kernel, therefore an interrupt is a message, not a signal.
    (folder / "kernel.json").write_text(json.dumps(spec | {"interrupt_mode": "message"}))


def fork_kernels(path: str) -> NoReturn:
    """Fork a kernel for each connection to a socket, until this process is killed."""
    import gc
    import importlib

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        for name in MODULES:
            importlib.import_module(name)
        gc.collect()
        gc.freeze()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        while True:
            connection, _ = listener.accept()
            with connection:
                if os.fork() == 0:
                    listener.close()
                    _become_kernel(connection)


def _become_kernel(connection: socket.socket) -> NoReturn:
    import threading

    from ipykernel.kernelapp import IPKernelApp

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    request = json.loads(connection.makefile().readline())
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    threading.Thread(target=_end_with_script, args=[connection], daemon=True).start()
    sys.argv = ["ipykernel_launcher", "-f", request["connection_file"]]
    try:
        IPKernelApp.launch_instance()
    finally:
        os._exit(0)


def _end_with_script(connection: socket.socket) -> None:
    connection.recv(1)
    os._exit(1)


def _start(path: str, connection_file: str) -> None:
    """Request a kernel, and wait for its end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    request = {
        "connection_file": connection_file,
        "environment": dict(os.environ),
        "folder": os.getcwd(),
    }
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        connection.sendall(json.dumps(request).encode() + b"\n")
        connection.recv(1)


if __name__ == "__main__":
    _start(*sys.argv[1:])
