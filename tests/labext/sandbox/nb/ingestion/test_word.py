"""Text, headings and notes of Word documents, from their XML."""

from __future__ import annotations

import pytest
from labext_test_documents import zip_archive

_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006"
_STRICT = "http://purl.oclc.org/ooxml/officeDocument"


def word(body: str, office: str = _OFFICE, main: str = "document.xml", **parts: str) -> bytes:
    """Return a Word document with an XML body and further parts, such as `footnotes`."""
    spaces = f'xmlns:w="{office}/w" xmlns:m="{office}/math" xmlns:mc="urn:mc"'
    kind = f"{office}/relationships"
    related = "".join(f'<Relationship Type="{kind}/{name}" Target="{name}.xml"/>' for name in parts)
    first = f'<Relationship Type="{kind}/officeDocument" Target="/word/{main}"/>'
    return zip_archive(
        {
            "_rels/.rels": f"<Rs>{first}</Rs>",
            f"word/{main}": f"<w:document {spaces}><w:body>{body}</w:body></w:document>",
            f"word/_rels/{main}.rels": f"<Rs>{related}</Rs>",
        }
        | {
            f"word/{name}.xml": f"<w:{name} {spaces}>{content}</w:{name}>"
            for name, content in parts.items()
        }
    )


def run(text: str) -> str:
    return f"<w:r><w:t>{text}</w:t></w:r>"


def raised(text: str, position: str = '<w:vertAlign w:val="superscript"/>') -> str:
    return f"<w:r><w:rPr>{position}</w:rPr><w:t>{text}</w:t></w:r>"


def paragraph(*content: str, style: str = "") -> str:
    return f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr>{"".join(content)}</w:p>'


BRACKETS = '<m:dPr><m:begChr m:val="["/><m:endChr m:val="]"/></m:dPr>'
SUM = '<m:naryPr><m:chr m:val="∑"/></m:naryPr>'


def formula(element: str, **parts: str) -> str:
    inner = "".join(
        f"<m:{name}><m:r><m:t>{text}</m:t></m:r></m:{name}>" for name, text in parts.items()
    )
    return f"<m:oMath><m:{element}>{inner}</m:{element}></m:oMath>"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (f"<w:ins>{run('arabinose')}</w:ins>", "arabinose"),
        (f"<w:moveTo>{run('arabinose')}</w:moveTo>", "arabinose"),
        ("<w:del><w:r><w:delText>glucose</w:delText></w:r></w:del>", ""),
        (f"<w:moveFrom>{run('glucose')}</w:moveFrom>", ""),
        (f"<w:smartTag>{run('Berlin')}</w:smartTag>", "Berlin"),
        (f"<w:sdt><w:sdtContent>{run('Lee 2011')}</w:sdtContent></w:sdt>", "Lee 2011"),
        ("<w:r><w:instrText>PAGE</w:instrText></w:r>", ""),
        ('<w:r><w:sym w:font="Symbol" w:char="F06D"/></w:r>', "μ"),
        ("<w:r><w:noBreakHyphen/></w:r>", "-"),
        (f"{run('10')}{raised('6')}", "10^6"),
        (run("10") + raised("6", '<w:position w:val="8"/><w:sz w:val="19"/>'), "10^6"),
        (run("H10") + raised("6", '<w:position w:val="-8"/>'), "H106"),
        (f"{run('at 0.6.')}{raised('2–4')}", "at 0.6.[2–4]"),
        (f"{run('cm')}{raised('2')}", "cm2"),
        (f"{run('pSer')}{raised('473')}", "pSer473"),
        (f"{run('13C,')}{raised('15')}{run('N')}", "13C,15N"),
        ("<w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r>", ""),
        ('<w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t>shown</w:t></w:r>', "shown"),
        (f"{run('Lee')}{raised('6')}", "Lee[6]"),
        (f"{run('in 2015')}{raised('6')}", "in 2015[6]"),
        (formula("sSup", e="10", sup="5"), "10^5"),
        (formula("f", num="a", den="b"), "a/b"),
        (formula("d", e="a+b"), "(a+b)"),
        (formula("f", num="a", den="K+b"), "a/(K+b)"),
        (formula("rad", deg="", e="a+b"), "√(a+b)"),
        (formula("sSup", e="2", sup="n-1"), "2^(n-1)"),
        (formula("sSup", e="Ca", sup="2+"), "Ca^2+"),
        (f"<m:oMath><m:d>{BRACKETS}<m:e><m:r><m:t>S</m:t></m:r></m:e></m:d></m:oMath>", "[S]"),
        (
            "<m:oMath><m:nary>"
            + SUM
            + "<m:sub/><m:e><m:r><m:t>x</m:t></m:r></m:e></m:nary></m:oMath>",
            "∑x",
        ),
    ],
)
def test_visible_text_of_a_word_paragraph_is_read(read, content, expected):
    body = paragraph(run("Add "), content, run(" now."))
    assert read(word(body)).text == f"Add {expected} now."


def test_text_box_of_word_follows_its_paragraph_once(read):
    box = f"<w:txbxContent>{paragraph(run('A box.'))}</w:txbxContent>"
    shape = (
        f"<mc:AlternateContent><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback>"
        "</mc:AlternateContent>"
    )
    body = paragraph(run("Before."), f"<w:r>{shape}</w:r>") + paragraph(run("After."))
    assert read(word(body)).text == "Before.\n\nA box.\n\nAfter."


