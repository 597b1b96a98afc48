"""Reader of PDF files, whose headings it recognizes by their fonts."""

from __future__ import annotations

import ctypes
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, groupby, pairwise
from typing import Any

from labext.sandbox.nb.errors import UnreadableError
from labext.sandbox.nb.ingestion import text_recognition
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

_LINE_NUMBER = re.compile(r"(\d{1,4})(?:[ \t]+(.*))?")
_MIN_LINE_NUMBERS = 15
_MIN_NUMBERED = 0.7
"""Share of the lines of a page that have a number in the margin, at least."""

_MAX_LARGE_WORDS = 30
"""Maximum words of a heading in a larger font, which may be wrapped."""

_LARGE = 1.08
"""Font size of a heading relative to the text, at least."""

_BOLD = re.compile(r"(?i)bold|black|heavy|cmbx|medi$|-b$")
"""Names of bold fonts; those of LaTeX do not say so in full."""

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

_BEFORE_EXPONENT = re.compile(r"(?<=\d)(?=[-\u2212\u2013]?\d)")

_MIN_SPACE, _MAX_SPACE = 0.15, 0.5
"""Width of a space relative to the height of a line; columns are further apart."""

_MIN_OVERLAP = 0.3
"""Overlap of the heights of an exponent and of its line, relative to the smaller, at least."""

_ACCENTS = dict(
    zip(
        "`\u00b4\u02c6\u02dc\u00af\u02d8\u02d9\u00a8\u02da\u02dd\u02c7\u00b8",
        "\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0327",
        strict=True,
    )
)
"""Combining accents by the characters of older LaTeX fonts, which precede their letter."""

_ACCENTED = re.compile(f"((?<=\\w)`|[{''.join(_ACCENTS)[1:]}])([a-z\u0131])")
"""An accent and its letter; a grave accent at the beginning of a word may be a quotation mark."""

_VISIBLE = re.compile(r"(\S)")

_SAMPLED = 10
"""Of so many characters one is examined to find vertical text."""

_MAX_ACCENT_DISTANCE = 300
"""Maximum characters between a letter and its accent, which often follows the rest of the line."""

_LIGATURE_CODES = "\x0b\x0c\x0e\x0f\x1b-\x1f"
_LIGATURE = re.compile(
    rf"(?<=[a-z]{{2}})[{_LIGATURE_CODES}]|(?<=[A-Za-z])[{_LIGATURE_CODES}](?=[a-z\x02\ufffe])|"
    rf"(?<=\b[Oo])[{_LIGATURE_CODES}]|[{_LIGATURE_CODES}](?=[a-z]{{2}})|"
    r"(?<!\w)\x1c(?=[tx])"  # fit, fix
)
_LIGATURES = str.maketrans("\x0b\x0c\x0e\x0f\x1b\x1c\x1d\x1e\x1f", "ﬀﬁﬃﬄﬀﬁﬂﬃﬄ")
_HYPHEN_AFTER_LIGATURE = re.compile(r"(?<=[ﬀ-ﬄ])-(?=\r?\n[a-z])")
_DASH = re.compile(r"(?<=\w)[\x15\x16](?=\w|\s*$)", re.MULTILINE)
_T1_CODES = str.maketrans("\x10\x11\x12\x13\x14\x15\x16", "“”„«»–—")
"""Codes of LaTeX's bitmap fonts, which name no characters; in formulas they have other meanings."""

_BULLET = re.compile("(?m)^[\x80-\x9f\ue000-\uf8ff\u25aa\u25a0\u25cf\u25e6\u2023][ \t]+(?=\\S)")
"""The mark of a list item, which some fonts do not map to a character."""

_DEGREE = re.compile(r"\u25e6(?=\s?[CFK]\b)")

_MARGIN = 0.06
"""Share of a page's height at its top and bottom that may have a running header or footer."""


@dataclass(frozen=True)
class _Font:
    """The height of a line's characters in points, and whether all are bold or in a margin."""

    height: float
    bold: bool
    in_margin: bool = False


@dataclass(frozen=True)
class _Box:
    """The box of a character on the displayed page in points, as high as its font."""

    left: float
    bottom: float
    right: float
    top: float

    @property
    def height(self) -> float:
        return self.top - self.bottom


@dataclass(frozen=True)
class _Page:
    """The lines of a page, and the fonts of those for which they are known.

    A page is scanned if it shows something, but has no text.
    """

    lines: Sequence[str]
    fonts: Mapping[str, _Font]
    is_scanned: bool = False


