"""Mask secrets in messages, reprs, logs and tracebacks."""

from __future__ import annotations

import binascii
import logging
import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import NamedTuple, TypeAlias

from labext.sanitize import strip_control

MASK = "•••"

MIN_SECRET_LENGTH = 4
"""Minimum length of a masked secret; shorter strings would match parts of ordinary words."""

MARGIN = 4_000
"""Number of characters removed from the end of a truncated text after masking, since they may
contain the unrecognized first part of a secret."""

MAX_LENGTH = 500_000
"""Maximum number of characters to mask; the rest is dropped. Only messages, tracebacks and log
records are masked, and 500,000 characters take at most about 50 ms."""

TRUNCATION_MARK = "…"
"""The end of a text that was longer than `MAX_LENGTH`."""

_known: set[str] = set()

Span: TypeAlias = tuple[int, int]


def register_secret(value: str | None) -> None:
    """Mask `value` from now on, including its URL, JSON, HTML and base64 encodings.

    Strings of fewer than 4 characters are ignored.
    """
    if value and len(value) >= MIN_SECRET_LENGTH and value.strip("•"):
        _known.add(value)


def mask(text: str) -> str:
    """Return `text` with all known secrets and key-like strings masked.

    Longer texts are truncated to `MAX_LENGTH` characters, including a final `TRUNCATION_MARK`.
    """
    if len(text) > MAX_LENGTH:
        return mask_start(text, MAX_LENGTH - len(TRUNCATION_MARK)) + TRUNCATION_MARK
    return mask_all(text)


def mask_line(text: str) -> str:
    """Return `text` masked and in one line, with control characters replaced by U+FFFD."""
    return " ".join(strip_control(mask(text)).split())


def mask_only(text: str, secret: str) -> str:
    """Return `text` with a single secret masked in all encodings."""
    return _mask_spans(text, _known_spans(text, (secret,)))


def mask_start(text: str, length: int, *, is_cut: bool = False) -> str:
    """Return the masked start of `text`, without parts of a secret at its end.

    Args:
        text: the text.
        length: maximum number of characters to return.
        is_cut: True if `text` itself is truncated and may end with the first part of a secret.
    """
    length = min(length, MAX_LENGTH)
    start = text[: length + MARGIN]
    masked = mask_all(start)
    if is_cut or len(start) < len(text):
        masked = masked[:-MARGIN]
    return masked[:length]


class MaskingFilter(logging.Filter):
    """A logging filter that masks the message and the traceback of every record."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Mask the record in place and return True."""
        record.msg, record.args = mask(record.getMessage()), ()
        if record.exc_info:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
            record.exc_info = None
        record.exc_text = record.exc_text and mask(record.exc_text)
        record.stack_info = record.stack_info and mask(record.stack_info)
        return True


def get_logger(name: str) -> logging.Logger:
    """Return a logger that masks its records. Child loggers do not inherit filters."""
    logger = logging.getLogger(name)
    if not any(isinstance(filter_, MaskingFilter) for filter_ in logger.filters):
        logger.addFilter(MaskingFilter())
    return logger


def mask_all(text: str) -> str:
    """Return `text` with all known secrets and key-like strings masked, without a length limit."""
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
"""Characters that no encoding changes."""

_JSON_LETTERS = {"\b": "b", "\t": "t", "\n": "n", "\f": "f", "\r": "r"}
_HTML_NAMES = {'"': "quot", "'": "apos", "&": "amp", "<": "lt", ">": "gt"}


class _Form(NamedTuple):
    """A pattern for a secret, plain or in base64, with any escaping of its special characters.

    Attributes:
        literal: the longest run of never escaped characters; texts without it are skipped quickly.
        expression: the regular expression; `re` compiles it on first use and caches it.
        encoded: True for base64, where the adjacent characters may also encode bits of the secret.
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
    """Return the base64 characters that depend on `content` only, after 3n + `offset` bytes."""
    text = binascii.b2a_base64(bytes(offset) + content).decode()
    return text[-(-offset * 8 // 6) : (offset + len(content)) * 8 // 6]


def _form(text: str, encoded: bool) -> _Form:
    literal = max(re.findall(r"[A-Za-z0-9._-]+", text), key=len, default="")
    parts = re.findall(r"\\+|[^\\]", text)
    expression = "".join(_spellings(part, number, encoded) for number, part in enumerate(parts))
    return _Form(literal, expression, encoded)


def _spellings(part: str, position: int, encoded: bool) -> str:
    """Return the expression for one character, or a run of backslashes, with any escaping.

    Backslashes are matched possessively to avoid backtracking in long runs.
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
    backslashes = r"\\*+" if position else ""
    return f"{backslashes}(?:{'|'.join(filter(None, [*escapes, *escaped]))})"


def _hex(number: int) -> str:
    """Return the expression for a number in hexadecimal, case-insensitive, at least two digits."""
    return "".join(f"[{d}{d.upper()}]" if d.isalpha() else d for d in f"{number:02x}")


# Unknown secrets, recognized by their format


class _KeyFormat(NamedTuple):
    """A format of keys or other secrets.

    Attributes:
        pattern: the key is the last matching group, or the whole match if the pattern has no group.
        accepts: an additional condition on the key.
        folded: True if the pattern applies to the lower-case text.
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
"""Last words of names of secrets, each with the possible preceding words; empty for any name."""

_QUOTE = r"\\*[\"']|&(?:quot|apos|#0?3[49]|#x2[27]);"
_VALUE = (
    rf"(?:{_QUOTE})?\s*(?:[=:]|%3[ad])\s*"
    rf"(?:(?P<quote>{_QUOTE})(?:((?s:.{{0,8192}}?))(?<!\\)(?P=quote)|(.*))|([^\s'\",;&}}\])]+))"
)
"""The value after a name; with an unclosed quote, the rest of the line."""

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
    """Return all formats, compiled on first use because compilation takes 10 ms."""
    return (*_named_keys(), *_prefixed_keys())


def _named_keys() -> Iterator[_KeyFormat]:
    # user:password@ in a URL, but not that of an example, or a masked one
    yield _KeyFormat(re.compile(r"://((?!USER:PASSWORD@)[^\s/@:]*:(?!\*{3}@)[^\s/@]*)@"))
    # the whole query of a presigned URL, since its parameters grant access
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
    # "API key: …" is often prose, so the value must contain a digit or an asterisk
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
    if len(lower) != len(text):  # İ is the only letter whose lower case is longer
        lower = text.replace("\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}", "i").lower()
    for pattern, accepts, folded in _key_formats():
        for match in pattern.finditer(lower if folded else text):
            start, end = match.span(match.lastindex or 0)
            if start < end and (accepts is None or accepts.match(text, start, end)):
                yield start, end
