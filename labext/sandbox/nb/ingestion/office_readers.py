"""Readers of documents in zip packages: PowerPoint, Excel, OpenDocument and EPUB."""

from __future__ import annotations

import posixpath
import re
import warnings
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from itertools import chain
from typing import Any, TypeVar
from urllib.parse import unquote

from labext import zip_archives
from labext.sandbox.nb.errors import UnreadableError
from labext.sandbox.nb.ingestion import reading
from labext.sandbox.nb.ingestion.formulas import mark_formulas, office_part
from labext.sandbox.nb.ingestion.markup_readers import parse_xml, report_broken
from labext.sandbox.nb.ingestion.readers import chapter_text, find_heading
from labext.sandbox.nb.ingestion.reading import Document, OnStage, SourceFile

MAX_UNPACKED_BYTES = 1 << 30
"""Maximum total size of a document's entries after decompression."""

_EXCEL_LITERAL = re.compile(r'"[^"]*"|\\.')
"""Literal text in a number format."""

_EXCEL_UNIT = re.compile(r'[^";]*[0#?](?:\\?( ))?"([^"]+)"(?:;.*)?')
"""A number format with a unit after the digits, such as `0.0" mg/mL"`."""

_EXCEL_LAYOUT = re.compile(r'("[^"]*"|\\.)|[_*].|\[\$([^\]-]*)[^\]]*\]|\[[^\]]*\]|([$€£¥])')
"""Literal text, blanks of a width, a currency such as `[$€-407]`, and colors and conditions."""

_EXCEL_CURRENCY = re.compile(r'["\\]?([$€£¥]|[A-Z]{3})(["\\ ]*)[#0].*')
_EXCEL_DIGITS = re.compile(r"0{2,}")
"""The number format of a code with zeros before it, such as `00042`."""

_MAX_SHEET_ROWS = 1 << 20
"""Rows of a sheet in Excel and LibreOffice; openpyxl yields each one up to the last number, which a
file can make up."""

_FORMULA_WITHOUT_VALUE = re.compile(
    rb'<c\b(?![^<>]*\bt="str")[^<>]*>\s*<f\b[^<>]*(?:/>|>[^<]*</f>)\s*(?:<v\s*/>|<v></v>)?\s*</c>'
)
"""A formula as Python libraries write it; text (`str`) may be empty."""

_MAX_SEARCHED_BYTES = 64 << 20
_MAX_REPEATED_CELLS = 100
"""Maximum copies of a cell or an empty row; spreadsheets repeat the empty ones to the last one."""

_SLIDE_LIST_KINDS = {"alphaLc": "a", "alphaUc": "A", "romanLc": "i", "romanUc": "I"}
"""Kinds of numbers by the beginning of their names, such as `alphaLcPeriod`."""

T = TypeVar("T")


@contextmanager
def open_package(file: SourceFile, kind: str) -> Iterator[zipfile.ZipFile]:
    """Open a package of limited size; any error in the block means that it is broken."""
    with (
        report_broken(kind),
        zip_archives.open_zip(file.path, reading.MAX_ARCHIVE_ENTRIES) as archive,
    ):
        if zip_archives.unpacked_size(archive, MAX_UNPACKED_BYTES) > MAX_UNPACKED_BYTES:
            raise UnreadableError(
                f"The {kind} unpacks to more than {MAX_UNPACKED_BYTES:,} bytes: add it in "
                "parts, or without its pictures."
            )
        yield archive


def read_presentation(file: SourceFile, on_stage: OnStage) -> Document:
    """Read a PowerPoint presentation: a page for each slide, with its notes."""
    from pptx.package import Package

    pages: list[tuple[int, str]] = []
    titles: list[str] = []
    with open_package(file, "presentation"), file.path.open("rb") as stream:
        # pptx.Presentation() refuses slide shows and templates.
        slides = Package.open(stream).main_document_part.presentation.slides
        for number, slide in enumerate(slides, 1):
            on_stage(f"slide {number} of {len(slides)}")
            title = slide.shapes.title
            if title is not None and title.text_frame.text.strip():
                titles.append(title.text_frame.text)
            pages.append((number, _slide_text(slide)))
    return Document(pages, next(iter(titles), None))


