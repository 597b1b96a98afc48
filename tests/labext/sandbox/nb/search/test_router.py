"""POST /search: responses and refusals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from labext.sandbox.nb.app import NotebookService
from labext.sandbox.nb.search.index import MIN_SIMILARITY

World = Any


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, make_world: Any) -> Iterator[World]:
    world = make_world(tmp_path_factory.mktemp("route"))
    world.source("a", "Arabinose induces the promoter.", "Bench notes")
    world.note("b", "The promoter is induced by arabinose and repressed by glucose.")
    yield world
    world.database.close()


@pytest.fixture(scope="module")
def client(shared: World) -> TestClient:
    return TestClient(NotebookService().apps(shared.site)["nb"], "http://127.0.0.1")


def search(client: TestClient, **body: object) -> Any:
    return client.post("/api/search", json=body)


def test_text_search_response(client: TestClient) -> None:
    answer = search(client, query="bench arabinose").json()
    assert (answer["total_count"], answer["search_type"]) == (2, "text")
    first, second = answer["results"]
    assert first | {"relevance": 0} == {
        "id": "source:a",
        "parent_id": "source:a",
        "title": "Bench notes",
        "matches": ["Arabinose induces the promoter."],
        "passage_id": 1,
        "page": None,
        "table_header": None,
        "transcript": False,
        "confidence": None,
        "relevance": 0,
    }
    assert (second["id"], second["title"]) == ("note:b", "")
    assert first["relevance"] > second["relevance"] > 0


def test_vector_search_response(client: TestClient) -> None:
    answer = search(client, query="sugar switches a gene", search_type="vector").json()
    assert answer["search_type"] == "vector"
    assert {result["id"] for result in answer["results"]} == {"source:a", "note:b"}
    assert all(MIN_SIMILARITY <= result["similarity"] <= 1 for result in answer["results"])
    assert not any("relevance" in result for result in answer["results"])


def test_hybrid_search_response(client: TestClient) -> None:
    body = {"query": "arabinose", "search_type": "hybrid"}
    answer = search(client, **body).json()
    assert answer["search_type"] == "hybrid"
    for result in answer["results"]:
        assert -1 <= result["similarity"] <= 1
        assert 0 < result["relevance"] <= 1
    assert len(answer["results"]) == 2


def test_search_filters_are_applied(client: TestClient) -> None:
    def matching(**body: object) -> list[str]:
        kind = {"query": "arabinose promoter", "search_type": "vector"}
        return sorted(result["id"] for result in search(client, **kind | body).json()["results"])

    assert matching() == ["note:b", "source:a"]
    assert matching(source_ids=["source:a"]) == matching(include_notes=False) == ["source:a"]
    assert matching(note_ids=["note:b"]) == matching(include_sources=False) == ["note:b"]
    assert len(matching(limit=1)) == 1
    assert matching(min_similarity=0.99) == []


@pytest.mark.parametrize(
    ("body", "by_name"),
    [
        ({}, "query"),
        ({"query": " \n"}, "query"),
        ({"query": 7}, "query"),
        ({"query": "x", "search_type": "both"}, "search_type"),
        ({"query": "x", "limit": 0}, "limit"),
        ({"query": "x", "limit": 1001}, "limit"),
        ({"query": "x", "limit": True}, "limit"),
        ({"query": "x", "min_similarity": 1.1}, "min_similarity"),
        ({"query": "x", "source_ids": "source:a"}, "source_ids"),
        ({"query": "x", "note_ids": [1]}, "note_ids"),
        ({"query": "x", "include_notes": "no"}, "include_notes"),
    ],
)
def test_invalid_search_is_400(client: TestClient, body: dict[str, Any], by_name: str) -> None:
    answer = search(client, **body)
    assert answer.status_code == 400
    assert by_name in answer.json()["detail"]
