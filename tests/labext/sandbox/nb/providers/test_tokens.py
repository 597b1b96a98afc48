"""Sentences and stems of a text, summaries and titles."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb.providers import chat, registry
from labext.sandbox.nb.tables import DefaultModel, Model
from labext.sandbox.nb.text import extractive, segmentation

PAPER = """# Tight control of pBAD30

E. coli cells were induced with 0.2 % arabinose (Fig. 2) at an OD of 0.5. Expression from the araBAD
promoter is repressed by glucose, see Guzman et al. 1995. Why? Because cyclic AMP is low! Dr. Smith
measured it in str. K-12 substr. MG1655. Spin for 10 min. Discard.

- Keep on ice.
1. Add 1 mM IPTG
"""


def test_sentences_are_split_at_sentence_ends() -> None:
    assert [" ".join(sentence.split()) for sentence in segmentation.split_sentences(PAPER)] == [
        "# Tight control of pBAD30",
        "E. coli cells were induced with 0.2 % arabinose (Fig. 2) at an OD of 0.5.",
        "Expression from the araBAD promoter is repressed by glucose, see Guzman et al. 1995.",
        "Why?",
        "Because cyclic AMP is low!",
        "Dr. Smith measured it in str. K-12 substr. MG1655.",
        "Spin for 10 min.",
        "Discard.",
        "- Keep on ice.",
        "1. Add 1 mM IPTG",
    ]


@given(st.text(alphabet=st.sampled_from("aB.?!# -\n1é•\t\"'(_細。"), max_size=80) | st.text())
def test_sentences_are_substrings_in_order_and_cover_all_letters(text: str) -> None:
    start = 0
    for sentence in segmentation.split_sentences(text):
        assert not any(map(str.isalnum, text[start : text.index(sentence, start)]))
        start = text.index(sentence, start) + len(sentence)
        assert sentence == sentence.strip()
    assert not any(map(str.isalnum, text[start:]))


@pytest.mark.parametrize(
    "text", ["." * 100_000, "a. " * 40_000, "\n" * 100_000, "#" * 100_000, "x" * 100_000]
)
def test_hostile_text_is_split_in_linear_time(text: str) -> None:
    assert all(sentence in text for sentence in set(segmentation.split_sentences(text)))


def test_references_in_brackets_do_not_end_sentences() -> None:
    sentences = ["As in Li et al. [1].", "See Refs. (2, 3) and Eq. (4).", "By Li et al. (2020)."]
    assert segmentation.split_sentences(" ".join(sentences)) == sentences


def test_sentence_ends_after_the_mark_of_a_note() -> None:
    sentences = ["It was 0.6.[1,2]", "Then it fell.[3]"]
    assert segmentation.split_sentences(" ".join(sentences)) == sentences


def test_cjk_sentences_are_split_without_spaces() -> None:
    sentences = ["細胞は増える。", "なぜ？", "砂糖だ。"]
    assert segmentation.split_sentences("".join(sentences)) == sentences


@pytest.mark.parametrize(
    "forms",
    [
        "induced induces inducing",
        "induction inductions",
        "culture cultures cultured culturing",
        "repressed repression represses",
        "stopped stopping stops",
        "study studies studied",
        "plasmid plasmids plasmid's",
    ],
)
def test_word_forms_have_the_same_stem(forms: str) -> None:
    assert len(set(segmentation.stem_words(forms))) == 1


def test_stop_words_are_dropped() -> None:
    stems = segmentation.stem_words("Why is it that the glucose was added to them?")
    assert stems == ["glucos", "add"]


def test_summary_selects_distinct_relevant_sentences() -> None:
    text = (
        "Glucose represses the araBAD promoter in these cells. The weather was fine on that long "
        "Monday afternoon. Glucose represses the araBAD promoter in these cells. Arabinose induces "
        "the araBAD promoter in the absence of glucose."
    )
    assert extractive.summarize(text, 2) == (
        "Glucose represses the araBAD promoter in these cells. Arabinose induces the araBAD "
        "promoter in the absence of glucose."
    )


def test_title_is_the_heading_of_the_text(site: Site) -> None:
    assert chat.generate_title(site, PAPER) == "Tight control of pBAD30"


@given(st.text(max_size=400))
def test_title_is_one_line_of_limited_length(text: str) -> None:
    title = chat.shorten_title(text)
    assert 0 < len(title) <= chat.MAX_TITLE_LENGTH
    assert title.splitlines() == [title]


def test_title_is_written_by_the_summary_model(site: Site, provider: Any, add_model: Any) -> None:
    provider.replies = lambda _body: '"Sugar control"\n'
    model = add_model()
    with site.database.write() as session:
        session.merge(DefaultModel(slot="summary", model_id=model.id))
    assert chat.generate_title(site, PAPER) == "Sugar control"
    assert PAPER in provider.requests[0].text


def test_failing_model_falls_back_to_the_heading(site: Site, provider: Any, add_model: Any) -> None:
    def broken(handler: Any) -> None:
        handler.close_connection = True

    provider.faults = [broken]
    model = add_model()
    with site.database.write() as session:
        session.merge(DefaultModel(slot="summary", model_id=model.id))
    assert chat.generate_title(site, PAPER) == "Tight control of pBAD30"


def test_built_in_model_replies_with_a_summary(site: Site) -> None:
    with site.database.read() as session:
        model = session.get_one(Model, registry.EXTRACTIVE)
    messages = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": PAPER}]
    reply = chat.generate_reply(site, model, messages)
    assert reply == extractive.summarize(PAPER)
    assert model.name == "extractive"
