"""PDF files: text, pages and titles, or a reason."""

from __future__ import annotations

from dataclasses import replace

import pypdfium2  # type: ignore[import-untyped]
import pytest
from labext_test_documents import chinese_pdf, pdf

from labext.sandbox.nb.ingestion import pdf_lines


def test_pdf_is_read_page_by_page(read):
    stages = []
    result = read(
        pdf(["Cells were induced.\nWith arabinose.", "Glucose (0.2 %) represses."]), stages=stages
    )
    assert [number for number, _ in result.pages] == [1, 2]
    assert result.pages[0][1].split() == ["Cells", "were", "induced.", "With", "arabinose."]
    assert result.pages[1][1] == "Glucose (0.2 %) represses."
    assert result.text.endswith(result.pages[1][1])
    assert stages[-1] == "page 2 of 2"


@pytest.mark.parametrize(
    ("title", "displayed"),
    [
        ("Induction of pBAD", "Induction of pBAD"),
        ("Microsoft Word - paper7.doc", None),
        ("report.html", None),
        ("untitled", None),
        ("(anonymous)", None),  # ReportLab
        ("  ", None),
        (None, None),
    ],
)
def test_pdf_title_is_taken_from_metadata_unless_generated(read, title, displayed):
    assert read(pdf(["Text."], title)).title == displayed


def test_empty_pages_keep_their_numbers(read):
    result = read(pdf(["", "The second."]))
    assert result.pages == [(1, ""), (2, "The second.")]


def test_pdf_heading_is_a_separate_paragraph(read):
    blocks = [
        "Cells grow until noon and are then\nkept cold.",
        "What to vary",
        "Vary the temperature first.",
    ]
    assert read(pdf(["\n".join(blocks)])).pages[0][1].split("\n\n") == blocks


def test_pdf_heading_is_recognized_by_its_font(read):
    text = (
        "# Tight control with an arabinose promoter: a\n# primer on pBAD30\n"
        "a short paper, which this line continues on the left and on the\n"
        "# All or nothing?\n# 2.1 Cells\n"
        "the cell imports arabinose by transporters and is then induced in\n"
        "** Limits of the method\n"
        "The switch is tight but not perfect, as the next section shows in\n"
        "much detail."
    )
    assert read(pdf([text, "# Page two\nbegins with a heading."])).pages == [
        (
            1,
            "Tight control with an arabinose promoter: a primer on pBAD30\n\n"
            "a short paper, which this line continues on the left and on the\n\n"
            "All or nothing?\n\n\n2.1 Cells\n\n"
            "the cell imports arabinose by transporters and is then induced in\n\n"
            "Limits of the method\n\n"
            "The switch is tight but not perfect, as the next section shows in\nmuch detail.",
        ),
        (2, "Page two\n\nbegins with a heading."),
    ]


LINE = "The text of the paper has the font of most of its characters."
BODY = "\n".join([LINE] * 12)


def test_large_paragraph_and_bold_row_of_a_pdf_are_no_headings(read):
    lead = "# " + "\n# ".join(["An introduction in large type runs on and on"] * 5)
    table = "** Arabinose Glucose\nnone 0.2 %\n** Sum 3 4\nnone 0.2 %"
    (page,) = read(pdf([f"{lead}\n{BODY}\n{table}"])).pages
    assert "\n\n" not in page[1]


@pytest.mark.parametrize("mark", ["", "** "])
def test_header_of_a_table_in_a_pdf_stays_with_its_rows(read, mark):
    rows = "BL21(DE3) LB 12.4 4.2 3\nSHuffle T7 TB 21.0 8.1 4"
    text = f"Table 1. Yields of the protein.\n{mark}Strain Medium Yield (mg/L) OD600 n\n{rows}"
    assert f"Strain Medium Yield (mg/L) OD600 n\n{rows}" in read(pdf([f"{BODY}\n{text}"])).text
    two_lines = f"{mark}Strain Rate Yield\nLB M9 (g/L)\n{rows}"
    assert mark or two_lines in read(pdf([f"{BODY}\nTable 2. Rates.\n{two_lines}"])).text
    heading = f"{BODY}\n{mark}Results of 2021\nStrains of 3 species grew at 37 in 2 media."
    assert "\n\nResults of 2021\n\nStrains" in read(pdf([heading])).text


@pytest.mark.parametrize(
    "text",
    [
        "Strains that make the transporter of\nE. coli respond gradually.",  # the end of a line
        "The yields were these:\nArabinose 3\nglucose 4",
    ],
)
def test_pdf_sentence_and_table_lines_stay_together(text, read):
    assert read(pdf([text])).pages[0][1] == text


