"""Mask secrets in messages, reprs, logs and tracebacks."""

from __future__ import annotations

import binascii
import logging
import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import NamedTuple, TypeAlias

MASK = "•••"

MIN_SECRET_LENGTH = 4
"""Characters below which a secret is not masked: it would turn up in half of all words."""

MARGIN = 4_000
"""Characters that are dropped from the end of a cut text after masking: they may hold the first
half of a secret, which is not recognised."""

LONGEST = 500_000
"""Characters of a text that are masked; the rest is dropped. Only messages, tracebacks and log
records are masked, and 500,000 characters of the worst kind take about 50 ms."""

CUT = "…"
"""Ends a text that was longer than `LONGEST`."""

_known: set[str] = set()

Span: TypeAlias = tuple[int, int]


def register_secret(value: str | None) -> None:
    """Mask `value` from now on, in every encoding: URL, JSON, HTML and base64.

    Strings of fewer than 4 characters are ignored.
    """
    if value and len(value) >= MIN_SECRET_LENGTH and value.strip("•"):
        _known.add(value)


def mask(text: str) -> str:
    """Return `text` with every known secret and every key-like string masked.

    Of a text of more than `LONGEST` characters only the start is returned, which ends in `CUT`.
    """
    if len(text) > LONGEST:
        return mask_start(text, LONGEST - len(CUT)) + CUT
    return mask_all(text)


def mask_only(text: str, secret: str) -> str:
    """Return `text` with one secret masked, in every encoding, and all else as it is."""
    return _mask_spans(text, _known_spans(text, (secret,)))


def mask_start(text: str, length: int, *, is_cut: bool = False) -> str:
    """Return the start of `text`, at most `length` characters, masked.

    A secret that a cut divides is not shown in part.

    Args:
        text: the text.
        length: the most characters to return.
        is_cut: `text` itself is cut, so that it may end with the first half of a secret.
    """
    length = min(length, LONGEST)
    start = text[: length + MARGIN]
    masked = mask_all(start)
    if is_cut or len(start) < len(text):
        masked = masked[:-MARGIN]
    return masked[:length]


class MaskingFilter(logging.Filter):
    """A logging filter that masks the message and the traceback of every record."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Mask in place, and let the record pass."""
        record.msg, record.args = mask(record.getMessage()), ()
        if record.exc_info:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
            record.exc_info = None
        record.exc_text = record.exc_text and mask(record.exc_text)
        record.stack_info = record.stack_info and mask(record.stack_info)
        return True


def get_logger(name: str) -> logging.Logger:
    """Return a logger whose records are masked; a filter does not pass down to children."""
    named = logging.getLogger(name)
    if not any(isinstance(filter_, MaskingFilter) for filter_ in named.filters):
        named.addFilter(MaskingFilter())
    return named


def mask_all(text: str) -> str:
    """Return `text` of any length with every known secret and every key-like string masked."""
    return _mask_spans(text, [*_known_spans(text, tuple(_known)), *_key_like_spans(text)])


def _mask_spans(text: str, spans: Iterable[Span]) -> str:
    parts: list[str] = []
    end = 0
    for start, stop in sorted(spans):
        if start > end or not parts:
            parts += (text[end:start], MASK)
        end = max(end, stop)
    return "".join([*parts, text[end:]])


# Known secrets

_BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")
_LITERAL = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._")
"""Characters that no encoder changes."""

_JSON_LETTERS = {"\b": "b", "\t": "t", "\n": "n", "\f": "f", "\r": "r"}
_HTML_NAMES = {'"': "quot", "'": "apos", "&": "amp", "<": "lt", ">": "gt"}


class _Form(NamedTuple):
    """A secret, plain or in base64, in any escaping of its special characters.

    Attributes:
        literal: its longest run of characters that are never escaped, to skip a text quickly.
        expression: its regular expression; compiled by `re` when it is first needed.
        encoded: in base64, where the adjacent characters hold some of its bits.
    """

    literal: str
    expression: str
    encoded: bool


def _known_spans(text: str, secrets: Iterable[str]) -> Iterator[Span]:
    for secret in secrets:
        for form in _forms(secret):
            if form.literal in text:
                for match in re.finditer(form.expression, text):
                    yield _widen(text, *match.span()) if form.encoded else match.span()


