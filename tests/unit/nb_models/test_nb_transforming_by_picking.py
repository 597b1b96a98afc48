"""The built-in model does what a prompt says by picking sentences, and never says anything else."""

from __future__ import annotations

import math
import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.exceptions import HTTPException

from labext.sandbox.nb.models import prose, words
from labext.sandbox.nb.transformations.instructions import SEEDED
from labext.sandbox.nb.transformations.picking import NOTHING, picked
from labext.sandbox.nb.transformations.seed import SEEDS

TEXT = """\
Induction of pBAD30

A short paper about a promoter, wrapped at a width as files of a page are, so that its lines
go on. Cells were induced with 0.2 % arabinose at 37 °C for four hours. Glucose lowers the level
of cyclic AMP, and therefore the promoter stays shut. The weather was fine on that day in May.

Materials
Reagent | Stock
L-arabinose | 20 % in water
Ampicillin | 100 mg/ml in water

Limits
It is not known whether the strain takes up the sugar at a constant rate. Do not vortex the
lysate, because genomic DNA would shear. Does the plasmid copy number matter?
"""

NOUNS = (
    "operon",
    "ligase",
    "primer",
    "plate",
    "colony",
    "medium",
    "buffer",
    "strain",
    "vector",
    "sugar",
)


def lines(output: str) -> list[str]:
    return [re.sub(r"^(?:-|\d+\.) ", "", line) for line in output.splitlines()]


def told(prompt: str, before: str = SEEDED) -> list[str]:
    return lines(picked(prompt, TEXT, before))


def test_a_list_of_reagents_has_the_rows_and_sentences_with_concentrations():
    found = told("List every reagent with its concentration.")
    assert found == [
        "Cells were induced with 0.2 % arabinose at 37 °C for four hours.",
        "L-arabinose | 20 % in water",
        "Ampicillin | 100 mg/ml in water",
    ]


def test_words_of_the_prompt_choose_the_sentences():
    (found,) = told("What does the text say about glucose?")
    assert found.startswith("Glucose lowers")
    (found,) = told("List the temperatures.")
    assert "37 °C" in found


def test_open_questions_are_what_is_asked_or_unknown():
    prompt = next(each.prompt for each in SEEDS if each.name == "Open questions")
    found = told(prompt)
    assert found == [
        "It is not known whether the strain takes up the sugar at a constant rate.",
        "Does the plasmid copy number matter?",
    ]


def test_what_is_not_there_is_not_invented():
    assert picked("List every elephant.", TEXT) == NOTHING
    assert picked("Write five questions.", "Glucose was added. Cells were grown.") == NOTHING


@pytest.mark.parametrize(
    ("prompt", "count"),
    [("Summarise in three sentences.", 3), ("Give one sentence.", 1), ("The top 2.", 2)],
)
def test_the_number_is_the_prompts(prompt: str, count: int):
    found = picked(prompt, TEXT)
    assert "\n" not in found
    assert sum(found.count(each.text) for each in prose.statements(TEXT)) == count


def test_the_shape_is_the_prompts_or_else_the_default_prompts():
    assert picked("List the findings.", TEXT).startswith("- ")
    assert picked("Give a numbered list of findings.", TEXT).startswith("1. ")
    assert not picked("Findings, please.", TEXT).startswith(("-", "1"))
    assert picked("Findings, please.", TEXT, "Answer as a list.").startswith("- ")
    assert picked("In one paragraph, the findings.", TEXT, "Answer as a list.")[0] != "-"


def test_the_default_prompt_counts_where_the_prompt_says_nothing():
    assert len(told("List the findings.", "At most two sentences.")) == 2
    assert len(told("List three findings.", "At most two sentences.")) == 3
    (preferred,) = told("Give one finding.", "Prefer sentences about cyclic AMP.")
    assert "cyclic AMP" in preferred
    assert not any("glucose" in each.lower() for each in told("List the findings without glucose."))


def test_what_picking_cannot_do_is_refused():
    with pytest.raises(HTTPException) as refused:
        picked("Translate the text to German.", TEXT)
    assert refused.value.status_code == 422
    assert "Choose another model" in refused.value.detail


def test_the_seeded_default_prompt_asks_for_nothing_by_itself():
    for each in SEEDS:
        assert picked(each.prompt, TEXT, SEEDED) == picked(each.prompt, TEXT)


@given(st.text(max_size=300), st.text(max_size=80))
def test_whatever_comes_every_line_stands_in_the_text(text: str, prompt: str):
    try:
        output = picked(prompt, text)
    except HTTPException:  # "translate" and the like
        return
    plain = " ".join(text.split())
    kept = [each.text for each in prose.statements(text)]
    for each in kept:
        assert each in plain
    if output != NOTHING:
        said = re.sub(r"(?m)^(?:-|\d+\.) ", "", output)
        for each in sorted(kept, key=len, reverse=True):
            said = said.replace(each, "")
        assert not said.strip()


@given(
    st.lists(st.sets(st.sampled_from(NOUNS), min_size=4, max_size=9), min_size=1, max_size=12),
    st.integers(1, 12),
)
def test_each_sentence_that_is_picked_says_most_after_those_before_it(
    said: list[set[str]], most: int
):
    texts = dict.fromkeys(" ".join(sorted(each)).capitalize() + "." for each in said)
    there = [prose.Statement(each, prose.SENTENCE, "", place) for place, each in enumerate(texts)]
    counts = Counter(term for each in there for term in set(words.terms(each.text)))
    weights = {term: math.log(1 + count) for term, count in counts.items()}
    left, best = list(there), []
    while left and len(best) < most:
        worth = [math.fsum(weights[t] for t in set(words.terms(each.text))) for each in left]
        best.append(left.pop(worth.index(max(worth))))
        for term in set(words.terms(best[-1].text)):
            weights[term] /= 2
    assert prose.telling(there, most) == sorted(best, key=lambda each: each.place)
