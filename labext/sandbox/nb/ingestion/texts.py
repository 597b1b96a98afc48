"""Text out of bytes: its encoding found, what is no text left out."""

from __future__ import annotations

import codecs
import re

from labext.sandbox.nb.ingestion.reasons import Unreadable

SAMPLE = 256 * 1024
"""Bytes by which an encoding is guessed."""

LONGEST_TITLE = 200

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_OF_TEXTS = ("ascii", "utf", "iso", "cp", "koi", "mac", "big5", "gb", "hz", "euc", "shift", "johab")
_NO_TEXT = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
_UNSEEN = re.compile("[\u00ad\u200b\u2060\ufeff]")
"""Where a word may be broken, and other marks that keep it from being found."""

_LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
)


def decoded(content: bytes, charset: str | None = None) -> str:
    """The text in bytes: by its mark, by the charset that was told, as UTF-8, or as is likely.

    Raises:
        Unreadable: it is no text.
    """
    text = _decoded(content, charset)
    strange = len(_NO_TEXT.findall(text)) + text.count("\ufffd")
    if strange > 2 + len(text) // 50:
        raise Unreadable("It is no text, and of no other kind that can be read.")
    return text


def _decoded(content: bytes, charset: str | None) -> str:
    for mark, name in _MARKS:
        if content.startswith(mark):
            return content.decode(name, errors="replace")
    for name in filter(None, (_told(charset), _wide(content), "utf-8")):
        try:
            return content.decode(name)
        except UnicodeError:
            continue
    return _guessed(content)


def _told(charset: str | None) -> str | None:
    """A charset that is one of texts; Python's own escapes and names of hosts are none."""
    try:
        name = codecs.lookup(charset or "").name
    except (LookupError, ValueError):
        return None
    return name if name.startswith(_OF_TEXTS) else None


def _wide(content: bytes) -> str | None:
    """UTF-16 without its mark: every other byte of English is zero."""
    sample = content[:SAMPLE]
    for start, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        half = sample[start::2]
        if half and half.count(0) > 0.6 * len(half) and sample[1 - start :: 2].count(0) == 0:
            return name
    return None


def _guessed(content: bytes) -> str:
    from charset_normalizer import from_bytes

    best = from_bytes(content[:SAMPLE]).best()
    if best is not None:
        try:
            return content.decode(best.encoding)
        except (UnicodeError, LookupError):
            pass
    return content.decode("cp1252", errors="replace")


def clean(text: str) -> str:
    """A text with plain ends of lines and without what nobody sees; blanks at its ends go."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n")
    return _UNSEEN.sub("", _NO_TEXT.sub("", text)).translate(_LIGATURES).strip()


def title(text: str | None) -> str | None:
    """A title as one line of a length that can be shown; None where there is nothing to show."""
    line = " ".join(clean(text or "").split())
    if not any(letter.isalnum() for letter in line):
        return None
    return line if len(line) <= LONGEST_TITLE else f"{line[: LONGEST_TITLE - 1].rstrip()}…"
