"""Scores by words and by vectors are merged, which finds more than either on real sentences."""

from __future__ import annotations

from typing import Any

import pytest

from labext.sandbox.nb.search.index import VECTORS_WEIGHT, WORDS_WEIGHT, merge_scores

World = Any


def test_merged_ranking_prefers_hits_of_both() -> None:
    words, similarities = {1: 0.9, 2: 0.8, 3: 0.1}, {2: 0.7, 3: 0.6, 1: 0.2, 4: -0.5}
    assert [passage for passage, _ in merge_scores(words, similarities)] == [2, 1, 3, 4]
    assert merge_scores({7: 1.0}, {}) == [(7, WORDS_WEIGHT)]
    assert merge_scores({}, {5: 1.0, 4: 1.0}) == [(4, VECTORS_WEIGHT), (5, VECTORS_WEIGHT)]
    assert merge_scores({}, {}) == []


def test_few_words_in_common_count_little() -> None:
    (_, all_words), (_, half) = merge_scores({1: 1.0, 2: 0.5}, {})
    assert all_words == 4 * half


SENTENCES = """
Cells were induced with 0.2 % arabinose at an optical density of 0.6.
Glucose was added to the uninduced control to keep the araBAD promoter silent.
The plasmid carries an ampicillin resistance gene and a pBR322 origin.
Competent cells were thawed on ice and mixed with ten nanograms of DNA.
The heat shock lasted forty-five seconds at forty-two degrees.
Transformants recovered in SOC medium for one hour before plating.
Single colonies were restreaked to make sure that they were pure.
Overnight cultures were diluted one to a hundred into fresh broth.
Minipreps yielded about ten micrograms of plasmid from five millilitres.
The insert was cut out with EcoRI and HindIII and purified from a gel.
Ligations ran at sixteen degrees overnight with T4 ligase.
The polymerase chain reaction used thirty cycles with an annealing step at 58 degrees.
Primers were designed with melting temperatures close to sixty degrees.
Sanger reads confirmed that the reading frame was intact.
Fluorescence was measured every ten minutes in a plate reader.
Green fluorescent protein needs oxygen to mature.
The shaker was set to two hundred revolutions per minute.
Cells were harvested by centrifugation at four thousand g.
Pellets were frozen in liquid nitrogen and kept at minus eighty degrees.
Lysis buffer contained lysozyme, imidazole and a protease inhibitor.
The lysate was cleared by spinning for thirty minutes in the cold.
His-tagged protein was bound to nickel resin and washed three times.
Imidazole at 250 millimolar released the protein from the column.
Fractions were run on a polyacrylamide gel and stained with Coomassie.
Protein concentration was determined by absorbance at 280 nanometres.
Leaky expression was seen where no repressor sugar was present.
Media were autoclaved for twenty minutes and cooled before antibiotics were added.
Waste that held living bacteria was bleached before it was thrown away.
Glycerol stocks keep strains alive for years in the deep freezer.
The experiment was repeated on three different days with fresh colonies.
""".strip().splitlines()

QUESTIONS = {
    "Why is glucose put into cultures that are not induced?": 1,
    "Which antibiotic do cells with the plasmid resist?": 2,
    "How long was the heat shock?": 4,
    "How do I store bacterial strains for a long time?": 28,
    "What elutes the protein from the nickel column?": 22,
    "Which restriction enzymes cut the insert?": 9,
    "How were cells collected after growth?": 17,
    "quantity of DNA obtained from a small prep": 8,
    "How are contaminated materials disposed of?": 27,
    "How are media sterilised?": 26,
    "Was the sequence read to check for frameshifts?": 13,
    "How often was the whole study replicated?": 29,
}


@pytest.fixture
def filled(world: World) -> World:
    for number, sentence in enumerate(SENTENCES):
        world.source(str(number), sentence)
    return world


def reciprocal_rank(world: World, by: str) -> float:
    """The mean over the questions."""
    total = 0.0
    for question, number in QUESTIONS.items():
        hits = world.index.find(question, by, limit=len(SENTENCES))
        result = [hit.parent_id for hit in hits]
        right = f"source:{number}"
        total += 1 / (result.index(right) + 1) if right in result else 0
    return total / len(QUESTIONS)


def test_hybrid_search_ranks_better_than_text_or_vector(filled: World) -> None:
    text, vector, both = (reciprocal_rank(filled, by) for by in ("text", "vector", "hybrid"))
    print(f"text {text:.2f}, vector {vector:.2f}, both {both:.2f}")
    assert 0.6 < text < both
    assert 0.6 < vector <= both
