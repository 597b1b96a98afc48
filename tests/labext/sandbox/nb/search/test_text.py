"""Passages are found by their words as soon as they are stored."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import select

from labext.sandbox.core.database import CoreBase
from labext.sandbox.nb.search import full_text, index
from labext.sandbox.nb.tables import Base, Passage
from labext.sandbox.nb.text.passages import PassageText

World = Any


def parents(hits: list[Any]) -> list[str]:
    return [hit.parent_id for hit in hits]


def test_indexed_passages_are_found_until_removed(world):
    source = world.source("a", "Arabinose induces the promoter.", "Bench notes")
    note = world.note("b", "Glucose represses it.")
    (hit,) = world.text("arabinose")
    assert (hit.parent_id, hit.title) == (source, "Bench notes")
    assert hit.page is hit.similarity is None
    assert hit.text == "Arabinose induces the promoter."
    assert parents(world.text("glucose")) == [note]
    with world.database.write() as session:
        index.remove_passages(session, [source, note])
    assert world.text("arabinose") == world.text("glucose") == world.text("bench") == []


def test_reindexing_replaces_passages(world):
    world.source("a", "The old text.", "Old name")
    with world.database.write() as session:
        index.index_passages(
            session,
            "source:a",
            "New name",
            [PassageText("First page.", 1), PassageText("Second.", 2)],
        )
    assert world.text("old") == []
    assert [(hit.text, hit.page) for hit in world.text("second")] == [("Second.", 2)]
    assert len(world.text("new name")) == 2
    assert world.text("first new name")[0].text == "First page."


def test_passage_is_found_by_its_title_and_headings(world):
    section = "The culture was grown until the next morning. " * 15
    world.source("a", f"# Preparation\n\n{section}\n\n# Harvest\n\n{section}", "Arabinose")
    preparation, harvest = world.text("arabinose")
    first, second = world.text("harvest arabinose")
    assert (first.passage_id, second.passage_id) == (harvest.passage_id, preparation.passage_id)
    assert harvest.text.startswith("# Harvest")


def test_retitled_source_is_found_by_its_new_title(world):
    source = world.source("a", "Some text.", "Alpha")
    with world.database.write() as session:
        full_text.update_title(session, source, "Beta")
    assert world.text("alpha") == []
    assert parents(world.text("beta")) == [source]


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def indexed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, make_world_on: Any
) -> Iterator[World]:
    world = make_world_on(request.param, tmp_path_factory.mktemp("words"))
    text = "Induction of the naïve β-galactosidase, beta-galactosidase, with 0.2 %."
    world.source("a", f"{text} 葡萄糖抑制启动子。pBADグルコースがある。포도당은 없다.")
    yield world
    world.database.close()


@pytest.mark.parametrize(
    ("query", "result"),
    [
        ("INDUCTIONS", True),  # stems, and any case
        ("beta-galactosidase", True),
        ("naïve", True),
        ("naive", True),
        ('"of the naive"', True),
        ('"naive the of"', False),
        ("0.2 %", True),
        ("the of and", True),  # the query has only stop words
        ("galactose", False),
        ("葡萄糖", True),
        ("为什么抑制", True),
        ("大肠杆菌", False),
        ('"糖抑制启"', True),
        ('"糖启"', False),
        ("グルコース", True),
        ("포도당", True),
        ("???", False),
    ],
)
def test_words_match_by_stem_case_and_accents(indexed, query, result):
    assert bool(indexed.text(query)) is result


def test_text_hits_are_sorted_by_relevance(world):
    for number in range(9):
        world.source(f"x{number}", f"The culture number {number} grew.")
    both = world.source("both", "The culture was induced by arabinose.")
    rare = world.source("rare", "What arabinose costs, and how it is kept dry, is told elsewhere.")
    hits = world.text("arabinose culture")
    assert parents(hits)[:2] == [both, rare]
    assert [hit.relevance for hit in hits] == sorted((h.relevance for h in hits), reverse=True)
    assert len(hits) == 10


def test_frequent_words_are_ignored_in_a_large_store(world, monkeypatch):
    for number in range(6):
        world.source(f"x{number}", f"The culture number {number} grew.")
    rare = world.source("rare", "Arabinose is a sugar.")
    assert len(world.text("culture arabinose")) == 7
    monkeypatch.setattr(full_text, "_MAX_ROWS", 5)
    assert parents(world.text("culture arabinose")) == [rare]
    assert len(world.text("culture")) == 6  # there is no rarer word
    assert len(world.text('"the culture" arabinose')) == 6


def test_phrase_query_requires_the_phrase(world):
    phrase = world.source("a", "Catabolite repression of the promoter.")
    more = world.source("b", "Here glucose causes catabolite repression.")
    world.source("c", "Glucose is a sugar; repression of a catabolite.")
    assert parents(world.text('"catabolite repression" glucose')) == [more, phrase]


def test_full_text_table_is_created_once(world):
    world.source("a", "Arabinose induces the promoter.")
    for _ in range(2):
        world.database.create(CoreBase.metadata, Base.metadata)
    assert len(world.text("arabinose")) == 1


def test_passage_numbers_are_not_reused(world):
    for name in ("a", "b"):
        world.source(name, "Some text.")
        with world.database.write() as session:
            numbers = session.scalars(select(Passage.id)).all()
            index.remove_passages(session, [f"source:{name}"])
        assert numbers == [1 if name == "a" else 2]


def test_open_quotation_marks_are_parsed_in_linear_time():
    started = time.process_time()
    assert full_text.parse_query("“" * 100_000 + " lac") == ([], ["lac"])
    assert time.process_time() - started < 2


def test_innermost_quotation_marks_enclose_a_phrase():
    assert full_text.parse_query("“ “lac operon”") == (["lac operon"], [])
