"""Titles instead of identifiers; references to sources and libraries of references."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.actions import Action
from labext.errors import ConflictError, InputError, NotFoundError, ServiceError
from labext.nb.backends.detect import BackendSelector
from labext.nb.credentials import Credentials
from labext.nb.library import LibraryEntry, is_library, read_library
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
    assert format_reference(Reference("source:a", "p.pdf", file_name="p.pdf")) == ("", "p.pdf", "")


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
    twice = to_bibtex([Reference("source:a", "Same title"), Reference("source:b", "Same title")])
    assert "@misc{same-title," in twice
    assert "@misc{same-title_2," in twice


BIBTEX = r"""@string{jb = "J. Bacteriol."}
@article{guzman, title = {Tight regulation by the {pBAD} pr{\"o}moter}, journal = jb, year = 1995,
  author = {Guzman, L. M. and Belin, Dominique}, doi = {10.1128/jb.177.14.4121},
  file = {Full Text:files/guzman.pdf:application/pdf;Lost:lost.pdf:application/pdf},
  abstract = {Expression of toxic genes.}}
"""
RIS = """TY  - JOUR
TI  - Tight regulation
AU  - Guzman, L. M.
PY  - 1995/07/01
DO  - 10.1128/jb.177.14.4121
L1  - files/guzman.pdf
ER  -
"""
CSL = [
    {
        "id": "guzman",
        "type": "article-journal",
        "title": "Tight regulation",
        "author": [{"family": "Guzman", "given": "L. M."}, {"literal": "The lab"}],
        "issued": {"date-parts": [[1995, 7]]},
        "DOI": "10.1128/jb.177.14.4121",
    }
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "guzman.pdf").write_bytes(b"%PDF-1.4")
    return tmp_path


def test_bibtex_entry_has_fields_abstract_and_files(folder: Path) -> None:
    path = folder / "library.bib"
    path.write_text(BIBTEX, encoding="utf-8")
    library = read_library(path)
    (entry,) = library.entries
    assert entry.title == "Tight regulation by the pBAD prömoter"
    assert entry.text == (
        "Title: Tight regulation by the pBAD prömoter\nAuthors: Guzman, L. M.; Belin, Dominique\n"
        "Year: 1995\nJournal: J. Bacteriol.\nDOI: 10.1128/jb.177.14.4121\n\n"
        "Expression of toxic genes."
    )
    reference = source_reference({"id": "source:1", "title": entry.title}, entry.text)
    assert reference.authors == ("Guzman, L. M.", "Belin, Dominique")
    assert (reference.year, reference.journal) == ("1995", "J. Bacteriol.")
    assert library.files == (folder / "files" / "guzman.pdf",)
    assert library.missing_files == ("lost.pdf",)
    assert library.error() is None


PUBLISHED = {
    "l.bib": "@article{a, title={T}, author={Li, B. and others}, journal={J}, year=2021, volume=14,"
    " number={3}, pages={1204--1207}}\n@phdthesis{b, title={U}, author={Doe, J.}, school={Köln}}",
    "l.ris": "TY  - JOUR\nTI  - T\nAU  - Li, B.\nAU  - others\nJO  - J\nPY  - 2021\nVL  - 14\n"
    "IS  - 3\nSP  - 1204\nEP  - 1207\nER  -\nTY  - THES\nTI  - U\nAU  - Doe, J\n"
    "PB  - Köln\nER  -\n",
    "l.json": json.dumps(
        [
            {"id": "a", "type": "article-journal", "title": "T", "container-title": "J"}
            | {"author": [{"family": "Li", "given": "B."}, {"literal": "others"}]}
            | {"issued": {"date-parts": [[2021]]}}
            | {"volume": "14", "issue": 3, "page": "1204-1207"},
            {"id": "b", "type": "thesis", "title": "U", "publisher": "Köln"}
            | {"author": [{"family": "Doe", "given": "J."}]},
        ]
    ),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_volume_number_pages_and_publisher_of_a_library_are_exported(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_text(PUBLISHED[name], encoding="utf-8")
    entries = read_library(tmp_path / name).entries
    references = [
        source_reference({"id": f"source:{entry.title}", "title": entry.title}, entry.text)
        for entry in entries
    ]
    assert [format_reference(reference) for reference in references] == [
        ("Li, B. et al. (2021).", "T", "J 14(3), 1204–1207"),
        ("Doe, J.", "U", "Köln"),
    ]
    text = to_bibtex(references)
    assert "volume = {14},\n  number = {3},\n  pages = {1204--1207}," in text
    assert "author = {Li, B. and others}" in text
    assert "publisher = {Köln}" in text
    older = entries[0].text.replace("\nVolume: 14\nNumber: 3", "").replace("\nPages: ", "\nX: ")
    assert not entries[0].matches(older)
    assert entries[0].matches(older.replace(older[older.index("\nX: ") :], ""))


def test_volume_of_a_protocol_is_no_bibliographic_field() -> None:
    assert source_reference(RECORD, "Volume: 50 µL\nPages: 3").volume == ""


@pytest.mark.parametrize(("name", "content"), [("l.ris", RIS), ("l.json", json.dumps(CSL))])
def test_other_formats_have_the_same_fields(folder: Path, name: str, content: str) -> None:
    (folder / name).write_text(content)
    library = read_library(folder / name)
    (entry,) = library.entries
    assert entry.title == "Tight regulation"
    lines = entry.text.splitlines()
    assert lines[1].startswith("Authors: Guzman, L. M.")
    assert "Year: 1995" in lines
    assert "DOI: 10.1128/jb.177.14.4121" in lines
    assert len(library.files) == (name == "l.ris")


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        (
            "bibdesk.bib",
            "@book{a, Author = {Cliff, A. and Ord, J.}, Title = {CO$_2$, H$_{2}$O}, Year = 1973}",
            "Title: CO2, H2O\nAuthors: Cliff, A.; Ord, J.\nYear: 1973",
        ),
        (
            "pubmed.ris",
            "TY  - JOUR\nT1  - T\nAU  - Lee J\nJA  - Cell\nY1  - 2021 Mar\nN2  - Growth.\nER  -\n",
            "Title: T\nAuthors: Lee J\nYear: 2021\nJournal: Cell\n\nGrowth.",
        ),
        (
            "endnote.ris",
            "TY  - CHAP\nT1  - T\nA2  - Doe, J\nBT  - Cells\nER  -\n",
            "Title: T\nAuthors: Doe, J\nJournal: Cells",
        ),
        (
            "zotero.json",
            json.dumps(
                [
                    {"id": "a", "type": "book", "title": "<i>E. coli</i> in H<sub>2</sub>O"}
                    | {"editor": [{"family": "Berg", "non-dropping-particle": "van der"}]}
                    | {"issued": {"raw": "2019-05"}}
                    | {"abstract": "<jats:p>10<sup>6</sup> &amp; &lt; 0.05, n<sup>1</sup></jats:p>"}
                ]
            ),
            "Title: E. coli in H2O\nAuthors: van der Berg\nYear: 2019\n\n10^6 & < 0.05, n1",
        ),
    ],
)
def test_libraries_of_programs_have_their_fields(
    tmp_path: Path, name: str, content: str, expected: str
) -> None:
    (tmp_path / name).write_text(content)
    (entry,) = read_library(tmp_path / name).entries
    assert entry.text == expected


def test_broken_entries_are_named_and_the_others_are_read(tmp_path: Path) -> None:
    path = tmp_path / "library.bib"
    path.write_text(
        "@book{one, title={One}}\n@article{bad, title={no end\n@book{two, title={Two}}\n"
        "@book{empty, year={2001}}\n@book{one, title={Double}}\n"
    )
    library = read_library(path)
    assert [entry.title for entry in library.entries] == ["One", "Two"]
    assert sorted(library.broken) == [
        "bad (line 2)",
        "empty (no title)",
        "one (line 5, a key that occurs twice)",
    ]
    assert "3 references of library.bib can't be read" in str(library.error())


@pytest.mark.parametrize(
    "fields",
    [
        {"issued": "1995"},
        {"issued": {"date-parts": 1995}},
        {"issued": {"date-parts": {"year": 1995}}},
        {"author": ["Guzman"]},
        {"author": [{"family": ["Guzman"]}]},
        {"author": 1},
    ],
)
def test_csl_entry_with_invalid_fields_is_named(tmp_path: Path, fields: dict[str, Any]) -> None:
    path = tmp_path / "l.json"
    path.write_text(json.dumps([*CSL, {"id": 7, "type": "book", "title": "B", **fields}]))
    library = read_library(path)
    assert [entry.title for entry in library.entries] == ["Tight regulation"]
    assert library.broken == ("7",)


@pytest.mark.parametrize("name", ["l.bib", "l.ris"])
def test_library_in_another_encoding_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("Müller", encoding="latin-1")
    with pytest.raises(InputError, match="Save it as UTF-8"):
        read_library(tmp_path / name)


def test_formulas_and_special_characters_of_bibtex_are_text(tmp_path: Path) -> None:
    path = tmp_path / "l.bib"
    path.write_text(
        r"@book{a, title={$\beta$-lactamase at 42~$^{\circ}$C}, journal={Food & Function},"
        "\n  url={https://a.example/b%20c}, abstract={With 10$^6$ cells, 5\\% died and 95% lived.}}"
    )
    (entry,) = read_library(path).entries
    assert entry.title == "β-lactamase at 42 °C"
    assert "Journal: Food & Function" in entry.text
    assert "URL: https://a.example/b%20c" in entry.text
    assert entry.text.endswith("With 10^6 cells, 5% died and 95% lived.")


@pytest.mark.parametrize(
    ("written", "name"),
    [
        (r"a_b~c {x}.pdf", "a_b~c {x}.pdf"),
        (r"Full Text:one\;two, 5% \& more.pdf:application/pdf", "one;two, 5% & more.pdf"),
        (r":one\: two.pdf:PDF", "one: two.pdf"),
        (r"a\_b.pdf", "a_b.pdf"),
    ],
)
def test_name_of_an_attached_file_is_not_latex(tmp_path: Path, written: str, name: str) -> None:
    (tmp_path / name).write_bytes(b"%PDF-1.4")
    path = tmp_path / "library.bib"
    path.write_text(f"@book{{a, title={{A}}, file={{{written}}}}}")
    library = read_library(path)
    assert (library.files, library.missing_files) == ((tmp_path / name,), ())


@pytest.mark.parametrize(
    "written",
    [
        "http://a.org/~b/c_d%20e",
        r"http://a.org/\~{}b/c\_d\%20e",
        r"\url{http://a.org/{\textasciitilde}b/c_d%20e}",
    ],
)
def test_tilde_of_an_address_is_kept(tmp_path: Path, written: str) -> None:
    path = tmp_path / "library.bib"
    path.write_text(f"@book{{a, title={{A}}, url={{{written}}}}}")
    (entry,) = read_library(path).entries
    assert entry.text.splitlines()[-1] == "URL: http://a.org/~b/c_d%20e"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Title: Induction\nAuthors: Doe, J.\nYear: 1995\nJournal: K", True),
        ("Title: Induction\nAuthors: J. Doe", True),
        ("Title: Induction\nYear: 1996", False),
        ("Title: Induction\nAuthors: Roe, J.\nYear: 1995", False),
        ("Title: Induction\nYear: 1995\nDOI: 10.1000/X\n\nAn abstract.", True),
        ("Title: Induction\nYear: 1995\nDOI: 10.1000/y", False),
        ("Induction\n\nYear: 1995", False),
    ],
)
def test_entry_matches_a_text_with_other_fields(text: str, expected: bool) -> None:
    own = "Title: Induction\nAuthors: Doe, Jane; Roe, J.\nYear: 1995\nDOI: 10.1000/x\n\nAbstract."
    entry = LibraryEntry("Induction", own, "10.1000/x")
    assert entry.matches(text) is expected
    assert entry.has_changed(text)
    assert not entry.has_changed(own)


def test_bibtex_entry_has_the_fields_of_its_crossref(tmp_path: Path) -> None:
    path = tmp_path / "library.bib"
    path.write_text(
        "@inproceedings{a, author={Smith, J.}, title={A study}, crossref={CONF}, pages={1--5}}\n"
        "@incollection{b, author={Roe, R.}, title={A chapter}, date={2021}, crossref={book}}\n"
        "@proceedings{conf, title={Proceedings}, booktitle={Proc. Conf.}, year=2020, volume=7,"
        " editor={Lee, A.}, publisher={ACM}, doi={10.1000/182}}\n"
        "@book{book, title={The Book}, year=1999, publisher={CUP}}\n"
        "@article{, title={Without a key}, year=1998}\n@misc{c, title={Alone}}\n"
    )
    study, chapter, *_, alone = read_library(path).entries
    assert study.text.splitlines()[1:] == [
        "Authors: Smith, J.",
        "Year: 2020",
        "Journal: Proc. Conf.",
        "Volume: 7",
        "Pages: 1–5",
        "Publisher: ACM",
    ]
    assert chapter.text.splitlines()[2:] == ["Year: 2021", "Journal: The Book", "Publisher: CUP"]
    assert alone.text == "Title: Alone"


def test_strings_of_bibtex_are_joined(tmp_path: Path) -> None:
    path = tmp_path / "library.bib"
    path.write_text(
        '@string{nar = "Nucleic Acids Res."}\n@string(web = NAR # { (Web)})\n'
        '@article{a, title="On {\\"u} " # {\\# and "#"}, journal = web # ", vol. " # 2,'
        " year=2001}\n"
        "@article{b, title={A # B}, journal = nar, year = {2002}}\n"
    )
    first, second = read_library(path).entries
    assert first.text.splitlines() == [
        'Title: On ü # and "#"',
        "Year: 2001",
        "Journal: Nucleic Acids Res. (Web), vol. 2",
    ]
    assert second.text.splitlines() == [
        "Title: A # B",
        "Year: 2002",
        "Journal: Nucleic Acids Res.",
    ]


def test_titles_are_unique_in_a_library(tmp_path: Path) -> None:
    path = tmp_path / "library.bib"
    path.write_text("@book{a, title={Preface}}\n@book{b, title={Preface}}")
    assert [entry.title for entry in read_library(path).entries] == ["Preface", "Preface (b)"]


def test_files_outside_of_the_folder_are_not_attached(tmp_path: Path) -> None:
    outside = tmp_path / "secret.pdf"
    outside.write_bytes(b"%PDF-1.4")
    folder = tmp_path / "library"
    folder.mkdir()
    (folder / "link.pdf").symlink_to(outside)
    path = folder / "l.bib"
    path.write_text(f"@book{{a, title={{A}}, file={{{outside};../secret.pdf;link.pdf}}}}")
    library = read_library(path)
    assert library.files == ()
    assert library.missing_files == ("secret.pdf", "link.pdf")


def test_other_json_is_no_library(tmp_path: Path) -> None:
    for content in ("[1]", "{}", "[]", '[{"type": "x"}]', "not JSON"):
        (tmp_path / "a.json").write_text(content)
        assert not is_library(tmp_path / "a.json")


def test_empty_library_is_refused(tmp_path: Path) -> None:
    (tmp_path / "l.bib").write_text("% nothing\n")
    with pytest.raises(InputError, match="no entries"):
        read_library(tmp_path / "l.bib")
