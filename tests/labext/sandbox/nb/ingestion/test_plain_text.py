"""Plain text in other formats: JSON, program code, e-mails, subtitles; hidden text of pages."""

from __future__ import annotations

import json
from email.message import EmailMessage
from email.mime.application import MIMEApplication
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText

import pytest


def test_texts_in_json_have_no_escapes(read):
    content = json.dumps({"note": "5 µM,\nGröße", "path": "C:\\new"}).encode()
    assert read(content, "notes.json").text == '{"note": "5 µM,\nGröße", "path": "C:\\new"}'
    assert read(rb'{"a": "\x"}', "broken.json").text == r'{"a": "\x"}'


@pytest.mark.parametrize("name", ["plot.py", "Plot.R", "config.yaml"])
def test_comment_of_a_program_is_no_title(read, name):
    assert read(b"# -*- coding: utf-8 -*-\nx: 1\n", name).title is None


def test_e_mails_attached_to_an_e_mail_are_read(read):
    outer, inner = EmailMessage(), EmailMessage()
    inner["Subject"] = "Primers"
    inner.set_content("Order pX9.")
    outer["Subject"] = "Fwd: Primers"
    outer.set_content("See below.")
    outer.add_attachment(inner)
    mail = read(bytes(outer), "a.eml")
    assert mail.text == "Subject: Fwd: Primers\n\nSee below.\n\nSubject: Primers\n\nOrder pX9."
    assert mail.title == "Fwd: Primers"


ATTACHED = "(the attachment gel.pdf is not included: add that file, too)"
MAILS = [
    (["mixed", "plain:One.", "gel.pdf", "plain:Two."], f"One.\n\n{ATTACHED}\n\nTwo."),
    (["mixed", ["mixed", "plain:One.", "gel.pdf"], "html:<p>List"], f"One.\n\n{ATTACHED}\n\nList"),
    (["alternative", "plain:One.", "html:<p>Two."], "One."),
    (["alternative", "plain: ", "html:<p>Two."], "Two."),
    (["alternative", "plain:One.", ["mixed", "html:One.", "gel.pdf"]], f"One.\n\n{ATTACHED}"),
    (["related", "html:<p>One.", "logo.png"], "One."),
    (["signed", ["mixed", "plain:One.", "gel.pdf"], "signature.asc"], f"One.\n\n{ATTACHED}"),
    (["mixed", "html:", "gel.pdf"], ATTACHED),
    ("gel.pdf", ATTACHED),
]


def _mail_part(parts):
    if isinstance(parts, list):
        part = MIMEMultipart(parts[0])
        for child in parts[1:]:
            part.attach(_mail_part(child))
        return part
    kind, colon, text = parts.partition(":")
    if colon:
        return MIMEText(text, kind)
    part = MIMEApplication(b"x")
    part.add_header("Content-Disposition", "inline", filename=parts)
    return part


@pytest.mark.parametrize(("parts", "text"), MAILS)
def test_all_texts_of_an_e_mail_are_read(read, parts, text):
    mail = _mail_part(parts)
    mail["To"] = "Lee"
    assert read(bytes(mail), "a.eml").text == f"To: Lee\n\n{text}"


SUBTITLES = {
    "lecture.srt": """1
00:00:01,000 --> 00:00:04,200
IPTG at <i>0.5</i> millimolar,
at an OD of 0.6.

2
00:00:04,300 --> 00:00:08,000
Then shift to
2
3
00:00:09,000 --> 00:00:10,000
18 degrees.
""",
    "lecture.vtt": """WEBVTT
Kind: captions

NOTE checked

intro
00:01.000 --> 00:04.000 align:start
<v Prof. Kim>The pH<00:02.000><c> is</c> &lt; 7.

00:04.000 --> 00:06.000
The pH is &lt; 7.
NOTE that it drifts.
00:06.000 --> 00:08.000
NOTE that it drifts.
""",
}


def test_subtitles_are_read_without_numbers_and_times(read):
    text = "IPTG at 0.5 millimolar,\nat an OD of 0.6.\nThen shift to\n2\n18 degrees."
    assert read(SUBTITLES["lecture.srt"].encode(), "lecture.srt").text == text
    text = "Prof. Kim: The pH is < 7.\nThe pH is < 7.\nNOTE that it drifts."
    assert read(SUBTITLES["lecture.vtt"].encode(), "Lecture.VTT").text == text


