"""Text and headings of LaTeX documents."""

from __future__ import annotations

from itertools import pairwise

import pytest

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


@pytest.mark.parametrize(
    ("latex", "expected"),
    [
        (r"See \href{https://a.example/x_1}{the protocol}.", "See the protocol."),
        (r"Plasmid \texttt{pBAD-33} in \mbox{DH10B}.", "Plasmid pBAD-33 in DH10B."),
        (r"Set \verb|a_1 % b| to 3.", "Set a_1 % b to 3."),
        (r"10\textsuperscript{6} by Lee\textsuperscript{1}", "10^6 by Lee[1]"),
        (r"At \SI{37}{\celsius}, \qty{5}{\micro\litre}, \ang{30}.", "At 37 °C, 5 µL, 30°."),
        (r"\SI{5}{\ng\per\uL}, \qty{2.1}{\angstrom}, \SI{9}{\fmol}", "5 ng/µL, 2.1 Å, 9 fmol"),
        (
            r"\SI{5}{\joule\per\square\metre}, \qty{2}{\cubic\centi\metre}, \si{\metre\tothe{4}}",
            "5 J/m², 2 cm³, m^4",
        ),
        (r"\SI{3}{\milli\bar}, $\bar{x}$, \qty{20}{\bar\per\second}", "3 mbar, x̅, 20 bar/s"),
        (
            r"\DeclareSIUnit\cfu{CFU} \DeclareSIUnit{\rpm}{rpm} \SI{2}{\cfu\per\mL}, \SI{9}{\rpm}",
            "2 CFU/mL, 9 rpm",
        ),
        (r"\SIrange{1}{5}{\mM}, \numrange{3}{4}, \SIlist{1;2}{\gram}", "1–5 mM, 3–4, 1;2 g"),
        (
            "\\begin{enumerate}\n\\item Add\n\\item[2a)] Mix\n\\item Heat\n\\end{enumerate}",
            "1. Add\n\n2a) Mix\n\n2. Heat",
        ),
        (
            r"\begin{enumerate}\item A\begin{enumerate}\item B\end{enumerate}\item C"
            r"\end{enumerate}",
            "1. A\na. B\n\n2. C",
        ),
        (
            r"\begin{enumerate}\setcounter{enumi}{4}\item A\end{enumerate}"
            r"\begin{enumerate}[label=x, start=8]\item B\end{enumerate}",
            "5. A\n\n8. B",
        ),
        (
            r"As in \input{methods}",
            "As in\n\n(the text of methods is not included: add that file, too)",
        ),
        (r"$2^{n - 1} + e^{-kt}$ by Lee$^{13-15}$", "2^(n - 1) + e^-kt by Lee^13-15"),
        (r"$v = \frac{V[S]}{K_m + [S]} \cdot \frac12$", "v = (V[S])/(K_m + [S])·(1)/(2)"),
        (
            r"At 37\,$^\circ$C, as in \citep[see][p. 3]{guzman1995}.",
            "At 37 °C, as in [guzman1995].",
        ),
        ("\\begin{verbatim}\nx = 1 % a\n\\end{verbatim}", "```\nx = 1 % a\n```"),
        (
            "\\begin{tabular}[t]{lr}\n\\toprule\nStrain &\n\\multicolumn{1}{c}{Rate} \\\\ \\hline\n"
            "A & 1.5 \\\\\nB & 2.5\n\\end{tabular}",
            "Strain | Rate\nA | 1.5\nB | 2.5",
        ),
        (
            r"\begin{tabular}{lccl}Strain & \multicolumn{2}{c}{Rate} & From\\ \cmidrule(lr){2-3}"
            r" & LB & M9 &\\ \cmidrule[1pt](r){1-1}A & 1.2 & 0.4 & Lee\end{tabular}",
            "Strain | Rate |  | From\n| LB | M9\nA | 1.2 | 0.4 | Lee",
        ),
        (r"\section{The {lac} operon}\label{s} Cells grew.", "## The lac operon\n\nCells grew."),
        (
            r"\hypertarget{a}{\section{Results}}\addcontentsline{toc}{section}{A}\hyperref[a]{It}"
            r"\todo{Check} in \ref*{b}.",
            "## Results\n\nIt in <ref>.",
        ),
        (
            r"\begin{subfigure}[b]{0.4\textwidth}\caption*{Cells}\end{subfigure}"
            r"\begin{tikzpicture}[scale=2]\draw (0,0) -- (1,1);\end{tikzpicture}",
            "Cells",
        ),
        (
            "\\begin{longtable}{ll}\nA & B \\\\\n\\midrule\n\\endfirsthead\n\\toprule\nA & B \\\\\n"
            "\\endhead\n1 & 2 \\\\\n\\end{longtable}",
            "A | B\n1 | 2",
        ),
        (r"At \unit{\kg\m\per\s}, \textalpha{} and $\upbeta$.", "At kgm/s, α and β."),
    ],
)
def test_text_in_macros_of_latex_is_read(read, latex, expected):
    assert read(latex.encode(), "paper.tex").text == expected


def test_macros_that_a_latex_document_defines_are_expanded(read):
    definitions = (
        r"\newcommand{\ecoli}{\textit{E.~coli}}"
        r"\newcommand\strain[1]{strain \textsc{#1}}"
        r"\def\both{\ecoli{} K-12}"
        r"\newcommand{\rate}[2][2]{#1 to #2~nM\,s$^{-1}$}\def\power#1{10\textsuperscript{#1}}"
        r"\newcommand{\twice}[1]{#1 #1}"
        r"\newenvironment{steps}{\begin{enumerate}}{\end{enumerate}}"
        r"\title{Growth of \ecoli}"
    )
    text = r"\both{} and \strain{DH10B}: \rate{12.5}, \rate[3]{9}, \power{6} \twice{twice}."
    body = rf"\begin{{document}}{text}\end{{document}}"
    result = read(f"{definitions}{body}".encode(), "paper.tex")
    assert result.title == "Growth of E. coli"
    expected = "strain DH10B: 2 to 12.5 nM s^-1, 3 to 9 nM s^-1, 10^6 twice."
    assert result.text == f"E. coli K-12 and {expected}"


def test_macros_of_latex_that_double_each_other_stay_small(read):
    doubling = "".join(rf"\def\x{b}{{\x{a}\x{a}}}" for a, b in pairwise("abcdefghijklmnopqrst"))
    content = rf"\def\xa{{0123456789}}{doubling} Text \xt\xb"
    assert read(content.encode(), "paper.tex").text == f"Text {'0123456789' * 2}"


def test_definitions_of_latex_environments_take_little_time(read):
    definition = r"\newenvironment{steps}{\begin{enumerate}}{\end{enumerate}}"
    assert read(f"{definition * 30} Text.".encode(), "paper.tex").text == "Text."


def test_authors_and_date_before_the_body_of_latex_are_read(read):
    preamble = (
        r"\author{Jane Roe\inst{1} \and Max \textbf{Doe}\thanks{Funded.}}"
        r"\institute{University of X}\date{3 May 2024}"
    )
    text = read(rf"{preamble}\begin{{document}}It grew.\end{{document}}".encode(), "a.tex").text
    assert text == "Jane Roe[1], Max Doe\n\nUniversity of X\n\n3 May 2024\n\nIt grew."
    today = read(rb"\date{\today}\begin{document}It grew.\end{document}", "a.tex")
    assert today.text == "It grew."
