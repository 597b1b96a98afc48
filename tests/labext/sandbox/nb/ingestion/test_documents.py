"""PDF and Word documents: text, pages and titles, or a reason that a user understands."""

from __future__ import annotations

import io
import zipfile

import pytest
from labext_test_documents import docx, pdf


def test_a_pdf_is_read_page_by_page(read):
    stages = []
    found = read(
        pdf(["Cells were induced.\nWith arabinose.", "Glucose (0.2 %) represses."]), stages=stages
    )
    assert [number for number, _ in found.pages] == [1, 2]
    assert found.pages[0][1].split() == ["Cells", "were", "induced.", "With", "arabinose."]
    assert found.pages[1][1] == "Glucose (0.2 %) represses."
    assert found.text.endswith(found.pages[1][1])
    assert stages[-1] == "page 2 of 2"


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("Induction of pBAD", "Induction of pBAD"),
        ("Microsoft Word - paper7.doc", None),
        ("untitled", None),
        ("  ", None),
        (None, None),
    ],
)
def test_a_pdf_has_the_title_that_its_author_gave_it(read, title, shown):
    assert read(pdf(["Text."], title)).title == shown


def test_pages_without_text_keep_their_numbers(read):
    found = read(pdf(["", "The second."]))
    assert found.pages == [(1, ""), (2, "The second.")]


def test_an_encrypted_pdf_says_so(refused):
    assert "encrypted" in refused(pdf(["Secret."], encrypted=True))


def test_a_scanned_pdf_says_what_would_help(refused):
    reason = refused(pdf(["", "", ""]))
    assert "3 pages" in reason
    assert "OCR" in reason


@pytest.mark.parametrize("content", [b"%PDF-1.7\nrubbish", pdf(["Text."])[:120]])
def test_a_broken_pdf_says_so(refused, content):
    assert "broken" in refused(content, "paper.pdf")


def test_a_word_document_is_read_in_its_order(read):
    found = read(docx(["# Induction", "First.", [["Sugar", "%"], ["arabinose", "0.2"]], "Last."]))
    assert found.text == "# Induction\n\nFirst.\n\nSugar | %\narabinose | 0.2\n\nLast."
    assert found.title == "Induction"


def test_a_word_document_has_the_title_among_its_properties(read):
    assert read(docx(["# Induction", "Text."], title="pBAD30 notes")).title == "pBAD30 notes"


def test_a_word_document_of_blanks_has_no_text(refused):
    assert refused(docx(["  "])) == "It contains no text."


def zipped(**entries: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name.replace("__", "/"), content)
    return out.getvalue()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (docx(["Text."])[:-100], "broken"),
        (zipped(word__document="<"), "archive"),
        (zipped(**{"word__document.xml": b"<nonsense"}), "broken"),
        (zipped(**{"ppt__presentation.xml": b""}), "PDF"),
        (zipped(**{"xl__workbook.xml": b""}), "CSV"),
        (zipped(**{"notes.txt": b"text"}), "unpack"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"x" * 600, "encrypted"),
    ],
)
def test_other_documents_are_refused_with_what_to_do(refused, content, told):
    assert told in refused(content, "paper.docx")


def test_a_document_that_unpacks_to_far_too_much_is_not_unpacked(refused, monkeypatch):
    from labext.sandbox.nb.ingestion import readers

    monkeypatch.setattr(readers, "MAX_UNPACKED_BYTES", 1000)
    assert "unpacks to more than 1,000 bytes" in refused(docx(["Text."]))


def test_tables_within_tables_have_an_end(read):
    import docx as library

    document = library.Document()
    cell = document.add_table(1, 1).cell(0, 0)
    for _ in range(40):
        cell.text = "level"
        cell = cell.add_table(1, 1).cell(0, 0)
    out = io.BytesIO()
    document.save(out)
    assert 1 <= read(out.getvalue()).text.count("level") <= 40


def test_a_heading_of_a_pdf_is_no_part_of_the_sentence_below_it(read):
    told = (
        "Cells grow until noon and are then\nkept cold.\nWhat to vary\nVary the temperature first."
    )
    found = read(pdf([told]))
    assert found.pages[0][1].split("\n\n") == [
        "Cells grow until noon and are then\nkept cold.",
        "What to vary",
        "Vary the temperature first.",
    ]


@pytest.mark.parametrize(
    "told",
    [
        "Strains that make the transporter of\nE. coli respond gradually.",  # a line's end
        "The yields were these:\nArabinose 3\nglucose 4",
    ],
)
def test_lines_of_a_sentence_and_of_a_table_stay_together(told, read):
    assert read(pdf([told])).pages[0][1] == told


def test_document_of_a_hundred_thousand_empty_files_is_refused(refused):
    content = zipped(**{"word__document.xml": b"", **{f"a{n}": b"" for n in range(100_000)}})
    assert refused(content, "paper.docx") == (
        "The archive holds more than 10,000 files and folders. Unpack it and add its files."
    )
