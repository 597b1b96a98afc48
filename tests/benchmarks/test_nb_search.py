"""1,000 sources in a notebook over loopback: list 50 ms, text search 50, vector search 100.

These are goals for medians. The requests are sequential over one connection. A search is restricted
to the notebook's sources by their identifiers, as in the client, or unrestricted. Each source has
eight passages of 150 words with a natural distribution of frequencies.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import orjson
import pytest
from databases import open_database
from transfer_benchmarks import Connection

from labext.sandbox import Sandbox
from labext.sandbox.nb.embedding.embedder import PassageEmbeddings
from labext.sandbox.nb.providers.registry import MINILM
from labext.sandbox.nb.search import index
from labext.sandbox.nb.tables import COMPLETED, Notebook, NotebookSource, Source
from labext.sandbox.nb.text.passages import PassageText

pytestmark = pytest.mark.benchmark

PASSAGES, WORDS = 8, 150
NOTEBOOK = "notebook:bench"


@pytest.fixture(scope="session")
def services() -> list[str]:
    return ["labext.sandbox.nb.app:service"]


class Texts:
    """Return passages of invented words with the frequencies of a natural language."""

    def __init__(self) -> None:
        self._random = random.Random(5)
        parts = ["ba", "co", "di", "fu", "ge", "ki", "lo", "mu", "na", "pe", "ri", "so", "tu", "za"]
        self._words = ["".join(self._random.choices(parts, k=3)) for _ in range(20_000)]
        self._weights = [1 / (rank + 2) for rank in range(len(self._words))]

    def text(self) -> str:
        return " ".join(self.words(WORDS))

    def words(self, number: int) -> list[str]:
        return self._random.choices(self._words, self._weights, k=number)


def fill(box: Sandbox, sources: int) -> list[str]:
    """Insert processed sources into a notebook; return their identifiers."""
    texts, numbers = Texts(), np.random.default_rng(5)
    database = open_database(box.data_dir)
    try:
        with database.write() as session:
            session.add(Notebook(id=NOTEBOOK, name="Bench"))
            for number in range(sources):
                identifier = f"source:{number:020d}"
                pieces = [PassageText(texts.text()) for _ in range(PASSAGES)]
                source = Source(
                    id=identifier,
                    kind="text",
                    title=f"Source {number}",
                    full_text="\n\n".join(piece.text for piece in pieces),
                    status=COMPLETED,
                )
                session.add(source)
                session.flush()
                session.add(NotebookSource(notebook_id=NOTEBOOK, source_id=identifier))
                vectors = numbers.standard_normal((PASSAGES, 384)).astype(np.float32)
                vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
                signs = [numbers.bytes(50 * 48) for _ in pieces]  # of 200 tokens each
                embeddings = PassageEmbeddings(MINILM, vectors, signs)
                index.index_passages(session, identifier, source.title, pieces, embeddings)
    finally:
        database.close()
    return [f"source:{number:020d}" for number in range(sources)]


@pytest.fixture
def service(new_box: Callable[..., Sandbox]) -> Iterator[tuple[Connection, Sandbox]]:
    box = new_box()
    headers = {"Authorization": f"Bearer {box.nb.password}"}
    connection = Connection(box, box.nb.base_url, headers)
    yield connection, box
    connection.close()


def test_a_thousand_sources(
    benchmark: Any, figure: Callable[[str, str], None], service: tuple[Connection, Sandbox]
) -> None:
    client, box = service
    sources, requests = (1000, 60) if benchmark.enabled else (20, 2)
    identifiers = fill(box, sources)
    texts = Texts()

    def search(kind: str, among: list[str] | None) -> Callable[[], object]:
        query = " ".join(texts.words(3))
        body = {"query": query, "search_type": kind, "limit": 10, "min_similarity": -1}

        def ask() -> object:
            content = orjson.dumps(body | {"source_ids": among})
            answer = orjson.loads(client.request("POST", "/search", content))
            assert len(answer["results"]) == (10 if kind == "vector" else answer["total_count"])
            return answer

        return ask

    def list_sources() -> object:
        rows = orjson.loads(client.request("GET", f"/sources?notebook_id={NOTEBOOK}&limit=1000"))
        assert len(rows) == sources
        return rows

    started_at = time.perf_counter()
    search("vector", None)()
    first = time.perf_counter() - started_at
    figure("the first vector search after a start", f"{first * 1000:.0f} ms")
    acts = {
        "list of the sources": (50, [list_sources] * requests),
        "search by words": (50, [search("text", None) for _ in range(requests)]),
        "search by words in a notebook": (
            50,
            [search("text", identifiers) for _ in range(requests)],
        ),
        "search by meaning": (100, [search("vector", None) for _ in range(requests)]),
        "search by meaning in a notebook": (
            100,
            [search("vector", identifiers) for _ in range(requests)],
        ),
    }
    results = {}

    def all_acts() -> None:
        for name, (_, asks) in acts.items():
            results[name] = client.measure(asks)

    benchmark.pedantic(all_acts, rounds=1, iterations=1)
    for name, (seconds, used) in results.items():
        benchmark.extra_info[name] = seconds
        figure(
            f"{name}, {sources:,} sources",
            f"{seconds * 1000:.1f} ms of {acts[name][0]}; the host's CPU {used * 1000:.1f} ms",
        )


@pytest.mark.timeout(1500)
def test_hundred_thousand_passages(
    benchmark: Any, figure: Callable[[str, str], None], service: tuple[Connection, Sandbox]
) -> None:
    client, box = service
    sources, requests = (100_000 // PASSAGES, 30) if benchmark.enabled else (20, 2)
    fill(box, sources)
    texts = Texts()

    def search(kind: str) -> Callable[[], object]:
        body = {"query": " ".join(texts.words(5)), "search_type": kind, "limit": 10}
        return lambda: client.request("POST", "/search", orjson.dumps(body))

    search("vector")()  # reads the vectors
    goals = {"text": 50, "vector": 50, "hybrid": 100}
    results = {}

    def all_searches() -> None:
        for kind in goals:
            results[kind] = client.measure([search(kind) for _ in range(requests)])

    benchmark.pedantic(all_searches, rounds=1, iterations=1)
    for kind, (seconds, used) in results.items():
        figure(
            f"{kind} search, {sources * PASSAGES:,} passages",
            f"{seconds * 1000:.1f} ms of {goals[kind]}; the host's CPU {used * 1000:.1f} ms",
        )
