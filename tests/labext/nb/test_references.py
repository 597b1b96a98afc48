"""References to sources: their fields, their text, and BibTeX."""

from __future__ import annotations

import pytest

from labext.nb.references import (
    Reference,
    format_reference,
    note_reference,
    source_reference,
    split_authors,
    to_bibtex,
)

RECORD = {"id": "source:a1", "title": "Tight  regulation", "file_name": "paper.pdf", "url": None}


def test_fields_are_read_from_the_beginning_of_the_text() -> None:
    text = (
        "# Tight regulation\n\n**Authors:** Guzman, L.-M. and Beckwith, Jon\n"
        "Journal: J. Bacteriol.\nYear: 1995\nDOI: https://doi.org/10.1128/jb.177.14.4121-4130.1995\n"
    )
    reference = source_reference(RECORD, text)
    assert reference.title == "Tight regulation"
    assert reference.authors == ("Guzman, L.-M", "Beckwith, Jon")
    assert (reference.year, reference.journal) == ("1995", "J. Bacteriol.")
    assert reference.doi == "10.1128/jb.177.14.4121-4130.1995"
    assert source_reference(RECORD, "x" * 4000 + "\nAuthors: Late").authors == ()


@pytest.mark.parametrize(
    ("text", "authors"),
    [
        ("Guzman, Luz", ["Guzman, Luz"]),
        ("A. Smith, B. Jones, C. Li", ["A. Smith", "B. Jones", "C. Li"]),
        ("A. Smith, B. Jones, and C. Li", ["A. Smith", "B. Jones", "C. Li"]),
        ("Smith, A.; Jones, B.", ["Smith, A", "Jones, B"]),
        ("Anderson", ["Anderson"]),
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
    twice = to_bibtex([Reference("source:a", "Same title"), Reference("source:b", "Same title")])
    assert "@misc{same-title," in twice
    assert "@misc{same-title_2," in twice
