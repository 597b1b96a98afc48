"""Read and draw the pages of a PDF file, and highlight passages in them."""

from __future__ import annotations

import ctypes
import io
import threading
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labext.errors import InputError, SetupError
from labext.extras import install_line
from labext.messages import quote_value
from labext_widgets.documents.pages import Pages, Picture, find_passage

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True)
class Box:
    """A rectangle on a page, from its lower left corner, in points."""

    left: float
    bottom: float
    right: float
    top: float


def merge_boxes(boxes: Iterable[Box]) -> list[Box]:
    """Merge the boxes of one line of text, which a change of font or a gap has separated."""
    merged: list[Box] = []
    for box in boxes:
        previous = merged[-1] if merged else None
        if previous is not None and _on_one_line(previous, box):
            merged[-1] = Box(
                min(previous.left, box.left),
                min(previous.bottom, box.bottom),
                max(previous.right, box.right),
                max(previous.top, box.top),
            )
        else:
            merged.append(box)
    return merged


def _on_one_line(first: Box, second: Box) -> bool:
    """Return True if two boxes overlap by half in height and the second continues the first."""
    height = min(first.top - first.bottom, second.top - second.bottom)
    overlap = min(first.top, second.top) - max(first.bottom, second.bottom)
    gap = max(second.left - first.right, first.left - second.right)
    return overlap > height / 2 and gap < 3 * max(height, 1)


MAX_BYTES = 145_000
"""Maximum size of a saved picture; with base64 a page takes less than 200 kB in a notebook."""

_WIDTH, _HEIGHT = 1000, 1600
"""Maximum width and height of a saved picture, in pixels."""

_KEPT = 16
"""Number of rendered pages that are kept."""

_PNG_WIDTH = 1600
_YELLOW = (255, 224, 130)
_PADDING = 1.5
"""Space around highlighted text, in points."""

_lock = threading.RLock()  # PDFium is not thread-safe


class PdfPages(Pages):
    """The pages of a PDF file on disk, which is opened for each use.

    Raises:
        InputError: it is encrypted, or broken.
        SetupError: the packages that render PDF files are not installed.
    """

    is_markdown = False

    def __init__(self, path: Path, title: str) -> None:
        self._path = path
        self._title = title
        self._rendered: dict[tuple[int, str], Picture] = {}
        self._page_of: dict[str, int | None] = {}
        with self._open() as document:
            self.count = len(document)
        if not self.count:
            raise InputError(f"{quote_value(title)} is a PDF without pages.", "Add it again.")

    def text(self, page: int) -> str:
        """Return the text of a page, from 1."""
        with self._open_page(page) as (_, text_page):
            characters = _characters(text_page)
        return "".join("" if c in "\x02\ufffe" else c for c in characters).replace("\r\n", "\n")

    def find(self, passage: str) -> int | None:
        """Return the first page with a passage; None if no page has it."""
        if passage not in self._page_of:
            self._page_of[passage] = self._find(passage)
        return self._page_of[passage]

    def _find(self, passage: str) -> int | None:
        with self._open() as document:
            for number in range(1, self.count + 1):
                with suppress(InputError), self._load(document, number) as (_, text_page):
                    if find_passage(passage, _characters(text_page)):
                        return number
        return None

    def render(self, page: int, passage: str) -> Picture:
        """Return a page as a small picture in which the passage is highlighted."""
        key = page, passage
        if key not in self._rendered:
            if len(self._rendered) >= _KEPT:
                self._rendered.pop(next(iter(self._rendered)))
            image, boxes = self._image(page, passage, _WIDTH, _HEIGHT)
            data, media_type, size = _compress(image)
            self._rendered[key] = Picture(data, media_type, *size, boxes)
        return self._rendered[key]

    def png(self, page: int, passage: str) -> bytes:
        """Return a page as a PNG in full color, for example for a file."""
        image, _ = self._image(page, passage, _PNG_WIDTH, 2 * _PNG_WIDTH)
        return _encoded(image, "PNG", optimize=True)

    def _image(self, number: int, passage: str, width: int, height: int) -> tuple[Image, int]:
        with self._open_page(number) as (page, text_page):
            across, up = page.get_size()
            scale = min(width / max(across, 1), height / max(up, 1))
            image = page.render(scale=scale).to_pil().convert("RGB")
            boxes = _passage_boxes(text_page, passage) if passage else []
            areas = [_pixels(page, box, image.size) for box in boxes]
        for area in areas:
            _highlight(image, area)
        return image, len(areas)

    @contextmanager
    def _open_page(self, number: int) -> Iterator[tuple[Any, Any]]:
        with self._open() as document, self._load(document, number) as page:
            yield page

    @contextmanager
    def _load(self, document: Any, number: int) -> Iterator[tuple[Any, Any]]:
        try:
            loaded = document[number - 1]
        except _pdfium().PdfiumError:
            raise InputError(
                f"Page {number} of {quote_value(self._title)} is broken and cannot be shown.",
                "View another page.",
            ) from None
        with closing(loaded) as page, closing(page.get_textpage()) as text_page:
            yield page, text_page

    @contextmanager
    def _open(self) -> Iterator[Any]:
        pdfium = _pdfium()
        with _lock:
            try:
                document = pdfium.PdfDocument(self._path)
            except pdfium.PdfiumError as error:
                raise _open_error(str(error), self._title) from None
            with closing(document):
                yield document


