"""Lines of text on a PDF page, and their fonts."""

from __future__ import annotations

import ctypes
import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, pairwise
from typing import Any

from pypdfium2 import raw  # type: ignore[import-untyped]

from labext.sandbox.nb.ingestion.reading import NOTE_NUMBERS, NOTED

_BOLD = re.compile(r"(?i)bold|black|heavy|cmbx|medi$|-b$")
"""Names of bold fonts; those of LaTeX do not say so in full."""

_BEFORE_EXPONENT = re.compile(r"(?<=\d)(?=[-\u2212\u2013]?\d)")

_NOTE_MARK = re.compile(rf"(?:{NOTED} ?|^(?=\d+\s?[^\W\d_]{{3}}))({NOTE_NUMBERS})(?![\d+\u2212-])")
"""A possible mark of a note or reference, after a word or before a footnote."""

_MIN_SPACE, _MAX_SPACE = 0.15, 0.5
"""Width of a space relative to the height of a line; columns are further apart."""

_MIN_OVERLAP = 0.3
"""Overlap of the heights of an exponent and of its line, relative to the smaller, at least."""

ACCENTS = dict(
    zip(
        "`\u00b4\u02c6\u02dc\u00af\u02d8\u02d9\u00a8\u02da\u02dd\u02c7\u00b8",
        "\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0327",
        strict=True,
    )
)
"""Combining accents by the characters of older LaTeX fonts, which precede their letter."""

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
_MAY_HAVE_LIGATURES = re.compile(r"[\x0b\x0c\x0e-\x1fﬀ-ﬄ]")
_LIGATURES = str.maketrans("\x0b\x0c\x0e\x0f\x1b\x1c\x1d\x1e\x1f", "ﬀﬁﬃﬄﬀﬁﬂﬃﬄ")
_MIN_T1_LIGATURES = 3
"""Ligatures of the encoding T1 on a page, whose other codes are then read, too, at least."""

_HYPHEN_AFTER_LIGATURE = re.compile(r"(?<=[ﬀ-ﬄ])-(?=\r?\n[a-z])")
_DASH = re.compile(r"(?<=\w)[\x15\x16](?=\w|\s*$)", re.MULTILINE)
_T1_CODES = str.maketrans("\x10\x11\x12\x13\x14\x15\x16", "“”„«»–—")
"""Codes of LaTeX's bitmap fonts, which name no characters; in formulas they have other meanings."""

_MARGIN, _MAX_MARGIN = 0.06, 0.12
"""Share of a page's height at its top and bottom that may have a running header or footer; the
second one is for a line apart from the others.
"""

_MIN_APART = 1.5
"""Distance of such a line from the next one, relative to its height, at least."""


@dataclass(frozen=True)
class Font:
    """The height of a line's characters in points, and whether all are bold or in a margin.

    A line that `is_apart` is the first or last one of a page, and may be in a margin.
    """

    height: float
    bold: bool
    in_margin: bool = False
    is_apart: bool = False


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
class Field:
    """What a form field or a text box of a PDF shows, and its place on the displayed page."""

    box: _Box
    value: str


def decode_bitmap_fonts(text: str) -> str:
    """Return the text with the ligatures and dashes of LaTeX's bitmap fonts, of the same length."""
    if not _MAY_HAVE_LIGATURES.search(text):
        return text
    codes = [code[0] for code in _LIGATURE.finditer(text)]
    count = sum(code >= "\x1b" for code in codes)
    is_t1 = count >= _MIN_T1_LIGATURES and count > len(codes) / 2
    text = _LIGATURE.sub(lambda code: code[0].translate(_LIGATURES), text)
    text = _HYPHEN_AFTER_LIGATURE.sub("\x02", text)
    if is_t1:
        return text.translate(_T1_CODES)
    return _DASH.sub(lambda code: code[0].translate(_T1_CODES), text)