def _slide_text(slide: Any) -> str:
    reading.mark_exponents(slide.shapes.element)
    # PowerPoint wraps shapes with formulas into alternatives, which python-pptx skips.
    for alternatives in [*slide.shapes.element.iter("{*}AlternateContent")]:
        for shape in [*alternatives[0]]:
            alternatives.addprevious(shape)
    title = slide.shapes.title
    blocks = []
    for shape in _slide_shapes(slide.shapes):
        if shape.has_text_frame:
            text = _frame_text(shape.text_frame)
            is_title = title is not None and shape.shape_id == title.shape_id
            blocks.append(f"# {' '.join(text.split())}" if is_title and text else text)
        elif getattr(shape, "has_table", False):
            blocks.append(
                reading.format_table(
                    [_frame_text(cell.text_frame) for cell in row.cells] for row in shape.table.rows
                )
            )
        elif getattr(shape, "has_chart", False):
            blocks.append(_chart_table(shape.chart))
    blocks += map(_diagram_text, slide.part.rels.values())
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        blocks.append(_frame_text(slide.notes_slide.notes_text_frame))
    return "\n\n".join(filter(None, blocks))


def _frame_text(frame: Any) -> str:
    """Return the paragraphs of a text frame with their numbers."""
    lines: list[str] = []
    numbers: dict[int, int] = {}
    for paragraph in frame.paragraphs:
        level = paragraph.level
        numbers = {above: number for above, number in numbers.items() if above <= level}
        numbering = paragraph._p.find("{*}pPr/{*}buAutoNum")
        mark = ""
        if numbering is None:
            numbers.pop(level, None)
        else:
            numbers[level] = numbers.get(level, int(numbering.get("startAt", "1")) - 1) + 1
            kind = _SLIDE_LIST_KINDS.get(numbering.get("type", "")[:7], "1")
            mark = f"{reading.format_list_number(numbers[level], kind)}. "
        lines.append(f"{mark}{''.join(_paragraph_texts(paragraph._p))}")
    return "\n".join(lines).strip()


def _paragraph_texts(element: Any) -> Iterator[str]:
    """Yield the text of a paragraph, with its formulas, in parts."""
    for child in element.iterchildren("*"):
        name = child.tag.rpartition("}")[2]
        if name == "t":
            yield child.text or ""
        elif name == "br":
            yield "\n"
        elif not name.endswith("Pr"):
            yield office_part(child, "".join(_paragraph_texts(child)))


def _diagram_text(relation: Any) -> str:
    """Return the text of a SmartArt diagram with a line per box; empty for another relation."""
    if not relation.reltype.endswith("/diagramData"):
        return ""
    paragraphs = parse_xml(relation.target_part.blob).iterfind("{*}ptLst/{*}pt/{*}t/{*}p")
    return "\n".join(filter(None, ("".join(item.itertext()).strip() for item in paragraphs)))


def _chart_table(chart: Any) -> str:
    """Return a chart's titles and its table: a column for each series, a row for each category."""
    titles = (title.xpath("string()").strip() for title in chart.element.iter("{*}title"))
    series = [*chart.element.iter("{*}ser")]
    categories = next((_points(one, "cat", "xVal") for one in series), {})
    columns = [_points(one, "val", "yVal") for one in series]
    header = ["", *(" ".join(_points(one, "tx").values()) for one in series)]
    places = dict.fromkeys(place for points in [categories, *columns] for place in points)
    rows = ([points.get(place, "") for points in [categories, *columns]] for place in places)
    return "\n\n".join(filter(None, [*titles, reading.format_table([header, *rows])]))


