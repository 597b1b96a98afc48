"""Libraries of references: BibTeX, RIS and CSL JSON."""

from __future__ import annotations

import html
import itertools
import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labext import messages
from labext.errors import InputError, SetupError
from labext.extras import install_line

_FIELDS = {
    "authors": "Authors",
    "year": "Year",
    "journal": "Journal",
    "volume": "Volume",
    "number": "Number",
    "pages": "Pages",
    "publisher": "Publisher",
    "doi": "DOI",
    "url": "URL",
    "keywords": "Keywords",
}
"""Fields of an entry, and the names under which `references` finds them in a text."""

_NEW_FIELDS = ("Volume: ", "Number: ", "Pages: ", "Publisher: ")
"""Fields that sources of earlier versions lack."""


@dataclass(frozen=True)
class LibraryEntry:
    """An entry of a library.

    Attributes:
        title: its title; unique in the library.
        text: its fields as lines `Name: value`, and its abstract.
    """

    title: str
    text: str

    def matches(self, text: str) -> bool:
        """Return whether a source's text is that of this entry, perhaps with other fields.

        It has the DOI with the title or the first author, or the title and no other DOI, year or
        first author.
        """
        own, other = _fields_of(self.text), _fields_of(text)
        both = own.keys() & other.keys() & _IDENTITY
        if not other.keys() <= {"Title", *_FIELDS.values()} or "Title" not in both:
            return False
        same = {name for name in both if own[name] == other[name]}
        return same == both or ("DOI" in same and bool(same & {"Title", "Authors"}))

    def has_changed(self, text: str) -> bool:
        """Return whether the text of a source of this entry has other fields."""
        # Earlier versions wrote fewer fields.
        lines, own = text.strip().splitlines(), self.text.splitlines()
        return lines != [line for line in own if line in lines or not line.startswith(_NEW_FIELDS)]


def doi_of(text: str) -> str:
    """Return the DOI in the text of an entry, without its resolver; empty if there is none."""
    return _fields_of(text).get("DOI", "")


_IDENTITY = frozenset({"Title", "Year", "Authors", "DOI"})


def _fields_of(text: str) -> dict[str, str]:
    """Return the fields of an entry's text, of the authors only the first one's family name."""
    lines = text.strip().partition("\n\n")[0].splitlines()
    fields = {name: value for name, _, value in (line.partition(": ") for line in lines)}
    if "Authors" in fields:
        fields["Authors"] = re.split("[,;]", fields["Authors"])[0].rpartition(" ")[2]
    if "DOI" in fields:
        fields["DOI"] = _DOI_PREFIX.sub("", fields["DOI"].casefold())
    return fields


_DOI_PREFIX = re.compile(r"^(?:https?://(?:dx\.)?doi\.org/|doi:\s*)")


@dataclass(frozen=True)
class Library:
    """The content of a library.

    Attributes:
        path: its file.
        entries: the entries with a title.
        files: the attached PDF files that are in the library's folder.
        missing_files: the names of the other attached PDF files.
        broken: descriptions of the entries that cannot be read.
    """

    path: Path
    entries: tuple[LibraryEntry, ...]
    files: tuple[Path, ...] = ()
    missing_files: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()

    def error(self) -> InputError | None:
        """Return the error that names the broken entries, if there are any."""
        if not self.broken:
            return None
        return InputError(
            f"{messages.pluralize(len(self.broken), 'reference')} of {self.path.name} can't "
            f"be read: {messages.join_words(self.broken)}.",
            f"Correct {'it' if len(self.broken) == 1 else 'them'} and add the library again; its "
            "other references are kept.",
        )


def is_library(path: Path) -> bool:
    """Return whether a file is a library of references, judging by its suffix and content."""
    suffix = path.suffix.lower()
    if suffix == ".json":
        return _read_csl(path) is not None
    return suffix in _PARSERS


def read_library(path: Path) -> Library:
    """Read a library of references.

    Raises:
        InputError: it cannot be read, or has no entries.
        SetupError: the extra `references` is not installed.
    """
    broken: list[str] = []
    try:
        fields = [*_PARSERS[path.suffix.lower()](path, broken)]
    except ImportError as error:
        raise SetupError(
            f"Reading {path.name} needs {error.name}, which is not installed.",
            f"Install it: {install_line('references')}",
        ) from None
    except (OSError, UnicodeError) as error:
        raise InputError(f"{path.name} can't be read: {error}.", "Save it as UTF-8.") from None
    if not fields and not broken:
        raise InputError(f"{path.name} has no entries.", "Check that it is the right file.")
    entries: dict[str, LibraryEntry] = {}
    for entry in fields:
        title = " ".join(_plain_text(entry.get("title")).split())
        key = str(entry.get("key") or f"number {len(entries) + len(broken) + 1}")
        if not title:
            broken.append(f"{key} (no title)")
            continue
        unique = title if title not in entries else f"{title} ({key})"
        entries[unique] = LibraryEntry(unique, _entry_text(title, entry))
    files, missing = _attached_files(path.parent, fields)
    return Library(path, (*entries.values(),), files, missing, (*broken,))