def read_pdf(file: SourceFile, on_stage: OnStage) -> Document:
    """Read a PDF; each heading becomes a line between blank lines."""
    import pypdfium2  # type: ignore[import-untyped]

    try:
        document = pypdfium2.PdfDocument(file.path)
    except pypdfium2.PdfiumError as error:
        raise _pdf_error(str(error)) from None
    with closing(document):
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
        return UnreadableError(f"Its {count} are blank: check that it is the right file.")
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
    import pypdfium2
    from pypdfium2 import raw

    place = f"page {number} of {len(document)}"
    on_stage(place)
    try:
        with closing(document[number - 1]) as page, closing(page.get_textpage()) as text:
            characters = _decode_bitmap_fonts(text.get_text_range())
            # The bounded text of a page on its side joins lines, and lacks those beyond its width.
            is_on_side = page.get_rotation() in (90, 270)
            content = characters if is_on_side else _decode_bitmap_fonts(text.get_text_bounded())
            lines, fonts = _read_lines(text, characters, content)
            is_scanned = not content.strip() and raw.FPDFPage_CountObjects(page.raw) > 0
            if is_scanned and text_recognition.is_installed():
                on_stage(f"recognizing the text of {place}")
                lines = text_recognition.recognize_page(page).splitlines()
            return _Page(lines, fonts, is_scanned)
    except pypdfium2.PdfiumError:
        return _Page([], {})


def _decode_bitmap_fonts(text: str) -> str:
    """Return the text with the ligatures and dashes of LaTeX's bitmap fonts, of the same length."""
    is_t1 = any(code[0] >= "\x1b" for code in _LIGATURE.finditer(text))
    text = _LIGATURE.sub(lambda code: code[0].translate(_LIGATURES), text)
    text = _HYPHEN_AFTER_LIGATURE.sub("\x02", text)
    if is_t1:
        return text.translate(_T1_CODES)
    return _DASH.sub(lambda code: code[0].translate(_T1_CODES), text)


def _repair_characters(text: str, is_tex: bool) -> str:
    """Replace marks of list items, degree signs, hyphens and the separate accents of LaTeX."""
    text = _DEGREE.sub("°", _BULLET.sub("• ", text)).replace("\u00ad", "-")  # it is visible
    return _ACCENTED.sub(_accented, text) if is_tex else text


def _accented(match: re.Match[str]) -> str:
    return _compose(match[1], match[2]) or match[0]


def _compose(accent: str, letter: str) -> str | None:
    """Return an accent and its letter as one character; None if there is none."""
    composed = unicodedata.normalize("NFC", letter.replace("ı", "i") + _ACCENTS[accent])
    return composed if len(composed) == 1 else None


def _join_unspaced(text: str) -> str:
    """Return a text of Chinese or Japanese without the line breaks that a full line has wrapped.

    They would part words, as blanks do not separate words there.
    """
    longest = max(map(len, text.split("\n")))

    def replacement(match: re.Match[str]) -> str:
        line = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        return "" if len(line) >= _FULL_LINE * longest else match[0]

    return _UNSPACED_BREAK.sub(replacement, text)


def _read_lines(text: Any, characters: str, content: str) -> tuple[list[str], dict[str, _Font]]:
    """Return the lines of a page, and their fonts by the stripped lines.

    Each of the `characters` of PDFium's text page has a place; `content` lacks those that are
    outside of the page.
    """
    places = [place for place, character in enumerate(characters) if not character.isspace()]
    if len(places) != _count_visible(content):  # some are outside of the page
        return content.splitlines(), _read_lines(text, characters, characters)[1]
    content = _break_vertical_lines(text, places, _restore_spaces(text, places, content))
    content = _place_accents(text, places, content)
    lines: list[str] = []
    fonts: dict[str, _Font] = {}
    start = 0
    for line in _join_raised(text, places, content.splitlines()):
        line_places = places[start : start + _count_visible(line)]
        lines.append(_mark_exponents(text, line_places, line))
        if line_places:
            fonts.setdefault(lines[-1].strip(), _line_font(text, line_places))
        start += len(line_places)
    return lines, fonts


def _count_visible(text: str) -> int:
    return len("".join(text.split()))


def _restore_spaces(text: Any, places: Sequence[int], content: str) -> str:
    """Return the content with the spaces after exponents that PDFium's bounded text lacks.

    There, the text of the whole page has a line break.
    """
    parts = _VISIBLE.split(content)
    for number, (before, after) in enumerate(pairwise(places), 1):
        if after - before > 1 and not parts[2 * number]:
            parts[2 * number] = _space_between(_box(text, before), _box(text, after)) or ""
    return "".join(parts)


