"""Secrets are masked before a text reaches a message, a repr, a log or a traceback.

Two nets: the secrets this process has used (`keep_secret`), wherever they turn up; and strings
that look like secrets, since a service may put one of its own into a message.
"""

from __future__ import annotations

import logging
import re
from urllib.parse import quote

MASK = "•••"

_known: set[str] = set()

_PATTERNS = [
    # user:password@ of an address
    (re.compile(r"(?<=://)[^\s/@:]*:[^\s/@]*(?=@)"), MASK),
    # the whole query of a presigned address: one of its values is as good as a key
    (
        re.compile(
            r"(?i)(https?://[^\s?\"'<>]*|/[^\s?\"'<>]*)\?[^\s\"'<>]*"
            r"(?:signature|token|credential|expires|secret|sig|key)=[^\s\"'<>]*"
        ),
        rf"\1?{MASK}",
    ),
    # Authorization values
    (re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}"), rf"\1 {MASK}"),
    # name = value, name: 'value'
    (
        re.compile(
            r"(?i)((?:x-)?api[-_ ]?key|client[-_]secret|access[-_]token|id[-_]token|"
            r"refresh[-_]token|password|passwd|secret)(['\"]?\s*[=:]\s*)(['\"]?)[^\s'\",;&}]+\3"
        ),
        rf"\1\2\3{MASK}\3",
    ),
    # the prefixes that key makers use, and JSON web tokens
    (re.compile(r"\b(?:sk|pk|rk|ghp|gho|xox[abp])[-_][A-Za-z0-9_-]{8,}"), MASK),
    (re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"), MASK),
]


def keep_secret(value: str | None) -> None:
    """From now on mask `value`, and its percent-encoded form, wherever it turns up."""
    if value and len(value) >= 4:
        _known.update({value, quote(value, safe="")})


def mask(text: str) -> str:
    """Return `text` with every known secret and every key-like string masked."""
    for secret in sorted(_known, key=len, reverse=True):
        text = text.replace(secret, MASK)
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text


class MaskingFilter(logging.Filter):
    """A logging filter that masks the finished message, and the traceback, of every record."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Mask in place, and let the record pass."""
        record.msg, record.args = mask(record.getMessage()), ()
        if record.exc_info:
            record.exc_text = mask(logging.Formatter().formatException(record.exc_info))
            record.exc_info = None
        return True


def logger(name: str) -> logging.Logger:
    """Return a logger whose records are masked; a filter does not pass down to children."""
    named = logging.getLogger(name)
    if not any(isinstance(each, MaskingFilter) for each in named.filters):
        named.addFilter(MaskingFilter())
    return named
