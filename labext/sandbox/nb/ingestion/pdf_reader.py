"""Reader of PDF files, whose headings it recognizes by their fonts."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Any

import pypdfium2  # type: ignore[import-untyped]
from pypdfium2 import raw

from labext.sandbox.nb.errors import UnreadableError
from labext.sandbox.nb.ingestion import text_recognition
from labext.sandbox.nb.ingestion.pdf_lines import (
    ACCENTS,
    Font,
    compose_accent,
    decode_bitmap_fonts,
    read_fields,
    read_lines,
)
from labext.sandbox.nb.ingestion.reading import Document, OnStage, SourceFile
from labext.sandbox.nb.text import passages, segmentation

_LINE_END_HYPHEN = re.compile("(?<=\\w)[\x02\ufffe](?:\r\n|[\r\n])?")
"""The characters that PDFium returns for a hyphen at the end of a line."""

_HYPHENATION = re.compile(
    rf"(?<=[^\W\d_][a-z\u00df-\u00ffﬀ-ﬄ]){_LINE_END_HYPHEN.pattern}(?=[a-z\u00df-\u00ff])"
)
"""A hyphen within a word, not that of a compound such as `IL-6` or `E-value`."""

_HYPHENS = ("\x02", "\ufffe")

_PLACEHOLDER_TITLE = re.compile(
    r"(?i)(untitled|\(anonymous\)|microsoft word - .*|slide \d+|document\d*|powerpoint.*|doi:.*|"
    r".*\.(docx?|pptx?|xlsx?|html?|tex|dvi|pdf|indd|qxd|ps|rtf|odt))"
)
"""Meaningless titles written by programs."""

_MAX_HEADING_WORDS = 12
"""Maximum words of a heading in the font size of the text."""

_MAX_HEADER_GAP = 4
"""Maximum lines from the first line of a table's header to its first row, blank ones included."""

_OUTER_NUMBER = re.compile(r"^\d{1,4}\b(?![.,]\d)|(?<![\d.,])\d{1,4}$")
_LINE_NUMBER = re.compile(r"(\d{1,4})(?:[ \t]+(.*))?")
_MIN_LINE_NUMBERS = 15
_MIN_NUMBERED = 0.7
"""Share of the lines of a page that have a number in the margin, at least."""

_SECTION_NUMBER = re.compile(r"\d+(?:\.\d+)+\.?\s+[A-Z]")
"""The beginning of a heading that may follow another one, such as `2.1 Growth`."""

_MAX_LARGE_WORDS = 30
"""Maximum words of a heading in a larger font, which may be wrapped."""

_LARGE = 1.08
"""Font size of a heading relative to the text, at least."""

_SENTENCE_END = re.compile(r"[.!?:;,…]['\")\]»”’]*$")
_UNFINISHED = re.compile("[^\\W_],?$|[\x02\ufffe]$")
"""The end of a line within a sentence, also within a hyphenated word."""

_UNSPACED_BREAK = re.compile(
    "(?<=[\u3040-\u30ff\u3400-\u9fff，、；：」）])\n(?=[\u3040-\u30ff\u3400-\u9fff「（])"
)
_FULL_LINE = 0.8
"""Length of a line that the layout has wrapped, relative to the longest one, at least."""

_MAX_REST_LENGTH = 500
"""Maximum characters of a sentence on its second page."""

_LETTERS = re.compile(r"[^\W\d_]{2}")

_ACCENTED = re.compile(f"((?<=\\w)`|[{''.join(ACCENTS)[1:]}])([a-z\u0131])")
"""An accent and its letter; a grave accent at the beginning of a word may be a quotation mark."""

_BULLET = re.compile("(?m)^[\x80-\x9f\ue000-\uf8ff\u25aa\u25a0\u25cf\u25e6\u2023][ \t]+(?=\\S)")
"""The mark of a list item, which some fonts do not map to a character."""

_DEGREE = re.compile(r"\u25e6(?=\s?[CFK]\b)")


@dataclass(frozen=True)
class _Page:
    """The lines of a page, and the fonts of those for which they are known.

    A page is scanned if it shows something, but has no text.
    """

    lines: Sequence[str]
    fonts: Mapping[str, Font]
    is_scanned: bool = False


