"""Reader of LaTeX documents."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

from pylatexenc import latex2text, latexwalker, macrospec  # type: ignore[import-untyped]

from labext.sandbox.nb.errors import UnreadableError
from labext.sandbox.nb.ingestion import reading
from labext.sandbox.nb.ingestion.markup_readers import group_end
from labext.sandbox.nb.ingestion.reading import Document, OnStage, SourceFile

_SECTION = re.compile(r"\\(part|chapter|(?:sub){0,2}section)\*?\s*(?:\[[^\]]*\])?\s*\{")
_TITLE = re.compile(r"\\title\s*(?:\[[^\]]*\])?\s*\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}")
_AUTHORS = re.compile(
    r"\\(?:author|affil|affiliation|institute|address|date)\s*(?:\[[^\]]*\])?\s*(?=\{)"
)
_OTHER_FILE = re.compile(r"\(the text of ([^\n]*) is not included: add that file, too\)")
_TRIMMED_RULE = re.compile(r"(\\cmidrule\s*(?:\[[^\]]*\])?)\s*\([^)]*\)")
_DEGREE = re.compile(r"\^\s*(?:\\circ\b|\{\s*\\circ\s*\})")
_BAR = re.compile(r"\\bar(?=\s*\}|\\per\b)")
"""The unit, unlike the accent before a letter."""

_UNIT_POWER = re.compile(
    r"\\(square|cubic)\s*((?:\\(?:nano|micro|milli|centi|deci|kilo)\s*)?"
    r"\\(?:met(?:re|er)|angstrom|second|[nucmdk]?m)(?![a-zA-Z]))"
)
_COMPOUND_EXPONENT = re.compile(
    r"\^\{((?=[^{}]{0,50}[a-zA-Z])[^{}()]{0,50}[^\s{}()] ?[-+/=*] ?[^\s{}()][^{}()]{0,50})\}"
)
"""An exponent such as `n+1`, which needs brackets."""

_FRONT_MATTER = re.compile(r"\\(?:maketitle|tableofcontents|listof(?:figures|tables))\b")
_LEVELS = {"part": 1, "chapter": 1, "section": 2, "subsection": 3, "subsubsection": 4}
_MARK = "\ue000"
"""Stands for `#`, which is a special character of LaTeX, until the text is converted."""

_RESERVED = dict.fromkeys((0xE000, 0xE001, ord(reading.SUPERSCRIPT)))
_TRANSLATED = str.maketrans({_MARK: "#", "\N{NO-BREAK SPACE}": " "})

_LIST_KINDS = "1aiA"
"""Kinds of numbers of lists by their depth."""

_ENUMERATION_START = re.compile(r"\\begin\{enumerate\}\s*\[[^\]]*\bstart\s*=\s*(\d+)")
_SET_COUNTER = re.compile(r"\\setcounter\{enum[iv]+\}\{(\d+)\}")

_CODE = re.compile(
    r"\\begin\{(verbatim\*?|Verbatim|lstlisting|minted|comment)\}(?:\[[^\]]*\])?(?:\{\w+\})?"
    r"(.*?)\\end\{\1\}|\\(?:verb|lstinline)\*?([^\w\s*\[{])([^\n]*?)\3",
    re.DOTALL,
)
_CODE_PLACE = re.compile("\ue001(\\d+)\ue001")
_DEFINITION = re.compile(
    r"\\(?:(?P<environment>(?:re)?newenvironment)|(?:(?:re)?new|provide)command|[gex]?def|"
    r"DeclareRobustCommand|DeclareMathOperator|DeclareSIUnit)\*?\s*\{?\s*\\?(?P<name>[a-zA-Z@]+)\s*\}?\s*"
    r"(?P<parameters>(?:\[[^\]]*\]\s*)*|[#\d]*)(?=\{)"
)

_PARAMETER = re.compile("#([1-9])")

_MAX_DEFINITION_LENGTH = 500
"""Maximum characters of the text of a macro: definitions that double each other stay small."""

_MAX_PARSE_ERRORS = 1000
"""Maximum number of parse errors: pylatexenc parses the rest of an unclosed argument repeatedly."""

_CITATION_LIST = """
    cite citet citep citealt citealp citeauthor citeyear Cite Citet Citep Citealt Citealp parencite
    textcite autocite footcite
"""
_UNREAD_LIST = """
    bibliographystyle cline glsadd hypersetup index nocite pagenumbering pagestyle thanks
    thispagestyle