def _pdfium() -> Any:
    try:
        import PIL.Image  # noqa: F401
        import pypdfium2  # type: ignore[import-untyped]
    except ImportError:
        raise SetupError(
            "Pages of a PDF need pypdfium2 and Pillow, which are not installed.",
            f"Install them: {install_line('views')}",
        ) from None
    return pypdfium2


def _open_error(reason: str, title: str) -> InputError:
    if "password" in reason.lower() or "security" in reason.lower():
        return InputError(
            f"{quote_value(title)} is an encrypted PDF, so its pages cannot be shown.",
            "Save it without a password and add it again.",
        )
    return InputError(
        f"{quote_value(title)} is a broken PDF, so its pages cannot be shown.",
        "Check that the file opens elsewhere and add it again.",
    )


def _characters(text_page: Any) -> list[str]:
    """Return the characters of a page by PDFium's index."""
    from pypdfium2 import raw

    codes = (raw.FPDFText_GetUnicode(text_page, i) for i in range(text_page.count_chars()))
    return [chr(code) if 0 < code < 0x110000 else " " for code in codes]


def _passage_boxes(text_page: Any, passage: str) -> list[Box]:
    boxes = []
    for start, end in find_passage(passage, _characters(text_page)):
        count = text_page.count_rects(start, end - start)
        boxes += [Box(*text_page.get_rect(i)) for i in range(count)]
    return merge_boxes(boxes)


def _pixels(page: Any, box: Box, size: tuple[int, int]) -> tuple[int, int, int, int]:
    """Return a box in pixels of the rendered page: left, top, right, bottom."""
    from pypdfium2 import raw

    corners = []
    for x, y in (
        (box.left - _PADDING, box.bottom - _PADDING),
        (box.right + _PADDING, box.top + _PADDING),
    ):
        across, down = ctypes.c_int(), ctypes.c_int()
        raw.FPDF_PageToDevice(page, 0, 0, *size, 0, x, y, across, down)
        corners.append((across.value, down.value))
    (x1, y1), (x2, y2) = corners
    left, right = (min(max(x, 0), size[0]) for x in sorted((x1, x2)))
    top, bottom = (min(max(y, 0), size[1]) for y in sorted((y1, y2)))
    return left, top, right, bottom


def _highlight(image: Image, area: tuple[int, int, int, int]) -> None:
    """Color an area like a marker pen: dark text stays dark."""
    from PIL import Image as images
    from PIL import ImageChops

    left, top, right, bottom = area
    if right <= left or bottom <= top:
        return
    part = image.crop(area)
    image.paste(ImageChops.multiply(part, images.new("RGB", part.size, _YELLOW)), (left, top))


def _compress(image: Image) -> tuple[bytes, str, tuple[int, int]]:
    """Return a picture as a file of at most `MAX_BYTES`: text as PNG, photographs as JPEG."""
    data = _encoded(image.quantize(64), "PNG", optimize=True)
    if len(data) <= MAX_BYTES:
        return data, "image/png", image.size
    for quality in (80, 60):
        data = _encoded(image, "JPEG", quality=quality, optimize=True)
        if len(data) <= MAX_BYTES:
            return data, "image/jpeg", image.size
    smaller = (max(image.width * 3 // 4, 1), max(image.height * 3 // 4, 1))
    return _compress(image.resize(smaller))


def _encoded(image: Image, kind: str, **options: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()
