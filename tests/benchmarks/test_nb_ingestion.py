"""PDFs of 400 words a page, from their upload until they are found by words and by vectors.

The service uses its built-in embedding model, and reads, splits, embeds and stores in its own
process and in those of its tasks.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import psutil
import pytest
import requests
from labext_test_documents import pdf

from labext.sandbox import Sandbox

pytestmark = pytest.mark.benchmark

WORDS = ["arabinose", "glucose", "promoter", "induction", "culture", "plasmid", "expression"]
WORDS += ["repressor", "activator", "pellet", "buffer", "lysis", "of", "the", "and", "in", "with"]


def paper(pages: int, seed: int = 1) -> bytes:
    """Return pages of distinct sentences."""
    chosen = random.Random(seed)
    return pdf([_page(chosen) for _ in range(pages)], "A long paper")


def _page(chosen: random.Random) -> str:
    sentences = (
        " ".join(chosen.choices(WORDS, k=10)).capitalize() + f" {chosen.randrange(1000)}."
        for _ in range(36)
    )
    return "\n".join(sentences)


@pytest.fixture(scope="session")
def services() -> list[str]:
    return ["labext.sandbox.nb.app:service"]


class Service:
    """A sandbox whose notebook service gets PDFs."""

    def __init__(self, box: Sandbox) -> None:
        self._url = box.nb.base_url
        self._session = requests.Session()
        self._session.headers["Authorization"] = f"Bearer {box.nb.password}"
        pid = box.status().pid
        assert pid is not None
        self._host = psutil.Process(pid)

    def add(self, content: bytes) -> str:
        answer = self._session.post(
            f"{self._url}/sources",
            files={"file": ("paper.pdf", content)},
            data={"process_async": "true"},
            timeout=60,
        )
        assert answer.status_code < 300, answer.text
        return str(answer.json()["id"])

    def wait_until_embedded(self, sources: list[str]) -> int:
        """Wait until sources are found by vectors; return the number of their passages."""
        self._wait(sources, "status", "completed")
        # A search embeds a few passages itself; many are embedded in the background.
        body = {"query": "arabinose", "search_type": "vector"}
        assert self._session.post(f"{self._url}/search", json=body, timeout=60).ok
        self._wait(sources, "embedded", True)
        return sum(self._row(source)["passages"] for source in sources)

    def _wait(self, sources: list[str], key: str, value: object) -> None:
        for source in sources:
            while self._row(source)[key] != value:
                time.sleep(0.5)  # seldom, since a request costs CPU, too

    def _row(self, source: str) -> dict[str, Any]:
        row: dict[str, Any] = self._session.get(f"{self._url}/sources/{source}", timeout=60).json()
        assert row["status"] != "failed", row["error"]
        return row

    def cpu(self) -> float:
        """Return the CPU seconds of the host and its tasks."""
        times = [process.cpu_times() for process in (self._host, *self._host.children(True))]
        return sum(t.user + t.system + t.children_user + t.children_system for t in times)


def test_pdfs_of_ten_pages(
    benchmark: Any, figure: Callable[[str, str], None], new_box: Callable[..., Sandbox]
) -> None:
    count, pages = (200, 10) if benchmark.enabled else (1, 2)
    service = Service(new_box(workers=2))
    service.wait_until_embedded([service.add(paper(1))])
    papers = [paper(pages, seed) for seed in range(2, count + 2)]
    before = service.cpu()

    def add_all() -> None:
        benchmark.extra_info["passages"] = service.wait_until_embedded(
            [service.add(content) for content in papers]
        )

    started_at = time.perf_counter()
    benchmark.pedantic(add_all, rounds=1, iterations=1)
    seconds = time.perf_counter() - started_at
    used = service.cpu() - before
    assert benchmark.extra_info["passages"] >= count * pages
    figure(
        f"{count} PDFs of {pages} pages, {benchmark.extra_info['passages']:,} passages",
        f"{used / count / pages * 1000:.0f} ms of CPU a page (goal: 50); {seconds:.0f} s",
    )
