"""Detect the type of a file and extract clean text from it."""

from __future__ import annotations

import codecs
import re
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any

from labext import zip_archives
from labext.sandbox.nb.errors import UnreadableError
from labext.sandbox.nb.speech.transcription import Transcript

SAMPLE_BYTES = 256 * 1024
"""Bytes used to guess an encoding."""

MAX_TITLE_LENGTH = 200
MAX_HEADING_LEVEL = 6

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_TEXT_CODECS = (
    *("ascii", "utf", "iso", "cp", "koi", "mac"),
    *("big5", "gb", "hz", "euc", "shift", "johab"),
)
_SINGLE_BYTE_CODECS = ("iso8859", "cp125", "koi8", "mac")
_SUPERSETS = {
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}
"""The codecs that browsers use for these declarations (WHATWG Encoding Standard)."""

_CONTROL_CHARACTERS = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]"
)
_INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff]")
"""Soft hyphens and other invisible characters that would break a search for a word."""

_LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
)


def decode_text(content: bytes, charset: str | None = None) -> str:
    """Decode a text by its byte order mark, the given charset, UTF-8, or a guess."""
    text = _decode(content, charset)
    invalid = len(_CONTROL_CHARACTERS.findall(text)) + text.count("\ufffd")
    if invalid > 2 + len(text) // 50:
        raise UnreadableError(f"Its type is not supported; save it as another: {READABLE_TYPES}.")
    return text


def _decode(content: bytes, charset: str | None) -> str:
    for mark, name in _BYTE_ORDER_MARKS:
        if content.startswith(mark):
            return content.decode(name, errors="replace")
    declared = _known_charset(charset)
    names = [declared, _guess_utf16(content), "utf-8"]
    if declared is not None and declared.startswith(_SINGLE_BYTE_CODECS):
        names.insert(0, "utf-8")  # many servers declare a default, which no UTF-8 text fits
    for name in filter(None, names):
        with suppress(UnicodeError):
            return content.decode(name)
    return _decode_by_guess(content)


def _known_charset(charset: str | None) -> str | None:
    """Return the codec of a text charset; None for others, such as Python's own escapes."""
    try:
        name = codecs.lookup(charset or "").name
    except (LookupError, ValueError):
        return None
    return _SUPERSETS.get(name, name) if name.startswith(_TEXT_CODECS) else None


def _guess_utf16(content: bytes) -> str | None:
    """Detect UTF-16 without a byte order mark: every other byte of English text is zero."""
    sample = content[:SAMPLE_BYTES]
    for start, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        half = sample[start::2]
        if half and half.count(0) > 0.6 * len(half) and sample[1 - start :: 2].count(0) == 0:
            return name
    return None


_WESTERN_ALPHABETS = (
    *("äöüß", "àâæçèéêëîïôùûüÿœ", "áéíñóúüªº", "àáâãçéêíóôõúü", "áåäæéóöø", "àèéìíòóù"),
)
"""The letters beyond ASCII of German, French, Spanish, Portuguese, Nordic languages and Italian."""

_WESTERN_SYMBOLS = "\xa0°µ±×÷·²³¹¼½¾€£§©®™«»‹›¿¡–—‘’‚“”„…•†‰"
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_NOT_WESTERN = re.compile(r"[^\x00-\x7f]{3}|[^\W\d_][°²³¹¿¡“”„][^\W\d_]")
"""Signs of another encoding: accented letters in a row, and symbols in words."""

_MAX_FOREIGN_LETTERS = 0.02
"""Share of letters beyond ASCII that may be of several languages, such as those of names."""


def _is_western(text: str) -> bool:
    """Return whether a text decoded as a Western encoding is likely to have that encoding."""
    sample = text[:SAMPLE_BYTES]
    special = _NOT_ASCII.findall(sample)
    letters = [char.lower() for char in special if char.isalpha() and char not in _WESTERN_SYMBOLS]
    known = {*_WESTERN_SYMBOLS, *"".join(_WESTERN_ALPHABETS)}
    return (
        known.issuperset(char.lower() for char in special)
        and not _NOT_WESTERN.search(sample)
        and sample.count("¡") <= sample.count("!")
        and sample.count("¿") <= sample.count("?")
        and (
            any(set(alphabet).issuperset(letters) for alphabet in _WESTERN_ALPHABETS)
            or len(letters) <= _MAX_FOREIGN_LETTERS * sum(map(str.isalpha, sample))
        )
    )


