"""Pictures of files: checked, and shown as HTML images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from labext.errors import InputError
from labext_widgets.core.display import display_html
from labext_widgets.core.front_end import FrontEnd, front_end
from labext_widgets.core.markup import (
    MUTED,
    PAPER,
    WRAPPED,
    data_uri,
    div,
    escape,
    plain,
    view_html,
)

MAX_PICTURE_BYTES = 2_000_000
"""Maximum size of a picture; with a larger one, a notebook would be slow to open."""

PNG = b"\x89PNG\r\n\x1a\n"


class PictureView:
    """A picture from a result file.

    Attributes:
        name: the job and the file.
        content: the file's content.
    """

    def __init__(self, content: bytes, name: str) -> None:
        self.content = content
        self.name = name
        self.media_type = picture_type(content)
        if len(content) > MAX_PICTURE_BYTES:
            raise InputError(
                f"{name} has {len(content):,} bytes; pictures of up to {MAX_PICTURE_BYTES:,} "
                "bytes are shown.",
                "Download it.",
            )

    def __repr__(self) -> str:
        kind = "SVG" if self.media_type.endswith("xml") else "PNG"
        return f"<PictureView {plain(self.name)}, {kind}, {len(self.content):,} bytes>"

    def html(self) -> str:
        """Return the picture as an HTML image."""
        return image_html(self.content, self.media_type, self.name)

    def _ipython_display_(self, **_: Any) -> None:
        if front_end() is FrontEnd.TERMINAL:
            print(repr(self))
        else:
            display_html(view_html(self.html()), repr(self))


def picture_type(content: bytes) -> Literal["image/svg+xml", "image/png"]:
    """Return the media type of a picture; raise InputError if it is neither SVG nor PNG."""
    if content.startswith(PNG):
        return "image/png"
    if b"<svg" in content[:2000]:
        return "image/svg+xml"
    raise InputError("The file is neither an SVG nor a PNG picture.", "Download it.")


def drawing_html(svg: str, lines: Sequence[str], width: int) -> str:
    """Return a drawing as an HTML image with lines of text below it.

    Args:
        svg: the drawing.
        lines: its description, which also replaces the image for screen readers, and notes.
        width: the maximum width in pixels.
    """
    image = (
        f'<img src="{data_uri(svg.encode(), "image/svg+xml")}" alt="{escape(lines[0])}" '
        'style="max-width:100%;height:auto">'
    )
    below = [div(escape(line), MUTED) for line in lines if line]
    return view_html(image + "".join(below), f"max-width:{width}px;font-size:13px;{WRAPPED}")


def image_html(content: bytes, media_type: str, alt: str) -> str:
    """Return an image on a light panel, since drawings are made for paper."""
    style = f"max-width:100%;height:auto;max-height:640px;{PAPER};border-radius:4px"
    return f'<img src="{data_uri(content, media_type)}" alt="{escape(alt)}" style="{style}">'
