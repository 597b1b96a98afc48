"""What stands in a laboratory's English, in words: units, signs, species, genes, numbers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping

SIGNS = "^°µμΩ→←↑↓©®™"
"""Signs that are said, though they are no letters."""

_PREFIXES = {
    "p": "pico",
    "n": "nano",
    "µ": "micro",
    "u": "micro",
    "m": "milli",
    "c": "centi",
    "k": "kilo",
}
_BASE_UNITS = {
    "M": "molar",
    "mol": "mole",
    "g": "gram",
    "l": "liter",
    "L": "liter",
    "m": "meter",
    "s": "second",
}
_UNITS = {
    "°C": "degree Celsius",
    "°F": "degree Fahrenheit",
    "°": "degree",
    "K": "kelvin",
    "h": "hour",
    "hr": "hour",
    "hrs": "hour",
    "min": "minute",
    "mins": "minute",
    "sec": "second",
    "bp": "base pair",
    "nt": "nucleotide",
    "aa": "amino acid",
    "kb": "kilobase",
    "Mb": "megabase",
    "Gb": "gigabase",
    "kbp": "kilobase pair",
    "Da": "dalton",
    "kDa": "kilodalton",
    "MDa": "megadalton",
    "Å": "angstrom",
    "Hz": "hertz",
    "kHz": "kilohertz",
    "MHz": "megahertz",
    "V": "volt",
    "kV": "kilovolt",
    "mV": "millivolt",
    "W": "watt",
    "J": "joule",
    "kJ": "kilojoule",
    "kcal": "kilocalorie",
    "rpm": "revolutions per minute",
    "rcf": "times gravity",
    "U": "unit",
    "cfu": "colony forming units",
    "CFU": "colony forming units",
    **{
        sign + unit: prefix + name
        for sign, prefix in _PREFIXES.items()
        for unit, name in _BASE_UNITS.items()
    },
    **{unit: name for unit, name in _BASE_UNITS.items() if unit not in ("m",)},
}
_NO_PLURAL = ("molar", "kelvin", "hertz", "Celsius", "Fahrenheit", "minute.", "gravity", "units")
_NUMBER = r"(?<![\w.])[−-]?\d[\d,]{0,30}(?:\.\d+)?"
_UNIT = "|".join(sorted((re.escape(unit) for unit in _UNITS), key=len, reverse=True))
_QUANTITY = re.compile(rf"({_NUMBER})(\s?)({_UNIT})(?:\s?/\s?({_UNIT}))?(?![\w°])")
_PER = re.compile(rf"(?<![\w/])({_UNIT})/({_UNIT})(?![\w°/])")

_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻₀₁₂₃₄₅₆₇₈₉₊₋", "0123456789+-0123456789+-")
_GREEK = {
    char: unicodedata.name(char).rpartition(" ")[2].replace("LAMDA", "LAMBDA").lower()
    for char in "αβγδεζηθικλνξοπρστυφχψωΔΦΨΘΛΓ"
} | {"μ": "micro", "Ω": "ohm", "Σ": "sum"}
_WORDS = {
    "%": "percent",
    "‰": "per mille",
    "±": "plus or minus",
    "≥": "at least",
    "≤": "at most",
    "≈": "about",
    "~": "about",
    "×": "times",
    "÷": "divided by",
    "→": "to",
    "↔": "and back to",
    "←": "from",
    "↑": "up",
    "↓": "down",
    "∞": "infinity",
    "√": "the root of",
    "≠": "is not",
    "&": "and",
    "+": "plus",
    "=": "equals",
    "<": "less than",
    ">": "more than",
    "@": "at",
    "°": "degrees",
    "µ": "micro",
    "©": "",
    "®": "",
    "™": "",
    "|": ",",
    "^": "to the",
    "\\": " ",
    "{": "",
    "}": "",
    "#": "number",
    "$": "dollars",
    "€": "euros",
    "£": "pounds",
    "_": " ",
}
_SIGN = re.compile("[" + re.escape("".join(_WORDS) + "".join(_GREEK)) + "]")
_ABBREVIATIONS: Mapping[str, str] = {
    "e.g.": "for example",
    "i.e.": "that is",
    "et al.": "and others",
    "vs.": "versus",
    "approx.": "approximately",
    "ca.": "about",
    "cf.": "compare",
    "etc.": "and so on",
    "Fig.": "figure",
    "Figs.": "figures",
    "Dr.": "Doctor",
    "Prof.": "Professor",
    "No.": "number",
    "spp.": "species",
    "sp.": "species",
}
_ABBREVIATION = re.compile(
    r"(?<!\w)(?:" + "|".join(re.escape(each) for each in _ABBREVIATIONS) + r")(?=[\s,;:)]|$)"
)

_Said = Callable[[re.Match[str]], str] | str
_RULES: tuple[tuple[re.Pattern[str], _Said], ...] = (
    (_ABBREVIATION, lambda found: _ABBREVIATIONS[found[0]]),
    # Of a species the period ends no sentence: E. coli.
    (re.compile(r"\b([A-Z])\.\s?(?=[a-z]{3,}\b)"), r"\1 "),
    (
        re.compile(r"(\d)\s?[×x*]\s?10\s?(?:\^\s?)?\(?([−+-]?[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻\d]+)\)?"),
        lambda found: f"{found[1]} times ten to the {_signed(found[2])}",
    ),
    (
        re.compile(r"\b10(?:\^\s?\(?([−+-]?\d+)\)?|([⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+))"),
        lambda found: f"ten to the {_signed(found[1] or found[2])}",
    ),
    (
        re.compile(r"(\d)[eE]([−+-]?\d{1,3})\b"),
        lambda found: f"{found[1]} times ten to the {_signed(found[2])}",
    ),
    (re.compile(r"(\d)\s?[×x]\s?g\b"), r"\1 times gravity"),
    (
        re.compile(r"\bOD\s?_?([₀-₉\d]{3})\b"),
        lambda found: f"O D {found[1].translate(_SUPERSCRIPTS)}",
    ),
    (re.compile(r"\bpH\s?(?=\d)"), "p H "),
    # A range, and not a negative number: 4–10 °C.
    (
        re.compile(r"(?<=\d)(\s?°[CF]|\s?%)?\s?[–—-]\s?(?=\d)"),
        lambda found: f"{found[1] or ''} to ",
    ),
    (_QUANTITY, lambda found: _quantity(found)),
    (_PER, lambda found: f"{_UNITS[found[1]]}s per {_UNITS[found[2]]}"),
    (re.compile(r"(?<=\d),(?=\d{3}\b)"), ""),
    (re.compile(r"(?<![\w.])[−-](?=\d)"), "minus "),
    (re.compile(r"(?<=[A-Za-z])⁺"), " plus"),
    (re.compile(r"(?<=[A-Za-z])⁻"), " minus"),
    # Genes: araBAD, lacZ, pBAD.
    (
        re.compile(r"\b([a-z]{3})([A-Z]{1,4})(?=\d{0,3}\b|Δ|::)"),
        lambda found: f"{found[1]} {' '.join(found[2])}",
    ),
    (re.compile(r"\b([pm])([A-Z]{2,6})(?=\d{0,4}\b)"), lambda found: f"{found[1]} {found[2]}"),
    # A number with more digits than anybody hears is said digit by digit, and not all of it.
    (re.compile(r"\d{13,}"), lambda found: f"{' '.join(found[0][:4])} and so on"),
    (re.compile(r"\s[–—]\s|—"), ", "),
    (re.compile(r"(?<=\w)/(?=\w)"), " or "),
    (_SIGN, lambda found: f" {_GREEK.get(found[0]) or _WORDS.get(found[0], '')} "),
    (re.compile(r"(?<!\s)\s+(?=[,.;:!?])"), ""),
)


def in_words(text: str) -> str:
    """A text with what is no word put into words."""
    text = text.replace("μ", "µ").replace("º", "°").replace("℃", "°C")
    for pattern, said in _RULES:
        text = pattern.sub(said, text)
    return text.translate(_SUPERSCRIPTS)


def _signed(number: str) -> str:
    return number.translate(_SUPERSCRIPTS).replace("−", "-").replace("+", "").replace("-", "minus ")


def _quantity(found: re.Match[str]) -> str:
    number, blank, unit, per = found.groups()
    if not blank and unit in ("K", "s", "U", "V", "J", "W"):  # 20s, a name such as 4K
        return found[0]
    name = _UNITS[unit]
    if number not in ("1", "-1", "−1"):
        if name.startswith("degree"):
            name = name.replace("degree", "degrees")
        elif not name.endswith(_NO_PLURAL) and "per" not in name:
            name += "s"
    said = f"{number} {name}"
    return f"{said} per {_UNITS[per]}" if per else said
