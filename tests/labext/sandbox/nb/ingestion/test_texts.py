"""Text and titles of web pages, e-mails, Markdown, tables, notebooks and XML."""

from __future__ import annotations

import csv
import json

import nbformat.v4
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.sandbox.nb.ingestion import reading

PAGE = """<!DOCTYPE html><html><head><title>Catabolite repression</title>
<style>p {color: red}</style><script>var hidden = 1;</script></head><body>
<nav><a href="/">Home</a> <a href="/shop">Shop</a></nav>
<article><h1>Catabolite repression</h1>
<p>Glucose keeps the promoter of the arabinose operon closed: without cyclic AMP the activator does
not bind, however much arabinose there is in the medium around the cells.</p>
<p>This is why glucose is added to the culture that is not to be induced at all — the leak of
the promoter is then as small as it can be, and toxic proteins do no harm.</p>
<table><tr><th>Sugar</th><th>Promoter</th></tr><tr><td>glucose</td><td>closed</td></tr></table>
</article><footer>Imprint and cookies</footer></body></html>"""


def test_html_is_read_without_navigation_and_scripts(read):
    result = read(PAGE.encode(), "page.html")
    assert result.title == "Catabolite repression"
    assert "Glucose keeps the promoter" in result.text
    assert not any(word in result.text for word in ("Shop", "hidden", "color"))
    assert read(b"<p>Hello there.</p><script>no()</script>", "p.html").text == "Hello there."


def test_headings_of_html_are_marked_and_other_text_is_not(read):
    filler = "Cells grow until noon and are then kept cold in the dark, as in the last week. " * 3
    page = (
        f"<html><body><article><h1>Induction</h1><p>{filler}</p><h2>Add <i>arabinose</i></h2>"
        f"<p>pBAD_33 in H<sub>2</sub>O [1]. {filler}</p><h2><img src='a.png'></h2>"
        "<table><tr><th><h3>Sugar</h3></th><th>OD</th></tr><tr><td>a</td><td>1</td></tr></table>"
        "</article></body></html>"
    )
    lines = [line for line in read(page.encode(), "page.html").text.splitlines() if line]
    assert lines[0] == "# Induction"
    assert lines[2] == "## Add arabinose"
    assert lines[3].startswith("pBAD_33 in H2O [1]. Cells")
    assert lines[4].strip("| ") == "Sugar | OD"


def test_headings_of_html_without_a_main_element_are_kept(read):
    filler = "Cells grow until noon and are then kept cold in the dark, as in the last week. "
    page = (
        f"<html><body><h1>Induction</h1><div><p>{filler}</p><h2>Methods</h2><p>{filler * 3}</p>"
        f"<h2>Results</h2><p>{filler.upper() * 3}</p></div></body></html>"
    )
    lines = read(page.encode(), "page.html").text.splitlines()
    assert [x for x in lines if x[:1] == "#"] == ["# Induction", "## Methods", "## Results"]


SPANS = (
    "<table><tr><th rowspan='2'>Strain</th><th colspan='2'>Rate</th><th>Source</th></tr>"
    "<tr><th>LB</th><th>M9</th></tr><tr><td rowspan='2'>DH5a</td><td>1.2</td><td>0.4</td></tr>"
    "<tr><td>1.1</td><td>0.5</td><td>Lee</td></tr><tr><td>BL21</td><td>1.7</td></tr></table>"
)
FILLER = "Cells grow until noon and are then kept cold. " * 9


@pytest.mark.parametrize("name", ["page.html", "page.xml"])
@pytest.mark.parametrize("filler", ["", FILLER])
def test_cells_below_those_of_several_rows_stay_in_their_columns(read, name, filler):
    page = f"<html><body><article><p>{filler}</p>{SPANS}</article></body></html>"
    lines = [line.strip(" ") for line in read(page.encode(), name).text.splitlines()]
    rows = [line[1:-1] if line.endswith("|") else line for line in lines if " | " in line]
    assert [[cell.strip() for cell in row.rstrip(" |").split("|")] for row in rows] == [
        ["Strain", "Rate", "", "Source"],
        ["", "LB", "M9"],
        ["DH5a", "1.2", "0.4"],
        ["", "1.1", "0.5", "Lee"],
        ["BL21", "1.7"],
    ]


