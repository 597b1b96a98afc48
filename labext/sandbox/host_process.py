"""Start the host as a detached process, signal it and check whether it is alive."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from labext.redaction import mask
from labext.sandbox.core.data_folder import DATABASE_VARIABLE, DataFolder, start_time
from labext.sandbox.core.executors.launcher import clean_environment
from labext.sandbox.nb.providers import provider_variables

MAX_LOG_BYTES = 5 * 1024**2

_children: set[int] = set()


def spawn_host(folder: DataFolder, options: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start the host of `folder` in its own session, with only its log open."""
    with contextlib.suppress(FileNotFoundError):
        if folder.log.stat().st_size > MAX_LOG_BYTES:
            folder.log.replace(folder.log.with_name(f"{folder.log.name}.1"))
    log = os.open(folder.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "labext.sandbox.host", str(folder.path), *options],
            env=host_environment(folder),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder.path,
            start_new_session=True,
        )
    finally:
        os.close(log)


def host_environment(folder: DataFolder) -> dict[str, str]:
    """Environment of a host: without keys except those of model providers, of AWS and a database.

    Tasks get none.
    """
    names = provider_variables.provider_variables() & os.environ.keys()
    names |= {name for name in os.environ if name.startswith("AWS_")}
    keys = {name: os.environ[name] for name in names}
    if folder.requested_database is not None:
        keys[DATABASE_VARIABLE] = folder.requested_database
    return clean_environment() | keys | _import_path_variable()


def detach(process: subprocess.Popen[bytes]) -> None:
    """Let a process continue; `reap_hosts` reaps it if it ends before this process."""
    _children.add(process.pid)
    process.returncode = 0  # else its finalizer warns that it still runs


def reap_hosts() -> None:
    """Reap ended host processes that this process started."""
    for pid in [*_children]:
        try:
            ended_pid, _status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            ended_pid = pid
        if ended_pid:
            _children.discard(pid)


def is_host_alive(holder: Mapping[str, Any]) -> bool:
    """Return whether the process recorded in the lock file is alive, not another with its id."""
    import psutil

    try:
        process = psutil.Process(holder["pid"])
        same = abs(start_time(process.pid) - holder["created"]) < 1.0
        return same and process.status() != psutil.STATUS_ZOMBIE
    except (psutil.Error, KeyError, TypeError):
        return False
    finally:
        reap_hosts()  # last, since the process may have just ended


def send_signal(holder: Mapping[str, Any], number: signal.Signals) -> None:
    """Send a signal to the process recorded in the lock file, if it is alive."""
    if is_host_alive(holder):
        with contextlib.suppress(ProcessLookupError):
            os.kill(holder["pid"], number)


def last_log_line(log: Path, offset: int) -> str:
    """Return the last line of a log after the first `offset` bytes."""
    try:
        with log.open("rb") as file:
            file.seek(0, os.SEEK_END)
            start = min(offset, file.tell())
            cut = max(start, file.tell() - 65_536)
            file.seek(cut)
            if cut > start:
                file.readline()  # incomplete, possibly with a part of a secret
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return ""
    return mask(next((line.strip() for line in reversed(lines) if line.strip()), ""))


def _import_path_variable() -> dict[str, str]:
    """Return the environment in which the host imports the labext of this process."""
    root = str(Path(__file__).parents[2])
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if Path(root).name in ("site-packages", "dist-packages") or root in paths:
        return {}
    return {"PYTHONPATH": os.pathsep.join(filter(None, [root, *paths]))}