def _points(series: Any, *names: str) -> dict[str, str]:
    """Return the stored values of a series by their positions."""
    return {
        point.get("idx", ""): point.findtext("{*}v", "")
        for name in names
        for values in series.iterchildren(f"{{*}}{name}")
        for point in values.iter("{*}pt")
    }


def _slide_shapes(shapes: Any) -> Iterator[Any]:
    """Yield the shapes of a slide, also those in groups."""
    for shape in shapes:
        if hasattr(shape, "shapes"):
            yield from _slide_shapes(shape.shapes)
        else:
            yield shape


def read_spreadsheet(file: SourceFile, on_stage: OnStage) -> Document:
    """Read an Excel workbook: a heading and a table for each sheet, with the values of formulas."""
    import openpyxl  # type: ignore[import-untyped]

    sheets = []
    with (
        open_package(file, "spreadsheet") as archive,
        file.path.open("rb") as stream,
        warnings.catch_warnings(),
    ):
        remark = _formula_remark(archive)
        warnings.simplefilter("ignore")  # about styles and extensions
        book = openpyxl.load_workbook(stream, read_only=True, data_only=True)
        with closing(book):
            if not book.worksheets:
                raise UnreadableError(
                    "It has no sheets that can be read: save it as an ordinary workbook (XLSX, not "
                    "“Strict Open XML”) and add it again."
                )
            for sheet in book.worksheets:
                on_stage(f"sheet {sheet.title}")
                sheet.reset_dimensions()  # some programs write wrong dimensions
                rows = sheet.iter_rows(max_row=_MAX_SHEET_ROWS)
                table = _limited_table((map(_excel_cell, row) for row in rows), file.max_bytes)
                sheets.append(f"# {sheet.title}\n\n{table}" if table else "")
    return Document([(None, "\n\n".join(filter(None, sheets)))], remark=remark)


def _formula_remark(archive: zipfile.ZipFile) -> str | None:
    """Return the remark about formulas without a value, which only spreadsheet programs compute."""
    sheets = (
        item
        for item in archive.infolist()
        if item.filename.startswith("xl/worksheets/") and item.file_size <= _MAX_SEARCHED_BYTES
    )
    count = sum(len(_FORMULA_WITHOUT_VALUE.findall(archive.read(sheet))) for sheet in sheets)
    if not count:
        return None
    is_one = count == 1
    return (
        f"{'1 formula has' if is_one else f'{count:,} formulas have'} no value, so "
        f"{'its cell is' if is_one else 'their cells are'} empty: open the workbook in Excel or "
        "LibreOffice, save it and add it again."
    )


