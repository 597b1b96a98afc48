"""Generate small PDF, DOCX and audio files, and pictures of text."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL import Image


def pdf(pages: Sequence[str], title: str | None = None, *, encrypted: bool = False) -> bytes:
    """Return a PDF with the lines of each page, encrypted with a random password if requested.

    Lines that begin with `# ` are large and bold, those that begin with `** ` are bold, and `^{6}`
    is raised.
    """
    kids = " ".join(f"{5 + 2 * place} 0 R" for place in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {len(pages)} /Kids [{kids}] >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>",
    ]
    for place, text in enumerate(pages):
        drawn = _drawn(text)
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] "
            f"/Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> /Contents {6 + 2 * place} 0 R >>"
        )
        objects.append(f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream")
    trailer = f"/Size {len(objects) + 1} /Root 1 0 R"
    if title is not None:
        objects.append(f"<< /Title ({_escaped(title)}) >>")
        trailer += f" /Info {len(objects)} 0 R"
    if encrypted:
        secret = "00" * 32
        objects.append(f"<< /Filter /Standard /V 1 /R 2 /P -4 /O <{secret}> /U <{secret}> >>")
        trailer += f" /Encrypt {len(objects)} 0 R /ID [<{secret[:32]}> <{secret[:32]}>]"
    return _file(objects, trailer)


def chinese_pdf(lines: Sequence[str]) -> bytes:
    """Return a PDF of one page with lines of Chinese, in a font that is not embedded."""
    drawn = "BT /F1 12 Tf 50 790 Td 16 TL "
    drawn += " ".join(f"<{line.encode('utf-16-be').hex()}> Tj T*" for line in lines) + " ET"
    font = "/Type /Font /BaseFont /STSong-Light"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Count 1 /Kids [5 0 R] >>",
        f"<< {font} /Subtype /Type0 /Encoding /UniGB-UCS2-H /DescendantFonts [4 0 R] >>",
        f"<< {font} /Subtype /CIDFontType0 /DW 1000 "
        "/CIDSystemInfo << /Registry (Adobe) /Ordering (GB1) /Supplement 0 >> >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] "
        "/Resources << /Font << /F1 3 0 R >> >> /Contents 6 0 R >>",
        f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream",
    ]
    return _file(objects, f"/Size {len(objects) + 1} /Root 1 0 R")


def _file(objects: Sequence[str], trailer: str) -> bytes:
    out = io.BytesIO(b"%PDF-1.4\n")
    out.seek(0, io.SEEK_END)
    places = []
    for number, content in enumerate(objects, 1):
        places.append(out.tell())
        out.write(f"{number} 0 obj\n{content}\nendobj\n".encode("cp1252"))
    start = out.tell()
    out.write(f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode())
    out.write("".join(f"{place:010} 00000 n \n" for place in places).encode())
    out.write(f"trailer\n<< {trailer} >>\nstartxref\n{start}\n%%EOF\n".encode())
    return out.getvalue()


def _drawn(text: str) -> str:
    lines = " ".join(map(_drawn_line, text.splitlines()))
    return f"BT 14 TL 50 790 Td {lines} ET"


def _drawn_line(line: str) -> str:
    fonts = {"# ": "/F2 14", "** ": "/F2 11", "": "/F1 11"}
    mark = next(mark for mark in fonts if line.startswith(mark))
    raised = rf") Tj 4 Ts /F1 7 Tf (\1) Tj 0 Ts {fonts[mark]} Tf ("
    text = re.sub(r"\^\{(.*?)\}", raised, _escaped(line.removeprefix(mark)))
    return f"{fonts[mark]} Tf ({text}) Tj T*"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def docx(blocks: Sequence[str | list[list[str]]], title: str | None = None) -> bytes:
    """A Word document of paragraphs and tables; `# …` is a heading."""
    import docx

    document = docx.Document()
    document.core_properties.title = title or ""
    for block in blocks:
        if isinstance(block, list):
            table = document.add_table(len(block), len(block[0]))
            for row, texts in zip(table.rows, block, strict=True):
                for cell, text in zip(row.cells, texts, strict=True):
                    cell.text = text
        elif block.startswith("# "):
            document.add_heading(block[2:], 1)
        else:
            document.add_paragraph(block)
    return saved(document)


def spoken(text: str, kind: str = "WAV") -> bytes:
    """Return an audio file with a synthetic voice that speaks a text."""
    import soundfile

    from labext.sandbox.nb.speech.engines import Espeak

    sound = Espeak().say("en-us", text)
    out = io.BytesIO()
    soundfile.write(out, sound.samples, sound.rate, format=kind)
    return out.getvalue()


def picture_of_text(lines: Sequence[str]) -> Image.Image:
    """Return a picture of printed lines, as a scan at 150 dpi has them."""
    from PIL import Image, ImageDraw, ImageFont

    picture = Image.new("L", (1000, 400), 255)
    draw = ImageDraw.Draw(picture)
    for number, line in enumerate(lines):
        draw.text((40, 40 + 40 * number), line, 0, font=ImageFont.load_default(30))
    return picture


def saved(document: Any) -> bytes:
    """Return the file of a Word document, presentation or workbook."""
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def zip_archive(entries: Mapping[str, str | bytes]) -> bytes:
    """Return a zip archive of entries by name."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return out.getvalue()


def partly_scanned_pdf() -> bytes:
    """Return a PDF with a page of text, a scanned one and a blank one."""
    import pypdfium2  # type: ignore[import-untyped]

    scan, out = io.BytesIO(), io.BytesIO()
    picture_of_text(["Glucose represses it."]).save(scan, "PDF", resolution=150)
    document = pypdfium2.PdfDocument(pdf(["First.", ""]))
    document.import_pages(pypdfium2.PdfDocument(scan.getvalue()), index=1)
    document.save(out)
    return out.getvalue()
