"""Recognize the text of pictures and of scanned pages with tesseract (OCR)."""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
import warnings
from pathlib import Path
from typing import Any

from labext.sandbox.nb.errors import UnreadableError
from labext.sandbox.nb.ingestion.reading import Document, OnStage, SourceFile

_RESOLUTION = 300
"""Dots per inch for which tesseract is made."""

_MAX_PIXELS = 25_000_000
"""Maximum pixels of a rendered page, one byte each; a page of A3 has 17 million."""

_MAX_SIDE = 32_000
"""Maximum width and height of a picture; tesseract refuses larger ones."""

_LINE_END_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u2010\u00ad]\n(?=[a-z\u00df-\u00ff])")


def is_installed() -> bool:
    """Return whether tesseract is installed."""
    return shutil.which("tesseract") is not None


def read_picture(file: SourceFile, _on_stage: OnStage) -> Document:
    """Read the text of a picture, of one with several pages by page."""
    if not is_installed():
        raise UnreadableError(
            "It is a picture: to read its text, install the program tesseract where the service "
            "runs, and add it again."
        )
    _check_size(file.path)
    pages = _recognize(file.path)
    if not any(pages):
        raise UnreadableError(
            "No text was recognized in the picture: if it has some, add a sharper or larger one."
        )
    remark = recognition_remark("Its text")
    if len(pages) == 1:
        return Document([(None, pages[0])], remark=remark)
    return Document([*enumerate(pages, 1)], remark=remark)


def recognition_remark(subject: str) -> str:
    """Return the remark about a recognized text."""
    return f"{subject} was recognized in a picture: numbers and symbols may be wrong."


def _check_size(picture: Path) -> None:
    """Check that a picture can be decoded in memory; leave unknown formats to tesseract."""
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(picture) as image:
                is_too_large = max(image.size) > _MAX_SIDE
    except Image.DecompressionBombError:
        is_too_large = True
    except (OSError, SyntaxError, ValueError):  # a format that Pillow can't read
        is_too_large = False
    if is_too_large:
        raise UnreadableError(
            f"The picture has more than {2 * (Image.MAX_IMAGE_PIXELS or 0):,} pixels, or a side of "
            f"more than {_MAX_SIDE:,}: make it smaller and add it again."
        )


def recognize_page(page: Any) -> str:
    """Return the text of a page of a PDF, a `pypdfium2.PdfPage`, from its picture."""
    width, height = page.get_size()
    scale = min(
        _RESOLUTION / 72,
        math.sqrt(_MAX_PIXELS / max(width * height, 1.0)),
        _MAX_SIDE / max(width, height, 1.0),
    )
    bitmap = page.render(scale=scale, grayscale=True)
    rows = memoryview(bitmap.buffer).cast("B")
    pixels = b"".join(
        rows[start : start + bitmap.width]
        for start in range(0, bitmap.height * bitmap.stride, bitmap.stride)
    )
    return "\n".join(_recognize(b"P5 %d %d 255\n" % (bitmap.width, bitmap.height) + pixels))


def _recognize(picture: Path | bytes) -> list[str]:
    """Return the text of each page of a picture, a file or its content."""
    content = picture if isinstance(picture, bytes) else None
    source = "stdin" if content is not None else str(picture)
    program = shutil.which("tesseract") or "tesseract"
    result = subprocess.run(
        [program, source, "stdout", "--psm", "1"],  # in any orientation
        input=content,
        capture_output=True,
        check=False,
        env=os.environ | {"OMP_THREAD_LIMIT": "1"},  # its threads cost more than they gain
    )
    if result.returncode:
        if b"traineddata" in result.stderr:
            raise UnreadableError(
                "The program tesseract lacks its language data: install them (Debian: "
                "tesseract-ocr-eng) and add it again."
            )
        raise UnreadableError(
            "The picture is broken, or of a kind that tesseract can't read: check that it opens, "
            "save it as PNG and add it again."
        )
    text = result.stdout.decode("utf-8", "replace").replace("\r\n", "\n")
    return [_LINE_END_HYPHEN.sub("", page).strip() for page in text.removesuffix("\f").split("\f")]