def _break_vertical_lines(text: Any, places: Sequence[int], content: str) -> str:
    """Return the content with line breaks in vertical text, such as a table on its side.

    PDFium returns its lines, and those around it, as one.
    """
    is_vertical = partial(_is_vertical, text)
    if text.page.get_rotation() in (90, 270) or not any(map(is_vertical, places[::_SAMPLED])):
        return content
    parts = _VISIBLE.split(content)
    for number, (before, after) in enumerate(pairwise(places), 1):
        vertical = (is_vertical(before), is_vertical(after))
        if any(vertical) and not (all(vertical) and _is_beside(text, before, after)):
            parts[2 * number] = "\n"
    return "".join(parts)


def _is_vertical(text: Any, place: int) -> bool:
    from pypdfium2 import raw

    index = raw.FPDFText_GetCharIndexFromTextIndex(text.raw, place)
    return abs(math.cos(raw.FPDFText_GetCharAngle(text.raw, index))) < math.cos(math.pi / 4)


def _is_beside(text: Any, place: int, other: int) -> bool:
    """Return whether two characters are in one vertical line."""
    one, two = _box(text, place), _box(text, other)
    overlap = min(one.right, two.right) - max(one.left, two.left)
    return overlap > _MIN_OVERLAP * min(one.right - one.left, two.right - two.left)


def _place_accents(text: Any, places: list[int], content: str) -> str:
    """Return the content with each accent of LaTeX joined with the letter below it.

    Many accents follow the rest of their line. Their places are removed from `places`.
    """
    parts = _VISIBLE.split(content)
    gaps, letters = parts[::2], parts[1::2]
    for number in reversed([n for n, letter in enumerate(letters) if letter in _ACCENTS]):
        below = _letter_below(text, places, letters, number)
        letter = None if below is None else _compose(letters[number], letters[below])
        if below is None or letter is None:
            continue
        letters[below] = letter
        del letters[number], places[number]
        gap = gaps.pop(number + 1)
        if below < number:
            gaps[number] += gap
            if "\n" not in gaps[number] and 0 < number < len(places):
                boxes = (_box(text, places[number - 1]), _box(text, places[number]))
                space = _space_between(*boxes)
                gaps[number] = gaps[number][:1] if space is None else space
    return "".join(chain.from_iterable(zip(gaps, [*letters, ""], strict=True)))


def _letter_below(text: Any, places: list[int], letters: list[str], number: int) -> int | None:
    """Return the position of the letter below an accent, the next one or one before; or None."""
    accent = _box(text, places[number])
    middle = (accent.left + accent.right) / 2
    before = range(number - 1, max(0, number - _MAX_ACCENT_DISTANCE) - 1, -1)
    for position in chain([number + 1], before):
        if position < len(letters) and letters[position].isalpha():
            box = _box(text, places[position])
            overlap = min(box.top, accent.top) - max(box.bottom, accent.bottom)
            if box.left < middle < box.right and overlap > _MIN_OVERLAP * accent.height:
                return position
    return None


def _join_raised(text: Any, places: Sequence[int], lines: Iterable[str]) -> list[str]:
    """Return lines without the breaks that PDFium returns beside exponents and indices.

    `places` are those of the visible characters of all lines.
    """
    joined = [""]
    end = 0
    for line in lines:
        count = _count_visible(line)
        space = None
        if count and joined[-1].strip():
            space = _space_between(_box(text, places[end - 1]), _box(text, places[end]))
        if space is None:
            joined.append(line)
        else:
            joined[-1] += space + line
        end += count
    return joined[1:]


def _space_between(before: _Box, after: _Box) -> str | None:
    """Return the space between two characters; None if they are in different lines or columns."""
    height = max(before.height, after.height)
    overlap = min(before.top, after.top) - max(before.bottom, after.bottom)
    gap = after.left - before.right
    if overlap <= _MIN_OVERLAP * min(before.height, after.height):
        return None
    if not -_MIN_SPACE * height < gap < _MAX_SPACE * height:
        return None
    return " " if gap > _MIN_SPACE * height else ""


def _mark_exponents(text: Any, places: Sequence[int], line: str) -> str:
    """Return a line with `^` before the exponents of numbers: 10^6, not 106."""
    for match in reversed([*_BEFORE_EXPONENT.finditer(line)]):
        end = _count_visible(line[: match.start()])
        number, exponent = _box(text, places[end - 1]), _box(text, places[end])
        is_smaller = exponent.height < 0.9 * number.height
        is_raised = is_smaller and exponent.bottom - number.bottom > 0.1 * number.height
        if is_raised and _font_key(text, places[end - 1]) != _font_key(text, places[end]):
            line = f"{line[: match.start()]}^{line[match.start() :]}"
    return line


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