def test_exponents_of_numbers_in_a_pdf_are_marked(read):
    page = "Plate 10^{6} cells of Lee^{1} in 25 mL.\nRate 3.5 x 10^{-3} of 106 in 2021 5."
    expected = "Plate 10^6 cells of Lee[1] in 25 mL. Rate 3.5 x 10^-3 of 106 in 2021 5."
    assert " ".join(read(pdf([page])).text.split()) == expected


def test_marks_of_notes_in_a_pdf_are_in_brackets(read):
    line = "Seen before^{1,12} at 6.^{2} Lee^{1}, 1985^{7}, 2015,^{7} m^{2}, Ser^{473} and C,^{15}N"
    expected = "Seen before[1,12] at 6.[2] Lee[1], 1985[7], 2015,[7] m2, Ser473 and C,15N"
    text = read(pdf([f"{line}\n^{{1}}From a kit."])).text.replace("  ", " ")
    assert text == f"{expected}\n[1] From a kit."


def test_lines_of_a_pdf_are_not_broken_at_exponents(read):
    lines = "Plate 10^{6}, as Lee^{1}, in 25 mL.\nAt 3 M^{-1}s^{-1}, not 4. A^{2}B^{3}C\nof 7."
    expected = "Plate 10^6, as Lee[1], in 25 mL.\nAt 3 M-1s-1, not 4. A2B3C\nof 7."
    assert read(pdf([lines])).text == expected
    heading = "# The growth of A^{2}, B^{3} and C^{4}, in liquid medium\n"
    assert read(pdf([heading + BODY])).text.startswith(
        "The growth of A2, B3 and C4, in liquid medium\n\nThe text"
    )


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("\uf0b7 LB medium", "• LB medium"),  # Word
        ("\x88 LB medium", "• LB medium"),  # LaTeX
        ("■ LB medium", "• LB medium"),
        ("at 37 ◦C and 98◦ F", "at 37 °C and 98° F"),
        ("the product R ◦ S", "the product R ◦ S"),
        ("residues 501\xad1000 at \xad20 °C", "residues 501-1000 at -20 °C"),
        # LaTeX with bitmap fonts
        ("di\x1berent coe\x1ecients: \x1ct, o\x1b", "different coefficients: fit, off"),
        ("pages 139\x15142, e\x0bects, \x0erst", "pages 139–142, effects, ffirst"),
        ("e\x1bect o\x1b 1.95 \x15 1.0 \x16 \x10\x1ct\x11", "effect off 1.95 – 1.0 — “fit”"),
        ("Jos\x13e", "Jose"),  # another encoding of LaTeX
    ],
)
def test_symbols_of_a_pdf_have_their_usual_characters(read, line, expected):
    assert read(chinese_pdf([line])).text == expected


def test_accents_of_latex_in_a_pdf_are_joined_with_their_letters(read):
    names = pdf(["M¨uller, Lef`evre, na¨ive, f¸f; 5´-ATG, a¨ b"], "12TeX")
    in_latex = names.replace(b"/Title (12TeX)", b"/Creator (TeX)")
    assert read(in_latex).text == "Müller, Lefèvre, naïve, f¸f; 5´-ATG, a¨ b"
    assert read(pdf(["It´s from M¨uller"])).text == "It´s from M¨uller"


def test_accent_of_latex_after_its_line_is_joined_with_the_letter_below(read):
    def after(line, *accents):
        drawn = "".join(f") Tj 1 0 0 1 {left} 790 Tm ({accent}" for left, accent in accents)
        return read(pdf([f"{line}@"]).replace(b"@", drawn.encode("cp1252"))).text

    assert after("Sjolander, 1996; ", (61, "¨")) == "Sjölander, 1996;"
    assert after("fur die ", (54.5, "¨"), (90, "Universit"), (130, "¨"), (129, "at")) == (
        "für die Universität"
    )
    quoted = pdf(["`overall' mortality"], "12TeX").replace(b"/Title (12TeX)", b"/Creator (TeX)")
    assert read(quoted).text == "`overall' mortality"


def test_spaces_that_the_bounded_text_of_pdfium_lacks_are_kept(read, monkeypatch):
    whole = pypdfium2.PdfTextPage.get_text_range
    lacking = lambda page: whole(page).replace("1 for", "1for")  # noqa: E731
    monkeypatch.setattr(pypdfium2.PdfTextPage, "get_text_bounded", lacking)
    assert read(pdf(["0.78 h^{-1} for cells"])).text == "0.78 h-1 for cells"


@pytest.mark.parametrize("is_block", [False, True])
def test_line_numbers_of_a_manuscript_are_not_read(read, is_block):
    lines = [f"of cells that grew for {n} hours at 37 degrees and" for n in range(20)]
    numbers = [str(n) for n in range(98, 118)]
    first = [*lines, *numbers] if is_block else map(" ".join, zip(numbers, lines, strict=True))
    pages = ["\n".join(first), "118 the last one.\n119 Then 42 kDa."]
    first, second = (text.split("\n") for _, text in read(pdf(pages)).pages)
    assert (first, second) == ([*lines, "the last one."], ["Then 42 kDa."])