def _widen(text: str, start: int, end: int) -> Span:
    start -= text[start - 1 : start] in _BASE64
    end += text[end : end + 1] in _BASE64
    while text[end : end + 1] == "=":
        end += 1
    return start, end


@lru_cache(maxsize=1024)
def _forms(secret: str) -> tuple[_Form, ...]:
    texts = {secret: False}
    for charset in ("utf-8", "latin-1"):
        try:
            content = secret.encode(charset)
        except UnicodeEncodeError:
            continue
        texts |= {_aligned(content, offset): True for offset in range(3)}
    return tuple(_form(text, encoded) for text, encoded in texts.items())


def _aligned(content: bytes, offset: int) -> str:
    """Return the characters that `content` has in any base64 where it follows 3n + offset bytes."""
    text = binascii.b2a_base64(bytes(offset) + content).decode()
    return text[-(-offset * 8 // 6) : (offset + len(content)) * 8 // 6]


def _form(text: str, encoded: bool) -> _Form:
    literal = max(re.findall(r"[A-Za-z0-9._-]+", text), key=len, default="")
    parts = re.findall(r"\\+|[^\\]", text)
    expression = "".join(_spellings(part, number, encoded) for number, part in enumerate(parts))
    return _Form(literal, expression, encoded)


def _spellings(part: str, place: int, encoded: bool) -> str:
    """Return the expression for one character, or a run of backslashes, however it is escaped.

    Backslashes are matched possessively, so that a long run of them is tried in one way only.
    """
    if part in _LITERAL:
        return part.replace(".", r"\.")
    char, number = part[0], ord(part[0])
    name = _HTML_NAMES.get(char, "")
    escapes = [
        "".join(f"%(?:25)*{_hex(byte)}" for byte in char.encode("utf-8", "surrogatepass")),
        f"&(?:amp;)*(?:#0*{number}|#[xX]0*{_hex(number)}{name and '|'}{name});",
    ]
    if char == "\\":
        return rf"(?:(?:{'|'.join(escapes)}|\\+u005[cC]){{{len(part)}}}|\\{{{len(part)},}}+)"
    units = char.encode("utf-16-be", "surrogatepass")
    escaped = [
        r"\\+".join(
            f"u{_hex(high)}{_hex(low)}" for high, low in zip(units[::2], units[1::2], strict=True)
        ),
        *([f"x{_hex(number)}"] if number < 256 else []),
        _JSON_LETTERS.get(char, ""),
        re.escape(char),
        {"+": "-", "/": "_"}.get(char, "") if encoded else "",
    ]
    if char == " ":
        escapes.append(r"\+")
    backslashes = r"\\*+" if place else ""
    return f"{backslashes}(?:{'|'.join(filter(None, [*escapes, *escaped]))})"


def _hex(number: int) -> str:
    """Return the expression for a number in two or more hexadecimal digits of either case."""
    return "".join(f"[{d}{d.upper()}]" if d.isalpha() else d for d in f"{number:02x}")


# Keys of somebody else


class _KeyFormat(NamedTuple):
    """The format of a kind of key.

    Attributes:
        pattern: the last group that matches is the key, or else the whole match. It matches a run
            of characters as a whole, so that none is read twice.
        accepts: a further condition on the key.
        folded: the pattern is for text in lower case.
    """

    pattern: re.Pattern[str]
    accepts: re.Pattern[str] | None = None
    folded: bool = False


_UNLIKE_A_WORD = re.compile(r"(?s).*?(?:[0-9=+*…]|[a-z][A-Z])")
_UNLIKE_A_PATH = re.compile(
    rf"(?!(?:/[a-z]+)+(?:/[0-9]+)?$){_UNLIKE_A_WORD.pattern[4:]}", re.DOTALL
)

_QUERY_NAMES = (
    r"x-(?:amz|goog)-[a-z-]+|signature|sig|token|access_token|id_token|credential|expires|policy|"
    r"secret|key|api[-_]?key|password|code"
)
_NAMES = {
    "key": ("api", "secret", "access", "private"),
    "token": ("access", "id", "refresh", "auth", "session"),
    "secret": (),
    "password": (),
    "passwd": (),
    "passphrase": (),
}
"""Names of secrets by their last word, and the words of which one has to come before it."""

_QUOTE = r"\\*[\"']|&(?:quot|apos|#0?3[49]|#x2[27]);"
_VALUE = (
    rf"(?:{_QUOTE})?\s*(?:[=:]|%3[ad])\s*"
    rf"(?:(?P<quote>{_QUOTE})(?:((?s:.{{0,8192}}?))(?<!\\)(?P=quote)|(.*))|([^\s'\",;&}}\])]+))"
)
"""The value after a name; for an unclosed quotation, the rest of its line."""

_PREFIXES = {
    **dict.fromkeys(("sk-",), 8),
    **dict.fromkeys(("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-"), 10),
    **dict.fromkeys(("AIza", "hf_", "gsk_", "nvapi-", "pplx-", "xai-"), 10),
    **dict.fromkeys(("xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-"), 10),
    **dict.fromkeys(("sk_", "pk_", "rk_", "pk-", "rk-", "AKIA", "ASIA"), 16),
}
"""Key prefixes of well-known services, with the minimum number of characters that follow."""


def _prefix_pattern(prefix: str) -> str:
    """Return the expression for `prefix` at the start of a word or after an escaped character."""
    before = (r"\\[bfnrt]", r"\\u[0-9A-Fa-f]{4}", r"%[0-9A-Fa-f]{2}")
    escaped = "|".join(f"(?<={character}{prefix})" for character in before)
    return rf"{prefix}(?:(?<![A-Za-z0-9_]{prefix})|{escaped})"


def _named_pattern(last: str, before: Iterable[str]) -> str:
    ends = "|".join(f"(?<={word}{last})|(?<={word}[-_]{last})" for word in before)
    return f"{last}(?:{ends})"


@cache
def _key_formats() -> tuple[_KeyFormat, ...]:
    """Return all formats, compiled when they are first needed: that takes 10 ms."""
    return (*_named_keys(), *_prefixed_keys())


def _named_keys() -> Iterator[_KeyFormat]:
    # user:password@ of an address
    yield _KeyFormat(re.compile(r"://([^\s/@:]*:[^\s/@]*)@"))
    # the whole query of a presigned address: one of its values is as good as a key
    separator = r"&(?:amp;)?|\\u0026"
    query = rf"\?(?!\?)((?:[^\s\"'<>#?]*(?:{separator}))?(?:{_QUERY_NAMES})=[^\s\"'<>]*)"
    yield _KeyFormat(re.compile(query), folded=True)
    # Authorization values
    for scheme in ("Bearer", "Basic", "Token"):
        first = f"[{scheme[0]}{scheme[0].lower()}]"
        for rest in (scheme[1:], scheme[1:].upper()):
            value = rf"{rest}(?<=\b{first}{rest})(?:\s+|%20)([A-Za-z0-9._~+/=\\%-]{{8,}})"
            yield _KeyFormat(re.compile(value), _UNLIKE_A_PATH)
    # name = value, name: 'value'
    for last, before in _NAMES.items():
        yield _KeyFormat(re.compile(_named_pattern(last, before) + _VALUE), folded=True)
    # "API key: ..." is prose as often as not
    yield _KeyFormat(
        re.compile(r"api key(?: (?:provided|given|received|is))?\s*[=:]\s*([^\s'\",;]+)"),
        re.compile(r".*[\d*]"),
        folded=True,
    )


def _prefixed_keys() -> Iterator[_KeyFormat]:
    for prefix, length in _PREFIXES.items():
        key = rf"{_prefix_pattern(prefix)}[A-Za-z0-9_*…-]{{{length},}}(?:\.{{3,}}[A-Za-z0-9_-]+)?"
        yield _KeyFormat(re.compile(key), _UNLIKE_A_WORD)
    # JSON web tokens
    token = rf"{_prefix_pattern('eyJ')}[A-Za-z0-9_-]{{8,}}(?:\.[A-Za-z0-9_-]*)*"
    yield _KeyFormat(re.compile(token), re.compile(r"[^.]+\.[^.]{8,}"))


def _key_like_spans(text: str) -> Iterator[Span]:
    lower = text.lower()
    if len(lower) != len(text):  # the one letter that grows
        lower = text.replace("\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}", "i").lower()
    for pattern, accepts, folded in _key_formats():
        for match in pattern.finditer(lower if folded else text):
            start, end = match.span(match.lastindex or 0)
            if start < end and (accepts is None or accepts.match(text, start, end)):
                yield start, end