def read_lines(
    text: Any, characters: str, content: str, fields: Sequence[Field] = ()
) -> tuple[list[str], dict[str, Font]]:
    """Return the lines of a page, and their fonts by the stripped lines.

    Each of the `characters` of PDFium's text page has a place; `content` lacks those that are
    outside of the page. The values of `fields` follow the text before them.
    """
    places = [place for place, character in enumerate(characters) if not character.isspace()]
    if len(places) != _count_visible(content):  # some are outside of the page
        values = [field.value for field in fields]
        return [*content.splitlines(), *values], read_lines(text, characters, characters)[1]
    content = _break_vertical_lines(text, places, _restore_spaces(text, places, content))
    content = _place_accents(text, places, content)
    lines: list[str] = []
    fonts: dict[str, Font] = {}
    boxes: dict[str, _Box] = {}
    start = 0
    written = _place_values(text, places, fields)
    for line in _join_raised(text, places, content.splitlines()):
        end = start + _count_visible(line)
        inside = [place for place in written if start <= place < end]
        if inside:
            values_in_line = {place - start: written.pop(place) for place in inside}
            lines += _insert_values(line, values_in_line).splitlines()
        else:
            lines.append(_mark_raised(text, places[start:end], line))
        if start < end:
            fonts.setdefault(lines[-1].strip(), _line_font(text, places[start:end]))
            boxes.setdefault(lines[-1].strip(), _box(text, places[start]))
        start = end
    for line in _lines_apart(boxes, text.page.get_height()):
        fonts[line] = replace(fonts[line], is_apart=True)
    return [*lines, *written.values()], fonts


def _lines_apart(boxes: Mapping[str, _Box], page_height: float) -> Iterator[str]:
    """Yield the first and the last lines of a page that are apart from the others."""
    for border in (page_height, 0.0):
        distances = {line: abs(border - box.bottom) for line, box in boxes.items()}
        edge = min(distances.values(), default=math.inf)
        outer = {
            line for line, distance in distances.items() if distance < edge + boxes[line].height
        }
        inner = min((distances[line] for line in boxes.keys() - outer), default=math.inf)
        if edge < _MAX_MARGIN * page_height:
            yield from (line for line in outer if inner - edge > _MIN_APART * boxes[line].height)


def _place_values(text: Any, places: Sequence[int], fields: Iterable[Field]) -> dict[int, str]:
    """Return the values of fields by the position of the character that they follow.

    It is the closest one to the left of a field, or else the last one of the line above it.
    """
    values: dict[int, str] = {}
    boxes = [_box(text, place) for place in places] if fields else []
    for field in sorted(fields, key=lambda field: (-field.box.top, field.box.left)):
        middle = (field.box.bottom + field.box.top) / 2
        beside = [
            (box.left, number)
            for number, box in enumerate(boxes)
            if box.bottom < middle < box.top and box.left < field.box.left
        ]
        above = [(-box.bottom, number) for number, box in enumerate(boxes) if box.bottom > middle]
        _, place = max(beside or above, default=(0, len(places)))
        values[place] = f"{values.get(place, '')}{' ' if beside else chr(10)}{field.value}"
    return values


def _insert_values(line: str, values: Mapping[int, str]) -> str:
    """Return a line with values after the characters at their positions."""
    parts = _VISIBLE.split(line)
    for position, value in values.items():
        parts[2 * position + 1] += value
        parts[2 * position + 2] = parts[2 * position + 2] or " "
    return "".join(parts).rstrip()


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
    index = raw.FPDFText_GetCharIndexFromTextIndex(text.raw, place)
    angle = raw.FPDFText_GetCharAngle(text.raw, index)  # negative if unknown
    return angle >= 0 and abs(math.cos(angle)) < math.cos(math.pi / 4)


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
    for number in reversed([n for n, letter in enumerate(letters) if letter in ACCENTS]):
        below = _letter_below(text, places, letters, number)
        letter = None if below is None else compose_accent(letters[number], letters[below])
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
            if overlap <= 0 and position < number:  # another line
                return None
    return None


def compose_accent(accent: str, letter: str) -> str | None:
    """Return an accent and its letter as one character; None if there is none."""
    composed = unicodedata.normalize("NFC", letter.replace("ı", "i") + ACCENTS[accent])
    return composed if len(composed) == 1 else None


