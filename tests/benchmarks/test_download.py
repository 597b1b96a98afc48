"""1 GiB streamed to disk, compared with a plain requests stream.

The goal is 0.9 of its speed and at most 32 MiB more memory. Each download runs in a separate
process, with chunks of the same size; the two alternate in going first, since delayed writes of one
slow down the next, and the medians are compared.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from transfer_benchmarks import compare_transfers, run_client

pytestmark = pytest.mark.benchmark

SERVER = """
path = sys.argv[1]

class File(Handler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "application/zip")
        self.send_header("Content-Length", str(os.path.getsize(path)))
        self.send_header("ETag", '"v1"')
        self.end_headers()
        self.wfile.flush()
        with open(path, "rb") as file:
            self.connection.sendfile(file)

serve(File)
"""

CLIENT = """
import json, os, sys, time
from pathlib import Path

import requests
from labext.http.download import download_file

how, url, target = sys.argv[1:]
with PeakMemory() as memory:
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
size = os.path.getsize(target)
os.remove(target)
print(json.dumps({"seconds": seconds, "bytes": size, "memory": memory.bytes}))
"""


def test_a_large_result_to_disk(
    benchmark: Any, figure: Callable[[str, str], None], serving: Callable[..., str], tmp_path: Path
) -> None:
    size = (1024 if benchmark.enabled else 8) * 1024 * 1024
    with (tmp_path / "result").open("wb") as file:
        file.truncate(size)
    url = f"{serving(SERVER, tmp_path / 'result')}result.zip?signature=c0ffee"

    def download(how: str) -> dict[str, float]:
        return run_client(CLIENT, how, url, tmp_path / f"{how}.zip")

    results = compare_transfers(benchmark, figure, download, "to disk", "a bare requests stream")
    assert all(result["bytes"] == size for result in results)