def _entry_text(title: str, fields: Mapping[str, Any]) -> str:
    lines = [f"Title: {title}"]
    for name, label in _FIELDS.items():
        value = fields.get(name)
        text = "; ".join(map(str, value)) if isinstance(value, list) else str(value or "")
        if text := " ".join(text.split()):
            lines.append(f"{label}: {text}")
    abstract = _plain_text(fields.get("abstract")).strip()
    return "\n".join(lines) + (f"\n\n{abstract}" if abstract else "")


def _plain_text(text: Any) -> str:
    """Return a title or abstract without its HTML or JATS: H2O, and 10^6 for an exponent."""
    return html.unescape(_TAG.sub("", _EXPONENT.sub("^", str(text or ""))))


def _attached_files(
    folder: Path, entries: Sequence[Mapping[str, Any]]
) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """Return the attached PDF files in the library's folder, and the names of the others.

    A library from elsewhere must not have other files of this machine uploaded.
    """
    attached: list[Path] = []
    missing: list[str] = []
    root = folder.resolve()
    for name in (name for entry in entries for name in entry.get("files") or ()):
        parts = (_ESCAPED.sub(r"\1", part) for part in (name, *re.split(r"(?<!\\):", name)))
        paths = [folder / part for part in parts if part.lower().endswith(".pdf")]
        inside = [p for p in paths if p.is_file() and p.resolve().is_relative_to(root)]
        if inside:
            attached.append(inside[0])
        elif paths:
            missing.append(paths[-1].name)
    return tuple(dict.fromkeys(attached)), tuple(dict.fromkeys(missing))


_TAG = re.compile(r"</?(?:i|b|em|strong|sc|sub|sup|span|p|jats:[a-z-]+)(?:\s[^<>]*)?/?>")
_EXPONENT = re.compile(r"(?<=\d)<(?:jats:)?sup>(?=[-\u2212+]?\d+<)")
_SUBSCRIPT = re.compile(r"(?<=[A-Za-z)}])\$\s*_\s*\{?(\d+)\}?\s*\$")
"""A subscript as in `H$_2$O`."""

_AND = re.compile(r"\s+and\s+")
_DEGREE = re.compile(r"\^\s*(?:\\circ\b|\{\s*\\circ\s*\})")
_NOT_ESCAPED = re.compile(r"(?<!\\)[%&]")
"""Characters that many programs do not escape; `%` would begin a comment, and `&` be left out."""

_ESCAPED = re.compile(r"\\([\\;:{}%&_#$~])")
"""Characters that programs escape in names of files."""


def _parse_bibtex(path: Path, broken: list[str]) -> Iterator[dict[str, Any]]:
    from bibtexparser import middlewares
    from bibtexparser.entrypoint import parse_string
    from bibtexparser.model import DuplicateBlockKeyBlock

    logging.getLogger("bibtexparser").setLevel(logging.ERROR)  # broken entries are reported here
    text = _DEGREE.sub("°", path.read_text(encoding="utf-8-sig"))
    text = _NOT_ESCAPED.sub(r"\\\g<0>", _SUBSCRIPT.sub(r"\1", text))
    library = parse_string(text, parse_stack=[])
    strings: dict[str, str] = {}
    for string in library.strings:
        strings[string.key.lower()] = _resolve_value(string.value, strings)
    for field in itertools.chain.from_iterable(entry.fields for entry in library.entries):
        field.key = field.key.lower()  # the names of authors are only split in `author`
        field.value = _resolve_value(field.value, strings)
        if field.key == "file":  # names are not LaTeX, and a list is not decoded
            field.value = re.split(r"(?<!\\);", str(field.value))
        elif field.key in ("author", "editor"):  # `{Food and Drug Administration}` is one author
            field.value = re.sub(
                r"\{[^{}]*\}", lambda group: _AND.sub("\xa0and\xa0", group[0]), field.value
            )
        elif field.key == "url":
            field.value = re.sub(r"\\?~(?:\{\})?", r"\\textasciitilde{}", str(field.value))
    library = middlewares.LatexDecodingMiddleware(keep_math_mode=False).transform(library)
    library = middlewares.SeparateCoAuthors().transform(library)
    for block in library.failed_blocks:
        key = re.match(r"@\w+\s*[{(]\s*([^,\s]+)", block.raw or "")
        reason = ", a key that occurs twice" if isinstance(block, DuplicateBlockKeyBlock) else ""
        line = (block.start_line or 0) + 1
        broken.append(f"{key[1] if key else 'an entry'} (line {line}{reason})")
    entries = [_bibtex_fields(entry) for entry in library.entries]
    parents = {entry["key"].lower(): entry for entry in entries if entry["key"]}
    for entry in entries:
        parent = parents.get(str(entry.get("crossref", "")).lower(), {})
        inherited = {**parent, "journal": parent.get("journal") or parent.get("title")}
        yield entry | {name: entry[name] or inherited.get(name) for name in _INHERITED}


