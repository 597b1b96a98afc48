"""The hits of a profile search as boxes on the sequences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from labext.messages import pluralize
from labext_widgets.core.layout import nice_step
from labext_widgets.core.markup import plain, shorten_names
from labext_widgets.drawings import canvas
from labext_widgets.drawings.canvas import (
    Drawing,
    Table,
    line,
    polygon,
    rectangle,
    svg_document,
    text,
)

MAX_ROWS = 40
"""Maximum number of sequences that are drawn."""

_MAP, _ROW, _BOX, _HEAD = 560.0, 30.0, 16.0, 7.0
_TOP = 14.0
_NAME_LENGTH = 28
_MAX_TEXT_ROWS = 60
_MIN_BOX = 3.0

_CLASSES: Sequence[tuple[float, str, str]] = (
    (1e-50, canvas.SHADES[5], "≤ 1e-50"),
    (1e-20, canvas.SHADES[4], "≤ 1e-20"),
    (1e-10, canvas.SHADES[3], "≤ 1e-10"),
    (1e-3, canvas.SHADES[1], "≤ 0.001"),
    (float("inf"), canvas.SHADES[0], "> 0.001"),
)
"""The colors of the E-values up to a limit."""


@dataclass(frozen=True)
class Domain:
    """A part of a sequence that matches the profile; positions are counted from 1.

    Attributes:
        start: the first position, on either strand.
        end: the last position.
        evalue: the E-value of this part.
        score: in bits.
        profile: the first and last column of the profile that it matches.
        strand: `+` or `-` for DNA, else empty.
        member: True if it counts as a member of the family.
    """

    start: int
    end: int
    evalue: float
    score: float
    profile: tuple[int, int]
    strand: str
    member: bool


@dataclass(frozen=True)
class Hit:
    """A sequence with its domains.

    Attributes:
        target: the name of the sequence.
        length: its length.
        evalue: its E-value.
        domains: its domains, in the order of the file.
    """

    target: str
    length: int
    evalue: float
    domains: Sequence[Domain]


class DomainsView(Drawing):
    """The hits of a profile search.

    Attributes:
        hits: all sequences with hits, the best first.
    """

    def __init__(self, name: str, hits: Sequence[Hit]) -> None:
        self.hits = hits
        self._is_dna = any(domain.strand for hit in hits for domain in hit.domains)
        notes = []
        if len(hits) > MAX_ROWS:
            notes.append(f"Showing the best {MAX_ROWS} of {len(hits):,} sequences.")
        count = sum(len(hit.domains) for hit in hits)
        summary = f"profile search, {pluralize(len(hits), 'sequence')} with {_count(count)}"
        names = shorten_names([plain(hit.target) for hit in hits[:MAX_ROWS]], 40)
        rows = [
            [
                target,
                domain.start,
                domain.end,
                *([domain.strand] if self._is_dna else []),
                f"{domain.evalue:.2g}",
                domain.score,
                f"{domain.profile[0]}–{domain.profile[1]}",
                "yes" if domain.member else "no",
            ]
            for target, hit in zip(names, hits, strict=False)
            for domain in hit.domains
        ]
        columns = ["sequence", "start", "end", "E-value", "bits", "profile", "member"]
        if self._is_dna:
            columns.insert(3, "strand")
        text_notes = list(notes)
        if len(rows) > _MAX_TEXT_ROWS:
            text_notes = [f"Showing the first {_MAX_TEXT_ROWS} of {_count(count)}."]
        super().__init__(
            name, self._draw(notes), summary, columns, rows[:_MAX_TEXT_ROWS], text_notes
        )

    def _draw(self, notes: Sequence[str]) -> str:
        hits = self.hits[:MAX_ROWS]
        names = shorten_names([plain(hit.target) for hit in hits], _NAME_LENGTH)
        left = 20 + max([80.0, *map(canvas.text_width, names)])
        longest = max((hit.length for hit in hits), default=1)
        scale = _MAP / longest
        elements: list[str] = []
        y = _TOP
        for name, hit in zip(names, hits, strict=True):
            middle = y + _ROW / 2
            elements.append(text(left - 10, middle, name, "end", kind="target"))
            elements.append(
                line((left, middle), (left + hit.length * scale, middle), canvas.RULE, 2)
            )
            elements += self._draw_boxes(hit, left, middle, scale)
            y += _ROW
        if not hits:
            elements.append(text(left, y + 10, "No hits."))
            y += 30
        else:
            elements += _draw_scale(left, y + 6, longest, "nt" if self._is_dna else "aa")
            y += 40
            elements += _draw_legend(left, y + 6, self._legend_classes(hits), self._is_dna)
            y += 44 if self._is_dna else 28
        for note in notes:
            elements.append(text(left, y + 8, note))
            y += 20
        return svg_document(left + _MAP + 60, y + 6, elements)

    def _legend_classes(self, hits: Sequence[Hit]) -> list[tuple[str, str]]:
        """Return the classes that occur, and that of non-members if there is such a domain."""
        domains = [domain for hit in hits for domain in hit.domains]
        used = {_shade(domain.evalue) for domain in domains if domain.member}
        classes = [(color, label) for _, color, label in _CLASSES if color in used]
        if not all(domain.member for domain in domains):
            classes.append(("", "not a member of the family"))
        return classes

    def _draw_boxes(self, hit: Hit, left: float, middle: float, scale: float) -> list[str]:
        elements = []
        boxes = [
            (
                left + (domain.start - 1) * scale,
                left + max(domain.end * scale, (domain.start - 1) * scale + _MIN_BOX),
                domain,
            )
            for domain in hit.domains
        ]
        best_last = sorted(boxes, key=lambda box: -box[2].evalue)
        for x1, x2, domain in best_last:
            elements.append(_draw_box(x1, x2, middle, domain))
        occupied = [(x1, x2) for x1, x2, _ in boxes]
        for x1, x2, domain in reversed(best_last):
            label = _evalue_text(domain.evalue)
            width = canvas.text_width(label, canvas.SMALL)
            others = [(low, high) for low, high in occupied if (low, high) != (x1, x2)]
            if x2 - x1 > width + (_HEAD + 2 if domain.strand else 2):
                place, inside = ((x1 + x2 - width) / 2, True)
            else:
                place, inside = x2 + 4, False
            is_free = all(place + width < low or place > high for low, high in others)
            if is_free and domain.member:
                elements += _draw_label(place, width, middle, label, domain, inside=inside)
                occupied.append((place, place + width))
        return elements


def domains_view(csv: str, *, name: str) -> DomainsView:
    """Return the drawing of the hits of a profile search, the domains of the best sequence first.

    Raises:
        InputError: the table is not valid.
    """
    columns = ("target", "length", "evalue", "domain_evalue", "domain_score", "start", "end")
    more = ("profile_start", "profile_end", "strand", "member")
    table = Table(csv, (*columns, *more), "profile search")
    domains: dict[tuple[str, int], tuple[float, list[Domain]]] = {}
    for row in table.rows:
        target, length = plain(row["target"] or "", 200), table.whole(row, "length")
        start, end = table.whole(row, "start"), table.whole(row, "end")
        if max(start, end) > length:
            raise table.invalid(f"a hit in {target} is behind the end of the sequence")
        evalue = table.number(row, "evalue")
        _, segments = domains.setdefault((target, length), (evalue, []))
        segments.append(
            Domain(
                min(start, end),
                max(start, end),
                table.number(row, "domain_evalue"),
                table.number(row, "domain_score"),
                (table.whole(row, "profile_start"), table.whole(row, "profile_end")),
                row["strand"] if row["strand"] in ("+", "-") else "",
                row["member"] == "yes",
            )
        )
    hits = [
        Hit(target, length, evalue, segments)
        for (target, length), (evalue, segments) in domains.items()
    ]
    return DomainsView(name, sorted(hits, key=lambda hit: hit.evalue))


def _count(domains: int) -> str:
    return pluralize(domains, "domain")


def _shade(evalue: float) -> str:
    return next(color for limit, color, _ in _CLASSES if evalue <= limit)


def _evalue_text(evalue: float) -> str:
    if evalue >= 1e-4 or evalue == 0:
        return f"{evalue:.2g}"
    return f"{evalue:.0e}".replace("e-0", "e-")


def _draw_box(x1: float, x2: float, middle: float, domain: Domain) -> str:
    """Return a box, for DNA one with an arrowhead in the direction of the strand."""
    top, bottom = middle - _BOX / 2, middle + _BOX / 2
    head = min(_HEAD, (x2 - x1) / 2) if domain.strand else 0.0
    if domain.strand == "-":
        points = [(x1, middle), (x1 + head, top), (x2, top), (x2, bottom), (x1 + head, bottom)]
    else:
        points = [(x1, top), (x2 - head, top), (x2, middle), (x2 - head, bottom), (x1, bottom)]
    return polygon(
        points,
        _shade(domain.evalue) if domain.member else "#ffffff",
        stroke=canvas.MUTED_INK,
        dash="" if domain.member else "3 2",
        kind="domain",
        title=f"{domain.start}–{domain.end}, E-value {domain.evalue:.2g}",
    )


def _draw_label(
    x: float, width: float, middle: float, label: str, domain: Domain, *, inside: bool
) -> list[str]:
    """Return the E-value in its box, or after it on a white background."""
    ink = canvas.ink_on(_shade(domain.evalue)) if inside else canvas.INK
    written = text(x + width / 2, middle, label, "middle", size=canvas.SMALL, fill=ink)
    if inside:
        return [written]
    return [rectangle(x - 1, middle - 7, width + 2, 14, "#ffffff"), written]


def _draw_scale(left: float, y: float, longest: int, unit: str) -> list[str]:
    """Return an axis below the sequences."""
    elements = [line((left, y), (left + _MAP, y), canvas.MUTED_INK)]
    step = nice_step(longest, 6)
    for position in (1, *range(step, longest + 1, step)):
        x = left + (position - 0.5) / longest * _MAP
        elements.append(line((x, y), (x, y + 5), canvas.MUTED_INK))
        elements.append(text(x, y + 14, f"{position:,}", "middle", size=canvas.SMALL))
    elements.append(text(left + _MAP + 26, y + 14, unit, size=canvas.SMALL))
    return elements


def _draw_legend(
    left: float, y: float, classes: Sequence[tuple[str, str]], is_dna: bool
) -> list[str]:
    elements = [text(left - 10, y, "E-value", "end")]
    x = left
    for color, label in classes:
        if color:
            elements.append(rectangle(x, y - 6, 18, 12, color, stroke=canvas.MUTED_INK))
        else:
            box = [(x, y - 6), (x + 18, y - 6), (x + 18, y + 6), (x, y + 6)]
            elements.append(polygon(box, "#ffffff", stroke=canvas.MUTED_INK, dash="3 2"))
        elements.append(text(x + 23, y, label, size=canvas.SMALL))
        x += 36 + canvas.text_width(label, canvas.SMALL)
    if is_dna:
        elements.append(
            text(left, y + 20, "Boxes point in the direction of the strand.", size=canvas.SMALL)
        )
    return elements
