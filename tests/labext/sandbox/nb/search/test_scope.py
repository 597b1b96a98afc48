"""Every filter of a search is kept, by words, by meaning and by both."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

World = Any
BY = pytest.mark.parametrize("by", ["text", "vector", "hybrid"])


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, make_world: Any) -> Iterator[World]:
    world = make_world(tmp_path_factory.mktemp("scope"))
    for name in ("s1", "s2", "s3"):
        world.source(name, f"Arabinose induces the promoter, says {name}.")
    for name in ("n1", "n2"):
        world.note(name, f"Arabinose induces the promoter, notes {name}.")
    yield world
    world.database.close()


def matching(world: World, by: str, **arguments: object) -> set[str]:
    hits = world.index.find("arabinose promoter", by, **{"limit": 10} | arguments)
    return {hit.parent_id.partition(":")[2] for hit in hits}


@BY
def test_default_scope_is_everything(shared: World, by: str) -> None:
    assert matching(shared, by) == {"s1", "s2", "s3", "n1", "n2"}


@BY
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"source_ids": ["source:s2"]}, {"s2"}),
        ({"note_ids": ["note:n1"]}, {"n1"}),
        ({"source_ids": ["source:s1", "source:s3"], "note_ids": ["note:n2"]}, {"s1", "s3", "n2"}),
        ({"source_ids": []}, set()),
        ({"source_ids": ["source:none"]}, set()),
        ({"source_ids": ["note:n1"]}, set()),  # no source
        ({"include_sources": False}, {"n1", "n2"}),
        ({"include_notes": False}, {"s1", "s2", "s3"}),
        ({"include_sources": False, "include_notes": False}, set()),
        ({"source_ids": ["source:s1"], "note_ids": ["note:n1"], "include_notes": False}, {"s1"}),
    ],
)
def test_scope_filters_hits(
    shared: World, by: str, arguments: dict[str, Any], expected: set[str]
) -> None:
    assert matching(shared, by, **arguments) == expected


@BY
def test_limit_is_kept(shared: World, by: str) -> None:
    assert len(matching(shared, by, limit=2)) == 2


@BY
def test_scope_with_fifty_thousand_identifiers_works(shared: World, by: str) -> None:
    many = [f"source:x{number}" for number in range(50_000)]
    assert matching(shared, by, source_ids=[*many, "source:s3"]) == {"s3"}


def test_min_similarity_applies_to_vector_hits(shared: World) -> None:
    like = [hit.similarity for hit in shared.vector("arabinose promoter s2", min_similarity=-1)]
    assert len(like) == 5
    between = (like[1] + like[2]) / 2
    assert len(shared.vector("arabinose promoter s2", min_similarity=between)) == 2
    assert len(shared.hybrid("arabinose promoter s2", min_similarity=between)) == 2
    assert shared.hybrid("arabinose promoter s2", min_similarity=0.999) == []
    assert len(shared.text("arabinose promoter s2", min_similarity=0.999)) == 5


def test_dissimilar_passages_are_excluded_by_default(shared: World) -> None:
    query = "quarterly tax returns of the municipal bakery"
    assert shared.vector(query) == shared.hybrid(query) == []
    assert len(shared.vector(query, min_similarity=-1)) == 5