_CHINESE_ENCODINGS = (
    ("gb2312", rb"[\xa1-\xa3\xb0-\xd7][\xa1-\xfe]", rb"[\xc9-\xd7]."),
    ("big5", rb"[\xa1\xa4-\xc6][\x40-\x7e\xa1-\xfe]", rb".[\x40-\x7e]"),
)
"""Encodings of Chinese, with patterns of their common characters, and of those among them that are
not common in Korean or Japanese."""


def _decode_by_guess(content: bytes) -> str:
    # charset-normalizer takes a few symbols, such as ° and µ, for those of a rare encoding.
    for name in ("cp1252", "mac_roman"):
        try:
            text = content.decode(name)
        except UnicodeError:
            continue
        if _is_western(text):
            return text
    # It takes short texts in Chinese for texts with rare characters of Korean.
    for name, common, distinctive in _CHINESE_ENCODINGS:
        characters = re.findall(rb"[\x80-\xff].?", content)
        if all(re.fullmatch(common, character) for character in characters) and any(
            re.fullmatch(distinctive, character) for character in characters
        ):
            return content.decode(name, errors="replace")
    from charset_normalizer import from_bytes

    best = from_bytes(content[:SAMPLE_BYTES]).best()
    if best is not None:
        with suppress(UnicodeError, LookupError):
            return content.decode(best.encoding)
    return content.decode("cp1252", errors="replace")


def clean_text(text: str) -> str:
    """Normalize a text, and remove outer whitespace."""
    return clean_characters(text).strip()


def clean_characters(text: str) -> str:
    """Normalize line ends, ligatures and accents, and remove invisible characters."""
    text = re.sub("\r\n|[\r\v\f]", "\n", text)
    visible = _INVISIBLE.sub("", _CONTROL_CHARACTERS.sub("", text)).translate(_LIGATURES)
    return unicodedata.normalize("NFC", visible)


def clean_title(text: str | None) -> str | None:
    """Return a title as one line of limited length; None if it has no letter or digit."""
    line = " ".join(clean_text(text or "").split())
    if not any(letter.isalnum() for letter in line):
        return None
    return line if len(line) <= MAX_TITLE_LENGTH else f"{line[: MAX_TITLE_LENGTH - 1].rstrip()}…"


_ROMAN_LIST = "i ii iii iv v vi vii viii ix x xi xii xiii xiv xv xvi xvii xviii xix xx"
_ROMAN_NUMBERS = _ROMAN_LIST.split()


def format_list_number(number: int, kind: str) -> str:
    """Return the number of a list item: of the kind `a`, `A`, `i` or `I`, or else decimal."""
    if kind in ("a", "A") and 0 < number <= 26:
        return chr(ord(kind) + number - 1)
    if kind in ("i", "I") and 0 < number <= len(_ROMAN_NUMBERS):
        roman = _ROMAN_NUMBERS[number - 1]
        return roman.upper() if kind == "I" else roman
    return str(number)


_SUPERSCRIPTS = (
    "//*[local-name()='sup' or local-name()='superscript' or contains(@rend, 'sup')] | "
    "//*[local-name()='t'][../*[local-name()='rPr'][@baseline > 0 or "
    "*[local-name()='vertAlign']/@* = 'superscript' or *[local-name()='position']/@* > 0]]"
)
"""XPath of superscripts in HTML and XML, and of those in the runs of PowerPoint and Word."""

_EXPONENT = re.compile(r"\s*[-\u2212\u2013+]?\d+\s*")

SUPERSCRIPT = "\ue002"
"""Stands before a superscript until `resolve_superscripts` decides whether it is an exponent."""

_UNITS = "bar|chi|cos|eta|exp|log|min|mol|rad|sec|sin|tan"
_RESIDUES = "Ala|Arg|Asn|Asp|Cys|Gln|Glu|Gly|His|Ile|Leu|Lys|Met|Phe|Pro|Ser|Thr|Trp|Tyr|Val"

