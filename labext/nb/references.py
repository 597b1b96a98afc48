"""Bibliographic references to sources: as text, and as BibTeX."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from labext.nb.records import Record

_ID = r"(?:source|note|insight|source_insight):[A-Za-z0-9_-]{1,80}"
CITATION_MARK = re.compile(rf"(?<![ \t])[ \t]*\[({_ID}(?:[,;] ?{_ID})*)\]")
"""A citation mark in an answer, with one or several identifiers."""

_HEAD = 4000
"""Characters at the beginning of a text in which bibliographic fields are looked for."""

_FIELD = re.compile(
    r"^(?:[^\w\n]|_)*(authors?|year|date|published|journal|volume|number|pages|publisher|doi|url)[*_]*[^\S\n]*[:=](?:[^\S\n]|[*_])*(\S.*)$",
    re.IGNORECASE | re.MULTILINE,
)
_DOI = re.compile(r"\b10\.\d{4,9}/(?:[-._;()/:A-Za-z0-9]|[<>](?=\d))*[A-Za-z0-9]")
_YEAR = re.compile(r"\b(1[5-9]\d\d|20\d\d)\b")
_ORGANIZATION = re.compile(
    r"\b(?:Academ(?:y|ies)|Administration|Agency|Association|Cent(?:er|re)s?|Collaboration|Commission|"
    r"Committee|Company|Consorti(?:a|um)|Council|Department|Foundation|Group|Inc|Institutes?|"
    r"Laborator(?:y|ies)|Ministry|Network|Organi[sz]ation|Project|Society|Team|Union|University)\b"
)
_BIBTEX_ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\textbraceleft{}",
    "}": r"\textbraceright{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: f"\\{character}" for character in "%&$#_"},
}


def mark_ids(mark: re.Match[str]) -> list[str]:
    """Return the identifiers in a match of `CITATION_MARK`."""
    return re.split("[,;] ?", mark[1])


@dataclass(frozen=True)
class Reference:
    """A source or note that a text refers to.

    Attributes:
        id: its identifier.
        title: its title; the file name or the identifier if there is none.
        authors: the authors, as `Given Family` or `Family, Given`.
        year, journal, doi, url: where and when it was published, as far as known.
        volume, number, pages: the part of the journal.
        publisher: the publisher, or the institution of a thesis.
        file_name: the name of the file that was added.
        is_note: True for a note of the notebook.
    """

    id: str
    title: str
    authors: tuple[str, ...] = ()
    year: str = ""
    journal: str = ""
    doi: str = ""
    url: str = ""
    file_name: str = ""
    is_note: bool = False
    volume: str = ""
    number: str = ""
    pages: str = ""
    publisher: str = ""


def source_reference(record: Record, text: str = "") -> Reference:
    """Return the reference to a source.

    Authors, year, journal and DOI are read from lines such as `Authors: …` at the beginning of its
    text; volume, number and pages only with a journal.
    """
    file_name, url = str(record.get("file_name") or ""), str(record.get("url") or "")
    head = text[:_HEAD]
    fields: dict[str, str] = {}
    for name, value in _FIELD.findall(head):
        fields.setdefault(name.lower().removesuffix("s"), one_line(value).strip("*_ "))
    year = _YEAR.search(" ".join(fields.get(name, "") for name in ("year", "date", "published")))
    journal = fields.get("journal", "")
    part = {name: fields.get(name, "") if journal else "" for name in ("volume", "number", "page")}
    url = url or (fields["url"] if fields.get("url", "").startswith("http") else "")
    doi = _DOI.search(fields.get("doi", "")) or _DOI.search(url)
    return Reference(
        str(record["id"]),
        one_line(str(record.get("title") or file_name or url or record["id"])),
        tuple(split_authors(fields.get("author", ""))),
        year[0] if year else "",
        journal,
        doi[0] if doi else "",
        url,
        file_name,
        volume=part["volume"],
        number=part["number"],
        pages=re.sub(r"-+", "–", part["page"]),
        publisher=fields.get("publisher", ""),
    )


def note_reference(record: Record) -> Reference:
    """Return the reference to a note."""
    return Reference(
        str(record["id"]), one_line(str(record.get("title") or record["id"])), is_note=True
    )


def split_authors(text: str) -> list[str]:
    """Split a list of authors as BibTeX, title pages and reference lists write it."""
    text = re.sub(r"[,;]?\s+et al\b.*", "", text)
    parts = [part.strip() for part in re.split(r"[,;&]|\band\b", text) if part.strip(" .")]
    families, given = parts[::2], parts[1::2]
    first = parts[0] if parts else ""
    if _ORGANIZATION.search(text if " " not in first else first) and not re.search("[,;]", text):
        names = [text]  # Food and Drug Administration
    elif ";" in text:
        names = re.split(r";\s*(?:(?:and\b|&)\s*)?", text)
    elif len(families) == len(given) and all(map(_is_initials, given)):
        names = [", ".join(pair) for pair in zip(families, given, strict=True)]
    elif re.search(r"\band\b|&", text):
        names = re.split(r",?\s+(?:and|&)\s+", text)
        if len(names) == 2 and "," not in names[1]:
            names = [*names[0].split(","), names[1]]
    elif len(parts) == 2 and not any(map(_is_initials, families[0].split())):
        names = [text]  # Family, Given
    else:
        names = parts
    return [name for name in map(_strip_punctuation, names) if name]


def _strip_punctuation(name: str) -> str:
    """Return a name without surrounding punctuation, but with the full stop of an initial."""
    stripped = name.strip(" ,.")
    return f"{stripped}." if re.search(r"\b[^\W\d_]\.[ ,.]*$", name) else stripped


def _is_initials(text: str) -> bool:
    return text.isupper() and len(re.findall(r"[^\W\d_]", text)) <= 3


def format_reference(reference: Reference) -> tuple[str, str, str]:
    """Return the text before the title, the title, and the text after it."""
    year = f" ({reference.year})" if reference.year else ""
    authors = f"{_join_authors(reference.authors)}{year}" if reference.authors else ""
    before = authors and f"{authors.removesuffix('.')}."
    after = [] if reference.authors or not reference.year else [reference.year]
    link = (
        f"https://doi.org/{quote(reference.doi, safe='/:;()')}" if reference.doi else reference.url
    )
    is_in_title = f"/{reference.title}".endswith(f"/{reference.file_name}")
    file_name = "" if is_in_title else reference.file_name
    issue = f"({reference.number})" if reference.number else ""
    volume = f" {reference.volume}{issue}" if reference.volume else ""
    pages = f", {reference.pages}" if reference.pages else ""
    published = f"{reference.journal}{volume}{pages}" if reference.journal else reference.publisher
    after += [published, "note" if reference.is_note else "", file_name, link]
    return before, reference.title, ". ".join(filter(None, after))


def _join_authors(authors: Sequence[str]) -> str:
    *first, last = authors
    if first and last == "others":  # of BibTeX
        return f"{'; '.join(first)} et al."
    return f"{'; '.join(first)} & {last}" if first else last


def to_bibtex(references: Iterable[Reference]) -> str:
    """Return references as BibTeX entries with unique keys, UTF-8; notes are left out."""
    entries, keys = [], set[str]()
    for reference in references:
        if reference.is_note:
            continue
        key = base = _citation_key(reference)
        number = 1
        while key in keys:
            number += 1
            key = f"{base}_{number}"
        keys.add(key)
        entries.append(_bibtex_entry(key, reference))
    return "\n".join(entries) or "% No source is cited.\n"


def _bibtex_entry(key: str, reference: Reference) -> str:
    fields = {
        "author": " and ".join(map(_bibtex_name, reference.authors)),
        # Inner braces keep the capitals of names and acronyms.
        "title": f"{{{_bibtex_text(reference.title)}}}",
        "journal": _bibtex_text(reference.journal),
        "volume": _bibtex_text(reference.volume),
        "number": _bibtex_text(reference.number),
        "pages": _bibtex_text(reference.pages).replace("–", "--"),
        "publisher": _bibtex_text(reference.publisher),
        "year": reference.year,
        "doi": reference.doi,
        "url": quote(one_line(reference.url), safe=":/?#[]@!$&'()*+,;=%-._~"),
        "howpublished": "" if reference.journal else _bibtex_text(reference.file_name),
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@{'article' if reference.journal else 'misc'}{{{key},", *lines, "}"]) + "\n"


def _bibtex_name(name: str) -> str:
    """Return an author; braces keep BibTeX from dividing the name of an organization."""
    text = _bibtex_text(_family_first(name))
    return f"{{{text}}}" if "," not in name and _ORGANIZATION.search(name) else text


def _family_first(name: str) -> str:
    """Return `Smith JA` as `Smith, J. A.`, since BibTeX takes the last word as family name."""
    match = re.fullmatch(r"(?!The )(\S*[a-z].*) ([A-Z]{1,3})", name)
    return name if match is None or "," in name else f"{match[1]}, {'. '.join(match[2])}."


def _bibtex_text(text: str) -> str:
    return "".join(_BIBTEX_ESCAPES.get(character, character) for character in one_line(text))


def _citation_key(reference: Reference) -> str:
    """Return a key such as `guzman1995tight`, of ASCII letters, digits and hyphens."""
    words = re.findall(r"[a-z0-9]+", _ascii(reference.title))
    long = [word for word in words if len(word) > 3] or words
    if not reference.authors:
        return "-".join(long[:4])[:40] or "source"
    author = _family_first(reference.authors[0])
    family = author.split(",")[0] if "," in author else author.split()[-1]
    family = "".join(re.findall(r"[a-z0-9]+", _ascii(family)))
    return f"{family}{reference.year}{''.join(long[:1])}" or "source"


def _ascii(text: str) -> str:
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()


def is_quoted(quote: str, text: str) -> bool:
    """Return whether a text contains a quote, apart from spaces, punctuation and bold."""
    return bool(letters(quote)) and letters(quote) in letters(text)


def letters(text: str) -> str:
    """Return only the letters and digits of a text, without their case."""
    return "".join(filter(str.isalnum, text)).casefold()


def one_line(text: str) -> str:
    """Return a text with single spaces, without line breaks."""
    return " ".join(text.split())
