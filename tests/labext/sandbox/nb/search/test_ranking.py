"""The best passages of a hybrid search are rescored by their lines."""

from __future__ import annotations

from labext.sandbox.nb.search.ranking import Candidate, Terms, score


def candidate(text: str, words: float, similarity: float, title: str = "") -> Candidate:
    return Candidate(text, title, words, similarity)


def order(query: str, *candidates: Candidate) -> list[int]:
    """Return the numbers of the candidates from 1, the best first."""
    counts = dict.fromkeys(query.lower().replace(" and ", " ").split(), 5)
    scores = score(Terms.of_query(query, counts, 100), candidates)
    return sorted(range(1, len(scores) + 1), key=lambda number: -scores[number - 1])


def test_row_with_all_words_precedes_a_text_with_them_far_apart() -> None:
    apart = candidate("The petal is blue.\n\nThe length is unknown.\n\nA mean value.", 0.8, 0.4)
    row = candidate("| mean petal length | 3.76 |", 0.8, 0.4)
    assert order("mean petal length", apart, row) == [2, 1]


def test_title_counts_as_part_of_each_line() -> None:
    other = candidate("Dimensionality 4096", 0.5, 0.3, "Digits")
    titled = candidate("Dimensionality 4096", 0.5, 0.3, "Olivetti")
    assert order("dimensionality olivetti", other, titled) == [2, 1]


def test_meaning_decides_if_no_passage_has_most_words() -> None:
    coincidence = candidate("How often the river floods the town is unknown.", 0.9, 0.1)
    similar = candidate("Extreme discharge follows this law.", 0.0, 0.5)
    assert order("river bursting banks randomly", coincidence, similar) == [2, 1]


def test_each_half_of_a_comparison_counts_as_most_words() -> None:
    half = candidate("Poisson takes a rate.", 0.6, 0.05)
    vague = candidate("Something of a kind.", 0.0, 0.25)
    assert order("poisson rate pareto shape", half, vague) == [2, 1]
    assert order("poisson rate and pareto shape", half, vague) == [1, 2]


def test_query_without_words_and_no_passages_have_scores() -> None:
    assert score(Terms.of_query("", {}, 0), [candidate("", 0.0, 0.5)]) == [0.5]
    assert score(Terms.of_query("word", {"word": 0}, 0), []) == []