@pytest.mark.parametrize("filler", ["", "Cells grow until noon and are then kept cold. " * 9])
def test_hidden_elements_of_html_are_not_read_unless_a_click_shows_them(read, filler):
    page = (
        f"<html><body><article><h2>Steps</h2><span class=mw-editsection>[edit]</span><p>{filler}At "
        "50 °C.</p><p hidden>At 65 °C.</p><button aria-controls=more>More</button><p id=more "
        "hidden>For 1 h.</p></article></body></html>"
    )
    lines = [*filter(None, read(page.encode(), "a.html").text.split("\n"))]
    assert lines == ["## Steps", f"{filler}At 50 °C.", "For 1 h."]


QUESTIONS = "".join(f"{number}\tWhy does it stop?\n" for number in range(1, 300))
ANSWER = "\tIt has no power.\n"


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        (
            "run.txt",
            "well\tCt\tnote\nA1\t\tlow\nA2\t21\t\n",
            "well | Ct | note\nA1 |  | low\nA2 | 21",
        ),
        ("run.py", "a\tb\n1\t2\n", "a\tb\n1\t2"),
        ("notes.txt", "By:\tLee\n\nCold.\n\nDark.\n", "By:\tLee\n\nCold.\n\nDark."),
        (
            "ChangeLog",
            "1.2:\n\t* Fix a leak.\n\tIt was old.\n",
            "1.2:\n\t* Fix a leak.\n\tIt was old.",
        ),
        (
            "FAQ.txt",
            f"{QUESTIONS}\n1\tWhy?\n{ANSWER * 700}",
            f"{QUESTIONS}\n1\tWhy?\n{ANSWER * 700}".rstrip(),
        ),
    ],
)
def test_text_of_which_most_lines_have_columns_is_a_table(read, name, content, expected):
    for encoding in ("utf-8", "utf-16"):
        assert read(content.encode(encoding), name).text == expected


@pytest.mark.parametrize(
    ("page", "text"),
    [
        (
            "<p>To order:<br>- 5 mL\nLB<br/>Due: 3 May<br><br>Lee</p><pre>a<br>b</pre>",
            "To order:\n- 5 mL LB\nDue: 3 May\n\nLee\n\n```\na\nb\n```",
        ),
        (
            "<h1>Guides</h1><p>Use H<sub>2</sub>O for <code>NGG</code>.</p><table><tr><th>Cas</th>"
            "<th>PAM</th></tr><tr><td>Cas12a</td><td>TTTV</td></tr></table>",
            "# Guides\n\nUse H2O for NGG.\n\nCas | PAM\nCas12a | TTTV",
        ),
        (
            "<table><tr><td><p>M9</p><p>glycerol</p></td><td>H<sub>2</sub>O<ul><li>a<li>b</ul></td>",
            "M9 glycerol | H2O - a - b",
        ),
        (
            "<a href=x><h3>Gels</h3><div>Room 4</div></a><font><p>a</p><p>b</p></font>",
            "### Gels\n\nRoom 4\n\na\n\nb",
        ),
        ("<p><b>In</b><span> LB<o:p></o:p></span></p>", "In LB"),
        (
            "<table><tr><td><h2>News</h2><p>A gel.</p><p>A pH.</p></td><td></td></tr></table>",
            "## News\n\nA gel.\n\nA pH.",
        ),
    ],
)
def test_lines_and_blocks_of_a_short_page_part_words(read, page, text):
    assert read(f"<html><body>{page}</body></html>".encode(), "a.html").text == text


DOCUMENT = """<html><head>%s</head><body><nav>Menu</nav><div role="main">
<h1>Gels <a href="#a">¶</a></h1>
<p>{filler}</p><table><caption>Table 1</caption><tr><td>a</td><td>b</td></tr></table>
<aside>Safety</aside><div class="related">Buffers</div><div class="topic"><p>Aims</p></div>
<table><tr><td class="linenos"><pre>1</pre></td><td><pre>run()</pre></td></tr></table>
<aside role="doc-footnote"><p>Lee 2015.</p></aside></div><footer>Imprint</footer></body></html>"""


@pytest.mark.parametrize(
    "head",
    [
        '<script src="_static/documentation_options.js?v=1"></script>',
        '<meta name=Generator content="Microsoft Word 15 (filtered)">',
        '<meta name="generator" content="pandoc">',
    ],
)
def test_all_text_of_a_document_that_a_program_has_written_as_html_is_read(read, head):
    filler = "The gel is run at 100 volts for an hour. " * 20
    page = (DOCUMENT % head).format(filler=filler).encode()
    assert read(page, "a.html").text == (
        f"# Gels\n\n{filler.strip()}\n\nTable 1\n\na | b\n\nSafety\n\nBuffers\n\nAims\n\n"
        "```\nrun()\n```\n\nLee 2015."
    )
