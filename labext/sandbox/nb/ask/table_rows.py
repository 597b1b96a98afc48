"""Find the rows of a table that a question asks for by extremes, comparisons or cells."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise, zip_longest

from labext import messages
from labext.sandbox.nb.ask.answers import Citation, cite
from labext.sandbox.nb.search.ranking import Hit
from labext.sandbox.nb.text import passages, segmentation

MAX_ROWS = 5
"""Maximum number of rows of a table that are quoted without the others."""

MAX_SELECTED = 20
"""Maximum number of rows that are quoted of those with the values that a question names."""

MAX_SEARCHED_PASSAGES = 1_000
"""Maximum number of passages of a source whose rows are selected by their cells."""

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
_NEGATION = re.compile(
    r"(?i)\b(?:not|no|non|without|except|excluding|lack(?:s|ing)?|neither|nor|never|other than)\b"
    r"|n['’]t\b"
)
_INEXACT = re.compile(
    r"(?i)\b(?:than|at least|at most)\b|\b(?:over|above|under|below|between|about|up to)\s+\d"
    r"|[<>≤≥~≈]\s?\d|\d,? (?:and|or|to) (?:\d|more|less|fewer)"
)
"""Values that are not meant exactly, as in `about 2 cuts`."""

_COMPARATIVES = {
    re.sub("est$", "er", name): meaning for name, meaning in _MEANINGS.items() if name[-3:] == "est"
} | {"more": _MEANINGS["most"], "less": _MEANINGS["least"]}
_SIGNS = {
    **dict.fromkeys(("over", "above", ">"), ">"),
    **dict.fromkeys(("under", "below", "<"), "<"),
    **dict.fromkeys(("at least", ">=", "≥"), "≥"),
    **dict.fromkeys(("at most", "up to", "<=", "≤"), "≤"),
}
_OPERATORS = {">": operator.gt, "<": operator.lt, "≥": operator.ge, "≤": operator.le}
_NUMBER_WORDS = "zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_NUMBER = rf"(?:[-−+]?\d(?:[\d.,]*\d)?(?:[eE][-+]?\d+)?|{_NUMBER_WORDS})"
_COMPARISON = re.compile(
    rf"(?i)(?:\bbetween (?P<low>{_NUMBER}) and (?P<high>{_NUMBER})"
    rf"|\b(?P<comparative>{'|'.join(_COMPARATIVES)}) than (?P<limit>{_NUMBER})"
    rf"|(?<!\w)(?P<sign>{'|'.join(sorted(_SIGNS, key=len, reverse=True))})\s?(?P<bound>{_NUMBER})"
    rf"|(?<![\w.,])(?P<start>{_NUMBER})(?P<noun> [^\W\d_]+)? or (?P<side>more|less|fewer))\b"
    r"(?P<words>(?:(?![,;]|\b(?:and|or|but|with|has|have|is|are)\b).)*)"
)
_UNIT = re.compile(r"\s?([^\W\d_]*)")
_NEAR = 4
"""Number of words before and after a comparison that may name its column."""

_BASES = frozenset({"bp", "nt", "aa"})

_RULER_CELL = re.compile(r":?-+:?")
_MISSING = frozenset({"", "-", "–", "—", "?", "n.d.", "nd", "na", "n/a", "nan", "none", "null"})
_SUMMARY_ROWS = frozenset(
    {"total", "subtotal", "grand total", "sum", "mean", "average", "median", "all", "overall"}
    | {"sd", "stdev", "std dev", "standard deviation", "sem", "cv", "min", "max"}
    | {"summe", "gesamt", "mittel", "mittelwert", "durchschnitt", "moyenne"}
)
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:[ T].*)?")
_VALUE = re.compile(
    r"[~≈<>≤≥]?\s?(?P<sign>[-−+]?)(?P<currency>(?:[$€£¥]|EUR|USD|GBP|CHF|JPY)\s?)?"
    r"(?P<number>\d+(?:[.,]\d+)*)"
    r"(?:\s?[x×·]\s?10\^?(?P<power>[-−]?\d+)|[eE](?P<exponent>[-+]?\d+))?"
    r"(?:\s?(?:±|\+/-)\s?\d[\d.,]*)?"
    r"\s?(?P<unit>(?:[^\W\d_]|[%‰°$€£¥])[^\d]{0,15}(?:\^?[-−]?\d)?)?"
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

    def rank(self, table: Table, column: int) -> tuple[int, bool, int] | None:
        """Return how well a column fits, by its name and first cell; None if it does not.

        A column `longest` fits if any column but the first has a word after the adjective:
        `fragments` in `Which plasmid has the longest fragment?`.
        """
        name, first = table.header.cells[column], table.rows[0].cells[column]
        stems = _stems(f"{name} date" if _DATE.fullmatch(first) else name)
        is_implied = not stems.isdisjoint(self.implied)
        named = _stems(self.name)
        is_named = bool(named) and named <= stems
        if is_named:
            stems |= _stems(" ".join(table.header.cells[1:]))
        matching = [place for place, stem in enumerate(self.stems) if stem in stems]
        if not matching and not is_implied:
            return None
        return (
            len({self.stems[place] for place in matching}) + is_implied + is_named,
            is_implied,
            -min(matching, default=0),
        )


def parse_superlatives(question: str) -> list[Superlative]:
    """Return the superlatives of a question; “at least” and “at most” are none.

    One that names no column, as in “the highest Tm and the lowest”, is about the one before it.
    The words of comparisons, as in “the longest with at most 1 cut”, do not count.
    """
    question = _COMPARISON.sub(" ", question)
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
class Comparison:
    """The comparison of a question such as `Which plasmids have more than 2 cuts?`.

    Attributes:
        bounds: its signs and numbers.
        unit: the word after them, or an empty text.
        subject: its adjective, with the stems of the words around it.
    """

    bounds: tuple[tuple[str, str], ...]
    unit: str
    subject: Superlative


def parse_comparisons(question: str) -> list[Comparison]:
    """Return the comparisons of a question with numbers."""
    comparisons = []
    end = 0
    for match in _COMPARISON.finditer(question):
        adjective = (match["comparative"] or match["side"] or "between").lower()
        highest, implied = _COMPARATIVES.get(adjective, (True, frozenset()))
        bounds = {
            match["low"]: "≥",
            match["high"]: "≤",
            match["limit"]: ">" if highest else "<",
            match["start"]: "≥" if highest else "≤",
            match["bound"]: _SIGNS.get((match["sign"] or "").lower()),
        }
        words = (match["noun"] or "") + match["words"]
        after = segmentation.stem_words(words)[:_NEAR]
        before = segmentation.stem_words(question[end : match.start()])[::-1][:_NEAR]
        end = match.end()
        subject = Superlative(adjective, highest, (*after, *before), implied)
        signs = tuple((sign, _digits(text)) for text, sign in bounds.items() if text and sign)
        unit = _UNIT.match(words)
        comparisons.append(Comparison(signs, unit[1] if unit else "", subject))
    return comparisons


def _digits(number: str) -> str:
    words = _NUMBER_WORDS.split("|")
    return str(words.index(number.lower())) if number.isalpha() else number


def remove_comparisons(question: str) -> str:
    """Return a question without its comparisons, but with the words after their numbers."""
    return _COMPARISON.sub(r" \g<noun> \g<words> ", question)


@dataclass(frozen=True)
class Row:
    """A row of a table: its passage, the number and text of its line there, and its cells."""

    hit: Hit
    number: int
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
class Selection:
    """Rows of a table that answer a question.

    Attributes:
        description: names the values that were looked for, and the number of rows.
    """

    table: Table
    rows: tuple[Row, ...]
    description: str

    def citations(self) -> list[Citation]:
        """Return a citation for each run of adjacent rows of a passage."""
        header = passages.row_text(self.table.header.line)
        runs = groupby(
            enumerate(self.rows), lambda item: (item[1].hit.passage_id, item[1].number - item[0])
        )
        citations = []
        for _, run in runs:
            rows = [row for _, row in run]
            quote = "\n".join(row.line for row in rows)
            citations.append(replace(cite(rows[0].hit, quote), table_header=header))
        return citations


def find_extremes(question: str, source: Sequence[Hit], hit: Hit) -> list[Selection]:
    """Return the rows that a question asks for by superlatives, from the tables of a passage.

    `source` has all passages of its source, in order. Nothing is returned if not all values of the
    column can be compared.
    """
    extremes: list[Selection] = []
    tables = [table for table in parse_tables(source) if hit.passage_id in table.passage_ids]
    for superlative in parse_superlatives(question):
        if (place := _find_column(superlative, tables)) is not None:
            found = _find_extreme(question, superlative, *place)
            extremes += [found] if found else []
    return extremes


def _find_column(superlative: Superlative, tables: Sequence[Table]) -> tuple[Table, int] | None:
    """Return the column that fits best of those whose values can be compared, and its table."""
    ranked = sorted(
        (
            (rank, -number, -column)
            for number, table in enumerate(tables)
            for column in range(len(table.header.cells))
            if table.rows and (rank := superlative.rank(table, column))
        ),
        reverse=True,
    )
    for _, number, column in ranked:
        if _values(tables[-number].rows, -column):
            return tables[-number], -column
    return None


def names_cells(question: str, hit: Hit) -> bool:
    """Return whether a question compares cells or has all words of one, and excludes nothing."""
    stems, words = _stems(question), _split_words(question)
    cells = (
        cell
        for line in hit.text.split("\n")
        if passages.CELL_SEPARATOR.strip() in line
        for cell in passages.split_row(line)
    )
    compares = bool(_COMPARISON.search(question))
    return not _NEGATION.search(question) and any(
        compares or cell in words or _is_named(cell, stems) for cell in cells
    )


def find_named_rows(question: str, source: Sequence[Hit], hit: Hit) -> Selection | None:
    """Return the rows with the cells that a question names, from the long table of a passage.

    `Which plasmids are kanamycin resistant?` names the cells `kanamycin`, and `Which have 2 cuts?`
    those of the column `cuts` with this number. Comparisons such as `more than 2 cuts` are made.
    None if fewer than two rows have all this and the question's other words that some rows have;
    with a comparison, a selection of one row or none.
    """
    for table in parse_tables(source) if len(source) <= MAX_SEARCHED_PASSAGES else ():
        if hit.passage_id in table.passage_ids and len(table.rows) > MAX_ROWS:
            restriction = _restrict(question, table, frozenset())
            rows = restriction.rows
            if restriction.has_cells and (len(rows) > 1 or _COMPARISON.search(question)):
                count = f"{len(rows):,} of {len(table.rows):,} rows"
                return _select(table, rows, f"{count} with {restriction.description}")
    return None


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
        for number, line in enumerate(lines):
            if passages.CELL_SEPARATOR.strip() not in line:
                table = None
            elif table is None:
                table = Table(Row(hit, number, line.strip(), tuple(passages.split_row(line))))
                tables.append(table)
            else:
                cells = passages.split_row(line)
                if not table.rows and (joined := passages.join_headers(table.header.line, line)):
                    cells = passages.split_row(joined)
                    table.header = replace(table.header, line=joined, cells=tuple(cells))
                elif len(cells) > len(table.header.cells):
                    incomplete.add(id(table))
                elif not all(map(_RULER_CELL.fullmatch, cells)):
                    missing = len(table.header.cells) - len(cells)
                    table.rows.append(Row(hit, number, line.strip(), (*cells, *[""] * missing)))
        previous = hit
    return [table for table in tables if id(table) not in incomplete]


def _values(rows: Sequence[Row], column: int) -> list[tuple[float, Row]]:
    """Return the numbers or dates of a column; empty if they can't be compared."""
    cells = [
        (row.cells[column], row)
        for row in rows
        if row.cells[column].casefold() not in _MISSING
        and row.cells[0].casefold().rstrip(":") not in _SUMMARY_ROWS
        and (
            row.cells[0] or any(_parse_value(text, False) for text in row.cells)
        )  # no row of units
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
    thousands, decimal = ".," if has_decimal_comma else ",."
    number = match["number"].replace(thousands, "").replace(decimal, ".")
    if number.count(".") > 1:
        return None
    power = match["power"] or match["exponent"] or "0"
    unit = match["currency"] or match["unit"] or ""
    return float(f"{match['sign']}{number}e{power}".replace("−", "-")), unit.strip()


def _find_extreme(
    question: str, superlative: Superlative, table: Table, column: int
) -> Selection | None:
    """Return the extreme among the rows that have the question's other words.

    None if fewer than two of them can be compared.
    """
    restriction = _restrict(question, table, superlative.implied)
    values = _values(restriction.rows, column)
    if not values:
        return None
    best = (max if superlative.highest else min)(value for value, _ in values)
    equal = [row for value, row in values if value == best]
    names = restriction.description
    compared = f"the {len(values):,} rows with {names}" if names else f"{len(values):,} rows"
    several = f" ({len(equal):,} rows are equal)" if len(equal) > 1 else ""
    description = f"{superlative.name} “{table.header.cells[column]}” of {compared}{several}"
    return _select(table, equal, description)


def _select(table: Table, rows: Sequence[Row], description: str) -> Selection:
    if len(rows) > MAX_SELECTED:
        description += f", the first {MAX_SELECTED}"
    return Selection(table, tuple(rows[:MAX_SELECTED]), description)


@dataclass(frozen=True)
class _Restriction:
    """The rows of a table that have the values and the other words of a question.

    Attributes:
        description: the values and words, or an empty text if there are none.
        has_cells: whether the question names whole cells.
    """

    rows: list[Row]
    description: str
    has_cells: bool


def _restrict(question: str, table: Table, ignored: frozenset[str]) -> _Restriction:
    """Return the rows with the cells that a question names, and its words that some rows have.

    Cells of one column are alternatives. Words of the header and the stems `ignored` don't count.
    No rows are returned if a comparison of the question can't be made.
    """
    compared = _compare(question, table)
    if compared is None:
        return _Restriction([], "", False)
    question = remove_comparisons(question)
    header = ignored | _stems(" ".join(table.header.cells))
    question_stems = _stems(_SUPERLATIVE.sub(" ", question)) - header
    stems = [_stems(row.line) for row in table.rows]
    varying = question_stems.intersection(frozenset().union(*stems)) - stems[0].intersection(*stems)
    columns: dict[int, list[str]] = {}
    compared_rows, names = compared
    for column, name in enumerate(table.header.cells):
        if named := _named_cells(table, column, question_stems):
            names.append(messages.join_all(named, "or"))
        elif named := _named_numbers(table, column, question):
            names.append(f"{name} = {named[0]}")
        if named:
            columns[column] = named
    has_cells = bool(names)
    cells = [cell for named in columns.values() for cell in named]
    others = varying - _stems("\n".join(cells))
    rows = [
        row
        for row, row_stems in zip(table.rows, stems, strict=True)
        if id(row) in compared_rows
        and row_stems >= others
        and all(row.cells[column] in named for column, named in columns.items())
    ]
    names += [word for word in _split_words(question) if others & _stems(word)]
    description = messages.join_all(names, "and") if names else ""
    return _Restriction(rows, description, has_cells)


def _compare(question: str, table: Table) -> tuple[set[int], list[str]] | None:
    """Return the ids of the rows that meet the comparisons of a question, and their descriptions.

    None if one can't be made.
    """
    if _INEXACT.search(remove_comparisons(question)):
        return None
    meeting, names = set(map(id, table.rows)), []
    for comparison in parse_comparisons(question):
        place = _find_column(comparison.subject, [table])
        factor = None if place is None else _conversion(comparison, *place)
        if place is None or factor is None:
            return None
        for sign, number in comparison.bounds:
            value = _parse_value(number, bool(_DECIMAL_COMMA.search(number)))
            bound = math.nan if value is None else factor * value[0]
            meeting &= {
                id(row)
                for value, row in _values(table.rows, place[1])
                if _OPERATORS[sign](value, bound)
            }
            unit = f" {comparison.unit}" if factor != 1 else ""
            names.append(f"{table.header.cells[place[1]]} {sign} {number}{unit}")
    return meeting, names


def _conversion(comparison: Comparison, table: Table, column: int) -> int | None:
    """Return the factor from the numbers of a comparison to the values of a column.

    None if it is not known; lengths without a unit are taken as numbers of bases or residues.
    """
    name, unit = table.header.cells[column], comparison.unit
    header = _stems(name)
    values = (_parse_value(row.cells[column], False) for row in table.rows)
    cell_unit = max((value[1] for value in values if value), default="")
    if cell_unit == "date":
        return None
    if _stems(unit) <= header or cell_unit.startswith(unit):
        return 1
    is_length = header & comparison.subject.implied and not cell_unit and "(" not in name
    if is_length or cell_unit in _BASES or header & _BASES:
        return {"kb": 1_000, "kbp": 1_000}.get(unit.lower(), 1 if unit in _BASES else None)
    return None


def _named_cells(table: Table, column: int, stems: frozenset[str]) -> list[str]:
    """Return the values of a column that the stems name, except parts of longer ones.

    Empty if they name all values.
    """
    values = dict.fromkeys(row.cells[column] for row in table.rows)
    named = {cell: _stems(cell) for cell in values if _is_named(cell, stems)}
    if len(named) == len(values):
        return []
    return [cell for cell in named if not any(named[cell] < longer for longer in named.values())]


def _named_numbers(table: Table, column: int, question: str) -> list[str]:
    """Return the values of a column that are the number beside a word of its name.

    It is the number in `2 cuts`, `cuts: 2` or `a length of 894`.
    """
    words, name = _split_words(question), _stems(table.header.cells[column])
    neighbors = [*pairwise(words), *pairwise(words[::-1]), *zip(words[2:], words, strict=False)]
    numbers = {
        value[0]
        for number, word in neighbors
        if (stems := _stems(word)) and stems <= name and (value := _parse_value(number, False))
    }
    cells = dict.fromkeys(row.cells[column] for row in table.rows)
    return [cell for cell in cells if (value := _parse_value(cell, False)) and value[0] in numbers]


def _split_words(text: str) -> list[str]:
    return [word.strip('?,.;:!"“”()') for word in text.split()]


def _is_named(cell: str, stems: frozenset[str]) -> bool:
    """Return whether the stems have all words of a cell; a number alone is no name."""
    if _VALUE.fullmatch(cell):
        return False
    words = _stems(cell)
    return bool(words) and words <= stems


def _stems(text: str) -> frozenset[str]:
    """Return the stems of the words of a text, and of the parts of those with hyphens."""
    return frozenset(segmentation.stem_words(text.replace("-", " ")))
