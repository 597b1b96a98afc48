"""Normalize text for speech: units, genes and numbers in words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping

from labext.sandbox.nb.speech import voices
from labext.sandbox.nb.text import segmentation

SPOKEN_SIGNS = "^°µμΩ→←↑↓©®™"
"""Signs that are spoken although they are not letters."""

_PREFIXES = {
    "p": "pico", "n": "nano", "µ": "micro", "u": "micro", "m": "milli", "c": "centi", "k": "kilo",
}  # fmt: skip
_BASE_UNITS = {
    "M": "molar", "mol": "mole", "g": "gram", "l": "liter", "L": "liter", "m": "meter",
    "s": "second",
}  # fmt: skip
_UNITS = {
    "°C": "degree Celsius", "°F": "degree Fahrenheit", "°": "degree", "K": "kelvin",
    "h": "hour", "hr": "hour", "hrs": "hour", "min": "minute", "mins": "minute", "sec": "second",
    "bp": "base pair", "nt": "nucleotide", "aa": "amino acid", "kb": "kilobase", "Mb": "megabase",
    "Gb": "gigabase", "kbp": "kilobase pair", "Da": "dalton", "kDa": "kilodalton",
    "MDa": "megadalton", "Å": "angstrom", "Hz": "hertz", "kHz": "kilohertz", "MHz": "megahertz",
    "V": "volt", "kV": "kilovolt", "mV": "millivolt", "W": "watt", "J": "joule", "kJ": "kilojoule",
    "kcal": "kilocalorie", "rpm": "revolutions per minute", "rcf": "times gravity", "U": "unit",
    "cfu": "colony forming units", "CFU": "colony forming units",
    **{
        sign + unit: prefix + name
        for sign, prefix in _PREFIXES.items()
        for unit, name in _BASE_UNITS.items()
    },
    **{unit: name for unit, name in _BASE_UNITS.items() if unit != "m"},
}  # fmt: skip
_NO_PLURAL = ("molar", "kelvin", "hertz", "Celsius", "Fahrenheit", "minute.", "gravity", "units")
_NUMBER = r"(?<![\w.])[−-]?\d[\d,]{0,30}(?:\.\d+)?"
_UNIT = "|".join(sorted((re.escape(unit) for unit in _UNITS), key=len, reverse=True))
_QUANTITY = re.compile(rf"({_NUMBER})(\s?)({_UNIT})(?:\s?/\s?({_UNIT}))?(?![\w°])")
_INVERSE = re.compile(
    rf"\s?(?<![A-Za-zµ°])({_UNIT}|m)(?:\^?\(?[−⁻]|\^\(?-)([123¹²³])\)?(?!\d)|"
    rf"(?<=\d)\s?({_UNIT}|m)-([123])(?!\d)"
)
"""A unit with a negative exponent; a hyphen is a minus sign only in a quantity: `3 M-1s-1`."""

_POWER = re.compile(rf"({_NUMBER})\s?({_UNIT}|m)(?:([²³])|\^([23]))(?!\w)")
_PER = re.compile(rf"(?<![\w/])({_UNIT})/({_UNIT})(?![\w°/])")

_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻₀₁₂₃₄₅₆₇₈₉₊₋", "0123456789+-0123456789+-")
_GREEK = {
    char: unicodedata.name(char).rpartition(" ")[2].replace("LAMDA", "LAMBDA").lower()
    for char in "αβγδεζηθικλνξοπρστυφχψωΔΦΨΘΛΓ"
} | {"μ": "micro", "Ω": "ohm", "Σ": "sum"}
_SIGN_NAMES = {
    "%": "percent", "‰": "per mille", "±": "plus or minus", "≥": "at least", "≤": "at most",
    "≈": "about", "~": "about", "×": "times", "÷": "divided by", "→": "to", "↔": "and back to",
    "←": "from", "↑": "up", "↓": "down", "∞": "infinity", "√": "the root of", "≠": "is not",
    "&": "and", "+": "plus", "=": "equals", "<": "less than", ">": "more than", "@": "at",
    "°": "degrees", "µ": "micro", "©": "", "®": "", "™": "", "|": ",", "^": "to the", "\\": " ",
    "{": "", "}": "", "#": "number", "$": "dollars", "€": "euros", "£": "pounds", "_": " ",
}  # fmt: skip
_SIGN = re.compile("[" + re.escape("".join(_SIGN_NAMES) + "".join(_GREEK)) + "]")
_RATIOS = {"vv": "by volume", "ww": "by weight", "wv": "weight per volume"}
_ABBREVIATIONS: Mapping[str, str] = {
    "e.g.": "for example", "i.e.": "that is", "et al.": "and others", "vs.": "versus",
    "approx.": "approximately", "ca.": "about", "cf.": "compare", "etc.": "and so on",
    "Fig.": "figure", "Figs.": "figures", "Dr.": "Doctor", "Prof.": "Professor", "No.": "number",
    "spp.": "species", "sp.": "species",
}  # fmt: skip
_ABBREVIATION = re.compile(
    r"(?<!\w)(?:" + "|".join(re.escape(key) for key in _ABBREVIATIONS) + r")(?=[\s,;:)]|$)"
)

_Replacement = Callable[[re.Match[str]], str] | str
_RULES: tuple[tuple[re.Pattern[str], _Replacement], ...] = (
    (_ABBREVIATION, lambda match: _ABBREVIATIONS[match[0]]),
    (re.compile(r"(\d:\d\d)\s?([ap])m\b"), r"\1 \2 m"),
    # The period of a genus abbreviation ends no sentence: E. coli.
    (re.compile(r"\b([A-Z])\.\s?(?=[a-z]{3,}\b)"), r"\1 "),
    (
        re.compile(r"(\d)\s?[×x*]\s?10\s?(?:\^\s?)?\(?([−+-]?[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻\d]+)\)?"),
        lambda match: f"{match[1]} times ten to the {_spell_exponent(match[2])}",
    ),
    (
        re.compile(r"\b10(?:\^\s?\(?([−+-]?\d+)\)?|([⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+))"),
        lambda match: f"ten to the {_spell_exponent(match[1] or match[2])}",
    ),
    (
        re.compile(r"(\d)[eE]([−+-]?\d{1,3})\b"),
        lambda match: f"{match[1]} times ten to the {_spell_exponent(match[2])}",
    ),
    (re.compile(r"(?<![\d.,])(\d{1,3})(?:[\u00a0\u2009\u202f](?=\d{3}\b)| (?=000\b))"), r"\1"),
    (re.compile(r"(\d)\s?[×x]\s?g\b"), r"\1 times gravity"),
    (
        re.compile(r"\bOD\s?_?([₀-₉\d]{3})\b"),
        lambda match: f"O D {match[1].translate(_SUPERSCRIPTS)}",
    ),
    (re.compile(r"\bpH\s?(?=\d)"), "p H "),
    # A range, and not a negative number: 4–10 °C.
    (
        re.compile(r"(?<=\d)(\s?°[CF]|\s?%)?\s?[–—-]\s?(?=\d)"),
        lambda match: f"{match[1] or ''} to ",
    ),
    (_INVERSE, lambda match: f" per {_power(match[2] or match[4])}{_unit(match[1] or match[3])}"),
    (_POWER, lambda match: f"{match[1]} {_power(match[3] or match[4])}{_unit(match[2])}s"),
    (re.compile(rf"({_NUMBER})-({_UNIT})(?![\w°-])"), lambda m: f"{m[1]} {_UNITS[m[2]]}"),
    (_QUANTITY, lambda match: _spell_quantity(match)),
    (_PER, lambda match: f"{_UNITS[match[1]]}s per {_UNITS[match[2]]}"),
    (re.compile(rf"(?<=[a-z])/({_UNIT})(?![\w°/])"), lambda match: f" per {_UNITS[match[1]]}"),
    (
        re.compile(r"\(?\b([vw])(?:ol|t)?/([vw])(?:ol|t)?\b\)?"),
        lambda match: _RATIOS.get(f"{match[1]}{match[2]}", match[0]),
    ),
    (re.compile(r"(?<![\d/])(\d{1,3})/(\d{1,3})(?![\d/])"), r"\1 over \2"),
    (re.compile(r"(?<![\w:.])1:(?=\d)(?!\d\d [ap] m)"), "1 to "),
    (re.compile(r"([$€£])(\d(?:[\d,.]*\d)?)"), lambda match: f"{match[2]} {_SIGN_NAMES[match[1]]}"),
    (re.compile(r"(?<=\d),(?=\d{3}\b)"), ""),
    (re.compile(r"(?<![\w.])[−-](?=\d)"), "minus "),
    (re.compile(r"(?<=[A-Za-z])⁺"), " plus"),
    (re.compile(r"(?<=[A-Za-z])⁻|(?<=[A-Z])−(?![\w.])"), " minus"),
    (re.compile(r"(?<=\w)\^(\d?)[−-](?![\d.])"), r" \1 minus"),
    (re.compile(r"(?<=\b[35])[′'’](?=\W|$)"), " prime"),
    # Genes: araBAD, lacZ, pBAD.
    (
        re.compile(r"(?:\b|(?<=Δ))([a-z]{3})([A-Z]{1,4})(?=\d{0,3}\b|Δ|::)"),
        lambda match: f"{match[1]} {' '.join(match[2])}",
    ),
    (re.compile(r"\b([pm])([A-Z]{2,6})(?=\d{0,4}\b)"), lambda match: f"{match[1]} {match[2]}"),
    # Only the first digits of a very long number are spoken, one by one.
    (re.compile(r"\d{13,}"), lambda match: f"{' '.join(match[0][:4])} and so on"),
    (re.compile(r"\s[–—]\s|—"), ", "),
    (re.compile(r"(?<=[^\W\d])/(?=\w)|(?<=\d)/(?=[^\W\d])"), " or "),
    (_SIGN, lambda match: f" {_GREEK.get(match[0]) or _SIGN_NAMES.get(match[0], '')} "),
    (re.compile(r"(?<!\s)\s+(?=[,.;:!?])"), ""),
)


def spell_out(text: str) -> str:
    """Return a text with units, signs, genes and numbers replaced by words."""
    text = text.replace("μ", "µ").replace("º", "°").replace("℃", "°C")
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text.translate(_SUPERSCRIPTS)


def _spell_exponent(number: str) -> str:
    return number.translate(_SUPERSCRIPTS).replace("−", "-").replace("+", "").replace("-", "minus ")


def _power(exponent: str) -> str:
    return {"1": "", "2": "square ", "3": "cubic "}[exponent.translate(_SUPERSCRIPTS)]


def _unit(unit: str) -> str:
    return _UNITS.get(unit, "meter")


def _spell_quantity(match: re.Match[str]) -> str:
    number, blank, unit, per = match.groups()
    if not blank and unit in ("K", "s", "U", "V", "J", "W"):  # 20s, or a name such as 4K
        return match[0]
    name = _UNITS[unit]
    if number not in ("1", "-1", "−1"):
        if name.startswith("degree"):
            name = name.replace("degree", "degrees")
        elif not name.endswith(_NO_PLURAL) and "per" not in name:
            name += "s"
    spoken = f"{number} {name}"
    return f"{spoken} per {_UNITS[per]}" if per else spoken


MAX_PIECE_LENGTH = 600
"""Maximum characters per synthesis call; longer texts are split, preferably between sentences."""

_UNSPOKEN = {"Cc", "Cf", "Cs", "Co", "Cn", "So", "Sk"}
"""Unicode categories that are not spoken: controls, private use, emoji."""

_ADDRESS = re.compile(r"\b(?:https?://|www\.)(?:www\.)?([\w.-]+)\S*", re.IGNORECASE)
_LINK = re.compile(r"!?\[([^\]\n]{1,300})\]\([^)\s]{1,2000}\)")
_CITATION = re.compile(r"(?:(?<!\s)\s+)?\[\d{1,4}(?:\s*[,–-]\s*\d{1,4}){0,20}\]")
_MARKUP = re.compile(r"(?m)^\s{0,3}(?:#{1,6}\s+|>\s?|[-*+]\s+|```.*$)|\*{1,3}|_{2,3}|`+|~~")
_BASES = re.compile(
    r"(?<![\w-])(?:[53]['′’]\s?-?\s?)?(?:[ACGTUN]{9,}|[acgtun]{12,}"
    r"|(?:[ACGTUN]{3,}[ -]){3,}[ACGTUN]{1,})"
    r"(?:\s?-?\s?[53]['′’])?(?![\w-])"
)
_RESIDUES = re.compile(r"(?<!\w)[ACDEFGHIKLMNPQRSTVWYX*]{16,}(?!\w)")
_UNREADABLE = re.compile(r"\S{41,}")
_BASE = re.compile(r"[ACGTUNacgtun]")
_BLANKS = re.compile(r"\s+")
_SAYABLE = re.compile(r"[^\W_]")
_SEAMS = (". ", "! ", "? ", "… ", "。 ", "！ ", "？ ", ", ", "; ", ": ", " ")


def split_for_speech(text: str, language: str | None = None) -> Iterator[str]:
    """Yield the speakable pieces of a text, each of bounded length.

    Units and signs are replaced by words if the language is English, or None.
    """
    normalized = normalize_text(text, language)
    for part in segmentation.split_text(normalized, MAX_PIECE_LENGTH, _SEAMS):
        if _SAYABLE.search(part):
            yield part


def normalize_text(text: str, language: str | None = None) -> str:
    """Return a text as it is read out, on one line."""
    text = _LINK.sub(r"\1", text)
    text = _CITATION.sub("", text)
    text = _MARKUP.sub(" ", text)
    english = voices.is_english(language)
    if english:
        text = _ADDRESS.sub(r"the page at \1", text)
        text = _BASES.sub(lambda match: f"a sequence of {len(_BASE.findall(match[0]))} bases", text)
        text = _RESIDUES.sub(lambda match: f"a sequence of {len(match[0])} residues", text)
    else:
        text = _ADDRESS.sub(r"\1", text)
    text = "".join(
        char if unicodedata.category(char) not in _UNSPOKEN or char in SPOKEN_SIGNS else " "
        for char in text
    )
    if english:
        text = spell_out(text)
    text = _UNREADABLE.sub(_shorten_token, text)
    return _BLANKS.sub(" ", text).strip()


def _shorten_token(match: re.Match[str]) -> str:
    """Return the first words of a token that is too long to be a word."""
    words = re.findall(r"[^\W_]{2,12}", match[0])[:3]
    return " ".join(words)
