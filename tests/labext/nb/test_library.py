"""Libraries of references: BibTeX, RIS and CSL JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from labext.errors import InputError
from labext.nb.library import LibraryEntry, is_library, read_library
from labext.nb.references import format_reference, source_reference, to_bibtex

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
        ("Title: Induction\nDOI: https://doi.org/10.1000/x", True),
        ("Title: Inductoin\nAuthors: Doe, J.\nYear: 1996\nDOI: 10.1000/x", True),
        ("Title: A chapter\nAuthors: Lee, K.\nDOI: 10.1000/x", False),
        ("Induction\n\nYear: 1995", False),
    ],
)
def test_entry_matches_a_text_with_other_fields(text: str, expected: bool) -> None:
    own = "Title: Induction\nAuthors: Doe, Jane; Roe, J.\nYear: 1995\nDOI: 10.1000/x\n\nAbstract."
    entry = LibraryEntry("Induction", own)
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
    assert second.text.splitlines() == ["Title: A # B", "Year: 2002", "Journal: Nucleic Acids Res."]


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


def test_group_author_doi_with_brackets_and_address_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "library.bib"
    doi = "10.1002/(SICI)1097(19990605)63:5<589::AID-BIT8>3.0.CO;2-A"
    path.write_text(
        "@article{a, title = {Rates}, author = {{Food and Drug Agency} and Li, Bo}, "
        f"doi = {{{doi}}}, url = {{https://example.org/rates}}}}",
        encoding="utf-8",
    )
    (entry,) = read_library(path).entries
    reference = source_reference({"id": "source:a", "title": entry.title}, entry.text)
    assert reference.authors == ("Food and Drug Agency", "Li, Bo")
    assert (reference.doi, reference.url) == (doi, "https://example.org/rates")
    assert "63:5%3C589::AID-BIT8%3E3.0.CO;2-A" in format_reference(reference)[2]