def _join_raised(text: Any, places: Sequence[int], lines: Iterable[str]) -> list[str]:
    """Return lines without the breaks that PDFium returns beside exponents and indices.

    `places` are those of the visible characters of all lines.
    """
    # PDFium puts single characters of a page on its side on lines of their own.
    max_space = math.inf if text.page.get_rotation() in (90, 270) else _MAX_SPACE
    joined = [""]
    end = 0
    for line in lines:
        count = _count_visible(line)
        space = None
        if count and joined[-1].strip():
            boxes = (_box(text, places[end - 1]), _box(text, places[end]))
            space = _space_between(*boxes, max_space)
        if space is None:
            joined.append(line)
        else:
            joined[-1] += space + line
        end += count
    return joined[1:]


def _space_between(before: _Box, after: _Box, max_space: float = _MAX_SPACE) -> str | None:
    """Return the space between two characters; None if they are in different lines or columns."""
    height = max(before.height, after.height)
    overlap = min(before.top, after.top) - max(before.bottom, after.bottom)
    gap = after.left - before.right
    if overlap <= _MIN_OVERLAP * min(before.height, after.height):
        return None
    if not -_MIN_SPACE * height < gap < max_space * height:
        return None
    return " " if gap > _MIN_SPACE * height else ""


def _mark_raised(text: Any, places: Sequence[int], line: str) -> str:
    """Return a line with `^` before the exponents of numbers, 10^6, and marks of notes as [1]."""
    edits: list[tuple[int, int, str]] = []
    for match in _NOTE_MARK.finditer(line):
        start = _count_visible(line[: match.start(1)])
        last = start + _count_visible(match[1]) - 1
        base = start - 1 if start else last + 1
        is_followed = line[match.end() :][:1].isalnum()
        if not all(_is_raised(text, places[base], places[n]) for n in (start, last)):
            continue
        is_isotope = is_followed and not _is_apart(text, places[last], places[last + 1])  # ,15N
        if not start or not (is_isotope or _is_apart(text, places[base], places[start])):
            edits.append((match.start(), match.end(), f"[{match[1]}]{' ' * is_followed}"))
    for match in _BEFORE_EXPONENT.finditer(line):
        place = match.start()
        end = _count_visible(line[:place])
        first = places[end if line[place].isdigit() else end + 1]  # a dash may be small
        is_note = any(start == place for start, _, _ in edits)
        if not is_note and _is_raised(text, places[end - 1], first):
            edits.append((place, place, "^"))
    for start, end, mark in sorted(edits, reverse=True):
        line = f"{line[:start]}{mark}{line[end:]}"
    return line


def _is_raised(text: Any, base: int, place: int) -> bool:
    """Return whether a character is smaller and higher than another one, in another font."""
    one, two = _box(text, base), _box(text, place)
    is_raised = two.height < 0.9 * one.height and two.bottom - one.bottom > 0.1 * one.height
    return is_raised and _font_key(text, base) != _font_key(text, place)


def _is_apart(text: Any, before: int, after: int) -> bool:
    """Return whether a space is between two characters."""
    one, two = _box(text, before), _box(text, after)
    return two.left - one.right > _MIN_SPACE * one.height