def read_pdf(file: SourceFile, on_stage: OnStage) -> Document:
    """Read a PDF; each heading becomes a line between blank lines."""
    try:
        document = pypdfium2.PdfDocument(file.path)
    except pypdfium2.PdfiumError as error:
        raise _pdf_error(str(error)) from None
    with closing(document):
        document.init_forms()
        pages = [_read_page(document, number, on_stage) for number in range(1, len(document) + 1)]
        metadata = document.get_metadata_dict(skip_empty=True)
    if not pages:
        raise UnreadableError(
            "The PDF has no pages, it is broken: check that it opens, save it again and add it "
            "again."
        )
    if not any(line.strip() for page in pages for line in page.lines):
        raise _no_text(pages)
    pages = _without_line_numbers(pages)
    body = _body_font(pages)
    pages = [*_without_repeated_margins(pages, body)]
    texts = [_separate_headings(page, body) for page in pages]
    _join_sentences(pages, texts, body)
    joined = (
        _LINE_END_HYPHEN.sub("-", _HYPHENATION.sub("", _join_unspaced(text))) for text in texts
    )
    is_tex = "TeX" in metadata.get("Producer", "") + metadata.get("Creator", "")
    repaired = (_repair_characters(text, is_tex) for text in joined)
    title = metadata.get("Title", "").strip()
    if _PLACEHOLDER_TITLE.fullmatch(title):
        title = ""
    return Document([*enumerate(repaired, 1)], title, remark=_scan_remark(pages))


def _scan_remark(pages: Sequence[_Page]) -> str | None:
    """Return the remark about scanned pages; None if there are none with text to recognize."""
    scanned = [page for page in pages if page.is_scanned]
    recognized = sum(any(line.strip() for line in page.lines) for page in scanned)
    if recognized:
        count = _page_count(recognized, len(pages))
        return text_recognition.recognition_remark(f"The text of {count}")
    if not scanned or text_recognition.is_installed():
        return None
    return (
        f"Scanned, and not read: {_page_count(len(scanned), len(pages))}. Install the program "
        "tesseract where the service runs, and retry the source."
    )


def _page_count(count: int, total: int) -> str:
    return f"{count} of its {total} pages" if total > 1 else "its page"


def _no_text(pages: Sequence[_Page]) -> UnreadableError:
    count = f"{len(pages)} page{'s' if len(pages) > 1 else ''}"
    if not any(page.is_scanned for page in pages):
        verb = "are" if len(pages) > 1 else "is"
        return UnreadableError(f"Its {count} {verb} blank: check that it is the right file.")
    if text_recognition.is_installed():
        return UnreadableError(
            f"No text was recognized on its {count}: if there is some, scan it at 300 dpi or more."
        )
    return UnreadableError(
        f"There is no text on its {count}: it looks scanned. Install the program tesseract where "
        "the service runs, or have another one for text recognition (OCR) add the text, and add "
        "it again."
    )


def _pdf_error(reason: str) -> UnreadableError:
    if "password" in reason.lower():
        return UnreadableError("The PDF is encrypted: save it without a password and add it again.")
    if "security" in reason.lower():
        return UnreadableError(
            "The PDF is protected in a way that can't be read: save it without that and add it "
            "again."
        )
    return UnreadableError(
        "The PDF is broken: check that it opens, save it again and add it again."
    )


def _read_page(document: Any, number: int, on_stage: OnStage) -> _Page:
    """Read a page, a scanned one by text recognition; a broken one has no lines."""
    place = f"page {number} of {len(document)}"
    on_stage(place)
    try:
        with closing(document[number - 1]) as page, closing(page.get_textpage()) as text:
            characters = decode_bitmap_fonts(text.get_text_range())
            # The bounded text of a page on its side joins lines, and lacks those beyond its width.
            is_on_side = page.get_rotation() in (90, 270)
            content = characters if is_on_side else decode_bitmap_fonts(text.get_text_bounded())
            lines, fonts = read_lines(text, characters, content, [*read_fields(document, page)])
            is_scanned = not content.strip() and raw.FPDFPage_CountObjects(page.raw) > 0
            if is_scanned and text_recognition.is_installed():
                on_stage(f"recognizing the text of {place}")
                lines = [*text_recognition.recognize_page(page).splitlines(), *lines]
            return _Page(lines, fonts, is_scanned)
    except pypdfium2.PdfiumError:
        return _Page([], {})


def _repair_characters(text: str, is_tex: bool) -> str:
    """Replace marks of list items, degree signs, hyphens and the separate accents of LaTeX."""
    text = _DEGREE.sub("°", _BULLET.sub("• ", text)).replace("\u00ad", "-")  # it is visible
    if not is_tex:
        return text
    return _ACCENTED.sub(lambda match: compose_accent(match[1], match[2]) or match[0], text)