NOTED = (
    rf"(?:(?<=[^\W\d_]{{3}})(?<!\b(?:{_UNITS}))(?<!{_RESIDUES})|(?<=[.,;:\u2019\u201d])"
    r"|(?<=(?<![\d.,])19\d\d)|(?<=(?<![\d.,])20[0-2]\d))"
)
"""The end of a word, except units, functions and residues (`Ser473`), of a year, or punctuation:
raised numbers after it are marks of notes."""

NOTE_NUMBERS = r"\d{1,3}+(?:[,\u2013-]\d{1,3}+)*+"
_NOTED_END = re.compile(rf"{NOTED}$")
_MARKED_NOTE = re.compile(rf"{NOTED}{SUPERSCRIPT}({NOTE_NUMBERS})(?![^\W_]|[+\u2212-])")
_MARKED_EXPONENT = re.compile(rf"(?<=\d){SUPERSCRIPT}(?=[-\u2212\u2013+]?\d++(?![,\u2013-]\d))")


def resolve_superscripts(text: str) -> str:
    """Replace `SUPERSCRIPT` by `^` before exponents and brackets around marks of notes."""
    text = _MARKED_EXPONENT.sub("^", _MARKED_NOTE.sub(r"[\1]", text))
    return text.replace(SUPERSCRIPT, "")


_LINKED_SUPERSCRIPTS = (
    "//*[local-name()='sup' or local-name()='superscript']"
    "[.//*[local-name()='a' or local-name()='xref'] or parent::a[@href] or "
    "parent::*[local-name()='xref']] | "
    "//a[@role='doc-noteref' or @*[name()='epub:type']='noteref'][not(.//sup)] | "
    "//*[local-name()='xref'][contains(@ref-type, 'fn')][not(parent::*[local-name()='sup'] or "
    ".//*[local-name()='sup'])]"
)
_NOTE_NUMBERS = re.compile(r"\s*(?:\d{1,3}|[a-z]|[*†‡§]+)(?:\s*[-,;–]\s*(?:\d{1,3}|[a-z]))*\s*")


def mark_exponents(tree: Any) -> None:
    """Put `^` before the exponents of numbers in HTML, XML or Office Open XML: 10^6, not 106.

    Marks of notes and references are put in brackets: `mg[3]`, not `mg3`.
    """
    for element in tree.xpath(_LINKED_SUPERSCRIPTS):
        if _NOTE_NUMBERS.fullmatch("".join(element.itertext())):
            element.text = f"[{element.text or ''}"
            if len(element):
                element[-1].tail = f"{element[-1].tail or ''}]"
            else:
                element.text += "]"
    mark_superscripts(tree.xpath(_SUPERSCRIPTS))


def mark_superscripts(elements: Iterable[Any]) -> None:
    """Put `^` before the superscripts that are exponents, and marks of notes in brackets."""
    for element in elements:
        before = _adjacent_text(element, "preceding")
        if (
            _NOTED_END.search(before[-9:])
            and re.fullmatch(NOTE_NUMBERS, element.text or "")
            and not _adjacent_text(element, "following")[:1].isalnum()  # as in ,15N
        ):
            element.text = f"[{element.text}]"
        elif before[-1:].isdigit() and _EXPONENT.fullmatch(element.text or ""):
            element.text = f"^{element.text.strip()}"


def _adjacent_text(element: Any, axis: str) -> str:
    """Return the text node before or after an element in its paragraph, heading or cell."""
    (node,) = element.xpath(f"{axis}::text()[1]") or [None]
    paragraph = next(element.iterancestors(*_PARAGRAPHS), None)
    if node is None or paragraph not in (None, node.getparent(), *node.getparent().iterancestors()):
        return ""
    return str(node)


_PARAGRAPH_LIST = "p h td th li dd dt title aff h1 h2 h3 h4 h5 h6"
_PARAGRAPHS = [f"{{*}}{name}" for name in _PARAGRAPH_LIST.split()]

MAX_COLUMNS = 100
"""Maximum columns of a table in which cells may span several rows or columns."""


def fill_spans(tree: Any) -> None:
    """Put empty cells where a cell of an HTML or XML table spans other columns and rows."""
    for table in tree.iter("{*}table"):
        rows_below: dict[int, int] = {}
        for row in table.iter("{*}tr"):
            if next(row.iterancestors("{*}table")) is table:
                _fill_row(row, rows_below)


