"""A PDF of 300 pages: from its upload until it is searchable.

Its pages are of 400 words. The service uses its built-in embedding model, and reads, splits, embeds
and stores in the process of the source and its own; the memory is the peak of the process of the
source.
"""

from __future__ import annotations

import random
import threading
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


def paper(pages: int) -> bytes:
    """Return pages of distinct sentences."""
    chosen = random.Random(1)
    return pdf([_page(chosen) for _ in range(pages)], "A long paper")


def _page(chosen: random.Random) -> str:
    sentences = (
        " ".join(chosen.choices(WORDS, k=10)).capitalize() + f" {chosen.randrange(1000)}."
        for _ in range(36)
    )
    return "\n".join(sentences)


class Watch:
    """Record the peak memory of a descendant of a process while the block runs."""

    def __init__(self, host: int) -> None:
        self._host = psutil.Process(host)
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.most = 0

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.02):
            for process in self._host.children(recursive=True):
                try:
                    self.most = max(self.most, process.memory_info().rss)
                except psutil.Error:
                    continue


@pytest.fixture(scope="session")
def services() -> list[str]:
    return ["labext.sandbox.nb.app:service"]


def test_a_long_pdf(
    benchmark: Any, figure: Callable[[str, str], None], new_box: Callable[..., Sandbox]
) -> None:
    pages = 300 if benchmark.enabled else 3
    content = paper(pages)
    box = new_box(workers=1)
    session = requests.Session()
    session.headers["Authorization"] = f"Bearer {box.nb.password}"
    host = box.status().pid
    assert host is not None
    created: list[dict[str, Any]] = []

    def add() -> None:
        answer = session.post(
            f"{box.nb.base_url}/sources",
            files={"file": ("paper.pdf", content)},
            data={"process_async": "false"},
            timeout=280,
        )
        created.append(answer.json())

    with session, Watch(host) as watch:
        benchmark.pedantic(add, rounds=5 if benchmark.enabled else 1, iterations=1)
        started_at = time.perf_counter()
        response = session.post(
            f"{box.nb.base_url}/search", json={"query": "arabinose"}, timeout=60
        ).json()
        seconds = time.perf_counter() - started_at
    assert all(item["status"] == "completed" and item["embedded"] for item in created), created[0][
        "error"
    ]
    assert response["results"]
    passages = created[0]["passages"]
    assert passages >= pages
    median = benchmark.stats.stats.median if benchmark.enabled else 0.0
    benchmark.extra_info |= {"pages": pages, "passages": passages, "memory": watch.most}
    figure(
        f"a PDF of {pages} pages ({len(content) / 2**20:.1f} MiB)",
        f"{median:.1f} s until its {passages:,} passages are found by words and by vectors; "
        f"at most {watch.most / 2**20:.0f} MiB in its process; a search then took "
        f"{seconds * 1000:.0f} ms",
    )
