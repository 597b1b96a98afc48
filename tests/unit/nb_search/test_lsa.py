"""The analysis of the corpus itself: what keeps like company is alike, and what is new is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from labext.sandbox.nb.search import index
from labext.sandbox.nb.search.lsa import HASHED, Analysis, Rows

World = Any

CORPUS = {
    # Nobody here says both `autoclave` and `pressure cooker`: their company is the same.
    "s1": "The autoclave sterilises media by steam at 121 degrees for twenty minutes.",
    "s2": "A pressure cooker sterilises media by steam at 121 degrees too.",
    "s3": "Sterilise media by steam in the autoclave for twenty minutes.",
    "s4": "With a pressure cooker steam reaches 121 degrees after minutes.",
    "g1": "Agarose gels separate DNA fragments by their length in an electric field.",
    "g2": "DNA fragments run through agarose gels, the short fragments first.",
    "g3": "The field pulls DNA through agarose; fragments of one length form a band.",
    "p1": "Primers anneal to the template and the polymerase extends the primers.",
    "p2": "The polymerase copies the template from both primers in each cycle.",
    "p3": "In each cycle primers anneal and the polymerase doubles the template.",
}


@pytest.fixture
def world(world: World) -> World:
    world.embed_by("lsa")
    for name, text in CORPUS.items():
        world.source(name, text)
    return world


def names(hits: list[Any]) -> list[str]:
    return [hit.parent_id.partition(":")[2] for hit in hits]


def test_what_shares_no_word_is_found_by_the_company_it_keeps(world: World) -> None:
    assert set(names(world.text("autoclave"))) == {"s1", "s3"}
    before = names(world.vector("autoclave"))
    assert set(before) == {"s1", "s3"}  # words alone, and none is lost, while nothing is analysed
    assert world.renew()
    assert set(names(world.vector("autoclave"))) == {"s1", "s2", "s3", "s4"}
    assert set(names(world.vector("how to get a band of DNA"))) == {"g1", "g2", "g3"}
    assert not world.renew()


def test_what_is_new_is_found_at_once_and_analysed_later(world: World) -> None:
    world.vector("autoclave")
    world.renew()
    world.note("new", "Zymolyase digests the walls of yeast.")
    assert names(world.vector("zymolyase")) == ["new"]  # a word that the analysis has never seen
    assert world.spaces() == {"model:lsa@1": 11}
    assert not world.renew()  # one of eleven
    for number in range(3):
        world.note(f"later{number}", "Zymolyase opens yeast cells for the miniprep.")
    assert len(world.vector("zymolyase")) == 4
    assert world.renew()
    assert world.spaces() == {"model:lsa@2": 14}
    with world.database.write() as session:
        index.remove(session, [f"source:{name}" for name in CORPUS])
    assert set(names(world.vector("zymolyase"))) == {"new", "later0", "later1", "later2"}
    assert world.renew()
    assert world.spaces() == {"model:lsa@3": 4}


def test_an_analysis_that_was_lost_is_made_again(world: World) -> None:
    world.vector("autoclave")
    world.renew()
    for path in (Path(world.site.folder) / "lsa").iterdir():
        path.unlink()
    assert names(world.vector("autoclave"))[:2] == ["s3", "s1"]
    assert world.renew()
    assert set(names(world.vector("autoclave"))) == {"s1", "s2", "s3", "s4"}


def test_an_analysis_is_kept_word_for_word(tmp_path: Path) -> None:
    texts = list(CORPUS.values())
    analysis = Analysis.of(texts)
    analysis.save(tmp_path / "1.npz")
    again = Analysis.load(tmp_path / "1.npz")
    assert again.vocabulary == analysis.vocabulary
    vectors = again.embed([*texts, "", "unheard-of"])
    assert (vectors == analysis.embed([*texts, "", "unheard-of"])).all()
    lengths = np.linalg.norm(vectors, axis=1)
    assert lengths == pytest.approx([1] * len(texts) + [0, 1])


@pytest.mark.parametrize("texts", [[], [""], ["one"], ["one one", "one"], ["a b", "c d"]])
def test_a_corpus_that_says_nothing(texts: list[str]) -> None:
    vectors = Analysis.of(texts).embed(["one word"])
    assert vectors.shape[1] >= HASHED
    assert np.isfinite(vectors).all()


MATRICES = arrays.arrays(
    np.float32,
    st.tuples(st.integers(1, 8), st.integers(1, 8)),
    elements=st.sampled_from([0.0, 0.0, 1.0, -2.0, 0.5]),
)


@given(MATRICES)
def test_sparse_products_are_products(dense: np.ndarray) -> None:
    rows = Rows.of({int(at): float(row[at]) for at in np.flatnonzero(row)} for row in dense)
    other = np.arange(dense.shape[1] * 2, dtype=np.float32).reshape(-1, 2)
    assert rows.times(other) == pytest.approx(dense @ other)
    back = rows.turned(dense.shape[1]).times(np.eye(len(dense), dtype=np.float32))
    assert back == pytest.approx(dense.T)
