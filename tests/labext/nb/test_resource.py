"""Titles instead of identifiers; references to sources."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.actions import Action
from labext.errors import ConflictError, InputError, NotFoundError, ServiceError
from labext.nb.backends.detect import BackendSelector
from labext.nb.credentials import Credentials
from labext.nb.records import Scope
from labext.nb.references import (
    Reference,
    format_reference,
    note_reference,
    source_reference,
    split_authors,
    to_bibtex,
)
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


@pytest.mark.parametrize("fields", [{}, {"asset": {"file_path": "Mu\u0308ller.pdf"}}])
def test_decomposed_file_name_of_macos_is_found(titles, service, fields):
    title = "A paper" if fields else "Mu\u0308ller.pdf"
    source = service.source(title, **fields)
    assert titles.find("source", "M\u00fcller.pdf") == source
    assert titles.find("source", "Mu\u0308ller.pdf") == source


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


def test_error_about_a_credential_names_it_in_the_next_step(titles, service, wire):
    service.other("/credentials", "lab", provider="openai")
    credentials = Credentials(wire, BackendSelector(wire, "contract"), titles)
    step = "Check that it is running: {action}."
    for send in (
        lambda: credentials.discover("lab"),
        lambda: credentials.test("lab"),
        lambda: credentials.register_models("lab", [("gpt-4o", "llm")]),
    ):
        failure = ServiceError("Its server can't be reached.", step, action=Action.set_address())
        service.script = [None, failure]
        with pytest.raises(ServiceError) as caught:
            send()
        assert caught.value.action == Action.set_address("lab")
        assert caught.value.next_step == f"Check that it is running: {Action.set_address('lab')}."


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


def test_episode_is_found_by_its_job(titles, service):
    episode = service.other("/podcasts/episodes", "Ep 1", job_id="7f3a")
    assert titles.find("episode", "7f3a") == episode


def test_title_is_searched_on_all_pages(titles, service):
    for number in range(25):
        last = service.source(f"paper {number}")
    service.max_page = 10  # a server that limits its pages without saying so
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

    def test_named_sources_must_be_in_the_notebook(self, titles, service):
        first_notebook = service.notebook("here")
        mine, elsewhere = service.source("a", first_notebook), service.source("b")
        service.note("n", first_notebook)
        assert resolve_scope(titles, notebook="here", source_ids=["a"]) == Scope((mine,), None)
        with pytest.raises(NotFoundError, match=elsewhere):
            resolve_scope(titles, notebook="here", source_ids=["a", "b"])

    def test_scope_without_a_notebook_needs_no_request(self, titles, service):
        assert resolve_scope(titles) == Scope()
        assert resolve_scope(titles, include_notes=False) == Scope(include_notes=False)
        assert resolve_scope(titles, source_ids="source:1", note_ids=["note:1"]) == Scope(
            ("source:1",), ("note:1",)
        )
        assert service.requests == []


RECORD = {"id": "source:a1", "title": "Tight  regulation", "file_name": "paper.pdf", "url": None}


def test_fields_are_read_from_the_beginning_of_the_text() -> None:
    text = (
        "# Tight regulation\n\n**Authors:** Guzman, L.-M. and Beckwith, Jon\n"
        "Journal: J. Bacteriol.\nYear: 1995\nDOI: https://doi.org/10.1128/jb.177.14.4121-4130.1995\n"
    )
    reference = source_reference(RECORD, text)
    assert reference.title == "Tight regulation"
    assert reference.authors == ("Guzman, L.-M.", "Beckwith, Jon")
    assert (reference.year, reference.journal) == ("1995", "J. Bacteriol.")
    assert reference.doi == "10.1128/jb.177.14.4121-4130.1995"
    assert source_reference(RECORD, "x" * 4000 + "\nAuthors: Late").authors == ()
    assert source_reference(RECORD, "\n|" * 1500 + "\njournal:\nyear: 1995").journal == ""


@pytest.mark.parametrize(
    ("text", "authors"),
    [
        ("Guzman, Luz", ["Guzman, Luz"]),
        ("A. Smith, B. Jones, C. Li", ["A. Smith", "B. Jones", "C. Li"]),
        ("A. Smith, B. Jones, and C. Li", ["A. Smith", "B. Jones", "C. Li"]),
        ("Smith, A.; Jones, Bo; and Li, C.", ["Smith, A.", "Jones, Bo", "Li, C."]),
        ("Smith, A. B., Jones, C., & Li, D.", ["Smith, A. B.", "Jones, C.", "Li, D."]),
        ("Smith AB, Jones C, et al.", ["Smith AB", "Jones C"]),
        ("The ENCODE Consortium; WHO", ["The ENCODE Consortium", "WHO"]),
        ("Institute of Health and Care; Li, B.", ["Institute of Health and Care", "Li, B."]),
        ("Food and Drug Administration", ["Food and Drug Administration"]),
        ("Centers for Control and Prevention", ["Centers for Control and Prevention"]),
        ("A. Li and the ENCODE Consortium", ["A. Li", "the ENCODE Consortium"]),
        ("Anderson", ["Anderson"]),
        ("Anderson, Carson.", ["Anderson, Carson"]),
    ],
)
def test_authors_are_split(text: str, authors: list[str]) -> None:
    assert split_authors(text) == authors


def test_reference_has_authors_year_title_and_place() -> None:
    reference = Reference("source:a", "T", ("A. Smith", "B. Li"), "1995", "J", "10.1/x")
    assert format_reference(reference) == (
        "A. Smith & B. Li (1995).",
        "T",
        "J. https://doi.org/10.1/x",
    )
    for title in ("p.csv", "a/p.csv"):
        assert format_reference(Reference("source:a", title, file_name="p.csv")) == ("", title, "")


def test_bibtex_has_unique_keys_and_escapes_its_special_characters() -> None:
    text = to_bibtex(
        [
            Reference("source:a", "50 % & {more} \\input", ("Müller, Ä.",), "1995", "J_B"),
            Reference("source:b", "50 % less", ("Müller, Ä.",), "1995", url="https://a.org/{x}%20"),
            note_reference({"id": "note:c", "title": "My note"}),
        ]
    )
    assert "@article{muller1995more,\n  author = {Müller, Ä.},\n" in text
    assert (
        r"title = {{50 \% \& \textbraceleft{}more\textbraceright{} \textbackslash{}input}}" in text
    )
    assert r"journal = {J\_B}" in text
    assert "@misc{muller1995less," in text
    assert "url = {https://a.org/%7Bx%7D%20}" in text
    assert text.count("{") == text.count("}")
    assert "My note" not in text
    pubmed = to_bibtex([Reference("source:a", "Rates", ("Smith JA", "van Berg C", "The WHO"))])
    assert pubmed.startswith("@misc{smithrates,\n")
    assert "author = {Smith, J. A. and van Berg, C. and The WHO}" in pubmed
    group = Reference("source:a", "T", ("World Health Organization", "Li, B."))
    assert "author = {{World Health Organization} and Li, B.}" in to_bibtex([group])
    twice = to_bibtex([Reference("source:a", "Same title"), Reference("source:b", "Same title")])
    assert "@misc{same-title," in twice
    assert "@misc{same-title_2," in twice


def test_volume_of_a_protocol_is_no_bibliographic_field() -> None:
    assert source_reference(RECORD, "Volume: 50 µL\nPages: 3").volume == ""
