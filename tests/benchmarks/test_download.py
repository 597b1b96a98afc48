"""1 GiB streamed to disk, beside a bare requests stream.

0.9 of its speed and at most 32 MiB more memory are the aim. Each download has a process of its
own, with pieces of the same size; the two take turns in going first, and the medians count: what
the disk still writes of one slows the next down.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import pytest

pytestmark = pytest.mark.benchmark

SERVER = """
import http.server, os, sys

path = sys.argv[1]

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        size = os.path.getsize(path)
        self.send_response(200)
        self.send_header("Content-Type", "application/zip")
        self.send_header("Content-Length", str(size))
        self.send_header("ETag", '"v1"')
        self.end_headers()
        self.wfile.flush()
        with open(path, "rb") as file:
            self.connection.sendfile(file)

    def log_message(self, *_):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""

CLIENT = """
import json, os, sys, threading, time
from pathlib import Path

import psutil
import requests
from labext.http.download import download_file

how, url, target = sys.argv[1:]
process = psutil.Process()
before = most = process.memory_info().rss
done = threading.Event()

def watch():
    global most
    while not done.wait(0.01):
        most = max(most, process.memory_info().rss)

watcher = threading.Thread(target=watch)
watcher.start()
if hasattr(os, "sync"):
    os.sync()
began = time.perf_counter()
if how == "bare":
    with requests.get(url, stream=True, timeout=60) as answer, open(target, "wb") as file:
        for chunk in answer.iter_content(512 * 1024):
            file.write(chunk)
else:
    download_file(url, Path(target))
seconds = time.perf_counter() - began
done.set()
watcher.join()
size = os.path.getsize(target)
os.remove(target)
print(json.dumps({"seconds": seconds, "bytes": size, "memory": most - before}))
"""


def download(how: str, url: str, target: Path) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-c", CLIENT, how, url, str(target)],
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    )
    output: dict[str, float] = json.loads(done.stdout)
    return output


def test_a_large_result_to_disk(
    benchmark: Any,
    figure: Callable[[str, str], None],
    serving: Callable[..., str],
    tmp_path: Path,
) -> None:
    size = (1024 if benchmark.enabled else 8) * 1024 * 1024
    with (tmp_path / "result").open("wb") as file:
        file.truncate(size)
    url = f"{serving(SERVER, tmp_path / 'result')}result.zip?signature=c0ffee"
    times: dict[str, list[dict[str, float]]] = {"bare": [], "ours": []}

    def take_turns() -> None:
        for how in sorted(times, reverse=len(times["bare"]) % 2 == 0):
            times[how].append(download(how, url, tmp_path / f"{how}.zip"))

    benchmark.pedantic(take_turns, rounds=15 if benchmark.enabled else 1, iterations=1)
    assert all(result["bytes"] == size for results in times.values() for result in results)
    usual = {how: median(result["seconds"] for result in results) for how, results in times.items()}
    speed = {how: size / 2**20 / seconds for how, seconds in usual.items()}
    ratio = speed["ours"] / speed["bare"]
    more = max(our["memory"] for our in times["ours"]) / 2**20
    benchmark.extra_info |= {"speed_ratio": ratio, "memory_mib": more}
    figure(
        f"{size / 2**20:,.0f} MiB to disk",
        f"{ratio:.2f} of the speed of a bare requests stream, of 0.9 "
        f"({speed['ours']:,.0f} MiB/s to {speed['bare']:,.0f}); {more:.0f} MiB more memory, of 32",
    )
