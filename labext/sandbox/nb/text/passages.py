"""Split a text into passages that follow its headings, paragraphs, lists and tables."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain, pairwise, zip_longest

MIN_LENGTH, MAX_LENGTH = 450, 950
"""Characters of a passage, with a gap between words as one; the last of a page may be shorter."""

MAX_HEADING_LENGTH = 120
"""Maximum characters of a heading; longer lines are paragraphs."""

MAX_HEADER_LENGTH = 300
"""Maximum characters of a table's header that its further passages have."""

PATH_SEPARATOR = " › "
CELL_SEPARATOR = " | "
_TAB_ROW = re.compile(r"(?m)^[^\t\n]*\t[^\t\n]*\t.*$")
_SEPARATOR = re.compile(r"(?<= )\|(?= )")
_MARKDOWN_SEPARATOR = re.compile(r"(?<!\\)\|")

_WORD = re.compile(r"[^\s。！？]{1,32}[。！？]{0,32}|[。！？]{1,32}")
"""A word; longer ones, such as DNA sequences, count as several and may be cut."""

_SENTENCE_END = re.compile(r"[.!?…]['\")\]»”’]*$|[。！？]$")
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")
_ITEM = re.compile(r"(?:[-*+•·]|\(?[0-9]{1,3}[.)]|\(?[a-z][.)]|:?\w[\w ]{0,30}:)[ \t]")
_NUMBERED_ITEM = re.compile(r"\(?([0-9]{1,3})[.)][ \t]")
_LETTERED_ITEM = re.compile(r"\(?[a-z][.)][ \t]")
_LOWER_FIELD = re.compile(r"[a-z][\w ]{1,30}:[ \t]")
_KEY = re.compile(r"[\w-]{1,31}:")
"""The line of a key above its values, as in YAML."""