E_MAIL = b"""Subject: =?utf-8?b?UHJvdG9jb2wgZsO8cg==?= minipreps
From: =?utf-8?q?J=C3=BCrgen?= <j@a.example>
Content-Type: multipart/%s; boundary=X

--X
Content-Type: text/%s
Content-Transfer-Encoding: quoted-printable

%sElute with 50 =C2=B5L at 37 =
=C2=B0C.
--X
Content-Type: application/pdf
Content-Disposition: attachment; filename="gel.pdf"
Content-Transfer-Encoding: base64

JVBERi0xLjQ=
--X--
"""


def test_e_mails_and_saved_pages_are_decoded(read, read_error):
    mail = read(E_MAIL % (b"mixed", b"plain; charset=utf-8", b""), "a.eml")
    assert mail.title == "Protocol für minipreps"
    assert mail.text == (
        "Subject: Protocol für minipreps\nFrom: Jürgen <j@a.example>\n\nElute with 50 µL at 37 °C."
        "\n\n(the attachment gel.pdf is not included: add that file, too)"
    )
    page = read(
        E_MAIL % (b"related", b"html", b"<title>Minipreps</title><h1>Elution</h1>"), "a.mhtml"
    )
    assert (page.title, page.text) == ("Minipreps", "# Elution\n\nElute with 50 µL at 37 °C.")
    assert "e-mail is broken" in read_error(b"To: <a@[>\n\ntext", "a.eml")


@pytest.mark.parametrize("name", ["page.html", "page.xml"])
def test_exponents_of_numbers_in_html_and_xml_are_marked(read, name):
    page = (
        "<html><body><p>10<sup>6</sup> cells, 5<sup>−3</sup>, a note<sup>1</sup></p></body></html>"
    )
    assert read(page.encode(), name).text == "10^6 cells, 5^−3, a note[1]"
    names = '<a><p>10<superscript>6</superscript>, 10<hi rend="superscript">−3</hi></p></a>'
    assert read(names.encode(), "page.xml").text == "10^6, 10^−3"


def test_superscripts_that_are_links_to_notes_are_in_brackets(read):
    html = (
        'mg<sup><a href="#a">1</a>,<a href="#b">2</a></sup>, 37<a href="#c"><sup>3</sup></a>, '
        '<a href="#d" role="doc-noteref">4</a>, K<sup><a href="#a">[5]</a></sup>, 10<sup>6</sup>'
    )
    assert read(f"<p>{html}</p>".encode(), "page.html").text == "mg[1,2], 37[3], [4], K[5], 10^6"
    xml = '<a><p>5 mg<sup><xref rid="r1">1</xref></sup> and <sup>2</sup>H.</p></a>'
    assert read(xml.encode(), "page.xml").text == "5 mg[1] and 2H."


FORMULA = (
    "<math><semantics><mrow><mn>3</mn><mo>×</mo><msup><mn>10</mn><mrow><mo>−</mo><mn>6</mn></mrow>"
    "</msup></mrow><annotation>3 \\times</annotation></semantics></math>"
)
FRACTION = "<math><mfrac><mn>1</mn><mn>2</mn></mfrac><msub><mi>K</mi><mi>m</mi></msub></math>"


@pytest.mark.parametrize("filler", ["", FILLER])
def test_formulas_of_html_are_read(read, filler):
    hidden = f"<span style='display: none'>{FRACTION}</span><img src='shown.svg'>"
    page = f"<html><body><article><p>{filler}Add {FORMULA} M or {hidden}.</p></article></body>"
    assert read(page.encode(), "page.html").text == f"{filler}Add 3×10^−6 M or 1/2K_m."


