"""Titles are accepted wherever identifiers are; an ambiguous title lists its candidates."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.errors import ConflictError, InputError, NotFoundError
from labext.nb.records import Scope
from labext.nb.resource import RESOURCE_KINDS, parse_identifier, resolve_scope


def test_identifier_needs_no_request(titles, service):
    assert titles.find("notebook", "notebook:abc") == "notebook:abc"
    assert titles.find("source", " source:abc ", "notebook:1") == "source:abc"
    assert titles.find_all("note", ["note:1", "note:2", "note:1"]) == ["note:1", "note:2"]
    assert service.requests == []


def test_every_kind_is_found_by_title(titles, service):
    notebook = service.notebook("Arabinose induction")
    source, note = service.source("paper.pdf", notebook), service.note("Plan", notebook)
    session = service.session("Plan", notebook)
    assert titles.find("notebook", "Arabinose induction") == notebook
    assert titles.find("source", "paper.pdf") == source
    assert titles.find("note", "Plan") == note
    assert titles.find("session", "Plan") == session


def test_exact_title_precedes_another_case(titles, service):
    lower, upper = service.notebook("plan"), service.notebook("PLAN")
    assert titles.find("notebook", "plan") == lower
    assert titles.find("notebook", "PLAN ") == upper
    with pytest.raises(ConflictError):
        titles.find("notebook", "Plan")
    other = service.notebook("Straße")
    assert titles.find("notebook", "STRASSE") == other


def test_ambiguous_title_lists_all_candidates(titles, service):
    first, second = service.source("paper.pdf"), service.source("paper.pdf")
    with pytest.raises(ConflictError) as caught:
        titles.find("source", "paper.pdf")
    assert first in caught.value.message
    assert second in caught.value.message
    assert "2026-01-02 03:04" in caught.value.message
    assert first in caught.value.next_step


def test_ambiguous_file_name_marks_the_failed_source(titles, service):
    broken = service.source("scan.pdf", status="failed", asset={"file_path": "scan.pdf"})
    repaired = service.source("A paper", status="completed", asset={"file_path": "scan.pdf"})
    assert titles.find("source", "A paper") == repaired
    with pytest.raises(ConflictError) as caught:
        titles.find("source", "scan.pdf")
    assert f"{broken} (of 2026-01-02 03:04, failed)" in caught.value.message
    assert f"{repaired} (of 2026-01-02 03:04)" in caught.value.message


def test_title_in_a_notebook_never_matches_another_notebook(titles, service):
    first_notebook, existing = service.notebook("here"), service.notebook("there")
    mine = service.source("paper.pdf", first_notebook)
    service.source("paper.pdf", existing)
    only_there = service.source("page.html", existing)
    assert titles.find("source", "paper.pdf", first_notebook) == mine
    with pytest.raises(NotFoundError, match=rf"in here; it is in there \({only_there}\)") as caught:
        titles.find_all("source", ["paper.pdf", "page.html"], first_notebook)
    assert only_there in caught.value.next_step
    assert titles.find_all("source", [only_there, "paper.pdf"], first_notebook) == [
        only_there,
        mine,
    ]
    for noun, put in (("note", service.note), ("session", service.session)):
        put("Plan", existing)
        with pytest.raises(NotFoundError, match="it is in there"):
            titles.find(noun, "Plan", first_notebook)


def test_unknown_title_suggests_a_similar_one_of_the_notebook(titles, service):
    first_notebook, existing = service.notebook("here"), service.notebook("there")
    service.source("paper.pdf", first_notebook)
    service.source("papers.pdf", existing)
    with pytest.raises(NotFoundError, match=r'in here \(did you mean "paper.pdf"\?\)'):
        titles.find("source", "papr.pdf", first_notebook)
    service.source("page.html")
    with pytest.raises(NotFoundError, match=r"it is in no notebook \(source:0002\)"):
        titles.find("source", "page.html", first_notebook)


def test_unknown_title_suggests_a_similar_one(titles, service):
    service.notebook("Arabinose induction")
    with pytest.raises(NotFoundError, match='did you mean "Arabinose induction"') as caught:
        titles.find("notebook", "Arabinose inducton")
    assert caught.value.next_step == "See `nb.notebooks.list()`."


def test_title_may_look_like_an_identifier_of_another_kind(titles, service):
    note = service.note("source:of it all")
    assert titles.find("note", "source:of it all") == note


@pytest.mark.parametrize("title", ["", "  ", None, 7])
def test_blank_title_is_rejected(titles, title):
    with pytest.raises(InputError, match="is not a notebook"):
        titles.find("notebook", title)


@given(st.sampled_from(sorted(RESOURCE_KINDS)), st.text(min_size=1))
def test_any_text_is_an_identifier_or_a_title(noun, text):
    if not text.strip():
        return
    identifier = parse_identifier(noun, text)
    assert identifier is None or (
        identifier == text.strip() and identifier.startswith(f"{RESOURCE_KINDS[noun].id_pattern}:")
    )


def test_credential_and_name_identify_a_model(titles, service):
    lab = service.other("/credentials", "lab", provider="openai")
    home = service.other("/credentials", "home", provider="openai")
    two = {"provider": "openai", "type": "llm"}
    of_lab = service.other("/models", "gpt-4o", credential=lab, **two)
    of_home = service.other("/models", "gpt-4o", credential=home, **two)
    for within in (None, "llm"):
        assert titles.find("model", "lab/gpt-4o", within) == of_lab
        assert titles.find("model", "home/gpt-4o", within) == of_home
    for ambiguous in ("gpt-4o", "openai/gpt-4o"):
        with pytest.raises(ConflictError) as caught:
            titles.find("model", ambiguous, "llm")
        assert "lab/gpt-4o (llm of openai), home/gpt-4o (llm of openai)" in caught.value.message
        assert "`lab/gpt-4o`" in caught.value.next_step


def test_credential_named_like_a_provider_precedes_it(titles, service):
    own = service.other("/credentials", "openai", provider="openai")
    other = service.other("/credentials", "lab", provider="openai")
    two = {"provider": "openai", "type": "llm"}
    of_own = service.other("/models", "gpt-4o", credential=own, **two)
    service.other("/models", "gpt-4o", credential=other, **two)
    assert titles.find("model", "openai/gpt-4o") == of_own


def test_provider_and_name_identify_a_model(titles, service):
    first = service.other("/models", "gpt-4o", provider="openai", type="llm")
    second = service.other("/models", "gpt-4o", provider="openrouter", type="llm")
    slashed = service.other("/models", "openai/gpt-4o", provider="openrouter", type="llm")
    assert titles.find("model", "openrouter/gpt-4o") == second
    assert first != second
    with pytest.raises(ConflictError, match="llm of openrouter"):
        titles.find("model", "gpt-4o")
    with pytest.raises(ConflictError):  # a name of one, and provider and name of another
        titles.find("model", "openai/gpt-4o")
    assert titles.find("model", "openrouter/openai/gpt-4o") == slashed


def test_model_of_the_requested_type_is_preferred(titles, service):
    llm = service.other("/models", "all", provider="ollama", type="llm")
    tts = service.other("/models", "all", provider="ollama", type="tts")
    assert titles.find("model", "all", "llm") == llm
    assert titles.find("model", "all", "tts") == tts


def test_transformation_is_found_by_name_or_title(titles, service):
    transformation = service.other("/transformations", "key", title="Key findings")
    assert titles.find("transformation", "key") == transformation
    assert titles.find("transformation", "key FINDINGS") == transformation
    with pytest.raises(NotFoundError, match="no transformation") as caught:
        titles.find("transformation", "Key finding")
    assert "did you mean" in caught.value.message
    assert caught.value.next_step == "See `nb.transformations.list()`."


@pytest.mark.parametrize("noun", ["episode profile", "speaker profile"])
def test_unknown_profile_suggests_the_list(titles, service, noun):
    service.other(f"/{noun.replace(' ', '-')}s", "interview")
    with pytest.raises(NotFoundError, match=f'no {noun} "intervew".*"interview"') as caught:
        titles.find(noun, "intervew")
    assert caught.value.next_step == "See `nb.episode_profiles.list()`."


def test_episode_is_found_by_its_job(titles, service):
    episode = service.other("/podcasts/episodes", "Ep 1", job_id="7f3a")
    assert titles.find("episode", "7f3a") == episode


def test_title_is_searched_on_all_pages(titles, service):
    for number in range(25):
        last = service.source(f"paper {number}")
    service.max_page = 10  # a server that caps its pages without a word
    assert titles.find("source", "paper 24") == last


class TestScope:
    def test_scope_of_a_notebook_is_its_sources_and_notes(self, titles, service):
        first_notebook, existing = service.notebook("here"), service.notebook("there")
        source, note = service.source("a", first_notebook), service.note("b", first_notebook)
        service.source("c", existing)
        service.note("d", existing)
        assert resolve_scope(titles, notebook="here") == Scope((source,), (note,))
        without = resolve_scope(titles, notebook="here", include_notes=False)
        assert (without.sources, without.holds("note", note)) == ((source,), False)

    def test_scope_of_an_empty_notebook_is_empty(self, titles, service):
        service.notebook("here")
        service.source("elsewhere")
        assert resolve_scope(titles, notebook="here").is_empty

    def test_named_sources_must_be_in_the_notebook(self, titles, service):
        first_notebook = service.notebook("here")
        mine, elsewhere = service.source("a", first_notebook), service.source("b")
        service.note("n", first_notebook)
        assert resolve_scope(titles, notebook="here", source_ids=["a"]) == Scope((mine,), None)
        with pytest.raises(NotFoundError, match=elsewhere):
            resolve_scope(titles, notebook="here", source_ids=["a", "b"])

    def test_scope_without_a_notebook_needs_no_request(self, titles, service):
        assert resolve_scope(titles) == Scope()
        assert resolve_scope(titles, source_ids="source:1", note_ids=["note:1"]) == Scope(
            ("source:1",), ("note:1",)
        )
        assert service.requests == []
