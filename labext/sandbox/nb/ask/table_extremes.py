"""Find the rows of a table with the highest or lowest value, for questions that ask for it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from labext import messages
from labext.sandbox.nb.ask.answers import Citation, cite
from labext.sandbox.nb.search.ranking import Hit
from labext.sandbox.nb.text import passages, segmentation

_ADJECTIVES = (
    ("longest", "shortest", "length size duration bp kb nt aa"),
    ("largest biggest", "smallest", "size length bp kb kda"),
    ("heaviest", "lightest", "weight mass kda mg kg"),
    ("newest latest", "oldest earliest", "date year"),
    ("hottest warmest", "coldest", "temperature"),
    ("fastest", "slowest", "rate speed velocity"),
    ("highest greatest maximum max most", "lowest least fewest minimum min", ""),
)
"""Adjectives that ask for the highest and the lowest value, and names of columns they imply."""

_MEANINGS = {
    name: (names is highest, frozenset(segmentation.stem_words(implied)))
    for highest, lowest, implied in _ADJECTIVES
    for names in (highest, lowest)
    for name in names.split()
}
_SUPERLATIVE = re.compile(rf"(?i)\b(?P<at>at )?(?P<name>{'|'.join(_MEANINGS)})\b")
_RULER_CELL = re.compile(r":?-+:?")
_MISSING = frozenset({"", "-", "–", "—", "?", "n.d.", "nd", "na", "n/a", "nan", "none", "null"})
_SUMMARY_ROWS = frozenset({"total", "sum", "mean", "average", "median", "all", "overall"})
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:[ T].*)?")
_VALUE = re.compile(
    r"[~≈<>≤≥]?\s?(?P<number>[-−+]?\d+(?:[.,]\d+)*)"
    r"(?:\s?[x×·]\s?10\^?(?P<power>[-−]?\d+)|[eE](?P<exponent>[-+]?\d+))?"
    r"(?:\s?(?:±|\+/-)\s?\d[\d.,]*)?"
    r"\s?(?P<unit>(?:[^\W\d_]|[%‰°])[^\d]{0,15}(?:\^?[-−]?\d)?)?"
)
_GROUPS = re.compile(r"(?<=\d)[ \u00a0\u202f'](?=\d{3}(?!\d))")
_DECIMAL_COMMA = re.compile(r"(?<![\d.,])(?:0,\d|\d+,(?!\d{3}(?!\d))\d)")


@dataclass(frozen=True)
class Superlative:
    """The adjective of a question such as `Which plasmid has the longest fragment?`.

    Attributes:
        name: the adjective.
        highest: whether the highest value is asked for, or the lowest.
        stems: the stems of the words after it, in order.
        implied: the stems of the names of columns that it implies.
    """

    name: str
    highest: bool
    stems: tuple[str, ...]
    implied: frozenset[str]

    def rank(self, column: str, first: str) -> tuple[int, bool, int] | None:
        """Return how well a column fits, by its name and first cell; None if it does not."""
        names = set(segmentation.stem_words(f"{column} date" if _DATE.fullmatch(first) else column))
        matching = [place for place, stem in enumerate(self.stems) if stem in names]
        is_implied = not names.isdisjoint(self.implied)
        if not matching and not is_implied:
            return None
        return (
            len({self.stems[place] for place in matching}) + is_implied,
            is_implied,
            -min(matching, default=0),
        )


def parse_superlatives(question: str) -> list[Superlative]:
    """Return the superlatives of a question; “at least” and “at most” are none.

    One that names no column, as in “the highest Tm and the lowest”, is about the one before it.
    """
    matches = [match for match in _SUPERLATIVE.finditer(question) if not match["at"]]
    superlatives: list[Superlative] = []
    for match, following in zip_longest(matches, matches[1:]):
        name = match["name"].lower()
        highest, implied = _MEANINGS[name]
        after = question[match.end() : following.start() if following else None]
        stems = tuple(segmentation.stem_words(after))
        if not stems and not implied and superlatives:
            superlatives.append(replace(superlatives[-1], name=name, highest=highest))
        else:
            superlatives.append(Superlative(name, highest, stems, implied))
    return superlatives


@dataclass(frozen=True)
class Row:
    """A row of a table: its passage, its line there, and its cells."""

    hit: Hit
    line: str
    cells: tuple[str, ...]


@dataclass
class Table:
    """A table whose rows may be in several passages of a source."""

    header: Row
    rows: list[Row] = field(default_factory=list)

    @property
    def passage_ids(self) -> set[int]:
        """The passages with its rows."""
        return {row.hit.passage_id for row in (self.header, *self.rows)}


@dataclass(frozen=True)
class Extreme:
    """The rows with the highest or lowest value of a column.

    Attributes:
        rows: the rows with this value; several if they are equal.
        description: names the column and the rows that were compared.
    """

    table: Table
    rows: tuple[Row, ...]
    description: str

    def citations(self, count: int) -> list[Citation]:
        """Return citations of at most `count` of the rows."""
        header = passages.row_text(self.table.header.line)
        return [replace(cite(row.hit, row.line), table_header=header) for row in self.rows[:count]]


def find_extremes(question: str, source: Sequence[Hit], hit: Hit) -> list[Extreme]:
    """Return the rows that a question asks for by superlatives, from the tables of a passage.

    `source` has all passages of its source, in order. Nothing is returned if not all values of the
    column can be compared.
    """
    extremes: list[Extreme] = []
    tables = [table for table in parse_tables(source) if hit.passage_id in table.passage_ids]
    for superlative in parse_superlatives(question):
        ranked = sorted(
            (
                (rank, -number, -column)
                for number, table in enumerate(tables)
                for column, name in enumerate(table.header.cells)
                if table.rows and (rank := superlative.rank(name, table.rows[0].cells[column]))
            ),
            reverse=True,
        )
        for _, number, column in ranked:
            if _values(tables[-number].rows, -column):
                found = _find_extreme(question, superlative, tables[-number], -column)
                extremes += [found] if found else []
                break
    return extremes


def parse_tables(source: Sequence[Hit]) -> list[Table]:
    """Return the tables in the passages of a source, except those with incomplete rows."""
    tables: list[Table] = []
    incomplete: set[int] = set()
    previous: Hit | None = None
    for hit in source:
        table = tables[-1] if tables and hit.table_header is not None else None
        lines = hit.text.split("\n")
        if table is not None and previous is not None:
            around = len(previous.text.rpartition("\n")[2]) + len(lines[0])
            if around > passages.MAX_LENGTH - passages.MIN_LENGTH:  # it may be one row that is cut
                incomplete.add(id(table))
        for line in lines:
            if passages.CELL_SEPARATOR.strip() not in line:
                table = None
            elif table is None:
                table = Table(Row(hit, line.strip(), tuple(passages.split_row(line))))
                tables.append(table)
            else:
                cells = passages.split_row(line)
                if len(cells) > len(table.header.cells):
                    incomplete.add(id(table))
                elif not all(map(_RULER_CELL.fullmatch, cells)):
                    missing = len(table.header.cells) - len(cells)
                    table.rows.append(Row(hit, line.strip(), (*cells, *[""] * missing)))
        previous = hit
    return [table for table in tables if id(table) not in incomplete]


def _values(rows: Sequence[Row], column: int) -> list[tuple[float, Row]]:
    """Return the numbers or dates of a column; empty if they can't be compared."""
    cells = [
        (row.cells[column], row)
        for row in rows
        if row.cells[column].casefold() not in _MISSING
        and row.cells[0].casefold().rstrip(":") not in _SUMMARY_ROWS
    ]
    has_decimal_comma = any(_DECIMAL_COMMA.search(cell) for cell, _ in cells)
    values, units = [], set()
    for cell, row in cells:
        value = _parse_value(cell, has_decimal_comma)
        if value is None:
            return []
        values.append((value[0], row))
        units.add(value[1])
    comparable = len(units) < 2 or ("date" not in units and len(units - {""}) < 2)
    return values if len(values) > 1 and comparable else []