@pytest.mark.parametrize("filler", ["", FILLER])
@pytest.mark.parametrize(
    "formula",
    [
        '<span class="katex"><span class="katex-mathml">{}</span>'
        '<span class="katex-html" aria-hidden="true"><span>3</span>×<span>10</span></span></span>',
        '<span class="MathJax"><nobr aria-hidden="true"><span>3×10</span></nobr>'
        '<span class="MJX_Assistive_MathML">{}</span></span><script type="math/tex">3</script>',
        '<mjx-container class="MathJax"><mjx-math aria-hidden="true"><mjx-mn>3</mjx-mn></mjx-math>'
        "<mjx-assistive-mml>{}</mjx-assistive-mml></mjx-container>",
    ],
    ids=["katex", "mathjax 2", "mathjax 3"],
)
def test_formulas_that_a_browser_has_typeset_are_read_once(read, formula, filler):
    page = f"<html><body><p>{filler}Add {formula.format(FORMULA)} M.</p></body></html>"
    assert read(page.encode(), "page.html").text == f"{filler}Add 3×10^−6 M."


def test_formulas_of_xml_are_read_once(read):
    copies = f"<alternatives><tex-math>$3$</tex-math>{FORMULA}</alternatives>"
    content = f"<article><p>Add {copies} M, <tex-math>$x$</tex-math>.</p></article>"
    assert read(content.encode(), "a.xml").text == "Add 3×10^−6 M, $x$."


def test_items_of_ordered_lists_of_html_have_numbers(read):
    inner = "<ol type='a'><li>to 37</li><li>to 42</li></ol>"
    page = f"<ol start='2'><li>Add</li><li><p>Heat</p>{inner}</li></ol><ul><li>Mix</li></ul>"
    filler = "<p>Cells grow until noon and are then kept cold in the dark.</p>" * 5
    text = read(f"<html><body><article>{filler}{page}</article>".encode(), "page.html").text
    lines = [line.strip() for line in text.splitlines() if line]
    assert lines[-5:] == ["2. Add", "3. Heat", "a. to 37", "b. to 42", "- Mix"]


@pytest.mark.parametrize(
    ("declared", "encoding"),
    [
        ('<meta charset="iso-8859-1">', "iso-8859-1"),
        ('<meta charset="utf-8">', "utf-8"),
        ("", "utf-8"),
    ],
)
def test_html_charset_declaration_is_used(read, declared, encoding):
    source = f"<html><head>{declared}<title>Präparat</title></head><body><p>Größe 5 µm.</p></body>"
    result = read(source.encode(encoding), "page.html")
    assert (result.title, result.text) == ("Präparat", "Größe 5 µm.")


@pytest.mark.parametrize(
    ("text", "encoding", "charset"),
    [
        ("The enzyme’s “high” activity – 5 €", "cp1252", "iso-8859-1"),
        ("Größe 5 µm.", "utf-8", "iso-8859-1"),
        ("Größe 5 µm.", "utf-8", "windows-1252"),
        ("朱镕基 36 °C", "gb18030", "gb2312"),
        ("①髙橋", "cp932", "shift_jis"),
    ],
)
@pytest.mark.parametrize("declared_by", ["server", "page"])
def test_text_is_decoded_as_browsers_do_despite_a_wrong_charset(
    read, text, encoding, charset, declared_by
):
    head = f'<meta charset="{charset}">' if declared_by == "page" else ""
    options = {"charset": charset} if declared_by == "server" else {}
    content = f"<html><head>{head}</head><body><p>{text}</p></body></html>".encode(encoding)
    assert read(content, "", media_type="text/html", **options).text == text


def test_http_charset_precedes_html_charset(read):
    source = '<meta charset="utf-8"><p>Größe 5 µm.</p>'.encode("iso-8859-1")
    assert read(source, "", media_type="text/html", charset="iso-8859-1").text == "Größe 5 µm."


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# Bench *notes* #\n\nText.", "Bench *notes*"),
        ("Bench notes\n===========\n\nText.", "Bench notes"),
        ("---\ntitle: 'Day: one'\nauthor: x\n---\n# Other\n", "Day: one"),
        ("---\nauthor: x\n---\n# Other\n", "Other"),
        ("```\n# no heading\n```\n## Yes\n", "Yes"),
        ("No heading.\n", None),
    ],
)
def test_markdown_is_kept_and_titled_by_its_heading(read, text, title):
    result = read(text.encode(), "notes.md")
    assert result.text == text.strip()
    assert result.title == title


@pytest.mark.parametrize("heading", ["# Parameters", "Parameters\n----------"])
def test_heading_of_a_section_is_no_title(read, heading):
    assert read(f"Return the Kaiser window.\n\n{heading}\n\nbeta".encode(), "a.md").title is None