_OWN_LINE = re.compile(r"#{1,6}[ \t]|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
"""The beginning of a comment or of an entry of a log."""

_MARKED_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t#]*")
_INDENTED = re.compile(r" {4}|\t")
"""The beginning of a line that is a heading only if its ruler is indented, too."""

_RULER = re.compile(r"([=\-~^*_+#\"'`])\1{2,}")
_ROW = re.compile(r"\||\t|.*\S(?: \| [ |]*|\t+)\S|.*\S \|$|\S.*\S {3,}\S")
_TITLE = re.compile(r"[\d.]*[ \t]*[^\W\d_a-z].*[^.,;:!?…。，；：！？\s]")
_FENCE = re.compile(r"(```|~~~)")
_MEASUREMENT = re.compile(r"[=×^±≈<>≤≥]|\s\S?\d[\d.,]*\s?(?:[%‰µ]|°C|[^\W\d_]{1,3}$)")
"""A part of a line that states a value, such as `5 mM`; a title does not."""

_VALUE = re.compile(r"[<>≤≥~−–-]?\d[\d.,]*%?|[±%–-]")
"""A word of a table row that is not its name, such as `12.4` and `±`."""

_MIN_VALUES = 0.4
"""Minimum share of values in a row of a table whose cells are separated by single blanks."""

_MAX_TITLE_WORDS = 8
_MIN_WRAPPED_LENGTH = 60
"""Characters of a line from which on a page layout may have wrapped it."""
_COPYRIGHT = re.compile(r"(?i)(?:copyright|copr\.|\(c\)|©)\s*(?:\(c\)|©|\d)")
OPEN_END = re.compile(r"(?i)\b(?:a|an|and|are|as|at|by|for|from|in|is|of|on|or|the|to|was|with)$")
"""The end of a line within a sentence; a title does not have it."""

_IN_WORD, _AFTER_HEADING, _AT_WORD, _AT_SENTENCE, _AT_LINE, _AT_PARAGRAPH, _AT_HEADING = range(7)
"""The quality of a place to cut, in ascending order."""

_MARKED_LEVELS = {"=": 1, "-": 2}
_OTHER_LEVEL, _TITLE_LEVEL = 3, 7


@dataclass(frozen=True)
class PassageText:
    """A passage before it is stored; an exact substring of its text.

    Attributes:
        heading: the headings above its beginning, and the header of a table that it continues.
        confidence: the mean probability of its words, 0 to 1, if they were recognized in speech and
            the model states it.
    """

    text: str
    page: int | None = None
    heading: str = ""
    confidence: float | None = None


def split_passages(pages: Sequence[tuple[int | None, str]]) -> list[PassageText]:
    """Split texts with their page numbers into passages, if possible at headings or sentences.

    Joined in order, they are the complete text except for whitespace. No passage spans two pages.
    A text without pages has the page None.
    """
    path: dict[int, str] = {}
    return [piece for page, text in pages for piece in _split_page(page, text, path)]


def with_confidence(
    pieces: Sequence[PassageText], confidences: Sequence[float]
) -> list[PassageText]:
    """Return all passages of a transcript with their confidence.

    `confidences` has the probability of each word of the text; it is empty if unknown.
    """
    start = 0
    rated = []
    for piece in pieces:
        end = start + len(piece.text.split())
        words = confidences[start:end]
        start = end
        rated.append(replace(piece, confidence=sum(words) / len(words) if words else None))
    return rated


def table_header(heading: str) -> str | None:
    """Return the header of the table that a passage continues, from its headings; else None."""
    last = heading.rpartition(PATH_SEPARATOR)[2]
    return last if CELL_SEPARATOR in f" {last} " else None


def row_text(line: str) -> str:
    """Return a row of a table as a header: on one line, without the separators around it, limited.

    The one after an empty first cell stays, as in `| rate | OD`.
    """
    line = " ".join(separate_tabs(line).split())
    if line.startswith("|") and line.endswith("|"):
        line = line[1:].strip()
    return line[:MAX_HEADER_LENGTH].rstrip("| ")


def separate_tabs(text: str) -> str:
    """Return a text with `|` between the cells of rows that have several tabs."""
    return _TAB_ROW.sub(lambda row: row[0].replace("\t", CELL_SEPARATOR), text)


def split_row(line: str) -> list[str]:
    """Return the cells of a row of a table; in Markdown, separators may enclose it.

    Separators without blanks are part of cells, such as `gi|568|ref`, if there are others.
    """
    line = line.strip()
    if line.startswith("|") and line.endswith("|"):
        return [cell.strip() for cell in _MARKDOWN_SEPARATOR.split(line[1:-1])]
    line = f" {line} "
    cells = _SEPARATOR.split(line) if CELL_SEPARATOR in line else line.split("|")
    return [cell.strip() for cell in cells]


def join_headers(header: str, row: str) -> str | None:
    """Return the header with the names in the row below it, if its cells span some of these.

    The row begins with an empty cell: `Strain | Rate | | Note` and ` | LB | M9` make `Strain | Rate
    LB | Rate M9 | Note`. None for another row.
    """
    pairs = [*zip_longest(split_row(header), split_row(row), fillvalue="")]
    spanned = [below for above, below in pairs[1:] if not above]
    if pairs[0][1] or not pairs[0][0] or not spanned or not all(spanned):
        return None
    names, above = [], ""
    for name, below in pairs:
        above = name or above
        names.append(f"{above} {below}" if below else name)
    return CELL_SEPARATOR.join(names)[:MAX_HEADER_LENGTH]


def markdown_table(rows: Sequence[str]) -> str:
    """Return rows, of which the first is the header, as a Markdown table."""
    header, *others = [
        [_MARKDOWN_SEPARATOR.sub(r"\|", cell) for cell in split_row(row)] for row in rows
    ]
    header += [""] * (max(map(len, others)) - len(header))
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *others))


@dataclass
class _Layout:
    """The lines of a page.

    Attributes:
        headings: the start of each heading, with its level and text.
        heading_ends: the ends of the headings with their rulers, by their starts.
        rows: the start of each table row, with the start and the text of its table's header.
        items: the starts of list items and fields.
    """

    headings: dict[int, tuple[int, str]] = field(default_factory=dict)
    heading_ends: dict[int, int] = field(default_factory=dict)
    rows: dict[int, tuple[int, str]] = field(default_factory=dict)
    items: set[int] = field(default_factory=set)


def find_headings(text: str) -> list[tuple[int, int, str]]:
    """Return the start and the end of each heading of a text, with its ruler, and its text."""
    layout = _parse_layout(text)
    return [
        (start, layout.heading_ends[start], title) for start, (_, title) in layout.headings.items()
    ]


def is_row_of_values(line: str) -> bool:
    """Return whether a line is a row of a table without separators, by its share of values."""
    words = line.split()
    values = sum(_VALUE.fullmatch(word) is not None for word in words)
    return values >= max(2, _MIN_VALUES * len(words))