def _parse_value(cell: str, has_decimal_comma: bool) -> tuple[float, str] | None:
    """Return the number and the unit in a cell, or a date as a number; None if there is none."""
    if date := _DATE.fullmatch(cell):
        return float("".join(date.groups())), "date"
    match = _VALUE.fullmatch(_GROUPS.sub("", cell))
    if match is None:
        return None
    number = match["number"].replace("−", "-")
    thousands, decimal = ".," if has_decimal_comma else ",."
    number = number.replace(thousands, "").replace(decimal, ".")
    if number.count(".") > 1:
        return None
    power = match["power"] or match["exponent"] or "0"
    return float(f"{number}e{power.replace('−', '-')}"), (match["unit"] or "").strip()


def _find_extreme(
    question: str, superlative: Superlative, table: Table, column: int
) -> Extreme | None:
    """Return the extreme among the rows that have the question's other words.

    None if fewer than two of them can be compared.
    """
    header = set(segmentation.stem_words(" ".join(table.header.cells))) | superlative.implied
    stems = [set(segmentation.stem_words(row.line)) for row in table.rows]
    in_some_rows = set().union(*stems).difference(stems[0].intersection(*stems), header)
    words = {
        word: stem
        for word in question.split()
        if word.lower() not in _MEANINGS
        for stem in in_some_rows.intersection(segmentation.stem_words(word))
    }
    rows = [
        row
        for row, of_row in zip(table.rows, stems, strict=True)
        if of_row.issuperset(words.values())
    ]
    values = _values(rows, column)
    if not values:
        return None
    best = (max if superlative.highest else min)(value for value, _ in values)
    equal = tuple(row for value, row in values if value == best)
    names = [word.strip('?,.;:!"“”()') for word in words]
    compared = f"the {len(values):,} rows" if words else f"{len(values):,} rows"
    compared += f" with {messages.join_all(names, 'and')}" if words else ""
    several = f" ({len(equal):,} rows are equal)" if len(equal) > 1 else ""
    description = f"{superlative.name} “{table.header.cells[column]}” of {compared}{several}"
    return Extreme(table, equal, description)