@pytest.mark.parametrize(
    ("heading", "title"),
    [("Title", None), ("Abstract", None), ("1. Scope", None), ("A. HISTORY", None)]
    + [(name, name) for name in ("Title of a play", "E. coli strains", "10 steps", "4.5 S RNA")],
)
def test_first_heading_may_be_that_of_a_section(read, heading, title):
    assert read(f"{heading}\n-------\nText.".encode(), "a.txt").title == title


WORDS = "Größe, façade, naïve, 20 °C, 5 µm – señor Ångström. " * 8


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252", "utf-16-le", "utf-16-be"]
)
def test_text_encoding_is_detected(read, encoding):
    assert read(WORDS.encode(encoding), "notes.txt").text == WORDS.strip()


def test_unknown_charset_is_ignored(read):
    for charset in ("idna", "rot13", "nonsense", "base64", "a\0b", "unicode_escape"):
        assert read(b"Plain \\u0041.", charset=charset).text == "Plain \\u0041."


BYTES = bytes(range(256)) * 20
NO_TEXT = "It contains no text: check that it is the right file."


def test_text_over_the_limit_is_refused(read_error):
    assert "1,000 bytes" in read_error(b"word " * 300, "long.txt", max_bytes=1000)
    assert read_error(b"word " * 3000, "long.txt", max_bytes=1000) == (
        "It is bigger than 2,000 bytes; add it in parts."
    )


def test_text_is_normalized(read):
    text = "one\r\ntwo\rthree\f\a four\v in\N{SOFT HYPHEN}duced of\N{LATIN SMALL LIGATURE FI}ce "
    decomposed = "Gro\N{COMBINING DIAERESIS}ße"
    assert read((text + decomposed).encode()).text == (
        "one\ntwo\nthree\n four\n induced office Größe"
    )


@given(st.text())
def test_clean_text_is_idempotent(text):
    clean = reading.clean_text(text)
    assert reading.clean_text(clean) == clean
    clean.encode()


@given(st.text(max_size=400))
def test_title_is_one_line_of_limited_length(text):
    title = reading.clean_title(text)
    if title is not None:
        assert 0 < len(title) <= reading.MAX_TITLE_LENGTH
        assert title == " ".join(title.split())


@pytest.mark.parametrize(
    ("text", "encodings"),
    [
        ("Grow at 37 °C in 5 µl.", ["cp1252", "mac_roman"]),
        ("café", ["cp1252"]),
        ("Müller;0,5 µg/ml;37 °C", ["cp1252", "mac_roman"]),
        ("Die Zellen wurden „über Nacht“ geschüttelt – bei 30 °C.", ["cp1252", "mac_roman"]),
        ("¿Dónde crecen las células?", ["cp1252"]),
        ("Müller, Gómez and Øystein wrote the protocol. " + "It is long. " * 50, ["cp1252"]),
        ("jméno;město\nŽofie;Plzeň\nJiří;Třebíč\nVáclav;České Budějovice", ["cp1250"]),
        ("имя;город\nАнна;Москва\nПётр;Казань", ["cp1251"]),
        ("Глюкоза подавляет промотор, и поэтому её добавляют. " * 10, ["koi8-r"]),
        ("名前,濃度\nグルコース,0.2%\nアラビノース,1.5%", ["shift_jis", "euc-jp"]),
        ("样品,浓度\n葡萄糖,0.2", ["gb2312"]),
        ("樣品,濃度\n葡萄糖,0.2", ["big5"]),
        ("이름,농도\n포도당,0.2", ["euc-kr"]),
    ],
)
def test_encoding_of_a_short_text_is_recognized(read, text, encodings):
    for encoding in encodings:
        assert read(text.encode(encoding), "notes.txt").text == text.strip()