def display_lines(text: str, *, headings: bool = False) -> list[str]:
    """Return a text's lines for display: wrapped lines joined, rulers removed.

    Rows of tables, list items, comments, entries of logs and fields such as `Name: value` remain
    separate lines. If `headings` is true, so do headings, without their marks, and an empty line
    parts two tables; else they are removed.
    """
    layout = _parse_layout(text)
    titles = {_line_start(text, start): title for start, (_, title) in layout.headings.items()}
    dropped: set[int] = set()
    for start, end in layout.heading_ends.items():
        dropped.update(range(_line_start(text, start), end))
    lines: list[str] = []
    start, joins = 0, False
    table: int | None = None
    for line in text.split("\n"):
        stripped = line.strip()
        is_row = start in layout.rows or is_row_of_values(stripped)
        keeps = is_row or start in layout.items or _OWN_LINE.match(stripped)
        if headings and start in layout.rows:
            if table not in (None, layout.rows[start][0]) and lines[-1]:
                lines.append("")
            table = layout.rows[start][0]
        if headings and start in titles:
            lines.append(titles[start])
            joins = False
        elif start in dropped or not stripped.strip("=-_*~^#+|: "):
            joins = False
        elif joins and not keeps:
            lines[-1] += f" {stripped}"
        else:
            lines.append(stripped)
            joins = not is_row
        start += len(line) + 1
    return lines or [text]


def _split_page(page: int | None, text: str, path: dict[int, str]) -> Iterator[PassageText]:
    """Yield the passages of a page; `path` has the headings above it by their levels."""
    layout = _parse_layout(text)
    headings = iter([*layout.headings.items(), (len(text), (0, ""))])
    next_heading = next(headings)
    for start, end in _passage_spans(text, layout):
        beginning = start
        while next_heading[0] <= beginning < len(text):
            _enter(path, *next_heading[1])
            beginning = layout.heading_ends[next_heading[0]]
            beginning += len(text[beginning:end]) - len(text[beginning:end].lstrip())
            next_heading = next(headings)
        parts = [path[level] for level in sorted(path)]
        header = layout.rows.get(_line_start(text, start)) if layout.rows else None
        if header is not None and text[header[0] : min(start, header[0] + MAX_LENGTH)].strip():
            parts.append(header[1])
        yield PassageText(text[start:end], page, PATH_SEPARATOR.join(parts))
        while next_heading[0] < end:
            _enter(path, *next_heading[1])
            next_heading = next(headings)


def _enter(path: dict[int, str], level: int, title: str) -> None:
    """Replace the headings of a level and below by another one."""
    for other in [other for other in path if other >= level]:
        del path[other]
    path[level] = title


def _line_start(text: str, position: int) -> int:
    return text.rfind("\n", 0, position) + 1


def _parse_layout(text: str) -> _Layout:
    layout = _Layout()
    lines = text.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    stripped = [line.strip() for line in lines]
    fenced = False
    numbered = _numbered_lines(stripped)
    header: tuple[int, str] | None = None
    header_number = skipped = -1
    for number, line in enumerate(stripped):
        start, end = starts[number], starts[number] + len(lines[number])
        fenced ^= _FENCE.match(line) is not None
        below = lines[number + 1] if number + 1 < len(lines) else ""
        is_indented = _INDENTED.match(lines[number]) and not _INDENTED.match(below)
        after = "" if is_indented else below.strip()
        if number == skipped or fenced:
            continue
        before = stripped[number - 1] if number else ""
        heading = None if number in numbered else _heading(lines[number], before, after)
        if heading is not None:
            ruled = _is_underline(line, after)
            skipped = number + 1 if ruled else -1
            start += len(lines[number]) - len(lines[number].lstrip())
            layout.headings[start] = heading
            layout.heading_ends[start] = (
                starts[number + 1] + len(lines[number + 1]) if ruled else end
            )
        is_row = heading is None and _ROW.match(line) is not None
        if is_row:
            between = stripped[header_number + 1 : min(number, header_number + 3)]
            if header is None:
                header, header_number = (start, row_text(line)), number
            elif not "".join(between).strip("|-: "):
                header = (header[0], join_headers(header[1], line) or header[1])
            layout.rows[start] = header
        elif not line or line.strip("=-+: "):
            header = None
        if _KEY.fullmatch(line) or (_ITEM.match(line) and not _continues(before, line)):
            layout.items.add(start)
    return layout


def _numbered_lines(lines: Sequence[str]) -> set[int]:
    """Return the positions of lines with consecutive numbers: items of a list, not titles."""
    items = [
        (place, _NUMBERED_ITEM.match(line))
        for place, line in enumerate(lines)
        if line and not _LETTERED_ITEM.match(line)
    ]
    return {
        place
        for (before, first), (after, second) in pairwise(items)
        if first and second and int(second[1]) == int(first[1]) + 1
        for place in (before, after)
    }


