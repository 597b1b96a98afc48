"""Text of formulas in MathML and Office Open XML."""

from __future__ import annotations

import re
from typing import Any

_SIMPLE = re.compile(
    r"[-\u2212\u2013+]?[\w.,^%°∞*†′']*[-\u2212+]?|\([^()]*\)|\[[^\[\]]*\]",
)
"""A numerator, denominator, exponent or root that needs no brackets."""

_MATHML_MARKS = {
    "msup": ("^",),
    "msub": ("_",),
    "msubsup": ("_", "^"),
    "munderover": ("_", "^"),
    "mfrac": ("/",),
}
"""The text before the parts of MathML after the first one, by their parent."""

_OFFICE_MARKS = {"den": "/", "num": "", "rad": "√", "sub": "_", "sup": "^"}


def mark_formulas(tree: Any) -> None:
    """Replace MathML by its text, with marks of exponents, indices, fractions and roots."""
    copies = "//*[local-name()='alternatives'][*[local-name()='math']]/*[local-name()='tex-math']"
    for copy in tree.xpath(f"{copies} | //*[starts-with(local-name(), 'annotation')]"):
        copy.clear(keep_tail=True)
    for element in reversed(tree.xpath("//*[local-name()='math']//*")):
        parent = _name(element.getparent())
        marks = _MATHML_MARKS.get(parent, ())
        place = len([*element.itersiblings("*", preceding=True)]) if marks else 0
        mark = marks[place - 1] if 0 < place <= len(marks) else ""
        root = "√" if _name(element) in ("msqrt", "mroot") else ""
        is_part = mark or root or parent == "mfrac"
        if is_part or _name(element) == "mfenced":
            text = _enclosed(mark, _part_text(element)) if is_part else _part_text(element)
            element.clear(keep_tail=True)
            element.text = mark + root + text
    for formula in tree.xpath("//*[local-name()='math']"):
        text = _stripped_text(formula)
        formula.clear(keep_tail=True)
        formula.text = text


def office_part(element: Any, text: str) -> str:
    """Return the text of a part of a formula with its mark and brackets, or other text as it is."""
    name = _name(element)
    if name == "d":
        begin, end = (
            _character(element, f"{{*}}dPr/{{*}}{kind}Chr", default)
            for kind, default in (("beg", "("), ("end", ")"))
        )
        return f"{begin}{text}{end}"
    if name == "nary":
        return _character(element, "{*}naryPr/{*}chr", "∫") + text
    mark = _OFFICE_MARKS.get(name)
    return text if mark is None or not text else mark + _enclosed(mark, text)


def _enclosed(mark: str, text: str) -> str:
    """Return a part of a formula in brackets, if it is not an index and needs them."""
    return text if mark == "_" or _SIMPLE.fullmatch(text.strip()) else f"({text.strip()})"


def _character(element: Any, path: str, default: str) -> str:
    found = element.find(path)
    return default if found is None else next(iter(found.attrib.values()), default)


def _name(element: Any) -> str:
    return str(element.tag.rpartition("}")[2])


def _part_text(element: Any) -> str:
    if _name(element) != "mfenced":
        return _stripped_text(element)
    inner = (element.get("separators") or ",")[:1].join(map(_stripped_text, element))
    return f"{element.get('open', '(')}{inner}{element.get('close', ')')}"


def _stripped_text(element: Any) -> str:
    return "".join(part.strip() for part in element.itertext())