_RATIOS = "By: | J\nDay: | 3\n\nid | 260/280 | 260/230\nA | 2 | 3"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("sep=;\na;b,c,d\n", "a | b,c,d"),
        ("# Export; v1; x\nwell,od\nA1,0.5\n", "# Export; v1; x\nwell | od\nA1 | 0.5"),
        ("# by J, May\n# A, 7\na,b,c\n1,2,3\n", "# by J, May\n# A, 7\na | b | c\n1 | 2 | 3"),
        ("#id\tn\tx\nA\t1\t2\n", "#id | n | x\nA | 1 | 2"),
        ('a\tb\n1\t"cut off\n2\t3\n', 'a | b\n1 | "cut off\n2 | 3'),
        ("By:,J\nDay:,3\n,\nid,260/280,260/230\nA,2,3\n", _RATIOS),
        ("1,5;2,5\n2,5;3,5\n", "1,5 | 2,5\n2,5 | 3,5"),
        ('a,"b;c;d",e\n', "a | b;c;d | e"),
        ('a,"one\ntwo"\n', "a | one two"),
        ('"name";length\n"pBAD, 30";4923\n;\n', "name | length\npBAD, 30 | 4923"),
        ("\tod\tgfp\nA1\t0.5\t9\n", "| od | gfp\nA1 | 0.5 | 9"),
        ("od\tgfp\nA1\t0.5\t9\n\nA2\t0.6\t\n", "| od | gfp\nA1 | 0.5 | 9\nA2 | 0.6"),
        ("a,b\n1,2,\n3,4,\n", "a | b\n1 | 2\n3 | 4"),
        ("By J\nid,od\nA,1\nB,\n\nNotes,\n", "By J\nid | od\nA | 1\nB |\nNotes"),
        ("name,host\nA,K\n\nB,K\n,,\nC,K\n", "name | host\nA | K\nB | K\nC | K"),
        (
            "Reader,X\nTime,9:30\n\n\nwell,od\nA1,5\n\nA2,6\n",
            "Reader | X\nTime | 9:30\n\nwell | od\nA1 | 5\nA2 | 6",
        ),
    ],
)
def test_delimiter_and_fields_of_a_table_are_recognized(read, content, expected):
    assert read(content.encode(), "table.csv").text == expected


def test_long_cell_of_a_table_leaves_the_limit_of_csv(read):
    limit = csv.field_size_limit()
    assert "ACGT" * limit in read(b"a," + b"ACGT" * limit, "genomes.csv").text
    assert csv.field_size_limit() == limit


def test_notebook_is_read_with_its_outputs(read):
    notebook = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_markdown_cell("# Growth\nCells grew."),
            nbformat.v4.new_code_cell(
                "rate = 0.7",
                outputs=[
                    nbformat.v4.new_output("stream", text="0.7 per hour\n"),
                    nbformat.v4.new_output(
                        "execute_result", {"text/plain": "0.7", "image/png": "iVBO"}
                    ),
                ],
            ),
        ]
    )
    result = read(nbformat.writes(notebook).encode(), "growth.ipynb")
    assert result.text == "# Growth\nCells grew.\n\n```\nrate = 0.7\n```\n\n0.7 per hour\n\n\n0.7"
    assert result.title == "Growth"


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ({"ename": "ValueError", "evalue": "no cells", "traceback": ["…"]}, "ValueError: no cells"),
        ({"ename": "KeyboardInterrupt", "evalue": ""}, "KeyboardInterrupt"),
        (
            {"data": {"text/plain": "<IPython.Markdown>", "text/markdown": ["# Dose\n", "5 mg"]}},
            "# Dose\n5 mg",
        ),
        (
            {
                "data": {
                    "text/plain": ["<pandas.io.formats.style.Styler at 0x7f43a1>"],
                    "text/html": [
                        "<style>td {}</style><table><tr><th>A</th>",
                        "<td>5</td></table>",
                    ],
                }
            },
            "A | 5",
        ),
        ({"data": {"text/plain": "<5 mM>", "text/html": "<p>5 mM</p>"}}, "<5 mM>"),
    ],
)
def test_errors_and_markdown_outputs_of_a_notebook_are_read(read, output, expected):
    cells = [{"cell_type": "code", "source": "", "outputs": [output]}]
    assert read(json.dumps({"cells": cells}).encode(), "a.ipynb").text == expected


def test_output_of_a_notebook_is_read_as_a_terminal_shows_it(read):
    printed = "\x1b[1;31mred\x1b[0m\n 10%|#   |\r 90%|### |\r100%|####|\r\ndone\r\n"
    cells = [
        {"cell_type": "code", "source": "", "outputs": [{"text": printed}]},
        {"cell_type": "code", "source": ["a = 1"]},
    ]
    content = json.dumps({"cells": cells}).encode()
    assert read(content, "a.ipynb").text == "red\n100%|####|\ndone\n\n\n```\na = 1\n```"