def _continues(before: str, line: str) -> bool:
    """Return whether a line such as `temperature: at 25 °C` continues a wrapped sentence."""
    return (
        _LOWER_FIELD.match(line) is not None
        and len(before) >= _MIN_WRAPPED_LENGTH
        and before[-1].isalnum()
        and not _ITEM.match(before)
    )


def _heading(full_line: str, before: str, after: str) -> tuple[int, str] | None:
    """Return the level and the text of a line that is a heading."""
    line = full_line.strip()
    if not 0 < len(line) <= MAX_HEADING_LENGTH:
        return None
    marked = _MARKED_HEADING.fullmatch(line)
    if marked is not None and marked[2] and not _INDENTED.match(full_line):
        is_comment = any(other.split(None, 1)[:1] == [marked[1]] for other in (before, after))
        return None if is_comment else (len(marked[1]), marked[2])
    if _ROW.match(line) or _RULER.fullmatch(line):
        return None
    if _is_underline(line, after):
        return _MARKED_LEVELS.get(after[0], _OTHER_LEVEL), line
    is_alone = not after and (not before or _RULER.fullmatch(before) is not None)
    is_title = (
        is_alone
        and not full_line[0].isspace()
        and len(line.split()) <= _MAX_TITLE_WORDS
        and _TITLE.fullmatch(line)
        and not OPEN_END.search(line)
        and not _COPYRIGHT.match(line)
        and not _MEASUREMENT.search(line)
        and (line[0].isdigit() or not _ITEM.match(line))
    )
    return (_TITLE_LEVEL, line) if is_title else None


def _is_underline(line: str, after: str) -> bool:
    """Return whether a line is underlined by the next one."""
    return (
        _RULER.fullmatch(after) is not None
        and any(map(str.isalnum, line))
        and len(line) / 2 <= len(after) <= 3 * len(line)
        and not _ITEM.match(line)
    )


def _passage_spans(text: str, layout: _Layout) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each passage of a page."""
    spans = (match.span() for match in _WORD.finditer(text))
    words = array("Q", chain.from_iterable(spans))  # a list of pairs takes 25 times the text
    count = len(words) // 2
    sizes = (words[place + 1] - words[place] + 1 for place in range(0, len(words), 2))
    lengths = array("Q", accumulate(sizes, initial=0))
    first = 0
    while first < count:
        if lengths[-1] - lengths[first] <= MAX_LENGTH:
            last = count - 1
        else:
            latest = bisect_right(lengths, lengths[first] + MAX_LENGTH) - 2
            earliest = bisect_right(lengths, lengths[first] + MIN_LENGTH) - 2
            # Of equally good places the last one, since short passages carry little information.
            last = max(
                range(max(earliest, first), max(latest, first) + 1),
                key=lambda word: (_cut_quality(text, words, word, layout), word),
            )
        yield words[2 * first], words[2 * last + 1]
        first = last + 1


def _cut_quality(text: str, words: array[int], word: int, layout: _Layout) -> int:
    """Return the quality of a cut after a word; `words` has the start and the end of each."""
    start, end, following = words[2 * word : 2 * word + 3]
    gap = text[end:following]
    if "\n" in gap:
        line = _line_start(text, following)
        if any(begin <= start < stop for begin, stop in _headings_near(text, layout, start)):
            return _AFTER_HEADING
        if following in layout.headings:
            return _AT_HEADING
        if _BLANK_LINE.search(gap):  # the answer follows a question
            return _AFTER_HEADING if text[end - 1] in "?？" else _AT_PARAGRAPH
        if line in layout.items or line in layout.rows:
            return _AT_LINE
        if is_row_of_values(text[following : following + MAX_LENGTH].partition("\n")[0]):
            return _AT_LINE
    ended = _SENTENCE_END.search(text, start, end)
    if not gap:
        return _AT_SENTENCE if ended and ord(text[end - 1]) > 0x3000 else _IN_WORD
    return _AT_SENTENCE if ended else _AT_WORD


def _headings_near(text: str, layout: _Layout, position: int) -> Iterator[tuple[int, int]]:
    """Yield the start and end of headings on the line of a position and on the line before it."""
    line = _line_start(text, position)
    for start in (line, _line_start(text, max(0, line - 1))):
        beginning = text[start : start + MAX_HEADING_LENGTH]
        start += len(beginning) - len(beginning.lstrip())
        if start in layout.heading_ends:
            yield start, layout.heading_ends[start]