"""
_MACROS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("frac", "dfrac", "tfrac", "nicefrac", "sfrac"), ("{{", "(%(1)s)/(%(2)s)")),
    **dict.fromkeys(("SIrange", "qtyrange"), ("[{{{", "%(2)s–%(3)s %(4)s")),
    **dict.fromkeys(("SIlist", "qtylist"), ("[{{", "%(2)s %(3)s")),
    "numrange": ("[{{", "%(2)s–%(3)s"),
    "ang": ("[{", "%(2)s°"),
    **dict.fromkeys(
        ("input", "include", "subfile"),
        ("{", "\n\n(the text of %(1)s is not included: add that file, too)\n\n"),
    ),
    **dict.fromkeys(("SI", "qty"), ("[{[{", "%(2)s %(4)s")),
    **dict.fromkeys(_CITATION_LIST.split(), ("*[[{", "[%(4)s]")),
    **dict.fromkeys(
        ("autoref", "cref", "Cref", "eqref", "nameref", "pageref", "ref", "vref"), ("*{", "<ref>")
    ),
    **dict.fromkeys(
        ("keywords", "mbox", "textmd", "textsf", "texttt", "textup", "url"), ("{", "%(1)s")
    ),
    **dict.fromkeys(("author", "affil", "hyperref"), ("[{", "%(2)s")),
    **dict.fromkeys(_UNREAD_LIST.split(), ("{", "")),
    **dict.fromkeys(("hyperlink", "hypertarget", "href"), ("{{", "%(2)s")),
    **dict.fromkeys(("fontsize", "markboth", "setcounter", "setlength"), ("{{", "")),
    **dict.fromkeys(("addcontentsline", "specialrule"), ("{{{", "")),
    **dict.fromkeys(("cmidrule", "todo"), ("[{", "")),
    "caption": ("*[{", "%(3)s"),
    **dict.fromkeys(("footnotemark", "printbibliography"), ("[", "")),
    "footnotetext": ("[{", " [%(2)s]"),
    "inst": ("{", "[%(1)s]"),
    "tnote": ("{", " [%(1)s]"),
    "bibitem": ("[{", "\n\n[%(2)s]"),
    "includegraphics": ("*[[{", ""),
    "multicolumn": ("{{{", "%(3)s"),
    "multirow": ("[{[{[{", "%(6)s"),
    "newtheorem": ("*{[{[", ""),
    "ng": ("", "ng"),
    "parbox": ("[[[{{", "%(5)s"),
    "raisebox": ("{[[{", "%(4)s"),
    "resizebox": ("*{{{", "%(4)s"),
    "rule": ("[{{", ""),
    "tothe": ("{", "^%(1)s"),
    "textsuperscript": ("{", f"{reading.SUPERSCRIPT}%(1)s"),
    "scalebox": ("{[{", "%(3)s"),
}
"""The arguments of macros in the notation of pylatexenc, and their text."""

_TABLES = {"tabular": "[{", "tabular*": "{[{", "tabularx": "{[{", "longtable": "[{", "array": "[{"}
_ENVIRONMENTS = {
    **dict.fromkeys(("enumerate", "itemize", "description", "table", "table*"), "["),
    **dict.fromkeys(("Highlighting", "tablenotes", "threeparttable", "tikzpicture"), "["),
    **dict.fromkeys(("adjustbox", "thebibliography", "multicols"), "{"),
    **dict.fromkeys(("subfigure", "subtable"), "[{"),
    "minipage": "[[[{",
    "wrapfigure": "[{[{",
}

_SYMBOL_LIST = """
    ampere=A angstrom=Å becquerel=Bq celsius=°C coulomb=C dalton=Da day=d decibel=dB degree=°
    degreeCelsius=°C electronvolt=eV farad=F gram=g gray=Gy hectare=ha hertz=Hz hour=h joule=J
    katal=kat kelvin=K liter=L litre=L lumen=lm lux=lx meter=m metre=m minute=min molar=M mole=mol
    newton=N ohm=Ω pascal=Pa percent=% radian=rad second=s siemens=S sievert=Sv tesla=T tonne=t
    volt=V watt=W atto=a femto=f pico=p nano=n micro=µ milli=m centi=c deci=d hecto=h kilo=k mega=M
    giga=G tera=T per=/ squared=² cubed=³ ug=µg ul=µL ml=mL uM=µM um=µm us=µs uL=µL umol=µmol uV=µV
    uA=µA uW=µW uJ=µJ textgreater=> textless=< textbar=| textdegree=° textmu=µ
"""
_SHORT_UNIT_LIST = """
    fg pg mg g kg pm nm mm cm dm m km fs ps ns ms s fmol pmol nmol mmol mol kmol nM mM M pA nA mA A
    mL Hz kHz MHz GHz mN N kN Pa kPa MPa mV V kV mW W kW mJ J kJ kcal meV eV keV MeV pF nF F K dB