def test_numbers_of_rows_and_steps_in_a_pdf_are_kept(read):
    rows = "\n".join(f"{n} 0.5 1.{n} 2.5" for n in range(1, 20))
    assert read(pdf([rows])).text == rows
    code = "\n".join(f"{n} <instance> of a model" for n in range(1, 20))
    text = "\n".join([LINE] * 20)
    assert code in read(pdf([code, text, text])).text
    steps = "\n".join(f"{n} Add the buffer of step {n} and mix" for n in range(1, 9))
    assert read(pdf([steps])).text == steps


def test_old_style_figures_of_a_pdf_are_no_exponents(read, monkeypatch):
    box = pdf_lines._box

    def old_style(text, place):
        top = box(text, place)
        is_small = text.get_text_range(place, 1) in "012"
        return replace(top, bottom=top.bottom + 2, top=top.top - 2) if is_small else top

    monkeypatch.setattr(pdf_lines, "_box", old_style)
    assert read(pdf(["PAM30 of the 1990s, 7^{6}."])).text == "PAM30 of the 1990s, 7^6."


def test_dash_of_a_range_in_a_pdf_is_no_exponent(read, monkeypatch):
    box = pdf_lines._box

    def flat_dash(text, place):
        top = box(text, place)
        is_dash = text.get_text_range(place, 1) == "–"
        return replace(top, bottom=top.bottom + 4, top=top.top - 6) if is_dash else top

    monkeypatch.setattr(pdf_lines, "_box", flat_dash)
    monkeypatch.setattr(pdf_lines, "_font_key", lambda _text, place: place)
    assert read(pdf(["pages 139–142 at 30–37"])).text == "pages 139–142 at 30–37"


def test_step_of_a_list_in_a_pdf_that_continues_is_no_heading(read):
    steps = "1. Grow to an OD of 0.6.\n2. Induce with arabinose for 4 h at\n18 to 20 degrees."
    assert steps in read(pdf([f"{BODY}\n{steps}"])).text


def test_wrapped_lines_of_a_chinese_pdf_are_joined_without_blanks(read):
    lines = [
        "酵母研究",
        "细胞在三十度培养时倍增时间为九十",
        "二分钟，三十七度时延长至一百四十",
        "一分钟。",
    ]
    assert read(chinese_pdf(lines)).text == f"酵母研究\n{''.join(lines[1:])}"


def test_lines_of_a_table_on_its_side_are_not_joined(read):
    rows = ["Strain A B", "X1 1.5 2.5", "X2 3.5 4.5"]
    drawn = "".join(
        f") Tj 0 1 -1 0 {300 + 14 * number} 100 Tm ({row}" for number, row in enumerate(rows)
    )
    page = pdf(["See the table.@"]).replace(b"@", drawn.encode())
    assert read(page).text.split("\n") == ["See the table.", *rows]


def test_running_header_of_a_pdf_is_kept_once_and_the_rows_of_a_table_always(read):
    pages = [f"J. Bact. 12, page {number}\n\n\nSugar 0.{number}" for number in range(1, 5)]
    at_the_top = pdf(pages).replace(b"50 790 Td", b"50 820 Td")
    texts = [text for _, text in read(at_the_top).pages]
    assert ["J. Bact." in text for text in texts] == [True, False, False, False]
    assert all("Sugar 0." in text for text in texts)
    numbered = [f"{page + 8} Sugar report\n\n\n\nSugar 0.{page}" for page in range(1, 5)]
    texts = [text.strip() for _, text in read(pdf(numbered)).pages]
    assert texts[1:] == ["Sugar 0.2", "Sugar 0.3", "Sugar 0.4"]
    rows = pdf([f"Sample {number} 0.5" for number in range(7, 10)])
    text = read(rows.replace(b"50 790 Td", b"50 820 Td")).text
    assert " ".join(text.split()) == "Sample 7 0.5 Sample 8 0.5 Sample 9 0.5"


