"""Articles in JATS XML."""

from __future__ import annotations


def test_lists_formulas_and_line_breaks_within_paragraphs_part_words(read):
    content = (
        "<article><aff><label>1</label>University of X</aff><p>The steps:<list><list-item>"
        "<p>wash</p></list-item><list-item><p>spin</p></list-item></list>and then:<disp-formula>"
        "<math><mi>y</mi></math></disp-formula>where y is 5.</p>"
        "<table><tr><td>BL21<break/>(DE3)</td><td>2</td></tr></table></article>"
    )
    lines = read(content.encode(), "a.xml").text.split("\n")
    expected = ["1 University of X", "The steps:", "wash", "spin", "and then:", "math: y"]
    assert list(filter(None, lines)) == [*expected, "where y is 5.", "BL21 (DE3) | 2"]


def test_title_of_a_caption_is_no_heading_of_the_text_after_it(read):
    content = (
        "<sec><title>Methods</title><fig><caption><title>Growth.</title><p>By OD.</p></caption>"
        "</fig><p>Cells were kept cold.</p></sec>"
    )
    lines = read(content.encode(), "a.xml").text.split("\n")
    expected = ["## Methods", "Growth.", "By OD.", "Cells were kept cold."]
    assert list(filter(None, lines)) == expected


def test_paragraphs_of_docbook_are_no_fields(read):
    content = b"<article><para>Keep cold.</para><date>2024-05-03</date></article>"
    lines = read(content, "a.xml").text.split("\n")
    assert list(filter(None, lines)) == ["Keep cold.", "date: 2024-05-03"]


def test_attributes_of_fields_and_of_what_contains_them_are_read(read):
    content = (
        '<assay><sample id="S1" xml:lang="en"><kd unit="nM" sd="1.2">12.5</kd></sample>'
        '<row n="2"><kd>9</kd></row><group id="g1"><p>Cold.</p></group></assay>'
    )
    lines = read(content.encode(), "a.xml").text.split("\n")
    expected = ["sample: id S1", "kd: 12.5 (unit nM, sd 1.2)", "row: n 2", "kd: 9", "Cold."]
    assert list(filter(None, lines)) == expected


def test_authors_and_formatted_titles_of_articles_are_paragraphs(read):
    name = "<name><surname>Lee</surname><given-names>J</given-names></name>"
    content = (
        f"<article><contrib><contrib-id>0-1</contrib-id>{name}<xref><sup>1</sup></xref>"
        '<xref><sup>*</sup></xref></contrib><date date-type="accepted"><year>2021</year></date>'
        "<sec><title><bold>Methods</bold></title><p><italic>E. coli</italic></p></sec></article>"
    )
    lines = read(content.encode(), "a.xml").text.split("\n")
    expected = ["0-1 Lee J[1][*]", "date: date-type accepted", "year: 2021", "## Methods"]
    assert list(filter(None, lines)) == [*expected, "E. coli"]


def test_parts_of_formulas_with_operators_are_in_brackets(read):
    michaelis = (
        "<mfrac><mrow><mi>V</mi><mo>+</mo><mi>c</mi></mrow><mrow><msub><mi>K</mi><mi>m</mi></msub>"
        "<mo>+</mo><mfrac><mi>a</mi><mi>b</mi></mfrac></mrow></mfrac>"
    )
    power = "<msup><mi>e</mi><mrow><mo>−</mo><mi>k</mi><mo>/</mo><mi>t</mi></mrow></msup>"
    root = "<msqrt><mi>x</mi><mo>+</mo><mn>1</mn></msqrt>"
    fenced = (
        '<mfenced open="[" close="]"><mi>S</mi></mfenced><mfenced><mi>x</mi><mi>y</mi></mfenced>'
    )
    content = f"<p>As <math>{michaelis}{power}{root}{fenced}</math>.</p>"
    assert read(content.encode(), "a.xml").text == "As (V+c)/(K_m+a/b)e^(−k/t)√(x+1)[S](x,y)."


def test_notes_in_paragraphs_and_their_marks_are_in_brackets(read):
    content = (
        '<article><p>Yield: 5<xref ref-type="fn" rid="f">1</xref> mg in 2015<sup>3</sup> with'
        "<note>Use 20% <hi>methanol</hi>.</note> or<fn><p>Cold.</p><p>Dark.</p></fn>.</p>"
        "<fn><p>Twice.</p></fn><p>2048<sup>3</sup> and 3.2015<sup>3</sup></p></article>"
    )
    lines = read(content.encode(), "a.xml").text.split("\n")
    expected = "Yield: 5[1] mg in 2015[3] with [Use 20% methanol.] or [Cold. Dark.]."
    assert list(filter(None, lines)) == [expected, "Twice.", "2048^3 and 3.2015^3"]


def test_row_of_a_table_with_its_first_cell_only_stays_in_the_table(read):
    rows = "".join(
        f"<tr><td>{name}</td><td>{value}</td></tr>" for name, value in ("ab", "c ", "de")
    )
    assert read(f"<a><table>{rows}</table></a>".encode(), "a.xml").text == "a | b\nc |\nd | e"