"""
_GREEK_LIST = (
    "alpha=α beta=β gamma=γ delta=δ kappa=κ lambda=λ mu=µ pi=π sigma=σ tau=τ phi=φ omega=ω"
)
_SYMBOLS = (
    {unit: unit for unit in _SHORT_UNIT_LIST.split()}
    | dict(unit.split("=") for unit in _SYMBOL_LIST.split())
    | dict(
        f"{font}{letter}".split("=") for font in ("text", "up") for letter in _GREEK_LIST.split()
    )
)
"""Units and prefixes of siunitx, and symbols that pylatexenc does not know."""


def read_latex(file: SourceFile, _on_stage: OnStage) -> Document:
    """Read the body of a LaTeX document, with its sections as headings."""
    source = reading.clean_text(reading.decode_text(file.content(), file.charset))
    codes: list[str] = []

    def take_code(match: re.Match[str]) -> str:
        place = f"\ue001{len(codes)}\ue001"
        if match[1] is None:
            codes.append(match[4])
            return place
        codes.append("" if match[1] == "comment" else f"```\n{match[2].strip(chr(10))}\n```")
        return f"\n\n{place}\n\n"

    source = _CODE.sub(take_code, source.translate(_RESERVED))
    try:
        converter = _Converter()
        source = _TRIMMED_RULE.sub(r"\1", _BAR.sub("{bar}", _DEGREE.sub("°", source)))
        source = _COMPOUND_EXPONENT.sub(r"^{(\1)}", source)
        source = _UNIT_POWER.sub(
            lambda unit: rf"{unit[2]}\{'cubed' if unit[1] == 'cubic' else 'squared'}", source
        )
        source = converter.take_definitions(source)
        title = _TITLE.search(source)
        preamble, _, rest = source.partition(r"\begin{document}")
        body = rest.partition(r"\end{document}")[0] or source
        authors = "".join(_authors(preamble)) if rest else ""
        marked = authors + "".join(_mark_sections(_FRONT_MATTER.sub("", body)))
        text = converter.text(marked).translate(_TRANSLATED)
        title_text = None if title is None else converter.text(title[1])
    except Exception as error:  # pylatexenc is tolerant, but not of all errors
        raise UnreadableError(
            "The LaTeX can't be parsed: check that it compiles, and add it again."
        ) from error
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(line.strip() for line in text.splitlines()))
    if not _OTHER_FILE.sub("", text).strip() and (other := _OTHER_FILE.search(text)):
        raise UnreadableError(f"Its text is in other files, such as {other[1]}: add these.")
    return Document([(None, _CODE_PLACE.sub(lambda place: codes[int(place[1])], text))], title_text)


def _authors(preamble: str) -> Iterator[str]:
    """Yield the authors, their institutes and the date, which the title of a document shows."""
    for match in _AUTHORS.finditer(preamble):
        group = preamble[match.end() : group_end(preamble, match.end())]
        if r"\today" not in group:
            yield re.sub(r"\s*\\and\b", ",", group) + "\n\n"


def _mark_sections(body: str) -> Iterator[str]:
    """Yield the parts of a body, the titles of its sections as headings between blank lines."""
    start = 0
    for section in _SECTION.finditer(body):
        end = max(group_end(body, section.end() - 1), section.end())
        yield body[start : section.start()]
        yield f"\n\n{_MARK * _LEVELS[section[1]]} {body[section.end() - 1 : end]}\n\n"
        start = end
    yield body[start:]


class _Converter:
    """Converts LaTeX to text, with the macros that a document defines."""

    def __init__(self) -> None:
        self._macro_texts = dict(_SYMBOLS)
        self._parsing_context = latexwalker.get_default_latex_context_db()
        self._parsing_context.add_context_category(
            "labext",
            macros=[macrospec.MacroSpec(name, spec) for name, (spec, _) in _MACROS.items()],
            environments=[
                macrospec.EnvironmentSpec(name, spec)
                for name, spec in (_TABLES | _ENVIRONMENTS).items()
            ],
            prepend=True,
        )
        self._definitions = itertools.count()
        self._text_context = text_context = latex2text.get_default_latex_context_db()
        text_context.add_context_category(
            "labext",
            macros=[latex2text.MacroTextSpec(name, text) for name, (_, text) in _MACROS.items()],
            environments=[
                latex2text.EnvironmentTextSpec(name, simplify_repl=_table_text)
                for name in _TABLES
                if name != "array"
            ]
            + [latex2text.EnvironmentTextSpec("enumerate", simplify_repl=_enumeration_text)]
            + [latex2text.EnvironmentTextSpec("tikzpicture", discard=True)],
            prepend=True,
        )
        text_context.set_unknown_macro_spec(
            latex2text.MacroTextSpec("", lambda node: self._macro_texts.get(node.macroname, ""))
        )
        self._to_text = latex2text.LatexNodes2Text(math_mode="text", latex_context=text_context)

        class Walker(latexwalker.LatexWalker):  # type: ignore[misc]
            """A parser that gives up on a text with very many errors."""

            errors = 0

            def _report_ignore_parse_error(self, exc: Exception) -> None:
                self.errors += 1
                if self.errors > _MAX_PARSE_ERRORS:
                    raise ValueError("too many errors") from exc

        self._walker = Walker

    def text(self, latex: str) -> str:
        """Return the text of LaTeX; raise Exception if pylatexenc can't parse it."""
        return reading.resolve_superscripts(self._marked_text(latex))

    def _marked_text(self, latex: str) -> str:
        walker = self._walker(latex, latex_context=self._parsing_context, tolerant_parsing=True)
        return str(self._to_text.nodelist_to_text(walker.get_latex_nodes()[0]))

    def take_definitions(self, source: str) -> str:
        """Return the source without its definitions; macros that use a parameter once expand."""
        kept: list[str] = []
        start = 0
        while (match := _DEFINITION.search(source, start)) is not None:
            kept.append(source[start : match.start()])
            groups = 2 if match["environment"] else 1
            end = body = match.end()
            for _ in range(groups):
                end = group_end(source, end)
            content = source[body + 1 : end - 1]
            if groups == 1 and len(content) <= _MAX_DEFINITION_LENGTH:
                text = self._marked_text(content)
                if len(text) <= _MAX_DEFINITION_LENGTH:
                    self._define(match["name"], match["parameters"], text)
            start = max(end, match.end())
        return "".join([*kept, source[start:]])

    def _define(self, name: str, parameters: str, text: str) -> None:
        """Define a macro by its text; `parameters` is `[2]`, `[2][default]` or `#1#2`."""
        if not parameters:
            self._macro_texts[name] = text
            return
        count, *defaults = re.findall(r"\[([^\]]*)\]", parameters) or [parameters[-1]]
        used = _PARAMETER.findall(text)
        if not count.isdecimal() or len(used) > len(set(used)):
            return  # repeated arguments would let nested macros grow without limit

        def expand(node: Any, l2tobj: Any) -> str:
            texts = [l2tobj.nodelist_to_text([item]) for item in node.nodeargd.argnlist if item]
            texts = [*defaults[: int(count) - len(texts)], *texts]
            return _PARAMETER.sub(lambda match: "".join(texts[int(match[1]) - 1 :][:1]), text)

        arguments = "[" * len(defaults) + "{" * (int(count) - len(defaults))
        category = f"definition {next(self._definitions)}"
        self._parsing_context.add_context_category(
            category, macros=[macrospec.MacroSpec(name, arguments)], prepend=True
        )
        self._text_context.add_context_category(
            category, macros=[latex2text.MacroTextSpec(name, expand)], prepend=True
        )