def test_hyphens_at_line_ends_of_a_pdf_are_kept_in_compounds(read):
    text = "A micro-\norganism, IL-\n6, the E-\nvalue, Michaelis-\nMenten kinetics, mRNA-\nbinding"
    expected = "A microorganism, IL-6, the E-value, Michaelis-Menten kinetics, mRNA-binding"
    assert read(pdf([text])).text == expected
    assert read(pdf(["At 37-\n40 degrees"])).text == "At 37-\n40 degrees"
    ligature = chinese_pdf(["signi\x1c-", "cantly"])
    assert read(ligature).text == "significantly"


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("Cells grew and\nthe pressure", "was 6\nkPa. Then", ["the pressure\nwas 6\nkPa.", "Then"]),
        ("Grow at a temperature of", "37 °C. Add", ["Grow at a temperature of\n37 °C.", "Add"]),
        ("In E. coli, as seen,", "it works.", ["as seen,\nit works.", ""]),
        ("Sugar 0.5\narabinose", "glucose 0.7\nlactose", ["arabinose", "glucose 0.7\nlactose"]),
        ("This is finished.", "pBAD is open.", ["This is finished.", "pBAD is open."]),
        ("Growth of the strain", "Methods differ.", ["Growth of the strain", "Methods differ."]),
        ("The rate and", "— . .", ["The rate and", "— . ."]),
        ("the rate\n# in large type", "was 6 kPa. Then", ["in large type", "was 6 kPa. Then"]),
    ],
)
def test_sentence_that_crosses_pages_of_a_pdf_is_on_the_first(read, first, second, expected):
    (_, before), (_, after) = read(pdf([first, second])).pages
    assert before.endswith(expected[0])
    assert after == expected[1]


def test_sentence_that_crosses_pages_of_a_pdf_precedes_the_footer(read):
    content = pdf(["the rate\nPlasmids", "was 0.7. Then\nPlasmids"])
    at_the_bottom = content.replace(b"50 790 Td", b"50 062 Td")
    assert read(at_the_bottom).pages == [(1, "the rate\nwas 0.7.\nPlasmids"), (2, "Then")]


@pytest.mark.parametrize(
    ("angle", "start"),
    [(90, b"0 1 -1 0 50 50 Tm"), (180, b"-1 0 0 -1 545 50 Tm"), (270, b"0 -1 1 0 545 790 Tm")],
)
def test_lines_of_a_rotated_page_of_a_pdf_are_complete(read, angle, start):
    text = "\n".join(["# Yields", *(f"Sample {n} has 2.5 x 10^{{6}} cells." for n in range(3))])
    content = pdf([text]).replace(b"50 790 Td", start)
    rotated = content.replace(b"/MediaBox", b"/Rotate %d /MediaBox" % angle)
    assert read(rotated).text.split() == text.replace("{6}", "6").split()[1:]


@pytest.mark.parametrize(
    ("angle", "start"), [(90, b"0 1 -1 0 50 50 Tm"), (270, b"0 -1 1 0 545 790 Tm")]
)
def test_rows_of_a_rotated_page_of_a_pdf_keep_cells_of_one_digit(read, angle, start):
    lines = ["The strains were grown in this medium.", *(f"BL{n} 0.5<{n}>" for n in range(9))]
    content = pdf(["\n".join(lines)]).replace(b"50 790 Td", start)
    for n in range(9):
        cell = b"<%d>" % n
        content = content.replace(cell, b") Tj 300 0 Td (%d) Tj -300 0 Td (" % n)
    rotated = content.replace(b"/MediaBox", b"/Rotate %d /MediaBox" % angle)
    rows = [line for line in read(rotated).text.split("\n") if line.startswith("BL")]
    assert rows == [f"BL{n} 0.5 {n}" for n in range(9)]


def test_values_of_form_fields_follow_their_labels(read):
    field = "/Type /Annot /Subtype /Widget"
    fields = [
        f"{field} /FT /Tx /T (n) /V (Ada Roe) /Rect [120 783 260 801]",
        f"{field} /FT /Btn /T (b) /V /Yes /AS /Yes /Rect [120 772 130 784] "
        "/AP << /N << /Yes 6 0 R /Off 6 0 R >> >>",
        f"{field} /FT /Tx /T (r) /V (two new\\nplasmids) /Rect [50 710 400 755] /Ff 4096",
        f"{field} /FT /Tx /T (h) /V (hidden) /F 2 /Rect [120 770 260 790]",
        "/Type /Annot /Subtype /FreeText /Contents (by mail) /Rect [120 700 200 716]",
    ]
    objects = "".join(f"{50 + n} 0 obj\n<< {text} >>\nendobj\n" for n, text in enumerate(fields))
    references = " ".join(f"{50 + n} 0 R" for n in range(len(fields)))
    content = pdf(["Name:\nBL2 lab\nReason\n\n\n\nReply\nEnd."])
    content = content.replace(b"/Contents", f"/Annots [{references}] /Contents".encode())
    content = content.replace(
        b"/Catalog", f"/Catalog /AcroForm << /Fields [{references}] >>".encode()
    )
    text = read(content.replace(b"xref\n", f"{objects}xref\n".encode(), 1)).text
    expected = ["Name: Ada Roe", "BL2 lab ☒", "Reason", "two new plasmids", "Reply by mail", "End."]
    assert list(filter(None, text.split("\n"))) == expected