_INHERITED = ("authors", "year", "journal", "volume", "number", "publisher")
"""Fields that an entry of BibTeX has from the one that its `crossref` names."""


def _resolve_value(value: str, strings: Mapping[str, str]) -> str:
    """Return a BibTeX value without delimiters, with strings in place of their names."""
    parts, depth, is_quoted = [""], 0, False
    for symbol in _BIBTEX_SYMBOL.findall(value):
        depth += (symbol == "{") - (symbol == "}")
        is_quoted ^= symbol == '"' and not depth
        if symbol == "#" and not depth and not is_quoted:
            parts.append("")
        else:
            parts[-1] += symbol
    values = (part.strip() for part in parts)
    return "".join(
        value[1:-1] if value.startswith(('"', "{")) else strings.get(value.lower(), value)
        for value in values
    )


_BIBTEX_SYMBOL = re.compile(r'(?s)[{}"#]|(?:\\.|[^{}"#])+')


def _bibtex_fields(entry: Any) -> dict[str, Any]:
    fields = {name: field.value for name, field in entry.fields_dict.items()}
    return {
        **fields,
        "key": entry.key,
        "authors": fields.get("author") or fields.get("editor"),
        "year": fields.get("year") or str(fields.get("date", ""))[:4],
        "journal": fields.get("journal") or fields.get("journaltitle") or fields.get("booktitle"),
        "volume": fields.get("volume"),
        "number": fields.get("number") or fields.get("issue"),
        "publisher": fields.get("publisher") or fields.get("school") or fields.get("institution"),
        "files": fields.get("file"),
    }


def _parse_ris(path: Path, broken: list[str]) -> Iterator[dict[str, Any]]:
    import rispy  # type: ignore[import-untyped,unused-ignore]

    text = path.read_text(encoding="utf-8-sig")
    try:
        entries = rispy.loads(text)
    except (OSError, ValueError) as error:
        broken.append(f"the file ({error})")
        return
    for entry in entries:
        yield {
            **entry,
            "key": entry.get("id"),
            "title": entry.get("title") or entry.get("primary_title"),
            "authors": entry.get("authors")
            or entry.get("first_authors")
            or entry.get("secondary_authors"),
            "year": str(entry.get("year") or entry.get("publication_year") or "")[:4],
            "journal": entry.get("journal_name")
            or entry.get("secondary_title")
            or entry.get("alternate_title3")
            or entry.get("alternate_title2")
            or next(iter(entry.get("unknown_tag", {}).get("BT", ())), None),
            "abstract": entry.get("abstract") or entry.get("notes_abstract"),
            "pages": "-".join(filter(None, (entry.get("start_page"), entry.get("end_page")))),
            "url": next(iter(entry.get("urls") or ()), None),
            "files": [
                str(value) for name, value in entry.items() if name.startswith("file_attachments")
            ],
        }


def _parse_csl(path: Path, broken: list[str]) -> Iterator[dict[str, Any]]:
    for entry in _read_csl(path) or ():
        try:
            fields = _csl_fields(entry)
        except (AttributeError, LookupError, TypeError):  # an object of another kind
            broken.append(str(entry["id"]))
        else:
            yield fields


def _csl_fields(entry: Mapping[str, Any]) -> dict[str, Any]:
    issued = entry.get("issued") or {}
    date = issued.get("date-parts") or [[str(issued.get("raw", ""))[:4]]]
    return {
        "key": entry.get("id"),
        "title": entry.get("title"),
        "authors": [_csl_name(name) for name in entry.get("author") or entry.get("editor") or ()],
        "year": date[0][0] if date[0] else "",
        "journal": entry.get("container-title"),
        "volume": entry.get("volume"),
        "number": entry.get("issue"),
        "pages": entry.get("page"),
        "publisher": entry.get("publisher"),
        "doi": entry.get("DOI"),
        "url": entry.get("URL"),
        "keywords": entry.get("keyword"),
        "abstract": entry.get("abstract"),
    }


def _csl_name(name: Mapping[str, Any]) -> str:
    particles = (name.get("dropping-particle"), name.get("non-dropping-particle"))
    family = " ".join(filter(None, (*particles, name.get("family"))))
    given = ", ".join(filter(None, (name.get("given"), name.get("suffix"))))
    return ", ".join(filter(None, (family, given))) or str(name.get("literal") or "")


def _read_csl(path: Path) -> list[dict[str, Any]] | None:
    """Return the entries of a CSL JSON file; None if the file is other JSON."""
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return None
    is_csl = isinstance(content, list) and all(
        isinstance(entry, dict) and {"id", "type"} <= entry.keys() for entry in content
    )
    return content if is_csl and content else None


_PARSERS: dict[str, Callable[[Path, list[str]], Iterator[dict[str, Any]]]] = {
    ".bib": _parse_bibtex,
    ".ris": _parse_ris,
    ".json": _parse_csl,
}