def _table_text(node: Any, l2tobj: Any) -> str:
    """Return a table with a line per row; the name of the second parameter is pylatexenc's."""
    rows: list[list[list[Any]]] = [[[]]]
    start = None
    for part in node.nodelist:
        if getattr(part, "macroname", "") == "endfirsthead":
            start = len(rows) - 1
        elif getattr(part, "macroname", "") == "endhead" and start is not None:
            rows[start:] = [[[]]]  # the header of the next page
        elif getattr(part, "macroname", "") in ("\\", "tabularnewline"):
            rows.append([[]])
        elif getattr(part, "specials_chars", "") == "&":
            rows[-1].append([])
        else:
            rows[-1][-1].append(part)
        if getattr(part, "macroname", "") == "multicolumn":
            columns = part.nodeargd.argnlist[0].latex_verbatim().strip("{ }")
            count = min(int(columns), reading.MAX_COLUMNS) if columns.isdecimal() else 1
            rows[-1] += [[] for _ in range(count - 1)]
    table = reading.format_table(map(l2tobj.nodelist_to_text, row) for row in rows)
    return f"\n\n{table}\n\n"


def _enumeration_text(node: Any, l2tobj: Any) -> str:
    """Return a list with the numbers of its items, except those with labels of their own."""
    depth = getattr(l2tobj, "list_depth", 0)
    l2tobj.list_depth = depth + 1
    kind = _LIST_KINDS[min(depth, len(_LIST_KINDS) - 1)]
    start = _ENUMERATION_START.match(node.latex_verbatim())
    number = 0 if start is None else int(start[1]) - 1
    parts: list[str] = []
    for part in node.nodelist:
        counter = _SET_COUNTER.fullmatch(part.latex_verbatim())
        if counter is not None:
            number = int(counter[1])
        elif getattr(part, "macroname", "") == "item" and part.nodeoptarg is None:
            number += 1
            parts.append(f"\n{reading.format_list_number(number, kind)}. ")
        else:
            text = l2tobj.nodelist_to_text([part])
            parts.append(text.lstrip() if parts and parts[-1].endswith(". ") else text)
    l2tobj.list_depth = depth
    return f"{''.join(parts)}\n"
