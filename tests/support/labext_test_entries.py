"""Task functions for tests of the executors."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from labext.sandbox.core.executors import task_process
from labext.sandbox.core.executors.task_process import TaskError

Payload = dict[str, Any]
SLEEP = [sys.executable, "-c", "import time; time.sleep(300)"]


def answer(work: Path, payload: Payload) -> dict[str, Any]:
    """Return the payload."""
    return payload


def fill_disk(work: Path, payload: Payload) -> dict[str, Any]:
    """Run while the disk becomes full: for the result, or only for the report."""
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(work / "out"))
    if payload["of"] == "result":
        raise full

    def fail(path: Path, content: bytes) -> None:
        raise full

    task_process._write_whole = fail
    return payload


def wait(work: Path, payload: Payload) -> dict[str, Any]:
    """Report the start, then sleep."""
    (work / "pid").write_text(str(os.getpid()))
    (work / "started").touch()
    time.sleep(payload["seconds"])
    return {"slept": payload["seconds"]}


def span(work: Path, payload: Payload) -> dict[str, Any]:
    """Return the start and end time."""
    started_at = time.monotonic()
    time.sleep(payload["seconds"])
    return {"began": started_at, "ended": time.monotonic()}


def surroundings(work: Path, payload: Payload) -> dict[str, Any]:
    """Return the environment that a task's process has."""
    descriptors = {}
    for number in range(1024):
        try:
            descriptors[number] = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            continue
    (work / "made").write_text("x")
    return {
        "cwd": os.getcwd(),
        "work": str(work),
        "leads": os.getpid() == os.getpgid(0) == os.getsid(0),
        "mode": (work / "made").stat().st_mode & 0o777,
        "core": resource.getrlimit(resource.RLIMIT_CORE)[0],
        "nice": os.nice(0),
        "descriptors": descriptors,
        "signals": [
            signal.getsignal(number) is signal.SIG_DFL
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)
        ],
        "main": getattr(sys.modules["__main__"], "__file__", ""),
        "environment": dict(os.environ),
        "modules": [name for name in ("fastapi", "uvicorn", "pytest") if name in sys.modules],
    }


def descend(work: Path, payload: Payload) -> dict[str, Any]:
    """Start a child, a grandchild and a process in another group; then wait, or not."""
    child = (
        "import subprocess, sys, time, pathlib;"
        f"p = subprocess.Popen({SLEEP!r}); pathlib.Path('grandchild').write_text(str(p.pid));"
        "time.sleep(300)"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", child]),
        subprocess.Popen(SLEEP, start_new_session=True),
    ]
    while not (work / "grandchild").exists() or not (work / "grandchild").read_text():
        time.sleep(0.01)
    pids = [process.pid for process in processes] + [int((work / "grandchild").read_text())]
    _write_whole(work / "pids", os.getpid(), *pids)
    time.sleep(payload.get("seconds", 300))
    return {}


def escape(work: Path, payload: Payload) -> dict[str, Any]:
    """Start two fully detached processes; then wait, end, or die.

    One is a daemon of two forks, one a program without the task's environment. Both are session
    leaders, have another working directory and ignore SIGTERM.
    """
    first = os.fork()
    if first == 0:
        os.setsid()
        if os.fork() == 0:
            _cut_loose(work)
        os._exit(0)
    os.waitpid(first, 0)
    program = (
        "import signal, time;"
        "[signal.signal(number, signal.SIG_IGN) for number in (1, 2, 15)];"
        "time.sleep(300)"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", program], cwd="/", env={}, start_new_session=True
    )
    while not (work / "daemon").exists():
        time.sleep(0.01)
    _write_whole(work / "pids", os.getpid(), other.pid, (work / "daemon").read_text())
    if payload.get("die"):
        os.kill(os.getpid(), signal.SIGSEGV)
    time.sleep(payload.get("seconds", 300))
    return {}


def _write_whole(path: Path, *words: object) -> None:
    path.with_suffix(".part").write_text(" ".join(map(str, words)))
    path.with_suffix(".part").rename(path)


def _cut_loose(work: Path) -> None:
    _write_whole(work / "daemon", os.getpid())
    os.chdir("/")
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    os.closerange(0, 1024)
    time.sleep(300)
    os._exit(0)


