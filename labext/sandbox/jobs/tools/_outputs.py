"""Write tables, FASTA files and SVG drawings."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

LINE_LENGTH = 60
_TEXT_STYLE = 'font-family="sans-serif" font-size="11" fill="#333333"'


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Iterable[object]]) -> None:
    """Write a CSV file with a header."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(columns)
        table.writerows(rows)


def write_fasta(path: Path, records: Iterable[tuple[str, str]]) -> None:
    """Write a FASTA file; records are pairs of header and sequence."""
    with path.open("w", encoding="utf-8") as file:
        for header, letters in records:
            starts = range(0, len(letters), LINE_LENGTH)
            lines = [f">{header}", *(letters[i : i + LINE_LENGTH] for i in starts)]
            file.writelines(f"{line}\n" for line in lines)


def svg_document(width: float, height: float, body: Iterable[str], scale: float = 1) -> str:
    """Return an SVG document with a white background; `scale` is in pixels per unit."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width * scale:.0f}" '
            f'height="{height * scale:.0f}" viewBox="0 0 {width:.1f} {height:.1f}">',
            f'<rect width="{width:.1f}" height="{height:.1f}" fill="#ffffff"/>',
            *body,
            "</svg>\n",
        ]
    )


def svg_text(x: float, y: float, text: str, anchor: str = "start") -> str:
    """Return a horizontal text; `anchor` is `start`, `middle` or `end`."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {_TEXT_STYLE}>{escape(text)}</text>'
    )


def svg_rotated_text(x: float, y: float, degrees: float, text: str, anchor: str = "start") -> str:
    """Return a text rotated around the centre of its left edge."""
    return (
        f'<text transform="translate({x:.1f} {y:.1f}) rotate({degrees:.1f}) translate(0 4)" '
        f'text-anchor="{anchor}" {_TEXT_STYLE}>{escape(text)}</text>'
    )