def _line_font(text: Any, places: Sequence[int]) -> Font:
    """Return the font of a line, sampled at three of its characters."""
    samples = [_font_at(text, places[n]) for n in (0, (len(places) - 1) // 2, -1)]
    height = sorted(sample.height for sample in samples)[1]
    return Font(height, all(sample.bold for sample in samples), samples[0].in_margin)


def _font_at(text: Any, place: int) -> Font:
    """Return the font of a character of the text.

    The nominal font size is not used: many programs scale a font of size 1.
    """
    box = _box(text, place)
    is_on_side = text.page.get_rotation() not in (90, 270) and _is_vertical(text, place)
    height = box.right - box.left if is_on_side else box.height
    is_bold = bool(_BOLD.search(_font_name(text, place)))
    page_height = text.page.get_height()
    in_margin = not _MARGIN * page_height < box.bottom < (1 - _MARGIN) * page_height
    return Font(height, is_bold, in_margin)


def _font_name(text: Any, place: int) -> str:
    index = raw.FPDFText_GetCharIndexFromTextIndex(text.raw, place)
    name = ctypes.create_string_buffer(128)
    raw.FPDFText_GetFontInfo(text.raw, index, name, len(name), ctypes.c_int())
    return name.value.decode(errors="replace")


def _font_key(text: Any, place: int) -> tuple[str, float] | int:
    """Return the name and the scaled size of a character's font; unique for one without a name.

    Characters of one font and size may differ in height: old-style figures.
    """
    index = raw.FPDFText_GetCharIndexFromTextIndex(text.raw, place)
    matrix = raw.FS_MATRIX()
    raw.FPDFText_GetMatrix(text.raw, index, matrix)
    size = raw.FPDFText_GetFontSize(text.raw, index) * math.hypot(matrix.c, matrix.d)
    name = _font_name(text, place)
    return (name, round(size, 2)) if name else place


def _box(text: Any, place: int) -> _Box:
    """Return the box of a character of the text."""
    box = raw.FS_RECTF()
    index = raw.FPDFText_GetCharIndexFromTextIndex(text.raw, place)
    raw.FPDFText_GetLooseCharBox(text.raw, index, box)
    return _displayed_box(text.page, box)


def _displayed_box(page: Any, box: Any) -> _Box:
    match page.get_rotation():
        case 90:
            height = page.get_height()
            return _Box(box.bottom, height - box.right, box.top, height - box.left)
        case 180:
            width, height = page.get_size()
            bottom, top = height - box.top, height - box.bottom
            return _Box(width - box.right, bottom, width - box.left, top)
        case 270:
            width = page.get_width()
            return _Box(width - box.top, box.left, width - box.bottom, box.right)
    return _Box(box.left, box.bottom, box.right, box.top)


def read_fields(document: Any, page: Any) -> Iterator[Field]:
    """Yield the form fields and the text boxes of a page that have a value."""
    for number in range(raw.FPDFPage_GetAnnotCount(page.raw)):
        annotation = raw.FPDFPage_GetAnnot(page.raw, number)
        if annotation and not raw.FPDFAnnot_GetFlags(annotation) & raw.FPDF_ANNOT_FLAG_HIDDEN:
            box = raw.FS_RECTF()
            raw.FPDFAnnot_GetRect(annotation, box)
            if value := " ".join(_field_value(document.formenv, annotation).split()):
                yield Field(_displayed_box(page, box), value)
        raw.FPDFPage_CloseAnnot(annotation)


def _field_value(form: Any, annotation: Any) -> str:
    if raw.FPDFAnnot_GetSubtype(annotation) == raw.FPDF_ANNOT_FREETEXT:
        return _string(raw.FPDFAnnot_GetStringValue, annotation, b"Contents")
    if form is None or raw.FPDFAnnot_GetSubtype(annotation) != raw.FPDF_ANNOT_WIDGET:
        return ""
    match raw.FPDFAnnot_GetFormFieldType(form.raw, annotation):
        case raw.FPDF_FORMFIELD_CHECKBOX | raw.FPDF_FORMFIELD_RADIOBUTTON:
            return "☒" if raw.FPDFAnnot_IsChecked(form.raw, annotation) else "☐"
        case (
            raw.FPDF_FORMFIELD_TEXTFIELD | raw.FPDF_FORMFIELD_COMBOBOX | raw.FPDF_FORMFIELD_LISTBOX
        ):
            return _string(raw.FPDFAnnot_GetFormFieldValue, form.raw, annotation)
    return ""


def _string(function: Any, *arguments: Any) -> str:
    """Return the text that a function of PDFium writes to a buffer."""
    size = function(*arguments, None, 0)
    buffer = ctypes.create_string_buffer(size)
    function(*arguments, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), size)
    return buffer.raw[:size].decode("utf-16-le", errors="replace").rstrip("\0")