def notebook_with_output(data: dict[str, str]) -> bytes:
    output = nbformat.v4.new_output("display_data", data)
    cell = nbformat.v4.new_code_cell("plot()", outputs=[output])
    return nbformat.writes(nbformat.v4.new_notebook(cells=[cell])).encode()


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"text/plain": "0.7 " * 350}, "The text of the notebook is bigger than 1,000 bytes"),
        ({"image/png": "iVBO" * 700}, "It is bigger than 2,000 bytes"),
    ],
)
def test_notebook_with_large_outputs_is_refused(read_error, data, expected):
    assert read_error(notebook_with_output(data), "a.ipynb", max_bytes=1000) == (
        f"{expected}; clear its large outputs, save it and add it again."
    )


def test_footnotes_anchors_and_captions_of_html_are_read(read):
    page = (
        f'<html><body><p>{FILLER}</p><h1 class="western"><a name="b"></a>Strains</h1>'
        '<p>DH10B<a href="#a">1</a>.</p><section class="footnotes" role="doc-endnotes"><ol>'
        '<li id="a"><p>Of a <a href="https://a.example">page</a>.<a href="#r">↩</a></p></li>'
        '<li id="b"><p>Of 42 kDa.<a href="#s">↩</a></p></li></ol></section></body></html>'
    )
    text = read(page.encode(), "page.html").text
    assert "# Strains" in text
    assert "Of 42 kDa." in text
    table = "<table><caption>Rates\nof strains</caption><tr><th>A</th><th>B</th></tr></table>"
    assert read(table.encode(), "page.html").text == "Rates of strains\n\nA | B"


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (
            "<figure><img src='x.png'><figcaption>Figure 1. Growth of cells</figcaption></figure>",
            "Figure 1. Growth of cells",
        ),
        (
            "<figure><figcaption><p>Fig. 2. Growth of <i>E. coli</i></p></figcaption></figure>",
            "Fig. 2. Growth of E. coli",
        ),
        ("<div class='fig'><div class='caption'><p>Fig. 3. Rates</p></div></div>", "Fig. 3. Rates"),
        (
            "<div class='caption'><b>Table 1.</b> Rates of strains</div>",
            "Table 1. Rates of strains",
        ),
        (
            "<blockquote><table><tr><th>Strain</th><th>Rate</th></tr><tr><td>A</td><td>1</td></tr>"
            "</table></blockquote>",
            "| A | 1 |",
        ),
        (
            "<section id='related-work'><h2>Related\nwork</h2><p>Of others.</p></section>",
            "## Related work\n\nOf others.",
        ),
        ("<ul><li>Add<br>5 mL of <b>M9</b> at 37.</li></ul>", "- Add 5 mL of M9 at 37."),
        (
            "<dl><dt><a id='x'></a><code>\n --rate\n</code></dt><dd><p>In Hz.</p><ul><li>Or "
            "kHz.</li></ul></dd><dt>Bath</dt><dd>At 37.</dd></dl>",
            "- --rate: In Hz. \n  - Or kHz.\n- Bath: At 37.",
        ),
        (
            "<dl><dt>--rate</dt><dd>In (<b>k</b>)Hz.</dd><dd>Or rpm.</dd><dt>Bath</dt><dd>At 37."
            "<ul><li>Or 30.</li></ul></dd></dl>",
            "- --rate: In (k)Hz. Or rpm.\n- Bath: At 37.\n  - Or 30.",
        ),
        ("<aside class='note'><p>Close it <b>at night</b>.</p></aside>", "Close it at night."),
        (
            "<p>Of <time>9 May</time>.</p><table><caption>Rates</caption><tr><td>A</td><td>B</td>"
            "</tr></table><table><tr><td>C</td><td>D</td></tr></table>Ask Lee.",
            "Of 9 May.\nRates\n| A | B | \n\n| C | D | \n\nAsk Lee.",
        ),
    ],
)
def test_captions_and_sections_of_a_long_page_are_kept(read, part, expected):
    filler = f"<p>{FILLER}</p>"
    page = f"<html><body><article>{filler}{part}{filler}</article></body></html>"
    assert expected in read(page.encode(), "page.html").text


