"""Decode text files of unknown encoding, which may be gzipped."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib

MAX_BYTES = 256_000_000
"""Default for the maximum size of an unpacked file in bytes."""


def decode_text(content: bytes, max_bytes: int = MAX_BYTES) -> str:
    """Return the text of a file: UTF-8, UTF-16 with a byte order mark, or else Latin-1.

    Its lines end with a line feed.

    Raises:
        ValueError: the file is not text, is damaged or too large; the message is the predicate of a
            sentence about it.
    """
    if content.startswith(b"\x1f\x8b"):
        try:
            with gzip.open(io.BytesIO(content)) as file:
                content = file.read(max_bytes + 1)
        except (OSError, EOFError, zlib.error):
            raise ValueError("can't be unpacked by gzip") from None
    if len(content) > max_bytes:
        raise ValueError(f"is larger than {max_bytes // 1_000_000} MB")
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = content.decode("utf-16", "replace")
    else:
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = content.decode("latin-1")
    if "\0" in text:
        raise ValueError("is not a text file")
    return text.replace("\r\n", "\n").replace("\r", "\n")