def _join_unspaced(text: str) -> str:
    """Return a text of Chinese or Japanese without the line breaks that a full line has wrapped.

    They would part words, as blanks do not separate words there.
    """
    longest = max(map(len, text.split("\n")))

    def replacement(match: re.Match[str]) -> str:
        line = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        return "" if len(line) >= _FULL_LINE * longest else match[0]

    return _UNSPACED_BREAK.sub(replacement, text)


def _without_line_numbers(pages: list[_Page]) -> list[_Page]:
    """Return pages without the numbers that manuscripts have in the margin beside their lines.

    They precede the lines or follow the text of the page.
    """
    numbered = [_numbered_lines(page) for page in pages]
    count = sum(map(_is_manuscript, pages, numbered))
    full_pages = sum(len(page.lines) >= _MIN_LINE_NUMBERS for page in pages)
    if not count or count < full_pages / 2:  # such as a document with numbered code
        return pages
    return [_without_numbers(page, numbers) for page, numbers in zip(pages, numbered, strict=True)]


def _numbered_lines(page: _Page) -> dict[int, str]:
    """Return the rest of each line that begins with one of consecutive numbers, by its place."""
    found = [
        (place, int(match[1]), match[2] or "")
        for place, line in enumerate(page.lines)
        if (match := _LINE_NUMBER.fullmatch(line.strip()))
    ]
    return {
        place: rest
        for one, other in pairwise(found)
        if other[1] == one[1] + 1
        for place, _, rest in (one, other)
    }


def _is_manuscript(page: _Page, numbers: Mapping[int, str]) -> bool:
    """Return whether most lines of a page have a number in the margin, unlike rows of a table."""
    texts = [line for place, line in enumerate(page.lines) if numbers.get(place, line).strip()]
    values = sum(map(passages.is_row_of_values, filter(None, numbers.values())))
    return (
        len(numbers) >= max(_MIN_LINE_NUMBERS, _MIN_NUMBERED * len(texts))
        and values <= len(numbers) / 2
    )


def _without_numbers(page: _Page, numbers: Mapping[int, str]) -> _Page:
    fonts = dict(page.fonts)
    lines = []
    for place, line in enumerate(page.lines):
        rest = numbers.get(place, line)
        if rest or not line.strip():
            lines.append(rest)
        if rest != line and line.strip() in page.fonts:
            fonts.setdefault(rest, page.fonts[line.strip()])
    return replace(page, lines=lines, fonts=fonts)


def _without_repeated_margins(pages: Sequence[_Page], body: Font) -> Iterator[_Page]:
    """Yield pages without running headers and footers, but for the first: they part sentences."""
    running = [
        {
            line: _without_page_number(line, number)
            for line, font in page.fonts.items()
            if (font.in_margin or font.is_apart) and font.height < _LARGE * body.height
        }
        for number, page in enumerate(pages, 1)
    ]
    counts = Counter(text for texts in running for text in set(texts.values()))
    seen = set[str]()
    for page, texts in zip(pages, running, strict=True):
        repeated = {line for line, text in texts.items() if counts[text] > 1}
        dropped = {line for line in repeated if texts[line] in seen}
        fonts = {
            line: replace(font, in_margin=font.in_margin or line in repeated)
            for line, font in page.fonts.items()
        }
        lines = [line for line in page.lines if line.strip() not in dropped]
        yield replace(page, lines=lines, fonts=fonts)
        seen.update(texts.values())


def _without_page_number(line: str, page: int) -> str:
    """Return a line without the number of its page; a printed one may differ by a constant."""
    text = re.sub(rf"\b{page}\b", "", line, count=1)
    if text == line:
        text = _OUTER_NUMBER.sub(lambda number: str(int(number[0]) - page), line)
    return text


def _body_font(pages: Sequence[_Page]) -> Font:
    """Return the font that most characters of a document have."""
    counts: Counter[Font] = Counter()
    for page in pages:
        for line, font in page.fonts.items():
            counts[Font(round(font.height, 1), font.bold)] += len(line)
    return max(counts, key=lambda font: counts[font], default=Font(0, bold=False))


