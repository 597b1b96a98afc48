"""Encode rows of palette indices as a PNG."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence


def encode_png(rows: Sequence[Sequence[int]], colours: Sequence[str | None]) -> bytes:
    """Return a PNG with one pixel per index.

    Args:
        rows: the rows, all of the same length.
        colours: up to 16 colours as `#rrggbb`; None is transparent.
    """
    width = len(rows[0])
    lines = bytearray()
    for row in rows:
        lines.append(0)  # no filter
        pairs = [*row, 0] if width % 2 else row
        lines += bytes(pairs[i] << 4 | pairs[i + 1] for i in range(0, width, 2))
    colour_bytes = b"".join(bytes.fromhex((colour or "#000000")[1:]) for colour in colours)
    alpha = bytes(0 if colour is None else 255 for colour in colours)
    header = struct.pack(">IIBBBBB", width, len(rows), 4, 3, 0, 0, 0)
    chunks = (
        (b"IHDR", header),
        (b"PLTE", colour_bytes),
        (b"tRNS", alpha),
        (b"IDAT", zlib.compress(bytes(lines), 9)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
