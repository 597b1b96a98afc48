"""Libraries of references: BibTeX, RIS and CSL JSON become entries with fields and files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from labext.errors import InputError
from labext.nb.library import is_library, read_library
from labext.nb.references import source_reference

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
    assert library.files == (folder / "files" / "guzman.pdf",)
    assert library.missing_files == ("lost.pdf",)
    assert library.error() is None


def test_reference_of_an_added_entry_has_its_fields(folder: Path) -> None:
    path = folder / "library.bib"
    path.write_text(BIBTEX, encoding="utf-8")
    (entry,) = read_library(path).entries
    reference = source_reference({"id": "source:1", "title": entry.title}, entry.text)
    assert reference.authors == ("Guzman, L. M", "Belin, Dominique")
    assert (reference.year, reference.doi) == ("1995", "10.1128/jb.177.14.4121")
    assert reference.journal == "J. Bacteriol."


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


def test_broken_entries_are_named_and_the_others_are_read(tmp_path: Path) -> None:
    path = tmp_path / "library.bib"
    path.write_text(
        "@book{one, title={One}}\n@article{bad, title={no end\n@book{two, title={Two}}\n"
        "@book{empty, year={2001}}\n@book{one, title={Double}}\n"
    )
    library = read_library(path)
    assert [entry.title for entry in library.entries] == ["One", "Two"]
    assert sorted(library.broken) == ["bad (line 2)", "empty (no title)", "one (line 5)"]
    assert "3 references of library.bib can't be read" in str(library.error())


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
