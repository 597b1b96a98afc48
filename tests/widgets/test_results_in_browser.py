"""Slow downloads of results in JupyterLab: during, interrupted, complete, and in the dark theme."""

from __future__ import annotations

import io
import threading
import time
import zipfile
from collections.abc import Callable, Iterator

import pytest
from local_http import QuietHandler, serve
from notebook_page import NotebookPage
from waiting import wait_until

pytestmark = pytest.mark.browser

ROW = {"JobName": "folds", "Type": "fold", "JobStatus": "Complete", "Settings": "{}"}
SETUP = """%load_ext labext
import os
os.environ |= {{"LABEXT_JOBS_BASE_URL": {url!r}, "LABEXT_JOBS_API_KEY": "a key"}}"""
RESULTS = "files = %jobs results folds --to out"
BLOCK = 1024 * 1024
BLOCKS = 34
SECONDS = 0.15  # per block, slow enough for a display


class Service:
    """One complete job whose archive is sent up to a limit that the test sets."""

    def __init__(self) -> None:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for number in range(BLOCKS):
                archive.writestr(f"rank_{number}.pdb", bytes(BLOCK))
        self.archive = buffer.getvalue()
        self.url = ""
        self.ranges: list[str | None] = []
        self.changed = threading.Condition()
        self.blocks = 0

    def let(self, blocks: int) -> None:
        """Send the archive up to this number of bytes."""
        with self.changed:
            self.blocks = blocks
            self.changed.notify_all()

    def wait(self, blocks: int) -> bool:
        with self.changed:
            return self.changed.wait_for(lambda: self.blocks >= blocks, 240)


class Handler(QuietHandler):
    service: Service

    def do_GET(self) -> None:
        if "/download" not in self.path:
            self.send_json(ROW)
            return
        range_header, whole = self.headers.get("Range"), self.service.archive
        self.service.ranges.append(range_header)
        at = int(range_header.removeprefix("bytes=").rstrip("-")) if range_header else 0
        span = f"bytes {at}-{len(whole) - 1}/{len(whole)}"
        more = {"Content-Range": span} if range_header else {}
        self._answer(206 if range_header else 200, b"", len(whole) - at, ETag='"one"', **more)
        while at < len(whole) and self.service.wait(1 + at // BLOCK):
            self.wfile.write(whole[at : at + BLOCK])
            at += BLOCK
            time.sleep(SECONDS)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(200, f"{self.service.url}download/folds.zip".encode())

    def _answer(self, status: int, body: bytes, length: int | None = None, **headers: str) -> None:
        self.send_response(status)
        headers["Content-Length"] = str(len(body) if length is None else length)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def service() -> Iterator[Service]:
    service = Service()
    with serve(Handler, service=service) as url:
        service.url = f"{url}/api/"
        yield service


def test_interrupted_results_download_is_resumed(
    page_of: Callable[..., NotebookPage], service: Service
) -> None:
    nb = page_of().write(RESULTS, SETUP.format(url=service.url)).open()
    nb.run(1)
    nb.idle()
    service.let(14)
    nb.run(0)
    nb.page.wait_for_selector(".labext-live .labext-bar")
    wait_until(lambda: int(nb.bar().get_attribute("aria-valuenow")) > 12_000_000)
    assert "of 35.7 MB" in nb.wait_for_saved_html("Fetching")
    nb.command("notebook:interrupt-kernel")
    nb.wait_for_text("TransferInterrupted: Fetching was stopped at ")
    nb.wait_for_text("`%jobs results folds --to out` continues from there.")
    nb.idle()
    service.let(BLOCKS - 6)
    nb.run(0)
    nb.page.wait_for_selector(".labext-live .labext-bar")
    service.let(BLOCKS + 1)
    nb.wait_for_text("The results (34 files) were downloaded to out.")
    nb.idle()
    html = nb.wait_for_saved_html("The results (34 files) were downloaded to out.")
    assert "labext-bar" not in html
    nb.wait_until_removed(nb.page.locator(".labext-live"))
    assert service.ranges[0] is None
    assert service.ranges[1] is not None