def fail(work: Path, payload: Payload) -> dict[str, Any]:
    """Raise the exception that the payload names."""
    if payload["error"] == "TaskError":
        raise TaskError("sequence: X is\nno base.")
    raise {"ValueError": ValueError, "KeyError": KeyError}[payload["error"]]("of no use")


def die(work: Path, payload: Payload) -> dict[str, Any]:
    """End the process without a message."""
    match payload["how"]:
        case "exit":
            os._exit(payload["code"])
        case "sys.exit":
            sys.exit(payload["code"])
        case "signal":
            os.kill(os.getpid(), payload["number"])
            time.sleep(60)
    return {}


def identify(work: Path, payload: Payload) -> dict[str, Any]:
    """Return the process and its folder; leave a process or a file if the payload says so."""
    print("identified")
    if payload.get("leave") == "process":
        (work / "left").write_text(str(subprocess.Popen(SLEEP, start_new_session=True).pid))
    if payload.get("leave") == "memory":
        sys.left = b"x" * (payload["mib"] << 20)  # type: ignore[attr-defined]
    return {
        "pid": os.getpid(),
        "work": str(work),
        "cwd": os.getcwd(),
        "temporary": tempfile.gettempdir(),
        "nice": os.nice(0),
        "log": (work / "log.txt").read_text(),
    }


def fill_memory(work: Path, payload: Payload) -> dict[str, Any]:
    """Allocate a number of MiB, here or in a child in another session; then wait."""
    program = (
        f"import time; block = b'x' * ({payload['mib']} << 20); time.sleep({payload['seconds']})"
    )
    if payload.get("child"):
        child = subprocess.Popen([sys.executable, "-c", program], start_new_session=True)
        (work / "pid").write_text(str(child.pid))
        child.wait()
    else:
        (work / "pid").write_text(str(os.getpid()))
        exec(program)
    return {}


def kill_parent(work: Path, payload: Payload) -> dict[str, Any]:
    """Start a detached process, append both pids to a file, and kill the fork server."""
    left = subprocess.Popen(SLEEP, start_new_session=True)
    with Path(payload["file"]).open("a") as file:
        file.write(f"{os.getpid()}\n{left.pid}\n")
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(60)
    return {}


def print_much(work: Path, payload: Payload) -> dict[str, Any]:
    """Print from this process and from a child."""
    print("from the task", flush=True)
    subprocess.run([sys.executable, "-c", "print('from its child')"], check=True)
    for _ in range(payload["lines"]):
        print("x" * 1000)
    print("at the end", file=sys.stderr)
    return {}


def return_odd(work: Path, payload: Payload) -> Any:
    """Return an invalid or far too large JSON value."""
    return {"object": object()} if payload["what"] == "object" else {"text": "x" * 10_000_000}


def digest_inputs(work: Path, payload: Payload) -> dict[str, Any]:
    """Return the digests of the input files, and copy them to the output."""
    found = {}
    for path in sorted((work.parent / "inputs").rglob("*")):
        if path.is_file():
            name = path.relative_to(work.parent / "inputs").as_posix()
            with path.open("rb") as file:
                found[name] = hashlib.file_digest(file, "sha256").hexdigest()
            target = work / "output" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    return found


def speak(work: Path, payload: Payload) -> dict[str, Any]:
    """Print a line, wait for the file `release`, print another."""
    print("first line", flush=True)
    until = time.monotonic() + 60
    while not Path(payload["release"]).exists() and time.monotonic() < until:
        time.sleep(0.05)
    print("last line", flush=True)
    return {"pid": os.getpid()}


def count_runs(work: Path, payload: Payload) -> dict[str, Any]:
    """Append to a file outside of the scratch folder at the start; then sleep.

    A line in the file `overlaps` beside `lock`, which the process holds, says that another process
    still holds it.
    """
    with contextlib.ExitStack() as stack:
        if "lock" in payload:
            lock = stack.enter_context(Path(payload["lock"]).open("a"))
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                with Path(payload["lock"]).with_name("overlaps").open("a") as file:
                    file.write(f"{payload['lock']} {time.time()}\n")
        with Path(payload["file"]).open("a") as file:
            file.write(f"{os.getpid()}\n")
        time.sleep(payload["seconds"])
    return {"pid": os.getpid()}
