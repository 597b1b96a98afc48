"""Office documents and books: text, pages and titles, or a reason."""

from __future__ import annotations

import io
import zipfile
from datetime import date, timedelta
from typing import Any

import openpyxl  # type: ignore[import-untyped]
import pptx
import pytest
from labext_test_documents import docx, pdf, saved, zip_archive
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.enum.shapes import MSO_SHAPE
from pptx.opc.constants import CONTENT_TYPE
from pptx.opc.package import Part
from pptx.opc.packuri import PackURI
from pptx.oxml import parse_xml

from labext.sandbox.nb.ingestion import office_readers
from labext.sandbox.nb.text.passages import split_passages


def test_docx_is_read_in_document_order(read):
    result = read(docx(["# Induction", "First.", [["Sugar", "%"], ["arabinose", "0.2"]], "Last."]))
    assert result.text == "# Induction\n\nFirst.\n\nSugar | %\narabinose | 0.2\n\nLast."
    assert result.title == "Induction"


def test_docx_title_is_taken_from_properties(read):
    assert read(docx(["# Induction", "Text."], title="pBAD30 notes")).title == "pBAD30 notes"


def test_deeply_nested_tables_are_read(read):
    import docx as library

    document = library.Document()
    cell = document.add_table(1, 1).cell(0, 0)
    for _ in range(40):
        cell.text = "level"
        cell = cell.add_table(1, 1).cell(0, 0)
    assert 1 <= read(saved(document)).text.count("level") <= 40


def slide_with_text(text: str = "") -> tuple[Any, Any]:
    """Return a presentation with one slide, and the text box of the slide."""
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    box = slide.shapes.add_textbox(0, 0, 9, 9)
    box.text_frame.text = text
    return presentation, box


def workbook(*rows: Any) -> bytes:
    """Return a workbook with these rows in its sheet."""
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    return saved(book)