def _fill_row(row: Any, rows_below: dict[int, int]) -> None:
    """Put empty cells into a row; `rows_below` counts the rows that cells above it span still."""
    cells: list[Any] = []
    empty = row.tag.removesuffix("tr") + "td"

    def add(cell: Any, further_rows: int) -> None:
        rows_below[len(cells)] = further_rows if len(cells) < MAX_COLUMNS else 0
        cells.append(cell)

    def fill() -> None:
        while rest := rows_below.get(len(cells)):
            add(row.makeelement(empty), rest - 1)

    for cell in [*row]:
        fill()
        columns, rows = (_span(cell, kind) for kind in ("colspan", "rowspan"))
        add(cell, rows - 1)
        for _ in range(min(columns, MAX_COLUMNS) - 1):
            add(row.makeelement(empty), rows - 1)
    fill()
    row[:] = cells


def _span(cell: Any, kind: str) -> int:
    text = cell.attrib.pop(kind, "1")
    return max(1, int(text)) if text.isdecimal() else 1


def format_table(rows: Iterable[Iterable[str]]) -> str:
    """Return the rows that have text as lines, the cells separated by `|`.

    After the first row, one with only its first cell ends with `|`, unlike a title.
    """
    cells = [[" ".join(cell.split()) for cell in row] for row in rows]
    lines = [" | ".join(row).rstrip(" |") for row in cells if any(row)]
    is_row = [" | " in f" {line}" for line in lines]
    named = [line if row else f"{line} |" for line, row in zip(lines, is_row, strict=True)]
    return "\n".join(lines[:1] + (named if any(is_row) else lines)[1:])


_NUMBER = re.compile(r"\s*[-\u2212+<>≤≥~≈]?\s?\d(?!\d\d/\d{3})")
"""The beginning of a value, unlike the name of a ratio such as `260/280`."""