def _excel_cell(cell: Any) -> str:
    """Return a value as Excel shows it: 0.3 for 0.30000000000000004, 5%, 5 mg, $5, 30:05:00."""
    value = cell.value
    if type(value) in (int, float):
        if "%" in _EXCEL_LITERAL.sub("", cell.number_format):
            return f"{value * 100:.15g}%"
        layout = _EXCEL_LAYOUT.sub(_literal_text, cell.number_format)
        unit = _EXCEL_UNIT.fullmatch(layout)
        currency = _EXCEL_CURRENCY.fullmatch(layout)
        number = f"{value:.15g}" if isinstance(value, float) else str(value)
        if _EXCEL_DIGITS.fullmatch(layout) and number.isdecimal():
            return number.zfill(len(layout))
        if currency is not None:
            blank = " " * (" " in currency[2])
            return f"{'-' * (value < 0)}{currency[1]}{blank}{number.lstrip('-')}"
        return number if unit is None else f"{number}{unit[1] or ''}{unit[2]}"
    if isinstance(value, timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
    return "" if value is None else str(value).removesuffix(" 00:00:00")


def _literal_text(match: re.Match[str]) -> str:
    currency = match[2] or match[3]
    return match[1] or (f'"{currency}"' if currency else "")


def _limited_table(rows: Iterable[Iterable[str]], max_bytes: int) -> str:
    """Return a table of rows; raise UnreadableError if it is longer than `max_bytes`."""
    lines: list[str] = []
    size = 0
    for line in reading.sheet_lines(rows):
        size += len(line)
        if size > max_bytes:
            raise reading.text_too_long(max_bytes)
        lines.append(line)
    return "\n".join(lines)


_ODF = "{urn:oasis:names:tc:opendocument:xmlns:%s:1.0}%s"
_ODF_HEADING = _ODF % ("text", "h")
_ODF_PARAGRAPH = _ODF % ("text", "p")
_ODF_LIST = _ODF % ("text", "list")
_ODF_NUMBERS = _ODF % ("text", "list-level-style-number")
_ODF_BULLETS = _ODF % ("text", "list-level-style-bullet")
_ODF_TABLE = _ODF % ("table", "table")
_ODF_CELLS = (_ODF % ("table", "table-cell"), _ODF % ("table", "covered-table-cell"))
_ODF_VALUES = ("value", "string-value", "date-value", "time-value", "boolean-value")
_ODF_CLASS = _ODF % ("presentation", "class")
_ODF_STYLE = _ODF % ("text", "style-name")
_ODF_DISPLAY = _ODF % ("text", "display")
_ODF_HIDDEN = (_ODF % ("text", "tracked-changes"), _ODF % ("office", "annotation"))
"""Deleted text, and comments."""

_XLINK_HREF = "{http://www.w3.org/1999/xlink}href"

_ODF_BLANKS = {
    _ODF % ("text", "s"): " ",
    _ODF % ("text", "tab"): "\t",
    _ODF % ("text", "line-break"): "\n",
}


def read_open_document(file: SourceFile, _on_stage: OnStage) -> Document:
    """Read an OpenDocument text, spreadsheet or presentation, of which each slide is a page."""
    with open_package(file, "document") as archive:
        if b"encryption-data" in archive.read("META-INF/manifest.xml"):
            raise UnreadableError(
                "The document is encrypted: save it without a password and add it again."
            )
        content = parse_xml(archive.read("content.xml"))
        styles = [content]
        if "styles.xml" in archive.namelist():
            styles.append(parse_xml(archive.read("styles.xml")))
        _hide_odf_text(content, styles)
        _number_odf_lists(content, styles)
        reading.mark_superscripts(_odf_superscripts(content, styles))
        _insert_odf_formulas(content, archive)
        slides = [*content.iter(_ODF % ("drawing", "page"))]
        pages: list[tuple[int | None, str]] = [
            (number, "\n\n".join(_odf_blocks(slide))) for number, slide in enumerate(slides, 1)
        ]
        headings = chain(_odf_titles(content), content.iter(_ODF_HEADING))
        title = _odf_title(archive) or next(map(_odf_text, headings), None)
        title = title or (find_heading(pages[0][1]) if pages else None)
        return Document(pages or [(None, "\n\n".join(_odf_blocks(content)))], title)


def _odf_title(archive: zipfile.ZipFile) -> str | None:
    if "meta.xml" not in archive.namelist():
        return None
    properties = parse_xml(archive.read("meta.xml"))
    return next((element.text for element in properties.iter("{*}title") if element.text), None)


def _odf_titles(content: Any) -> Iterator[Any]:
    """Yield the paragraphs of the style Title, or of one based on it."""
    names = {"Title"} | {
        style.get(_ODF % ("style", "name"))
        for style in content.iter(_ODF % ("style", "style"))
        if style.get(_ODF % ("style", "parent-style-name")) == "Title"
    }
    for paragraph in content.iter(_ODF_PARAGRAPH):
        if paragraph.get(_ODF_STYLE) in names and _odf_text(paragraph):
            yield paragraph


def _number_odf_lists(content: Any, styles: Iterable[Any]) -> None:
    """Put the numbers of list items, or hyphens, before their text."""
    levels = {
        (style.get(_ODF % ("style", "name")), level.get(_ODF % ("text", "level"))): level
        for part in styles
        for style in part.iter(_ODF % ("text", "list-style"))
        for level in style.iter(_ODF_NUMBERS, _ODF_BULLETS)
    }
    last_numbers: dict[tuple[str | None, str], int] = {}
    for items in content.iter(_ODF_LIST):
        lists = [items, *items.iterancestors(_ODF_LIST)]
        names = (ancestor.get(_ODF_STYLE) for ancestor in lists)
        name = next(filter(None, names), None)
        key = (name, str(len(lists)))
        level = levels.get(key)
        if level is None:
            continue
        is_bullet = level.tag == _ODF_BULLETS
        kind = level.get(_ODF % ("style", "num-format"))
        if not (kind or is_bullet):
            continue
        number = int(level.get(_ODF % ("text", "start-value"), 1)) - 1
        if items.get(_ODF % ("text", "continue-numbering")) == "true" or items.get(
            _ODF % ("text", "continue-list")
        ):
            number = last_numbers.get(key, number)
        for item in items.iterchildren(_ODF % ("text", "list-item")):
            number = int(item.get(_ODF % ("text", "start-value"), number + 1))
            if len(item) and item[0].tag in (_ODF_HEADING, _ODF_PARAGRAPH):
                mark = "-" if is_bullet else f"{reading.format_list_number(number, kind)}."
                item[0].text = f"{mark} {item[0].text or ''}"
        last_numbers[key] = number


def _odf_styles(styles: Iterable[Any], name: str, pattern: str) -> frozenset[str | None]:
    """Return the names of the styles with a property of text whose value begins with a pattern."""
    return frozenset(
        style.get(_ODF % ("style", "name"))
        for part in styles
        for style in part.iter(_ODF % ("style", "style"))
        for properties in style.iter(_ODF % ("style", "text-properties"))
        if re.match(pattern, properties.get(name, ""))
    )


def _hide_odf_text(content: Any, styles: Iterable[Any]) -> None:
    """Remove sections, paragraphs and words that are hidden."""
    hidden = _odf_styles(styles, _ODF_DISPLAY, "none")
    marks = (_ODF % ("text", "hidden-paragraph"), _ODF % ("text", "hidden-text"))
    for mark in [*content.iter(*marks)]:
        if mark.get(_ODF % ("text", "is-hidden")) == "true":
            is_word = mark.tag == marks[1]
            (mark if is_word else mark.getparent()).clear(keep_tail=True)
    for element in [*content.iter(_ODF % ("text", "*"))]:
        if element.get(_ODF_STYLE) in hidden or element.get(_ODF_DISPLAY) == "none":
            element.clear(keep_tail=True)


def _odf_superscripts(content: Any, styles: Iterable[Any]) -> Iterator[Any]:
    """Yield the spans whose style raises the text: `super 58%`, or by a share as in `33% 58%`."""
    raised = _odf_styles(styles, _ODF % ("style", "text-position"), r"super|[1-9]")
    for span in content.iter(_ODF % ("text", "span")):
        if span.get(_ODF_STYLE) in raised:
            yield span


def _insert_odf_formulas(content: Any, archive: zipfile.ZipFile) -> None:
    """Put formulas, which are separate objects, into their places."""
    for formula in content.iter(_ODF % ("drawing", "object")):
        path = posixpath.normpath(posixpath.join(formula.get(_XLINK_HREF, ""), "content.xml"))
        if path in archive.namelist():
            math = parse_xml(archive.read(path))
            mark_formulas(math)
            formula.text = math.text


def _odf_blocks(parent: Any) -> Iterator[str]:
    for element in parent:
        if element.tag == _ODF_HEADING:
            level = int(element.get(_ODF % ("text", "outline-level"), "1"))
            yield f"{'#' * min(level, reading.MAX_HEADING_LEVEL)} {_odf_text(element)}"
        elif element.tag == _ODF_PARAGRAPH:
            if text := _odf_text(element):
                yield text
        elif element.tag == _ODF_TABLE:
            if parent.tag == _ODF % ("office", "spreadsheet"):
                if table := "\n".join(reading.sheet_lines(_odf_rows(element))):
                    name = element.get(_ODF % ("table", "name"))
                    yield f"# {name}\n\n{table}" if name else table
            elif table := reading.format_table(_odf_rows(element)):
                yield table
        elif element.get(_ODF_CLASS) == "title":
            if title := " ".join(" ".join(_odf_blocks(element)).split()):
                yield f"# {title}"
        elif element.tag not in _ODF_HIDDEN and element.get(_ODF_CLASS) != "page-number":
            yield from _odf_blocks(element)


def _odf_text(element: Any) -> str:
    return "".join(_odf_parts(element)).strip()


def _odf_parts(element: Any) -> Iterator[str]:
    """Yield the text of an element in parts, its notes in brackets."""
    yield element.text or ""
    for child in element:
        if child.tag == _ODF % ("text", "note"):
            body = child.find(_ODF % ("text", "note-body"))
            yield f" [{' '.join(_odf_blocks(body))}]" if body is not None else ""
        elif child.tag in _ODF_BLANKS:
            yield _ODF_BLANKS[child.tag]
        elif child.tag == _ODF_PARAGRAPH:  # in a frame
            yield f" {_odf_text(child)} "
        elif child.tag not in _ODF_HIDDEN:
            yield from _odf_parts(child)
        yield child.tail or ""


def _odf_rows(table: Any) -> Iterator[list[str]]:
    """Yield the rows of a table, also those in groups, without those of tables in its cells."""
    for element in table:
        if element.tag == _ODF % ("table", "table-row"):
            cells = (
                _repeated(cell, "columns", _odf_cell(cell), _MAX_REPEATED_CELLS)
                for cell in element.iterchildren(*_ODF_CELLS)
            )
            row = [*chain.from_iterable(cells)]
            limit = _MAX_SHEET_ROWS if any(row) else _MAX_REPEATED_CELLS
            yield from _repeated(element, "rows", row, limit)
        elif element.tag != _ODF_TABLE:
            yield from _odf_rows(element)


def _odf_cell(cell: Any) -> str:
    """Return the text of a cell, or its value, of which some programs write no text."""
    values = (cell.get(_ODF % ("office", name), "") for name in _ODF_VALUES)
    return " ".join(_odf_blocks(cell)) if len(cell) else next(filter(None, values), "")


def _repeated(element: Any, kind: str, value: T, limit: int) -> list[T]:
    count = int(element.get(_ODF % ("table", f"number-{kind}-repeated"), "1"))
    return [value] * min(count, limit)


def read_epub(file: SourceFile, on_stage: OnStage) -> Document:
    """Read the chapters of an EPUB book in their order."""
    with open_package(file, "book") as archive:
        if "META-INF/rights.xml" in archive.namelist():
            raise UnreadableError("The book is encrypted: add a copy without copy protection.")
        container = parse_xml(archive.read("META-INF/container.xml"))
        path = next(container.iter("{*}rootfile")).get("full-path")
        package = parse_xml(archive.read(path))
        titles = [element.text for element in package.iter("{*}title") if element.text]
        paths = {item.get("id"): item.get("href") for item in package.iter("{*}item")}
        references = [item.get("idref") for item in package.iter("{*}itemref")]
        chapters = [paths[item] for item in references if item in paths]
        texts = []
        for number, chapter in enumerate(chapters, 1):
            on_stage(f"chapter {number} of {len(chapters)}")
            name = posixpath.normpath(posixpath.join(posixpath.dirname(path), unquote(chapter)))
            if name in archive.namelist():
                texts.append(chapter_text(archive.read(name)))
    return Document([(None, "\n\n".join(filter(None, texts)))], next(iter(titles), None))
