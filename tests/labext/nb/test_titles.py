"""Titles work wherever identifiers do; one that fits two things is an error that lists both."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.errors import ConflictError, InputError, NotFoundError
from labext.nb.records import Scope
from labext.nb.resource import RESOURCE_KINDS, parse_identifier, resolve_scope


def test_an_identifier_asks_for_nothing(titles, shelf):
    assert titles.find("notebook", "notebook:abc") == "notebook:abc"
    assert titles.find("source", " source:abc ", "notebook:1") == "source:abc"
    assert titles.find_all("note", ["note:1", "note:2", "note:1"]) == ["note:1", "note:2"]
    assert shelf.requests == []


def test_a_title_is_found_for_every_kind(titles, shelf):
    notebook = shelf.notebook("Arabinose induction")
    source, note = shelf.source("paper.pdf", notebook), shelf.note("Plan", notebook)
    session = shelf.session("Plan", notebook)
    assert titles.find("notebook", "Arabinose induction") == notebook
    assert titles.find("source", "paper.pdf") == source
    assert titles.find("note", "Plan") == note
    assert titles.find("session", "Plan") == session


def test_the_very_title_comes_before_one_in_other_letters(titles, shelf):
    lower, upper = shelf.notebook("plan"), shelf.notebook("PLAN")
    assert titles.find("notebook", "plan") == lower
    assert titles.find("notebook", "PLAN ") == upper
    with pytest.raises(ConflictError):
        titles.find("notebook", "Plan")
    other = shelf.notebook("Straße")
    assert titles.find("notebook", "STRASSE") == other


def test_a_title_of_two_things_lists_both(titles, shelf):
    first, second = shelf.source("paper.pdf"), shelf.source("paper.pdf")
    with pytest.raises(ConflictError) as caught:
        titles.find("source", "paper.pdf")
    assert first in caught.value.message
    assert second in caught.value.message
    assert "2026-01-02 03:04" in caught.value.message
    assert first in caught.value.next_step


def test_a_file_that_failed_does_not_hide_the_one_that_was_mended(titles, shelf):
    broken = shelf.source("scan.pdf", status="failed", asset={"file_path": "scan.pdf"})
    mended = shelf.source("A paper", status="completed", asset={"file_path": "scan.pdf"})
    assert titles.find("source", "A paper") == mended
    with pytest.raises(ConflictError) as caught:
        titles.find("source", "scan.pdf")
    assert f"{broken} (of 2026-01-02 03:04, failed)" in caught.value.message
    assert f"{mended} (of 2026-01-02 03:04)" in caught.value.message


def test_a_title_within_a_notebook_never_means_a_thing_of_another_one(titles, shelf):
    here, there = shelf.notebook("here"), shelf.notebook("there")
    mine = shelf.source("paper.pdf", here)
    shelf.source("paper.pdf", there)
    only_there = shelf.source("page.html", there)
    assert titles.find("source", "paper.pdf", here) == mine
    with pytest.raises(NotFoundError, match=rf"in here; it is in there \({only_there}\)") as caught:
        titles.find_all("source", ["paper.pdf", "page.html"], here)
    assert only_there in caught.value.next_step
    assert titles.find_all("source", [only_there, "paper.pdf"], here) == [only_there, mine]
    for noun, put in (("note", shelf.note), ("session", shelf.session)):
        put("Plan", there)
        with pytest.raises(NotFoundError, match="it is in there"):
            titles.find(noun, "Plan", here)


def test_a_title_of_no_notebook_at_all_suggests_a_near_one_of_the_notebook(titles, shelf):
    here, there = shelf.notebook("here"), shelf.notebook("there")
    shelf.source("paper.pdf", here)
    shelf.source("papers.pdf", there)
    with pytest.raises(NotFoundError, match=r'in here \(did you mean "paper.pdf"\?\)'):
        titles.find("source", "papr.pdf", here)
    shelf.source("page.html")
    with pytest.raises(NotFoundError, match=r"it is in no notebook \(source:0002\)"):
        titles.find("source", "page.html", here)


def test_a_near_title_is_told(titles, shelf):
    shelf.notebook("Arabinose induction")
    with pytest.raises(NotFoundError, match='did you mean "Arabinose induction"') as caught:
        titles.find("notebook", "Arabinose inducton")
    assert caught.value.next_step == "See `nb.notebooks.list()`."


def test_a_title_that_looks_like_another_table_is_a_title(titles, shelf):
    note = shelf.note("source:of it all")
    assert titles.find("note", "source:of it all") == note


@pytest.mark.parametrize("nothing", ["", "  ", None, 7])
def test_nothing_names_nothing(titles, nothing):
    with pytest.raises(InputError, match="is not a notebook"):
        titles.find("notebook", nothing)


@given(st.sampled_from(sorted(RESOURCE_KINDS)), st.text(min_size=1))
def test_any_text_is_an_identifier_or_a_title(noun, text):
    if not text.strip():
        return
    found = parse_identifier(noun, text)
    assert found is None or (
        found == text.strip() and found.startswith(f"{RESOURCE_KINDS[noun].id_pattern}:")
    )


def test_credential_and_model_name_one_of_two_models_of_a_name(titles, shelf):
    lab = shelf.other("/credentials", "lab", provider="openai")
    home = shelf.other("/credentials", "home", provider="openai")
    two = {"provider": "openai", "type": "llm"}
    of_lab = shelf.other("/models", "gpt-4o", credential=lab, **two)
    of_home = shelf.other("/models", "gpt-4o", credential=home, **two)
    for within in (None, "llm"):
        assert titles.find("model", "lab/gpt-4o", within) == of_lab
        assert titles.find("model", "home/gpt-4o", within) == of_home
    for bare in ("gpt-4o", "openai/gpt-4o"):
        with pytest.raises(ConflictError) as caught:
            titles.find("model", bare, "llm")
        assert "lab/gpt-4o (llm of openai), home/gpt-4o (llm of openai)" in caught.value.message
        assert "`lab/gpt-4o`" in caught.value.next_step


def test_a_credential_called_like_a_provider_names_its_own_model(titles, shelf):
    own = shelf.other("/credentials", "openai", provider="openai")
    other = shelf.other("/credentials", "lab", provider="openai")
    two = {"provider": "openai", "type": "llm"}
    of_own = shelf.other("/models", "gpt-4o", credential=own, **two)
    shelf.other("/models", "gpt-4o", credential=other, **two)
    assert titles.find("model", "openai/gpt-4o") == of_own


def test_a_model_goes_by_its_provider_too(titles, shelf):
    first = shelf.other("/models", "gpt-4o", provider="openai", type="llm")
    second = shelf.other("/models", "gpt-4o", provider="openrouter", type="llm")
    slashed = shelf.other("/models", "openai/gpt-4o", provider="openrouter", type="llm")
    assert titles.find("model", "openrouter/gpt-4o") == second
    assert first != second
    with pytest.raises(ConflictError, match="llm of openrouter"):
        titles.find("model", "gpt-4o")
    with pytest.raises(ConflictError):  # a name of one, and provider and name of another
        titles.find("model", "openai/gpt-4o")
    assert titles.find("model", "openrouter/openai/gpt-4o") == slashed


def test_those_of_the_type_come_first(titles, shelf):
    llm = shelf.other("/models", "all", provider="ollama", type="llm")
    tts = shelf.other("/models", "all", provider="ollama", type="tts")
    assert titles.find("model", "all", "llm") == llm
    assert titles.find("model", "all", "tts") == tts


def test_a_transformation_goes_by_its_name_and_its_title(titles, shelf):
    one = shelf.other("/transformations", "key", title="Key findings")
    assert titles.find("transformation", "key") == one
    assert titles.find("transformation", "key FINDINGS") == one
    with pytest.raises(NotFoundError, match="no transformation") as caught:
        titles.find("transformation", "Key finding")
    assert "did you mean" in caught.value.message
    assert caught.value.next_step == "See `nb.transformations.list()`."


@pytest.mark.parametrize("noun", ["episode profile", "speaker profile"])
def test_a_profile_that_is_not_there_leads_to_the_list(titles, shelf, noun):
    shelf.other(f"/{noun.replace(' ', '-')}s", "interview")
    with pytest.raises(NotFoundError, match=f'no {noun} "intervew".*"interview"') as caught:
        titles.find(noun, "intervew")
    assert caught.value.next_step == "See `nb.episode_profiles.list()`."


def test_an_episode_goes_by_its_job_too(titles, shelf):
    one = shelf.other("/podcasts/episodes", "Ep 1", job_id="7f3a")
    assert titles.find("episode", "7f3a") == one


def test_a_title_is_looked_for_through_all_pages(titles, shelf):
    for number in range(25):
        last = shelf.source(f"paper {number}")
    shelf.most = 10  # a server that caps its pages without a word
    assert titles.find("source", "paper 24") == last


class TestScope:
    def test_a_notebook_is_its_sources_and_notes(self, titles, shelf):
        here, there = shelf.notebook("here"), shelf.notebook("there")
        source, note = shelf.source("a", here), shelf.note("b", here)
        shelf.source("c", there)
        shelf.note("d", there)
        assert resolve_scope(titles, notebook="here") == Scope((source,), (note,))
        without = resolve_scope(titles, notebook="here", include_notes=False)
        assert (without.sources, without.holds("note", note)) == ((source,), False)

    def test_an_empty_notebook_is_not_everything(self, titles, shelf):
        shelf.notebook("here")
        shelf.source("elsewhere")
        assert resolve_scope(titles, notebook="here").is_empty

    def test_what_is_named_has_to_be_in_the_notebook(self, titles, shelf):
        here = shelf.notebook("here")
        mine, elsewhere = shelf.source("a", here), shelf.source("b")
        shelf.note("n", here)
        assert resolve_scope(titles, notebook="here", source_ids=["a"]) == Scope((mine,), None)
        with pytest.raises(NotFoundError, match=elsewhere):
            resolve_scope(titles, notebook="here", source_ids=["a", "b"])

    def test_without_a_notebook_nothing_is_listed(self, titles, shelf):
        assert resolve_scope(titles) == Scope()
        assert resolve_scope(titles, source_ids="source:1", note_ids=["note:1"]) == Scope(
            ("source:1",), ("note:1",)
        )
        assert shelf.requests == []
