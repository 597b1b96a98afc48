"""Tables, notebooks, LaTeX, RTF, XML and pictures: text and titles, or the reason of a refusal."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import nbformat.v4
import pytest
from PIL import Image


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_rows_of_a_table_are_lines(read, delimiter):
    content = '"name,x"{0}length\n"pBAD, 30"{0}4923\n{0}\n'.replace(",x", "").format(delimiter)
    expected = "name | length\npBAD, 30 | 4923"
    assert read(content.encode(), "plasmids.csv").text == expected


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
    ("content", "expected"),
    [
        (nbformat.writes(nbformat.v4.new_notebook()), "The notebook is empty."),
        ("{}", "It is not a valid Jupyter notebook."),
        ("not JSON", "It is not a valid Jupyter notebook."),
        (json.dumps({"nbformat": 4, "cells": 7}), "It is not a valid Jupyter notebook."),
        (
            json.dumps({"nbformat": 3, "worksheets": []}),
            "The notebook is of an old version: save it again in Jupyter.",
        ),
    ],
)
def test_notebook_without_content_is_refused(read_error, content, expected):
    assert read_error(content.encode(), "a.ipynb") == expected


LATEX = r"""\documentclass{article}
\title{Induction of \emph{pBAD}}
\begin{document}
\maketitle % not read
\section{Methods}
Cells were grown at 37\,$^\circ$C with \textbf{arabinose}, 0.2\,\% \cite{x}.
\subsection*{Strains}
DH10B.
\end{document}
"""


@pytest.mark.parametrize("name", ["paper.tex", "paper"])
def test_sections_of_latex_are_headings(read, name):
    result = read(LATEX.encode(), name)
    lines = [line for line in result.text.splitlines() if line]
    assert result.title == "Induction of pBAD"
    assert lines[0] == "## Methods"
    assert "with arabinose, 0.2 %" in lines[1]
    assert lines[2:] == ["### Strains", "DH10B."]
    assert "not read" not in result.text


def test_rich_text_is_read_without_its_codes(read):
    content = rb"{\rtf1\ansi{\fonttbl\f0 Arial;}\f0 Grow at 37 \'b0C.\par {\b Add} arabinose.}"
    assert read(content).text == "Grow at 37 °C.\nAdd arabinose."


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
    assert lines == [
        "Induction of pBAD",
        "## Methods",
        "Cells were grown.",
        "name: DH10B",
        "od: 0.5",
        "sugar: name arabinose, percent 0.2",
    ]


def test_entities_of_xml_are_not_expanded(read_error, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("do not read")
    content = f'<!DOCTYPE a [<!ENTITY x SYSTEM "file://{secret}">]><a>&x;</a>'
    assert read_error(content.encode(), "a.xml") == "It contains no text."


def test_xml_that_is_not_well_formed_is_refused(read_error):
    assert "not well-formed" in read_error(b"<?xml version='1.0'?><a><b></a>")


def picture() -> bytes:
    out = io.BytesIO()
    Image.new("L", (8, 8)).save(out, "PNG")
    return out.getvalue()


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a fake tesseract alone on the PATH."""
    program = tmp_path / "tesseract"
    program.write_text('#!/bin/sh\n[ "$2" = stdout ] && echo "A gel of pBAD30"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return program


def test_text_of_a_picture_is_recognized(read, engine):
    assert read(picture(), "gel.png").text == "A gel of pBAD30"


@pytest.mark.parametrize(("script", "expected"), [("exit 1", "broken"), ("exit 0", "No text was")])
def test_picture_without_text_is_refused(read_error, engine, script, expected):
    engine.write_text(f"#!/bin/sh\n{script}\n")
    assert expected in read_error(picture(), "gel.png")


def test_picture_needs_a_program_for_text_recognition(read_error, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "install the program tesseract" in read_error(picture(), "gel.png")
