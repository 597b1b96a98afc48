"""Secrets are masked before a text reaches a message, a repr, a log or a traceback.

Two nets: the secrets this process has used (`keep_secret`), wherever they turn up; and strings
that look like secrets, since a service may put one of its own into a message.
"""

from __future__ import annotations

import json
import logging
import re
from urllib.parse import quote, quote_plus

MASK = "•••"

SHORTEST = 4
"""Characters below which a secret is not masked: it would turn up in half of all words."""

_known: set[str] = set()

_QUERY_NAMES = (
    r"x-(?:amz|goog)-[a-z-]+|signature|sig|token|access_token|id_token|credential|expires|policy|"
    r"secret|key|api[-_]?key|password|code"
)

_NAMES = (
    r"(?:x-)?api[-_]?key|(?:client|app)[-_]?secret|(?:access|id|refresh|auth|session)[-_]?token|"
    r"secret[-_]?(?:access[-_]?)?key|private[-_]?key|password|passwd|passphrase|secret"
)

# Each begins at a mark that is rare in a text, so that a hostile one costs no more than its length.
_PATTERNS = [
    # user:password@ of an address
    (re.compile(r"(?<=://)[^\s/@:]*:[^\s/@]*(?=@)"), MASK),
    # the whole query of a presigned address: one of its values is as good as a key
    (
        re.compile(rf"(?i)\?(?:[^\s\"'<>#?]*&)?(?:{_QUERY_NAMES})=[^\s\"'<>?]*"),
        f"?{MASK}",
    ),
    # Authorization values; a digit, sign or capital within tells one from a word
    (
        re.compile(
            r"\b([Bb]earer|BEARER|[Bb]asic|BASIC|[Tt]oken)\s+"
            r"(?=[A-Za-z._~-]*(?:[0-9=+/]|[a-z][A-Z]))[A-Za-z0-9._~+/=-]{8,}"
        ),
        rf"\1 {MASK}",
    ),
    # name = value, name: 'value', also within a JSON string within JSON
    (
        re.compile(
            rf"(?i)((?:{_NAMES})(?:\\*['\"])?\s*[=:]\s*)"
            r"(?:(\\*\")[^\"]*\"|(\\*')[^']*'|[^\s'\",;&}\])]+)"
        ),
        rf"\1\2\3{MASK}\2\3",
    ),
    # "API key: …" is prose as often as not
    (re.compile(r"(?i)\b(api key\s*[=:]\s*)(?=[^\s\d]*\d)[^\s'\",;]+"), rf"\1{MASK}"),
    # the prefixes that key makers use, and JSON web tokens
    (re.compile(r"\b(?:sk|pk|rk)[-_](?=[A-Za-z_-]{0,99}\d)[A-Za-z0-9_-]{16,}"), MASK),
    (re.compile(r"\b(?:gh[oprsu]_|hf_|glpat-|xox[abprs]-)[A-Za-z0-9_-]{10,}"), MASK),
    (re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[0-9A-Za-z_-]{30,}"), MASK),
    (re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"), MASK),
]


def keep_secret(value: str | None) -> None:
    """From now on mask `value` wherever it turns up, also as a URL or JSON writes it.

    Strings of fewer than 4 characters are let be.
    """
    if value and len(value) >= SHORTEST and value.strip("•"):
        _known.update(
            {value, quote(value, safe=""), quote_plus(value), json.dumps(value)[1:-1]},
        )


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
