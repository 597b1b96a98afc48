"""Text of pictures and scanned PDFs, by tesseract if it is installed, else by a fake of it."""

from __future__ import annotations

import io
import os
import shutil
import struct
import zlib
from pathlib import Path

import pytest
from labext_test_documents import partly_scanned_pdf, pdf, picture_of_text
from PIL import Image

from labext.sandbox.nb.ingestion import text_recognition

LINES = ["Cells were induced with arabinose.", "The plasmid pBAD30 has 4923 base pairs."]
with_tesseract = pytest.mark.skipif(
    shutil.which("tesseract") is None, reason="tesseract is not installed"
)


def saved(*pictures: Image.Image, kind: str = "PNG") -> bytes:
    """Return a picture as a file, several as its pages."""
    out = io.BytesIO()
    options = {"save_all": True, "append_images": pictures[1:]} if len(pictures) > 1 else {}
    pictures[0].save(out, kind, resolution=150, **options)
    return out.getvalue()


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a fake tesseract before others on the PATH."""
    program = tmp_path / "tesseract"
    program.write_text('#!/bin/sh\n[ "$2" = stdout ] && echo "A gel of pBAD30"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return program


@pytest.fixture
def no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "TIFF", "WEBP", "BMP"])
def test_text_of_a_picture_is_recognized(read, engine, kind):
    result = read(saved(picture_of_text([]), kind=kind), "gel")
    assert result.pages == [(None, "A gel of pBAD30")]
    assert result.remark == (
        "Its text was recognized in a picture: numbers and symbols may be wrong."
    )


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("exit 1", "broken"),
        ("echo 'Error opening data file eng.traineddata' >&2; exit 1", "language data"),
        ("exit 0", "No text was"),
    ],
)
def test_picture_without_text_is_refused(read_error, engine, script, expected):
    engine.write_text(f"#!/bin/sh\n{script}\n")
    assert expected in read_error(saved(picture_of_text([])), "gel.png")


def test_picture_needs_a_program_for_text_recognition(read_error, no_engine):
    assert "install the program tesseract" in read_error(saved(picture_of_text(LINES)), "gel.png")


def png(width: int, height: int) -> bytes:
    """Return a PNG of this size without its pixels."""
    content = saved(Image.new("1", (1, 1)))
    header = b"IHDR" + struct.pack(">II", width, height) + content[24:29]
    return content[:12] + header + struct.pack(">I", zlib.crc32(header)) + content[33:]


@pytest.mark.parametrize("size", [(100_000, 100_000), (14_000, 14_000), (32_001, 1)])
def test_huge_picture_is_refused_before_it_is_decoded(read_error, engine, size):
    engine.write_text("#!/bin/sh\necho decoded\n")
    assert read_error(png(*size), "gel.png") == (
        "The picture has more than 178,956,970 pixels, or a side of more than 32,000: make it "
        "smaller and add it again."
    )


def test_large_picture_is_recognized(read, engine):
    assert read(png(13_000, 13_000), "gel.png").text == "A gel of pBAD30"


def test_scanned_pdf_needs_a_program_for_text_recognition(read_error, no_engine):
    assert read_error(saved(picture_of_text(LINES), picture_of_text([]), kind="PDF")) == (
        "There is no text on its 2 pages: it looks scanned. Install the program tesseract where "
        "the service runs, or have another one for text recognition (OCR) add the text, and add "
        "it again."
    )


def test_only_scanned_pages_are_recognized(read, engine):
    stages: list[str] = []
    assert read(pdf(["First.", ""]), stages=stages).pages == [(1, "First."), (2, "")]
    assert stages[-1] == "page 2 of 2"


def test_pdf_with_scanned_pages_has_a_remark_about_them(read, engine):
    result = read(partly_scanned_pdf())
    assert result.pages == [(1, "First."), (2, "A gel of pBAD30"), (3, "")]
    assert result.remark == (
        "The text of 1 of its 3 pages was recognized in a picture: numbers and symbols may be "
        "wrong."
    )
    assert read(pdf(["First.", ""])).remark is None
    engine.write_text("#!/bin/sh\ncat >/dev/null\n")
    assert read(partly_scanned_pdf()).remark is None


def test_scanned_pages_that_are_not_read_are_stated(read, no_engine):
    assert read(partly_scanned_pdf()).remark == (
        "Scanned, and not read: 1 of its 3 pages. Install the program tesseract where the service "
        "runs, and retry the source."
    )


def test_scanned_pdf_without_recognized_text_is_refused(read_error, engine):
    engine.write_text("#!/bin/sh\ncat >/dev/null\n")
    assert read_error(saved(picture_of_text(LINES), kind="PDF")) == (
        "No text was recognized on its 1 page: if there is some, scan it at 300 dpi or more."
    )


def test_picture_of_a_huge_page_has_limited_size(monkeypatch):
    import pypdfium2  # type: ignore[import-untyped]

    sizes = []
    monkeypatch.setattr(text_recognition, "_recognize", lambda pgm: sizes.append(len(pgm)) or [""])
    document = pypdfium2.PdfDocument.new()
    for width, height in ((10_000_000, 10_000_000), (14_000, 1), (595, 842)):
        text_recognition.recognize_page(document.new_page(width, height))
    largest, narrow, a4 = sizes
    assert largest <= text_recognition._MAX_PIXELS * 1.001
    assert narrow < 1_000_000
    assert a4 == pytest.approx(2480 * 3509, rel=0.01)


@with_tesseract
@pytest.mark.parametrize("angle", [90, 180])
def test_tesseract_reads_a_picture_that_is_not_upright(read, angle):
    picture = picture_of_text(LINES * 3).rotate(angle, expand=True)
    text = read(saved(picture), "gel.png").text
    assert [line for line in text.splitlines() if line] == LINES * 3


@with_tesseract
def test_tesseract_reads_the_pages_of_a_picture(read):
    result = read(saved(*(picture_of_text([line]) for line in LINES), kind="TIFF"), "fax.tiff")
    assert result.pages == [*enumerate(LINES, 1)]


@with_tesseract
def test_tesseract_reads_the_pages_of_a_scanned_pdf(read):
    stages: list[str] = []
    pages = [picture_of_text([LINES[0]]), picture_of_text([]), picture_of_text([LINES[1]])]
    result = read(saved(*pages, kind="PDF"), "scan.pdf", stages=stages)
    assert result.pages == [(1, LINES[0]), (2, ""), (3, LINES[1])]
    assert stages[-1] == "recognizing the text of page 3 of 3"


@with_tesseract
def test_word_divided_at_the_end_of_a_line_is_joined(read):
    result = read(saved(picture_of_text(["The strong repres-", "sion by glucose."])), "page.png")
    assert "repression by glucose." in result.text