def test_notes_of_word_follow_their_marks(read):
    body = paragraph(
        run("Cells"),
        '<w:r><w:footnoteReference w:id="2"/></w:r>',
        run(" grow"),
        '<w:r><w:endnoteReference w:id="2"/></w:r>',
        run("."),
    )
    own_mark = '<w:r><w:footnoteReference w:id="2"/></w:r>'
    notes = {
        "footnotes": f'<w:footnote w:id="2">{paragraph(own_mark, run("DH10B"))}</w:footnote>',
        "endnotes": f'<w:endnote w:id="2">{paragraph(run("At 37 °C"))}</w:endnote>',
    }
    assert read(word(body, **notes)).text == "Cells [DH10B] grow [At 37 °C]."


def style(name: str, based_on: str = "", level: str = "") -> str:
    return (
        f'<w:style w:styleId="{name}"><w:name w:val="{name}"/><w:basedOn w:val="{based_on}"/>'
        f'<w:pPr><w:outlineLvl w:val="{level}"/></w:pPr></w:style>'
    )


@pytest.mark.parametrize(
    ("styles", "mark"),
    [
        (style("heading 3"), "### "),
        (style("Title"), "# "),
        (style("Step", "heading 2") + style("heading 2"), "## "),
        (style("Step", level="1"), "## "),
        (style("Subtitle", "Title") + style("Title"), ""),
        (style("TOC", "heading 1", level="9") + style("heading 1"), ""),
        (style("Step", "Step"), ""),
    ],
)
def test_headings_of_word_have_the_level_of_their_style(read, styles, mark):
    name = styles.partition('styleId="')[2].partition('"')[0]
    content = word(paragraph(run("Methods"), style=name), styles=styles)
    assert read(content).text == f"{mark}Methods"


def level(kind: str, text: str, start: int = 1) -> str:
    return (
        f'<w:lvl><w:start w:val="{start}"/><w:numFmt w:val="{kind}"/><w:lvlText w:val="{text}"/>'
        "</w:lvl>"
    )


def item(text: str, list_id: int, level: int = 0) -> str:
    numbering = f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{list_id}"/></w:numPr>'
    return f"<w:p><w:pPr>{numbering}</w:pPr>{run(text)}</w:p>"


def test_items_of_word_lists_have_their_numbers(read):
    numbering = (
        f'<w:abstractNum w:abstractNumId="7">{level("decimal", "%1.")}'
        f"{level('lowerLetter', '%1%2)')}{level('lowerRoman', '%3.', 4)}</w:abstractNum>"
        f'<w:abstractNum w:abstractNumId="8">{level("bullet", "o")}</w:abstractNum>'
        f'<w:abstractNum w:abstractNumId="9">{level("decimal", "%1.%9")}</w:abstractNum>'
        '<w:num w:numId="4"><w:abstractNumId w:val="9"/></w:num>'
        '<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>'
        '<w:num w:numId="2"><w:abstractNumId w:val="8"/></w:num>'
        '<w:num w:numId="3"><w:abstractNumId w:val="7"/><w:lvlOverride w:ilvl="0">'
        '<w:startOverride w:val="1"/></w:lvlOverride></w:num>'
    )
    in_style = '<w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr>'
    styles = f'<w:style w:styleId="Step"><w:name w:val="Step"/>{in_style}</w:style>'
    nested = item("Add", 1) + item("sub", 1, 1) * 2 + item("deep", 1, 2) + item("Note", 2)
    styled = paragraph(run("Mix"), style="Step") + item("sub", 1, 1)
    restarted = item("Restarted", 3) + item("Next", 3)
    body = nested + styled + restarted + item("No list", 0) + item("Undefined level", 4)
    text = read(word(body, numbering=numbering, styles=styles)).text
    first = ["1. Add", "1a) sub", "1b) sub", "iv. deep", "- Note", "2. Mix", "2a) sub"]
    others = ["1. Restarted", "2. Next", "No list", "1.1 Undefined level"]
    assert text.split("\n\n") == first + others


def test_deleted_rows_and_line_breaks_are_no_rows_of_a_word_table(read):
    rows = (
        f"<w:tr><w:tc>{paragraph(run('a'), '<w:r><w:br/></w:r>', run('b'))}</w:tc>"
        f"<w:sdt><w:sdtContent><w:tc>{paragraph(run('c'))}</w:tc></w:sdtContent></w:sdt></w:tr>"
        f"<w:tr><w:trPr><w:del/></w:trPr><w:tc>{paragraph(run('deleted'))}</w:tc></w:tr>"
        f'<w:tr><w:tc><w:tcPr><w:gridSpan w:val="2"/></w:tcPr>{paragraph(run("wide"))}</w:tc>'
        f"<w:tc>{paragraph(run('d'))}</w:tc></w:tr>"
    )
    assert read(word(f"<w:tbl>{rows}</w:tbl>")).text == "a b | c\nwide |  | d"


@pytest.mark.parametrize(
    ("office", "main"), [(_STRICT, "document.xml"), (_OFFICE, "document2.xml")]
)
def test_word_documents_of_other_programs_are_read(read, office, main):
    assert read(word(paragraph(run("Text.")), office, main), "paper.docx").text == "Text."


def test_raised_number_at_the_beginning_of_a_paragraph_is_no_exponent(read):
    body = paragraph(run("Grown at pH 7")) + paragraph(raised("13") + run("C is added."))
    assert read(word(body)).text.split("\n\n") == ["Grown at pH 7", "13C is added."]
