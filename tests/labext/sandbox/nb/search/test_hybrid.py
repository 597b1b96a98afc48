"""Hybrid search: scores, filters, rescoring, rewritten queries, and any text as a query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sample_passages import Model

from labext.sandbox.nb.search import assisted
from labext.sandbox.nb.search.index import VECTORS_WEIGHT, WORDS_WEIGHT, merge_scores
from labext.sandbox.nb.search.ranking import Hit, Terms, score

World = Any


def test_merged_ranking_prefers_hits_of_both():
    words, similarities = {1: 0.9, 2: 0.8, 3: 0.1}, {2: 0.7, 3: 0.6, 1: 0.2, 4: -0.5}
    assert [passage for passage, _ in merge_scores(words, similarities)] == [2, 1, 3, 4]
    assert merge_scores({7: 1.0}, {}) == [(7, WORDS_WEIGHT)]
    assert merge_scores({}, {5: 1.0, 4: 1.0}) == [(4, VECTORS_WEIGHT), (5, VECTORS_WEIGHT)]
    assert merge_scores({}, {}) == []


def test_few_words_in_common_count_little():
    (_, all_words), (_, half) = merge_scores({1: 1.0, 2: 0.5}, {})
    assert all_words == 4 * half


SENTENCES = """
Cells were induced with 0.2 % arabinose at an optical density of 0.6.
Glucose was added to the uninduced control to keep the araBAD promoter silent.
The plasmid carries an ampicillin resistance gene and a pBR322 origin.
Competent cells were thawed on ice and mixed with ten nanograms of DNA.
The heat shock lasted forty-five seconds at forty-two degrees.
Minipreps yielded about ten micrograms of plasmid from five millilitres.
The insert was cut out with EcoRI and HindIII and purified from a gel.
Sanger reads confirmed that the reading frame was intact.
Cells were harvested by centrifugation at four thousand g.
The lysate was cleared by spinning for thirty minutes in the cold.
Imidazole at 250 millimolar released the protein from the column.
Media were autoclaved for twenty minutes and cooled before antibiotics were added.
Waste that held living bacteria was bleached before it was thrown away.
Glycerol stocks keep strains alive for years in the deep freezer.
The experiment was repeated on three different days with fresh colonies.
""".strip().splitlines()

QUESTIONS = {
    "Why is glucose put into cultures that are not induced?": 1,
    "Which antibiotic do cells with the plasmid resist?": 2,
    "How long was the heat shock?": 4,
    "How do I store bacterial strains for a long time?": 13,
    "Which restriction enzymes cut the insert?": 6,
    "quantity of DNA obtained from a small prep": 5,
    "How are contaminated materials disposed of?": 12,
    "How are media sterilised?": 11,
    "How often was the whole study replicated?": 14,
}


@pytest.fixture
def filled(sqlite_world: World) -> World:
    for number, sentence in enumerate(SENTENCES):
        sqlite_world.source(str(number), sentence)
    return sqlite_world


def reciprocal_rank(world: World, by: str) -> float:
    """Return the mean over the questions."""
    total = 0.0
    for question, number in QUESTIONS.items():
        hits = world.index.find(question, by, limit=len(SENTENCES))
        result = [hit.parent_id for hit in hits]
        right = f"source:{number}"
        total += 1 / (result.index(right) + 1) if right in result else 0
    return total / len(QUESTIONS)


def test_hybrid_search_ranks_better_than_text_or_vector(filled):
    text, vector, both = (reciprocal_rank(filled, by) for by in ("text", "vector", "hybrid"))
    print(f"text {text:.2f}, vector {vector:.2f}, both {both:.2f}")
    assert 0.6 < text < both
    assert 0.6 < vector <= both


def candidate(
    text: str, words: float, similarity: float, title: str = "", parent_id: str = ""
) -> tuple[Hit, float]:
    """Return a passage and its score by words."""
    return Hit(parent_id or text, title, 0, text, None, similarity, 0.0), words


def order(query: str, *candidates: tuple[Hit, float]) -> list[int]:
    """Return the numbers of the candidates from 1, the best first."""
    counts = dict.fromkeys(query.lower().replace(" and ", " ").split(), 5)
    scores = score(Terms.of_query(query, counts, 100), *zip(*candidates, strict=True))
    return sorted(range(1, len(scores) + 1), key=lambda number: -scores[number - 1])


def test_passage_with_the_rare_word_is_a_hit_among_many_similar_ones(sqlite_world):
    world = sqlite_world
    rows = (f"{number} | {2 * number}" for number in range(100_000, 106_000))
    world.source("rows", "\n".join(["sample | value", *rows]), "Measured values")
    for limit in (10, 30):
        found = world.hybrid("Wert von 103333", limit=limit)
        assert len(found) == limit
        assert any("\n103333 | " in hit.text for hit in found)


def test_row_with_all_words_precedes_a_text_with_them_far_apart():
    apart = candidate("The petal is blue.\n\nThe length is unknown.\n\nA mean value.", 0.8, 0.4)
    row = candidate("| mean petal length | 3.76 |", 0.8, 0.4)
    assert order("mean petal length", apart, row) == [2, 1]


def test_title_counts_as_part_of_each_line():
    other = candidate("Dimensionality 4096", 0.5, 0.3, "Digits")
    titled = candidate("Dimensionality 4096", 0.5, 0.3, "Olivetti")
    assert order("dimensionality olivetti", other, titled) == [2, 1]


def test_meaning_decides_if_no_passage_has_most_words():
    coincidence = candidate("How often the river floods the town is unknown.", 0.9, 0.1)
    similar = candidate("Extreme discharge follows this law.", 0.0, 0.5)
    assert order("river bursting banks randomly", coincidence, similar) == [2, 1]


def test_passage_of_a_source_with_several_similar_ones_precedes_a_single_one():
    single = candidate("A coincidence.", 0.0, 0.42, parent_id="other")
    several = [
        candidate("Gusts of wind.", 0.0, 0.4, parent_id="wind"),
        candidate("Storms and gales.", 0.0, 0.6, parent_id="wind"),
    ]
    assert order("squall", single, *several) == [3, 2, 1]
    assert order("squall", single, several[0]) == [1, 2]


def test_each_half_of_a_comparison_counts_as_most_words():
    half = candidate("Poisson takes a rate.", 0.6, 0.05)
    vague = candidate("Something of a kind.", 0.0, 0.25)
    assert order("poisson rate pareto shape", half, vague) == [2, 1]
    assert order("poisson rate and pareto shape", half, vague) == [1, 2]


def test_query_without_words_and_no_passages_have_scores():
    hit, words = candidate("", 0.0, 0.5)
    assert score(Terms.of_query("", {}, 0), [hit], [words]) == [0.5]
    assert score(Terms.of_query("word", {"word": 0}, 0), [], []) == []


def hit(number: int) -> Hit:
    return Hit(f"source:s{number}", "", number, f"text {number}", None, None, 1.0)


HITS = [hit(number) for number in range(1, 5)]


def numbers(hits: Sequence[Hit]) -> list[int]:
    return [hit.passage_id for hit in hits]


def test_query_precedes_the_queries_of_the_model():
    model = Model('Here they are: ["catabolite repression", " araBAD\\npromoter ", ""]')
    expected = ["keep a gene off", "catabolite repression", "araBAD promoter"]
    assert assisted.rewrite_query(model, "keep a gene off") == expected
    assert "keep a gene off" in model.sent[0][-1]["content"]


@pytest.mark.parametrize("reply", ["", "no idea", "[1, 2", '{"a": 1}', "[1, null, {}]", "[["])
def test_query_is_kept_if_the_reply_can_not_be_read(reply):
    assert assisted.rewrite_query(Model(reply), "query") == ["query"]


def test_number_of_queries_is_limited():
    many = str([f"query {n}" for n in range(20)]).replace("'", '"')
    assert len(assisted.rewrite_query(Model(many), "query")) == assisted.MAX_QUERIES + 1


def test_hits_of_several_queries_rank_by_their_places_in_all():
    first, second, third, fourth = HITS
    merged = assisted.merge_hits([[first, second, third], [second, fourth]], 3)
    assert numbers(merged) == [2, 1, 4]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("The order is [3, 1].", [3, 1, 2, 4]),
        ("The order [best first]: [3, 1]", [3, 1, 2, 4]),
        ("[4, 4, 9, 0, -1, true, 2]", [4, 2, 1, 3]),
        ("no idea", [1, 2, 3, 4]),
    ],
)
def test_passages_are_in_the_order_of_the_model(reply, expected):
    assert numbers(assisted.rerank(Model(reply), "query", HITS)) == expected


def test_model_that_orders_passages_receives_their_headings():
    model = Model("[2, 1]")
    one = Hit("source:a", "Runs", 1, "R1 | 2", None, None, 1.0, "Table › Run | OD600")
    other = Hit("source:b", "Plan", 2, "Rest.", None, None, 1.0)
    assert assisted.rerank(model, "the query", [one, other]) == [other, one]
    found = "Passage 1: Runs\nTable › Run | OD600\nR1 | 2\n\nPassage 2: Plan\nRest."
    assert f"the query\n\nfound these passages:\n\n{found}\n\n" in model.sent[0][0]["content"]


def test_single_passage_is_not_reranked():
    model = Model("[]")
    assert assisted.rerank(model, "query", HITS[:1]) == HITS[:1]
    assert model.sent == []


SIGNS = ['"', "'", "*", "(", ")", "^", ":", "-", "+", "{", "}", "\0", "\ud800", "“", "”", "%", "_"]
WORDS = ["AND", "OR", "NOT", "NEAR", "title", "nb_words", "arabinose", "Arabinose", "é", "中"]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, make_world: Any) -> Any:
    world = make_world(tmp_path_factory.mktemp("query"))
    world.source("a", "Arabinose induces the promoter AND more, NEAR 100 % of it.", "title: it's")
    yield world
    world.database.close()


@given(st.lists(st.sampled_from([*SIGNS, *WORDS, " "]), max_size=12).map("".join) | st.text())
@example('"')
@example('""')
@example('" AND "')
@example("arabinose*")
@example("title:arabinose")
@example("NEAR(arabinose induces, 2)")
@example("x" * 100_000)
@example(" ".join(f"w{number}" for number in range(5000)))
@example('"a b" ' * 300)
def test_arbitrary_query_is_accepted(shared, query):
    for hit in shared.text(query):
        assert hit.parent_id == "source:a"


@pytest.mark.parametrize(
    "query",
    ["arabinose*", "title:arabinose", "arabinose)", '"arabinose', "NOT arabinose", "-arabinose"],
)
def test_punctuation_around_words_is_ignored(shared, query):
    assert len(shared.text(query)) == 1


def test_fts_operators_are_plain_words(shared):
    assert len(shared.text("promoter NOT induces")) == 1
    assert len(shared.text("NEAR")) == 1
    assert shared.text('"promoter NEAR"') == []


BY = pytest.mark.parametrize("by", ["text", "vector", "hybrid"])


@pytest.fixture(scope="module")
def shared_world(tmp_path_factory: pytest.TempPathFactory, make_world: Any) -> Iterator[World]:
    world = make_world(tmp_path_factory.mktemp("scope"))
    for name in ("s1", "s2", "s3"):
        world.source(name, f"Arabinose induces the promoter, says {name}.")
    for name in ("n1", "n2"):
        world.note(name, f"Arabinose induces the promoter, notes {name}.")
    yield world
    world.database.close()


def matching(world: World, by: str, **arguments: object) -> set[str]:
    hits = world.find("arabinose promoter", by, **arguments)
    return {hit.parent_id.partition(":")[2] for hit in hits}


@BY
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, {"s1", "s2", "s3", "n1", "n2"}),
        ({"source_ids": ["source:s2"]}, {"s2"}),
        ({"note_ids": ["note:n1"]}, {"n1"}),
        ({"source_ids": ["source:s1", "source:s3"], "note_ids": ["note:n2"]}, {"s1", "s3", "n2"}),
        ({"source_ids": []}, set()),
        ({"source_ids": ["note:n1"]}, set()),  # no source
        ({"include_sources": False}, {"n1", "n2"}),
        ({"include_notes": False}, {"s1", "s2", "s3"}),
        ({"include_sources": False, "include_notes": False}, set()),
        ({"source_ids": ["source:s1"], "note_ids": ["note:n1"], "include_notes": False}, {"s1"}),
    ],
)
def test_scope_filters_hits(shared_world, by, arguments, expected):
    assert matching(shared_world, by, **arguments) == expected


@BY
def test_limit_is_kept(shared_world, by):
    assert len(matching(shared_world, by, limit=2)) == 2


@BY
def test_scope_with_fifty_thousand_identifiers_works(shared_world, by):
    many = [f"source:x{number}" for number in range(50_000)]
    assert matching(shared_world, by, source_ids=[*many, "source:s3"]) == {"s3"}


def test_min_similarity_applies_to_vector_hits(shared_world):
    like = [
        hit.similarity for hit in shared_world.vector("arabinose promoter s2", min_similarity=-1)
    ]
    assert len(like) == 5
    between = (like[1] + like[2]) / 2
    assert len(shared_world.vector("arabinose promoter s2", min_similarity=between)) == 2
    assert len(shared_world.hybrid("arabinose promoter s2", min_similarity=between)) == 2
    assert shared_world.hybrid("arabinose promoter s2", min_similarity=0.999) == []
    assert len(shared_world.text("arabinose promoter s2", min_similarity=0.999)) == 5


def test_dissimilar_passages_are_excluded_by_default(shared_world):
    query = "quarterly tax returns of the municipal bakery"
    assert shared_world.vector(query) == shared_world.hybrid(query) == []
    assert len(shared_world.vector(query, min_similarity=-1)) == 5