def _without_repeated_margins(pages: Sequence[_Page], body: _Font) -> Iterator[_Page]:
    """Yield pages without running headers and footers, but for the first: they part sentences."""
    seen = set[str]()
    for number, page in enumerate(pages, 1):
        running = {
            line: re.sub(rf"\b{number}\b", "", line, count=1)
            for line, font in page.fonts.items()
            if font.in_margin and font.height < _LARGE * body.height
        }
        yield replace(page, lines=[x for x in page.lines if running.get(x.strip()) not in seen])
        seen.update(running.values())


def _line_font(text: Any, places: Sequence[int]) -> _Font:
    """Return the font of a line, sampled at three of its characters."""
    samples = [_font_at(text, places[n]) for n in (0, (len(places) - 1) // 2, -1)]
    height = sorted(sample.height for sample in samples)[1]
    return _Font(height, all(sample.bold for sample in samples), samples[0].in_margin)


def _font_at(text: Any, place: int) -> _Font:
    """Return the font of a character of the text.

    The nominal font size is not used: many programs scale a font of size 1.
    """
    box = _box(text, place)
    is_on_side = text.page.get_rotation() not in (90, 270) and _is_vertical(text, place)
    height = box.right - box.left if is_on_side else box.height
    is_bold = bool(_BOLD.search(_font_name(text, place)))
    page_height = text.page.get_height()
    in_margin = not _MARGIN * page_height < box.bottom < (1 - _MARGIN) * page_height
    return _Font(height, is_bold, in_margin)


def _font_name(text: Any, place: int) -> str:
    from pypdfium2 import raw

    index = raw.FPDFText_GetCharIndexFromTextIndex(text.raw, place)
    name = ctypes.create_string_buffer(128)
    raw.FPDFText_GetFontInfo(text.raw, index, name, len(name), ctypes.c_int())
    return name.value.decode(errors="replace")


def _font_key(text: Any, place: int) -> tuple[str, float] | int:
    """Return the name and the scaled size of a character's font; unique for one without a name.

    Characters of one font and size may differ in height: old-style figures.
    """
    from pypdfium2 import raw

    index = raw.FPDFText_GetCharIndexFromTextIndex(text.raw, place)
    matrix = raw.FS_MATRIX()
    raw.FPDFText_GetMatrix(text.raw, index, matrix)
    size = raw.FPDFText_GetFontSize(text.raw, index) * math.hypot(matrix.c, matrix.d)
    name = _font_name(text, place)
    return (name, round(size, 2)) if name else place


def _box(text: Any, place: int) -> _Box:
    """Return the box of a character of the text."""
    from pypdfium2 import raw

    box = raw.FS_RECTF()
    index = raw.FPDFText_GetCharIndexFromTextIndex(text.raw, place)
    raw.FPDFText_GetLooseCharBox(text.raw, index, box)
    match text.page.get_rotation():
        case 90:
            height = text.page.get_height()
            return _Box(box.bottom, height - box.right, box.top, height - box.left)
        case 180:
            width, height = text.page.get_size()
            bottom, top = height - box.top, height - box.bottom
            return _Box(width - box.right, bottom, width - box.left, top)
        case 270:
            width = text.page.get_width()
            return _Box(width - box.top, box.left, width - box.bottom, box.right)
    return _Box(box.left, box.bottom, box.right, box.top)


def _body_font(pages: Sequence[_Page]) -> _Font:
    """Return the font that most characters of a document have."""
    counts: Counter[_Font] = Counter()
    for page in pages:
        for line, font in page.fonts.items():
            counts[_Font(round(font.height, 1), font.bold)] += len(line)
    return max(counts, key=lambda font: counts[font], default=_Font(0, bold=False))


def _separate_headings(page: _Page, body: _Font) -> str:
    """Return a page's text with blank lines around its headings; wrapped ones are joined."""
    output: list[str] = []
    longest = max(map(len, page.lines), default=0)
    numbered = enumerate(line.strip() for line in page.lines)
    for height, group in groupby(numbered, lambda item: _large_height(page, item[1], body)):
        items = list(group)
        if height:
            output += _join_heading([line for _, line in items])
            continue
        for number, line in items:
            is_heading = _is_heading(page, number, body, longest)
            output += ["", line, ""] if is_heading else [page.lines[number]]
    return "\n".join(output)


def _join_sentences(pages: Sequence[_Page], texts: list[str], body: _Font) -> None:
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


def _large_height(page: _Page, line: str, body: _Font) -> float:
    """Return the height of a line in a larger font than the text, else 0."""
    font = page.fonts.get(line)
    if font is None or not body.height or font.height < _LARGE * body.height:
        return 0.0
    return round(font.height, 1)


def _is_heading(page: _Page, number: int, body: _Font, longest: int) -> bool:
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