def sheet_lines(rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yield the rows of a sheet as lines, and a blank line before a table that follows another.

    An empty row separates tables if the next one is a header: it has several texts and no value,
    unlike the rows before it, or other columns than they have.
    """
    columns: list[int] = []
    has_values = is_after_empty = False
    for row in rows:
        cells = [*row]
        line = format_table([cells])
        if line:
            filled = [place for place, cell in enumerate(cells) if cell.strip()]
            is_values = any(_NUMBER.match(cells[place]) for place in filled)
            is_other = has_values or filled != columns
            if is_after_empty and len(filled) > 1 and not is_values and is_other:
                yield ""
                columns, has_values = [], False
            columns = columns if len(columns) > 1 else filled
            is_named = has_values and filled == [0] != columns and not is_after_empty
            has_values = has_values or is_values
            yield f"{line} |" if is_named else line
        is_after_empty = not line


HEAD_BYTES = 4096
_PDF_HEADER = re.compile(rb"%PDF-\d")

MAX_ARCHIVE_ENTRIES = 10_000
"""Maximum number of entries in a packed document."""

READABLE_TYPES = (
    "PDF, DOCX, PPTX, XLSX, ODT, EPUB, RTF, HTML, Markdown, LaTeX, XML, CSV, ipynb, EML, "
    "GenBank, FASTA, plain text, pictures, sound or video"
)

_AUDIO, _HTML, _TEXT = "readers.read_audio", "readers.read_html", "readers.read_plain_text"
_LATEX, _PICTURE = "latex_reader.read_latex", "text_recognition.read_picture"
_NOTEBOOK, _SEQUENCES = "markup_readers.read_notebook", "markup_readers.read_sequences"
_TABLE, _XML = "markup_readers.read_table", "markup_readers.read_xml"
_MAIL = "markup_readers.read_mail"
"""The modules and functions that read types of files."""

_READER_BY_SUFFIX = {
    **dict.fromkeys((".html", ".htm", ".xhtml"), _HTML),
    **dict.fromkeys((".md", ".markdown", ".mkd", ".mdown"), _TEXT),
    **dict.fromkeys((".csv", ".tsv"), _TABLE),
    **dict.fromkeys((".tex", ".ltx", ".latex"), _LATEX),
    **dict.fromkeys((".xml", ".nxml"), _XML),
    **dict.fromkeys((".gb", ".gbk", ".genbank", ".gbff"), _SEQUENCES),
    **dict.fromkeys((".fasta", ".fa", ".fna", ".ffn", ".faa"), _SEQUENCES),
    **dict.fromkeys((".eml", ".mht", ".mhtml"), _MAIL),
    ".ipynb": _NOTEBOOK,
}
_READER_BY_MEDIA_TYPE = {
    **dict.fromkeys(("text/html", "application/xhtml+xml"), _HTML),
    **dict.fromkeys(("text/markdown", "text/x-markdown"), _TEXT),
    **dict.fromkeys(("text/csv", "text/tab-separated-values"), _TABLE),
    **dict.fromkeys(("application/x-tex", "text/x-tex"), _LATEX),
    **dict.fromkeys(("application/xml", "text/xml"), _XML),
    "application/x-ipynb+json": _NOTEBOOK,
}
_OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_UNSUPPORTED_MAGIC = {
    (_OLD_OFFICE,): "an encrypted document or one of an old version of Office",
    (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"7z\xbc\xaf", b"Rar!"): "a packed file",
    (b"\x7fELF", b"MZ\x90\0"): "a program",
}
_PICTURE_MAGIC = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"II*\0", b"MM\0*")

_AUDIO_MAGIC = (
    *(b"\x1aE\xdf\xa3", b"FLV\x01", b"\0\0\x01\xba"),  # video
    *(b"ID3", b"fLaC", b"OggS", b".snd", b"caff"),
)
_RIFF_TYPES = (b"AVI ", b"WAVE", b"AIFF", b"AIFC")


def _find_reader(file: SourceFile) -> str:
    """Return the module and function that read a file.

    The media type of a web server is used only if the content is inconclusive.
    """
    with file.path.open("rb") as stream:
        head = stream.read(HEAD_BYTES)
    if not head.strip(b"\0"):
        raise NoTextError("The file is empty: check it and add it again.")
    return (
        _reader_by_magic(file.path, head)
        or _READER_BY_SUFFIX.get(PurePosixPath(file.name.lower()).suffix)
        or _READER_BY_MEDIA_TYPE.get(file.media_type or "")
        or _reader_of_text(file, head)
    )


def _reader_by_magic(path: Path, head: bytes) -> str | None:
    if _PDF_HEADER.search(head[:1024]):
        return "pdf_reader.read_pdf"
    if head.startswith(b"PK\x03\x04"):
        return _reader_of_archive(path)
    if head.startswith(b"{\\rtf"):
        return "markup_readers.read_rich_text"
    is_bitmap = head.startswith(b"BM") and head[6:10] == bytes(4)
    if head.startswith(_PICTURE_MAGIC) or head[8:12] == b"WEBP" or is_bitmap:
        return _PICTURE
    for beginnings, description in _UNSUPPORTED_MAGIC.items():
        if head.startswith(beginnings):
            raise _unsupported(description)
    is_container = head[4:8] == b"ftyp" or head[8:12] in _RIFF_TYPES
    if is_container or head.startswith(_AUDIO_MAGIC):
        return _AUDIO
    # An MPEG audio frame: eleven bits set, then a valid layer and bit rate.
    if head[0] == 0xFF and len(head) > 2 and head[1] & 0xE6 in (0xE2, 0xE4, 0xE6):
        return _AUDIO if head[2] & 0xF0 != 0xF0 and head[:2] != b"\xff\xfe" else None
    return None


_READER_BY_ENTRY = {
    "word/document.xml": "word_reader.read_word",
    "word/document2.xml": "word_reader.read_word",  # from Office 365
    "ppt/presentation.xml": "office_readers.read_presentation",
    "xl/workbook.xml": "office_readers.read_spreadsheet",
    "META-INF/container.xml": "office_readers.read_epub",
    "content.xml": "office_readers.read_open_document",
}


def _reader_of_archive(path: Path) -> str:
    try:
        with zip_archives.open_zip(path, MAX_ARCHIVE_ENTRIES) as archive:
            names = set(archive.namelist())
    except zip_archives.TooManyEntriesError as error:
        raise UnreadableError(f"{error} Unpack it and add its files.") from None
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        raise UnreadableError(
            "The file is broken, an archive or a document without its end: copy it again, then "
            "add it."
        ) from None
    for entry, reader in _READER_BY_ENTRY.items():
        if entry in names:
            return reader
    raise _unsupported("an archive", "unpack it and add its files")


_TABLE_SUFFIXES = ("", ".asc", ".dat", ".txt", ".xls")


def _reader_of_text(file: SourceFile, head: bytes) -> str:
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:64].lower()
    if start.startswith((b"<!doctype html", b"<html")):
        return _HTML
    if start.startswith(b"<?xml"):
        return _HTML if b"<html" in head.lower() else _XML
    if start.startswith(b"\\documentclass"):
        return _LATEX
    is_table = PurePosixPath(file.name.lower()).suffix in _TABLE_SUFFIXES and _has_columns(file)
    return _TABLE if is_table else _TEXT


def _has_columns(file: SourceFile) -> bool:
    """Return whether most lines, but the last one, have the same number of tabs after a text."""
    with file.path.open("rb") as stream:  # of which the head may be a table of contents
        lines = re.split(rb"[\r\n]+", stream.read(1 << 20))[:-1]
    lines = [text for line in lines if (text := line.lstrip(b"\0\t ")).strip(b"\0\t ")]
    counts = Counter(line.count(b"\t") for line in lines)
    del counts[0]
    return 2 * max(counts.values(), default=0) > max(len(lines), 2)


def _unsupported(description: str, advice: str | None = None) -> UnreadableError:
    return UnreadableError(
        f"It is {description}, which can't be read; {advice or 'save it as another kind'}: "
        f"{READABLE_TYPES}."
    )


class NoTextError(UnreadableError):
    """A file has no text."""


OnStage = Callable[[str], None]
"""Called with a stage in a few words, such as `page 12 of 300`."""


@dataclass(frozen=True)
class SourceFile:
    """A file to read.

    Attributes:
        name: its original name.
        media_type, charset: as declared by a web server.
        max_bytes: the maximum bytes of its text.
        hear: transcribes an audio file; None for the built-in model.
    """

    path: Path
    name: str
    media_type: str | None = None
    charset: str | None = None
    max_bytes: int = 64 << 20
    hear: Callable[[Path, OnStage], Transcript] | None = None

    def content(self, advice: str = "add it in parts") -> bytes:
        """Return the content of a text file.

        Raises:
            UnreadableError: if it is far larger than the text limit; `advice` is the next step.
        """
        if self.path.stat().st_size > 2 * self.max_bytes:
            raise UnreadableError(f"It is bigger than {2 * self.max_bytes:,} bytes; {advice}.")
        return self.path.read_bytes()


@dataclass(frozen=True)
class Document:
    """The text of a file by page, and the title stated in it.

    `pages` have numbers from 1; a text without pages is a single one with None. `transcript` is set
    if the text is recognized speech. `remark` tells the user which text may be wrong or is missing.
    """

    pages: Sequence[tuple[int | None, str]]
    title: str | None = None
    transcript: Transcript | None = None
    remark: str | None = None

    @property
    def text(self) -> str:
        """Return the complete text."""
        return "\n\n".join(text for _page, text in self.pages)


def read_file(file: SourceFile, on_stage: OnStage) -> Document:
    """Read a file into a document; raise UnreadableError if it can't be read or has no text."""
    on_stage("reading")
    module, _, function = _find_reader(file).partition(".")
    readers = import_module(f"labext.sandbox.nb.ingestion.{module}")
    document: Document = getattr(readers, function)(file, on_stage)
    pages = [(number, clean_text(text)) for number, text in document.pages]
    cleaned = replace(document, pages=pages, title=clean_title(document.title))
    return check_text_length(cleaned, file.max_bytes)


def check_text_length(document: Document, max_bytes: int) -> Document:
    """Check that a document has text within the limit."""
    if not any(text for _page, text in document.pages):
        raise NoTextError("It contains no text: check that it is the right file.")
    if sum(len(text.encode()) for _page, text in document.pages) > max_bytes:
        raise text_too_long(max_bytes)
    return document


def text_too_long(max_bytes: int) -> UnreadableError:
    """Return the error for a text that is too long."""
    return UnreadableError(f"Its text is bigger than {max_bytes:,} bytes; add it in parts.")