def test_paragraphs_and_fields_of_xml(read):
    content = (
        "<article><front><article-title>Induction of <i>pBAD</i></article-title></front>"
        "<body><sec><title>Methods</title><p>Cells were <b>grown</b>.</p></sec>"
        '<strain><name>DH10B</name><od>0.5</od></strain><sugar name="arabinose" percent="0.2"/>'
        "</body></article>"
    )
    result = read(content.encode(), "paper.xml")
    assert result.title == "Induction of pBAD"
    lines = [line for line in result.text.splitlines() if line]
    fields = ["name: DH10B", "od: 0.5", "sugar: name arabinose, percent 0.2"]
    assert lines == ["Induction of pBAD", "## Methods", "Cells were grown.", *fields]


def test_rows_and_names_of_xml_are_not_run_together(read):
    content = (
        '<article><table><col align="left"/><tr><th>Sugar</th><th>OD</th></tr>'
        "<tr><td>glucose</td><td/><td><b>0</b>.5</td></tr></table><ref><name><surname>Lee</surname>"
        "<given-names>J</given-names></name>, <i>p</i>BAD. 2011</ref></article>"
    )
    lines = [line for line in read(content.encode(), "a.xml").text.splitlines() if line]
    assert lines == ["Sugar | OD", "glucose |  | 0.5", "Lee J, pBAD. 2011"]


def test_items_of_ordered_lists_of_xml_have_numbers(read):
    item = "<list-item><p>Add</p></list-item><list-item><label>ii</label><p>Mix</p></list-item>"
    content = (
        f'<article><list list-type="order">{item}</list><list list-type="bullet">{item}</list>'
        "<orderedlist><listitem><para><b>Heat</b> it.</para></listitem></orderedlist></article>"
    )
    lines = [line for line in read(content.encode(), "a.xml").text.splitlines() if line]
    assert lines == ["1. Add", "label: ii", "Mix", "Add", "label: ii", "Mix", "1. Heat it."]


def test_entities_of_xml_are_not_expanded(read_error, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("do not read")
    content = f'<!DOCTYPE a [<!ENTITY x SYSTEM "file://{secret}">]><a>&x;</a>'
    assert read_error(content.encode(), "a.xml") == NO_TEXT


INVALID_NOTEBOOK = (
    "It is not a valid Jupyter notebook: check that it opens, save it again and add it again."
)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("", b"", "The file is empty: check it and add it again."),
        ("", b"\0" * 3000, "The file is empty: check it and add it again."),
        ("notes.txt", b" \n\t \n", NO_TEXT),
        ("app.html", b"<html><script>only()</script></html>", NO_TEXT),
        ("notes.txt", b"\x7fELF\x02" + BYTES, "program"),
        ("notes.txt", b"\x1f\x8b\x08" + BYTES, "packed"),
        ("notes.txt", b"\x1f\x8b\x08" + BYTES, "DOCX"),
        ("data.bin", BYTES, "not supported"),
        ("a.ipynb", nbformat.writes(nbformat.v4.new_notebook()).encode(), "The notebook is empty"),
        ("a.ipynb", b"{}", INVALID_NOTEBOOK),
        ("a.ipynb", b"not JSON", INVALID_NOTEBOOK),
        ("a.ipynb", b'{"nbformat": 4, "cells": 7}', INVALID_NOTEBOOK),
        ("a.ipynb", b'{"nbformat": 3, "worksheets": []}', "The notebook is of an old version"),
        (
            "paper",
            rb"\documentclass{article}\begin{document}\input{intro}\include{b}\end{document}",
            "Its text is in other files, such as intro: add these.",
        ),
        (
            "paper.tex",
            rb"\textcolor{\begin{quote}}{\end{quote}}" * 30,
            "The LaTeX can't be parsed: check that it compiles, and add it again.",
        ),
        ("a.xml", b"<?xml version='1.0'?><a><b></a>", "The XML is not well-formed: "),
    ],
)
def test_file_without_readable_text_is_refused(read_error, name, content, expected):
    assert expected in read_error(content, name)