def entries_of(content: bytes) -> dict[str, str]:
    """Return the texts of an archive by their names."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_slides_are_pages_with_tables_groups_and_notes(read):
    presentation = pptx.Presentation()
    first = presentation.slides.add_slide(presentation.slide_layouts[1])
    first.shapes.title.text = "Induction"
    first.placeholders[1].text = "Arabinose induces pBAD."
    first.notes_slide.notes_text_frame.text = "Mention glucose."
    second = presentation.slides.add_slide(presentation.slide_layouts[6])
    table = second.shapes.add_table(2, 2, 0, 0, 9, 9).table
    for index, text in enumerate(("Sugar", "%", "arabinose", "0.2")):
        table.cell(index // 2, index % 2).text = text
    second.shapes.add_group_shape().shapes.add_textbox(0, 0, 9, 9).text_frame.text = "In a group."
    stages: list[str] = []
    result = read(saved(presentation), stages=stages)
    assert result.title == "Induction"
    assert result.pages == [
        (1, "# Induction\n\nArabinose induces pBAD.\n\nMention glucose."),
        (2, "Sugar | %\narabinose | 0.2\n\nIn a group."),
    ]
    assert stages[-1] == "slide 2 of 2"


def test_exponents_of_numbers_on_slides_are_marked(read):
    presentation, box = slide_with_text()
    paragraph = box.text_frame.paragraphs[0]
    for text in ("3 × 10", "9", " CFU"):
        paragraph.add_run().text = text
    paragraph.runs[1].font._element.set("baseline", "30000")
    paragraph.add_line_break()
    paragraph.add_run().text = "per mL"
    assert read(saved(presentation)).text == "3 × 10^9 CFU\nper mL"


def test_paragraphs_of_slides_have_their_numbers(read):
    presentation, box = slide_with_text()
    number = '<a:buAutoNum xmlns:a="urn:a" type="{}"/>'
    for text, level, kind in [
        ("Thaw", 0, "arabicPeriod"),
        ("on ice", 1, "alphaLcParenR"),
        ("slowly", 1, "alphaLcParenR"),
        ("Mix", 0, "arabicPeriod"),
        ("Later", 0, None),
        ("Heat", 0, "arabicPeriod"),
    ]:
        paragraph = box.text_frame.add_paragraph()
        paragraph.text, paragraph.level = text, level
        if kind is not None:
            paragraph._p.get_or_add_pPr().append(parse_xml(number.format(kind)))
    paragraph._p.pPr[0].set("startAt", "3")
    expected = "1. Thaw\na. on ice\nb. slowly\n2. Mix\nLater\n3. Heat"
    assert read(saved(presentation)).text == expected


def test_formulas_in_the_text_of_slides_are_read(read):
    presentation, box = slide_with_text("At ")
    paragraph = box.text_frame.paragraphs[0]
    formula = (
        '<m xmlns="urn:m"><oMath><sSup><sSupPr/><e><r><t>10</t></r></e>'
        "<sup><r><t>6</t></r></sup></sSup></oMath></m>"
    )
    paragraph._p.append(parse_xml(formula))
    paragraph.add_run().text = " cells"
    assert read(saved(presentation)).text == "At 10^6 cells"


@pytest.mark.parametrize("kind", ["barChart", "bar3DChart"])
def test_charts_of_slides_are_tables(read, kind):
    data = CategoryChartData()
    data.categories = ["glucose", "arabinose"]
    data.add_series("OD600", (0.5, None))
    data.add_series("GFP", (12, 340))
    presentation, box = slide_with_text("Yields")
    shapes = box.part.slide.shapes
    chart = shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, 9, 9, data).chart
    chart.chart_title.text_frame.text = "Growth at 37 °C"
    chart.value_axis.axis_title.text_frame.text = "OD at 600 nm"
    next(chart.element.iter("{*}barChart")).tag = f"{chart.element.tag.split('}')[0]}}}{kind}"
    assert read(saved(presentation)).text == (
        "Yields\n\nGrowth at 37 °C\n\nOD at 600 nm\n\n"
        " | OD600 | GFP\nglucose | 0.5 | 12\narabinose |  | 340"
    )


@pytest.mark.parametrize("kind", [CONTENT_TYPE.PML_SLIDESHOW_MAIN, CONTENT_TYPE.PML_TEMPLATE_MAIN])
def test_slide_shows_and_templates_are_read(read, kind):
    presentation, _ = slide_with_text("Yields")
    presentation.part._content_type = kind
    assert read(saved(presentation), "a.ppsx").text == "Yields"


def test_shapes_with_formulas_and_diagrams_of_slides_are_read(read):
    presentation, shape = slide_with_text("Growth is exponential.")
    alternatives = parse_xml(
        b'<a:AlternateContent xmlns:a="urn:mc"><a:Choice/><a:Fallback/></a:AlternateContent>'
    )
    shape.element.getparent().append(alternatives)
    alternatives[0].append(shape.element)
    content = (
        b'<d:dataModel xmlns:d="urn:d" xmlns:a="urn:a"><d:ptLst><d:pt><d:t><a:p><a:r><a:t>Grow'
        b"</a:t></a:r></a:p></d:t></d:pt><d:pt><d:t><a:p/></d:t></d:pt><d:pt><d:t><a:p><a:r><a:t>Harvest"
        b"</a:t></a:r></a:p></d:t></d:pt></d:ptLst></d:dataModel>"
    )
    name = PackURI("/ppt/diagrams/data1.xml")
    part = Part(name, "application/xml", shape.part.package, content)
    shape.part.relate_to(part, "http://schemas.example/relationships/diagramData")
    assert read(saved(presentation)).text == "Growth is exponential.\n\nGrow\nHarvest"


def test_shape_of_an_unknown_kind_does_not_hide_the_slide(read):
    presentation, box = slide_with_text("Text.")
    shape = box.part.slide.shapes.add_shape(MSO_SHAPE.RECTANGLE, 0, 0, 9, 9)
    shape._element.spPr.remove(shape._element.spPr.prstGeom)
    assert read(saved(presentation)).text == "Text."


def test_sheets_are_tables_under_their_names(read):
    book = openpyxl.Workbook()
    book.active.title = "Plasmids"
    for row in (("name", "length"), ("pBAD30", 4923), (None, None), ("pUC19", 2686.5)):
        book.active.append(row)
    book.active.append([0.30000000000000004])
    book.create_sheet("Empty")
    book.create_sheet("Dates").append([date(2026, 11, 23), "two\nlines"])
    result = read(saved(book), "plasmids.xlsx")
    assert result.text == (
        "# Plasmids\n\nname | length\npBAD30 | 4923\npUC19 | 2686.5\n0.3 |\n\n"
        "# Dates\n\n2026-11-23 | two lines"
    )


def test_rows_of_a_sheet_beyond_those_of_excel_are_not_read(read, monkeypatch):
    monkeypatch.setattr(office_readers, "_MAX_SHEET_ROWS", 100)
    book = openpyxl.Workbook()
    book.active.cell(100, 1, "last")
    book.active.cell(101, 1, "beyond")
    assert read(saved(book), "plasmids.xlsx").text == "# Sheet\n\nlast"


@pytest.mark.parametrize(
    ("value", "number_format", "expected"),
    [
        (0.05, "0%", "5%"),
        (0.07, "0.0%", "7%"),
        (0.1234, "0%", "12.34%"),
        (1, "0%", "100%"),
        (5, '0.0"%"', "5%"),
        (2.5, '0.00" mg/mL";-0.00" mg/mL"', "2.5 mg/mL"),
        (37, r'0\ "°C"', "37 °C"),
        (3, '"n = "0', "3"),
        (-12.5, '"$"#,##0.00_);("$"#,##0.00)', "-$12.5"),
        (1250, "[$€-2] #,##0.00;[Red]-[$€-2] #,##0.00", "€ 1250"),
        (89, r"_-* #,##0.00\ [$€-407]_-", "89 €"),
        (68.5, "#,##0.00 €", "68.5 €"),
        (-12.5, "$#,##0.00", "-$12.5"),
        (42, "00000", "00042"),
        ("5", "0%", "5"),
        (True, "0%", "True"),
        (timedelta(hours=30, minutes=5), "[h]:mm:ss", "30:05:00"),
    ],
)
def test_percentages_and_units_of_a_spreadsheet_are_read_as_excel_shows_them(
    read, value, number_format, expected
):
    book = openpyxl.Workbook()
    book.active["A1"] = value
    book.active["A1"].number_format = number_format
    assert read(saved(book)).text == f"# Sheet\n\n{expected}"


def test_formulas_without_a_value_are_remarked(read):
    content = workbook([1, "=A1*2", "=A1*3"])
    result = read(content)
    assert result.text == "# Sheet\n\n1"
    assert str(result.remark).startswith("2 formulas have no value, so their cells are empty: ")
    entries = {
        name: text.replace("</f><v></v>", "</f><v>2</v>", 1).replace('r="C1"', 'r="C1" t="str"')
        for name, text in entries_of(content).items()
    }
    result = read(zip_archive(entries))
    assert (result.text, result.remark) == ("# Sheet\n\n1 | 2", None)


def test_workbook_in_strict_form_is_refused_with_the_way_out(read_error):
    strict = {
        "schemas.openxmlformats.org/spreadsheetml/2006/": "purl.oclc.org/ooxml/spreadsheetml/",
        "schemas.openxmlformats.org/officeDocument/2006/": "purl.oclc.org/ooxml/officeDocument/",
    }
    entries = entries_of(workbook())
    for transitional, address in strict.items():
        entries = {name: text.replace(transitional, address) for name, text in entries.items()}
    assert "save it as an ordinary workbook" in read_error(zip_archive(entries))


def test_rows_of_a_long_sheet_keep_the_header(read):
    rows = ((f"p{number}", "ampicillin") for number in range(200))
    *_, last = split_passages(read(workbook(("plasmid", "resistance"), *rows)).pages)
    assert "plasmid | resistance" in last.heading


def test_tables_of_a_sheet_keep_their_own_headers(read):
    strains = [("strain", "rate"), ("DH5a", 0.4), (), ("BL21", 0.7)]
    buffers = [("buffer", "pH"), ("TE", 8), (), ("Tris", "10 mM")]
    table = "strain | rate\nDH5a | 0.4\nBL21 | 0.7\n\nbuffer | pH\nTE | 8\nTris | 10 mM"
    content = workbook(*strains, (), (), *buffers)
    assert read(content).text == f"# Sheet\n\n{table}"


def test_spreadsheet_with_too_much_text_is_refused(read_error):
    content = workbook(*[["ACGT" * 20]] * 100)
    assert "bigger than 1,000 bytes" in read_error(content, max_bytes=1000)


ODF = (
    '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
    'xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
    'xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0">'
    "<office:body>{}</office:body></office:document-content>"
)


def open_document(body: str, manifest: str = "<manifest/>", **more: str) -> bytes:
    content = {"META-INF/manifest.xml": manifest, "content.xml": ODF.format(body)}
    return zip_archive(content | more)


def test_open_document_has_headings_lists_and_tables(read):
    result = read(
        open_document(
            '<office:text><text:h text:outline-level="2">Induction</text:h>'
            "<text:p>Add<text:s/>arabinose<text:line-break/>now.</text:p>"
            '<text:h text:outline-level="900000000">Steps</text:h>'
            "<text:list><text:list-item><text:p>one</text:p></text:list-item></text:list>"
            '<table:table table:name="T"><table:table-row>'
            "<table:table-cell><text:p>Sugar</text:p></table:table-cell>"
            "<table:table-cell><text:p>%</text:p></table:table-cell>"
            '<table:table-cell table:number-columns-repeated="16000"/>'
            "</table:table-row></table:table></office:text>"
        )
    )
    assert result.text == "## Induction\n\nAdd arabinose\nnow.\n\n###### Steps\n\none\n\nSugar | %"
    assert result.title == "Induction"


def test_items_of_numbered_lists_of_an_open_document_have_their_numbers(read):
    levels = "".join(
        f'<text:list-level-style-number text:level="{level}" style:num-format="{kind}"/>'
        for level, kind in ((1, "1"), (2, "i"), (3, ""))
    )
    other = (
        '<text:list-level-style-number text:level="1" style:num-format="1" text:start-value="5"/>'
        '<text:list-level-style-bullet text:level="2"/>'
    )
    item = "<text:list-item><text:p>{}</text:p>{}</text:list-item>"
    inner = f"<text:list>{item.format('sub', '')}{item.format('sub', '')}</text:list>"
    result = read(
        open_document(
            f'<text:list-style style:name="L">{levels}</text:list-style>'
            f'<text:list-style style:name="M">{other}</text:list-style><office:text>'
            f'<text:list text:style-name="L">{item.format("Add", inner)}{item.format("Mix", "")}'
            "</text:list><text:p>Wait.</text:p>"
            '<text:list text:style-name="L" text:continue-numbering="true">'
            f"{item.format('Heat', '')}</text:list>"
            f'<text:list text:style-name="L">{item.format("Other", "")}</text:list>'
            f'<text:list text:style-name="M">{item.format("Later", inner)}</text:list>'
            '<text:list text:style-name="M" text:continue-list="x">'
            f"{item.format('Last', '')}</text:list></office:text>"
        )
    )
    lines = ["1. Add", "i. sub", "ii. sub", "2. Mix", "Wait.", "3. Heat", "1. Other"]
    assert result.text.split("\n\n") == [*lines, "5. Later", "- sub", "- sub", "6. Last"]


def test_exponents_of_numbers_in_an_open_document_are_marked(read):
    styles = "".join(
        f'<style:style style:name="{name}"><style:text-properties {position}/></style:style>'
        for name, position in (
            ("Up", 'style:text-position="super 58%"'),
            ("Raised", 'style:text-position="33% 58%"'),
            ("Down", 'style:text-position="sub 58%"'),
            ("Low", 'style:text-position="-33% 58%"'),
            ("Bold", ""),
        )
    )
    span = '<text:span text:style-name="{}">{}</text:span>'
    text = (
        f"10{span.format('Up', 6)}, 10{span.format('Raised', '−3')} cells{span.format('Up', 1)},"
        f" 1{span.format('Down', 0)}{span.format('Low', 5)}{span.format('Bold', 7)}"
    )
    body = f"{styles}<office:text><text:p>{text}</text:p></office:text>"
    assert read(open_document(body)).text == "10^6, 10^−3 cells[1], 1057"


def test_hidden_text_of_an_open_document_is_not_read_and_its_title_is_that_of_the_style(read):
    body = (
        '<style:style style:name="P1" style:parent-style-name="Title"/><style:style '
        'style:name="T1"><style:text-properties text:display="none"/></style:style><office:text>'
        '<text:h>Buffers</text:h><text:p text:style-name="P1">Prep</text:p><text:p>At 37'
        '<text:span text:style-name="T1">not 30</text:span> °C<text:hidden-text '
        'text:is-hidden="true">x</text:hidden-text>.</text:p><text:section text:display="none">'
        '<text:p>Old</text:p></text:section><text:p><text:hidden-paragraph text:is-hidden="true"/>'
        "Old</text:p></office:text>"
    )
    result = read(open_document(body))
    assert (result.title, result.text) == ("Prep", "# Buffers\n\nPrep\n\nAt 37 °C.")


def test_formulas_of_an_open_document_are_read(read):
    formula = '<draw:frame><draw:object xlink:href="./Object 1"/></draw:frame>'
    body = f'<office:text xmlns:xlink="http://www.w3.org/1999/xlink"><text:p>Let {formula}'
    math = "<math><msup><mi>c</mi><mn>2</mn></msup><annotation>c^2</annotation></math>"
    content = open_document(f"{body}.</text:p></office:text>", **{"Object 1/content.xml": math})
    assert read(content).text == "Let c^2."


def test_notes_of_an_open_document_are_in_brackets_without_deletions_and_comments(read):
    result = read(
        open_document(
            "<office:text><text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>"
            "<text:p>Cells<text:note><text:note-citation>1</text:note-citation><text:note-body>"
            "<text:p>DH10B</text:p></text:note-body></text:note> grow<office:annotation>"
            "<text:p>Really?</text:p></office:annotation>.</text:p></office:text>"
        )
    )
    assert result.text == "Cells [DH10B] grow."


def test_rows_of_open_document_tables_keep_their_columns_and_are_read_once(read):
    cell = "<table:table-cell><text:p>{}</text:p></table:table-cell>"
    inner = f"<table:table><table:table-row>{cell.format('x')}</table:table-row></table:table>"
    result = read(
        open_document(
            '<office:spreadsheet><table:table table:name="Yields"><table:table-row>'
            f"{cell.format('a')}<table:covered-table-cell/><table:table-cell>{inner}"
            "</table:table-cell></table:table-row><table:table-row-group><table:table-row "
            f'table:number-rows-repeated="2">{cell.format("b")}</table:table-row>'
            '</table:table-row-group><table:table-row table:number-rows-repeated="1048576"/>'
            "</table:table></office:spreadsheet>"
        )
    )
    assert result.text == "# Yields\n\na |  | x\nb\nb"


def test_repeated_rows_and_values_without_text_of_a_spreadsheet_are_read(read):
    row = (
        '<table:table-row table:number-rows-repeated="150"><table:table-cell '
        'office:value="0.5"/><table:table-cell office:date-value="2026-01-05"/></table:table-row>'
    )
    body = f"<office:spreadsheet><table:table>{row}</table:table></office:spreadsheet>"
    assert read(open_document(body)).text.splitlines() == ["0.5 | 2026-01-05"] * 150


def test_slides_of_an_open_document_are_pages(read):
    slide = "<draw:page><draw:frame><text:p>{}</text:p></draw:frame></draw:page>"
    result = read(open_document(slide.format("one") + slide.format("two")))
    assert result.pages == [(1, "one"), (2, "two")]


def epub(**more: str) -> bytes:
    chapter = "<html><body><h1>{}</h1><p>{}</p>{}</body></html>"
    more_blocks = "<table><tr><td>Sugar</td><td>%</td></tr></table><ul><li><p>item</p></li></ul>"
    return zip_archive(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<c><rootfile full-path="OPS/book.opf"/></c>',
            "OPS/book.opf": '<p xmlns:dc="d"><dc:title>Handbook</dc:title>'
            '<item id="a" href="a%201.xhtml"/><item id="b" href="b.xhtml"/>'
            '<item id="c" href="lost.xhtml"/><item id="d" href="empty.xhtml"/>'
            '<itemref idref="b"/><itemref idref="c"/><itemref idref="d"/><itemref idref="gone"/>'
            '<itemref idref="a"/></p>',
            "OPS/empty.xhtml": "",
            "OPS/a 1.xhtml": chapter.format("Second", "Repression by glucose.", ""),
            "OPS/b.xhtml": chapter.format("First", "Induction <b>by</b> arabinose.", more_blocks),
        }
        | more
    )


def test_chapters_of_a_book_are_read_in_the_order_of_its_spine(read):
    result = read(epub())
    assert result.title == "Handbook"
    assert result.text == (
        "# First\n\nInduction by arabinose.\n\nSugar | %\n\n- item\n\n"
        "# Second\n\nRepression by glucose."
    )


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<div>In a <b>div</b>.<div>Inner.</div>After.</div>", "In a div.\n\nInner.\n\nAfter."),
        ("<p>one<br/>two</p>", "one\ntwo"),
        ("<ol><li>Add</li><li><p>Mix</p></li></ol>", "1. Add\n\n2. Mix"),
        (
            "<table><tr><td colspan='2'>a</td><td>b</td></tr><tr><td>1</td><td>2</td></tr></table>",
            "a |  | b\n1 | 2",
        ),
        ("<pre>a:\n  b</pre>", "```\na:\n  b\n```"),
        ("<h2>A <i>b</i></h2><script>x</script>text", "## A b\n\ntext"),
        ("<style>x</style>a<!-- x --> b<?x y?> c<applet>x</applet> d", "a b c d"),
        ("a <textarea>x</textarea><input value='x'/>b<select><option>x</option></select>", "a b"),
        ("<form><p>Sugar</p><label>Dose</label></form>after", "Sugar\n\nDose\n\nafter"),
        ("<p>a <blink>b</blink> c <embed src='x'/>d</p>", "a b c d"),
        ("<table><tr><td><table><tr><td>a</td></tr></table></td><td>b</td></tr></table>", "a | b"),
    ],
)
def test_all_visible_text_of_a_chapter_is_read(read, body, expected):
    chapter = f"<html><head><title>Not read</title></head><body>{body}</body></html>"
    content = epub(**{"OPS/a 1.xhtml": "<html/>", "OPS/b.xhtml": chapter})
    assert read(content).text == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (pdf(["Secret."], encrypted=True), "encrypted"),
        (pdf(["", "", ""]), "Its 3 pages are blank: check that it is the right file."),
        (pdf([""]), "Its 1 page is blank"),
        (b"%PDF-1.7\nrubbish", "broken"),
        (pdf(["Text."])[:120], "broken"),
        (docx(["Text."])[:-100], "broken"),
        (zip_archive({"word/document": "<"}), "archive"),
        (zip_archive({"word/document.xml": b"<nonsense"}), "broken"),
        (zip_archive({"ppt/presentation.xml": b""}), "presentation is broken"),
        (zip_archive({"xl/workbook.xml": b""}), "spreadsheet is broken"),
        (zip_archive({"content.xml": b"<a/>"}), "document is broken"),
        (zip_archive({"META-INF/container.xml": b"<a/>"}), "book is broken"),
        (zip_archive({"notes.txt": b"text"}), "unpack"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"x" * 600, "encrypted"),
        (open_document("", '<manifest><encryption-data x="1"/></manifest>'), "encrypted"),
        (epub(**{"META-INF/rights.xml": "<rights/>"}), "copy protection"),
        (
            zip_archive({"word/document.xml": "", **{f"a{n}": "" for n in range(10_001)}}),
            "The archive holds more than 10,000 files and folders. Unpack it and add its files.",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",  # archives contain the time
)
def test_unsupported_documents_are_refused_with_a_hint(read_error, content, expected):
    assert expected in read_error(content, "paper.docx")


@pytest.mark.parametrize(
    "kind", ["Word document", "presentation", "spreadsheet", "document", "book"]
)
def test_package_that_unpacks_to_too_much_is_refused(read_error, monkeypatch, kind):
    content = {
        "Word document": lambda: docx(["Text."]),
        "presentation": lambda: saved(pptx.Presentation()),
        "spreadsheet": workbook,
        "document": lambda: open_document(""),
        "book": epub,
    }[kind]()
    monkeypatch.setattr(office_readers, "MAX_UNPACKED_BYTES", 100)
    assert read_error(content) == (
        f"The {kind} unpacks to more than 100 bytes: add it in parts, or without its pictures."
    )


def test_titles_of_open_document_slides_are_headings(read):
    presentation = 'xmlns:presentation="urn:oasis:names:tc:opendocument:xmlns:presentation:1.0"'
    frames = "".join(
        f'<draw:frame {presentation} presentation:class="{kind}"><draw:text-box><text:p>{text}'
        "</text:p></draw:text-box></draw:frame>"
        for kind, text in [("title", "Growth"), ("outline", "It grew."), ("page-number", "7")]
    )
    result = read(open_document(f"<draw:page>{frames}</draw:page>"))
    assert (result.title, result.pages) == ("Growth", [(1, "# Growth\n\nIt grew.")])