def _separate_headings(page: _Page, body: Font) -> str:
    """Return a page's text with blank lines around its headings; wrapped ones are joined."""
    output: list[str] = []
    longest = max(map(len, page.lines), default=0)
    numbered = enumerate(line.strip() for line in page.lines)
    for height, group in groupby(numbered, lambda item: _large_height(page, item[1], body)):
        items = list(group)
        if height:
            lines = [line for _, line in items]
            starts = [place for place, line in enumerate(lines) if _SECTION_NUMBER.match(line)]
            for start, end in pairwise(sorted({0, *starts, len(lines)})):
                output += _join_heading(lines[start:end])
            continue
        for number, line in items:
            is_heading = _is_heading(page, number, body, longest)
            output += ["", line, ""] if is_heading else [page.lines[number]]
    return "\n".join(output)


def _join_sentences(pages: Sequence[_Page], texts: list[str], body: Font) -> None:
    """Move the rest of a sentence that crosses two pages to the first one, in the texts of pages.

    It is recognized by an unfinished line and a small letter after it, in the same font size.
    """
    for number, (page, next_page) in enumerate(pairwise(pages)):
        before, after = texts[number].split("\n"), texts[number + 1].split("\n")
        ends, starts = _body_lines(page, before), _body_lines(next_page, after)
        if not ends or not starts:
            continue
        last, first = before[ends[-1]].strip(), after[starts[0]].strip()
        heights = (page.fonts.get(last, body).height, next_page.fonts.get(first, body).height)
        if not _is_continued(last, first) or not math.isclose(*heights, rel_tol=0.05):
            continue
        rest = "\n".join(after[starts[0] :]).lstrip()
        sentence = next(iter(segmentation.split_sentences(rest.partition("\n\n")[0])), "")
        is_sentence = rest.startswith(sentence) and sentence.endswith((".", "!", "?"))
        if is_sentence and len(sentence) <= _MAX_REST_LENGTH:
            before.insert(ends[-1] + 1, sentence)
            remaining = rest.removeprefix(sentence).lstrip()
            texts[number] = "\n".join(before)
            texts[number + 1] = "\n".join([*after[: starts[0]], remaining])


def _is_continued(last: str, first: str) -> bool:
    """Return whether the last line of a page is continued by the first one of the next page."""
    is_unfinished = _UNFINISHED.search(last) and first[0].islower()
    return bool(is_unfinished or passages.OPEN_END.search(last))


def _body_lines(page: _Page, lines: Sequence[str]) -> list[int]:
    """Return the places of the lines that have text and are not in a margin."""
    fonts = [page.fonts.get(line.strip()) for line in lines]
    return [
        place
        for place, (line, font) in enumerate(zip(lines, fonts, strict=True))
        if line.strip() and not (font and font.in_margin)
    ]


def _join_heading(lines: list[str]) -> list[str]:
    """Return lines in a larger font as one line between blank lines, if they are a heading."""
    joined = "".join(line if line.endswith(_HYPHENS) else f"{line} " for line in lines).rstrip()
    if len(joined.split()) > _MAX_LARGE_WORDS or not _LETTERS.search(joined):
        return lines
    return ["", joined, ""]


def _large_height(page: _Page, line: str, body: Font) -> float:
    """Return the height of a line in a larger font than the text, else 0."""
    font = page.fonts.get(line)
    if font is None or not body.height or font.height < _LARGE * body.height:
        return 0.0
    return round(font.height, 1)


def _is_heading(page: _Page, number: int, body: Font, longest: int) -> bool:
    """Return whether a line in the font size of the text is a heading.

    A heading is short, does not end a sentence, precedes a capital letter or a digit, but not a row
    of a table or the second line of its header, and is bold or follows the end of a sentence.
    """
    line = page.lines[number].strip()
    before = page.lines[number - 1].strip() if number else ""
    after = page.lines[number + 1].strip() if number + 1 < len(page.lines) else ""
    rows = [row.strip() for row in page.lines[number + 1 :][:_MAX_HEADER_GAP] if row.strip()][:2]
    font = page.fonts.get(line)
    is_bold = font is not None and font.bold and not body.bold
    return (
        0 < len(line.split()) <= _MAX_HEADING_WORDS
        and not _SENTENCE_END.search(line)
        and not passages.OPEN_END.search(line)
        and line[-1] not in "-\u2013"
        and (line[0].isupper() or line[0].isdigit())
        and (after[:1].isupper() or after[:1].isdigit())
        and len(line) < longest * 0.8
        and not any(map(passages.is_row_of_values, rows[: 1 if is_bold else 2]))
        and (is_bold or not before or bool(_SENTENCE_END.search(before)))
    )
