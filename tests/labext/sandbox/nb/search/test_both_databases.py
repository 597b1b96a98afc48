"""A search by words gives the same passages with the same scores on SQLite and PostgreSQL."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from labext_test_corpus import TUNING, docstring

from labext.sandbox.core.database import Database
from labext.sandbox.core.restore import copy_tables
from labext.sandbox.nb.search import full_text, tsvector
from labext.sandbox.nb.search.scope import Scope

QUERIES = [
    *("window", "Kaiser windows with beta", 'the "window function" of an array', "the of and"),
    *('"returns" "array"', "naïve Fourier transformations", "np.fft", "x-ray", "quantum"),
    "ARRAYS arrays Array",
    *("café", "東京の", "ガ행", "Ελλάδα", "∆araC", "back\\slash 'quoted'", "<->"),
]


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return {name: docstring(place) for name, place in TUNING.docstrings.items()} | {
        "accents": "Naïve Ångström transformations of a café. 東京のガ행 and Ελλάδα, too.",
        "increment": "The strain is \N{INCREMENT}araC.",
        "folded": (
            "Die Straßen von İstanbul und ΟΔΟΣ, 5 \N{MICRO SIGN}M in CO₂ by Qiazol™; "
            "ΕΛΛΆΔΑ, подъём, ガラス, \N{LATIN SMALL LIGATURE FI}bre."
        ),
        "marks": "It's a rock'n'roll back\\slash 'quoted' <-> & | ! :* text.",
    }


@pytest.fixture(scope="module")
def worlds(
    tmp_path_factory: pytest.TempPathFactory, make_world_on: Any, texts: dict[str, str]
) -> Iterator[list[Any]]:
    """Store the same passages in both databases."""
    worlds = []
    for kind in ("sqlite", "postgresql"):
        world = make_world_on(kind, tmp_path_factory.mktemp(kind))
        for number, (name, text) in enumerate(texts.items()):
            world.source(f"s{number}", text, name)
        worlds.append(world)
    yield worlds
    for world in worlds:
        world.database.close()


def _ranking(world: Any, query: str, scope: Scope) -> list[tuple[int, float]]:
    with world.database.read() as session:
        return full_text.find_by_words(session, query, scope, 1000)


@pytest.mark.parametrize("query", QUERIES)
def test_scores_are_equal(worlds, query):
    on_sqlite, on_postgresql = (_ranking(world, query, Scope()) for world in worlds)
    assert [number for number, _ in on_postgresql] == [number for number, _ in on_sqlite]
    assert [score for _, score in on_postgresql] == pytest.approx(
        [score for _, score in on_sqlite], rel=1e-6
    )


def test_scores_are_equal_in_a_part_of_the_sources(worlds):
    scope = Scope(source_ids=["source:s0", "source:s1", "source:s2"])
    results = [_ranking(world, "window array", scope) for world in worlds]
    assert results[0]
    assert [number for number, _ in results[1]] == [number for number, _ in results[0]]
    assert dict(results[1]) == pytest.approx(dict(results[0]))


def test_nearly_all_words_have_the_stems_of_sqlite(texts):
    words = sorted({word for text in texts.values() for word in re.findall(r"\w+", text)})
    database = sqlite3.connect(":memory:")
    database.executescript(
        "CREATE VIRTUAL TABLE t USING fts5(x, tokenize='porter unicode61 remove_diacritics 2');"
        "CREATE VIRTUAL TABLE v USING fts5vocab(t, instance);"
    )
    database.executemany("INSERT INTO t(rowid, x) VALUES (?, ?)", enumerate(words, start=1))
    stems: dict[int, list[str]] = {number: [] for number in range(1, len(words) + 1)}
    for term, number in database.execute("SELECT term, doc FROM v ORDER BY doc, offset"):
        stems[number].append(term)
    database.close()
    different = [
        word for number, word in enumerate(words, start=1) if stems[number] != tsvector.tokens(word)
    ]
    # Snowball's Porter stemmer has an additional rule (-logi), and SQLite's treats -sses
    # differently.
    assert len(different) < 0.01 * len(words), different


def test_index_of_copied_tables_is_built_with_the_same_scores(worlds, postgresql_server, tmp_path):
    with (
        closing(sqlite3.connect(worlds[0].database.engine.url.database)) as source,
        closing(sqlite3.connect(tmp_path / "copy.sqlite")) as copy,
    ):
        source.backup(copy)
    database = Database(postgresql_server.new_database())
    copy_tables(tmp_path / "copy.sqlite", database)
    for _ in range(2):
        with database.write() as session:
            full_text.build_index(session)
    for query in QUERIES:
        with database.read() as session:
            copied = full_text.find_by_words(session, query, Scope(), 1000)
        assert copied == _ranking(worlds[1], query, Scope()), query
    database.close()


FOLDED = [
    *("\N{INCREMENT}araC", "ΔaraC", "strassen", "STRASSEN", "Straßen", "istanbul", "İSTANBUL"),
    *("\N{GREEK SMALL LETTER MU}M", "\N{MICRO SIGN}m", "CO2", "CO₂", "Qiazol", "οδος", "подъем"),
    *("fibre", "CAFE", "Angstro\N{COMBINING DIAERESIS}m", "ガラス"),
]


@pytest.mark.parametrize("query", FOLDED)
def test_word_is_found_in_another_case_and_by_other_forms_of_its_characters(worlds, query):
    on_sqlite, on_postgresql = (_ranking(world, query, Scope()) for world in worlds)
    assert len(on_sqlite) == 1
    assert dict(on_postgresql) == pytest.approx(dict(on_sqlite))


def test_accents_of_greek_are_ignored_and_voiced_kana_are_other_words(worlds):
    for world in worlds:
        assert len(_ranking(world, "ελλαδα", Scope())) == 2
        assert not _ranking(world, "カラ", Scope())
