"""Interactive sequence viewer with selection, search and restriction sites."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from labext.errors import InputError
from labext.messages import join_words, pluralize
from labext_widgets.core.arguments import as_integer
from labext_widgets.core.picture import drawing_html
from labext_widgets.core.placeholder import LiveOutput
from labext_widgets.sequence import maps
from labext_widgets.sequence.enzymes import COMMON, Site, cut_sites, find_enzymes, unique_cutters
from labext_widgets.sequence.molecule import Annotation, Molecule, parse_molecule
from labext_widgets.sequence.search import Hit, search

if TYPE_CHECKING:
    from labext_widgets.core.placeholder import Placeholder


MAX_ANNOTATIONS, MAX_LABELS, MAX_CUTS = 400, 40, 40
"""Maximum numbers of annotations, annotation labels and cut sites in the static map.

The longest annotations and the first sites are kept.
"""


def render_html(molecule: Molecule, enzymes: Sequence[str], note: str = "") -> str:
    """Return the map as an image with lines of text below it."""
    cutters = len(unique_cutters(molecule, enzymes)) if len(enzymes) > MAX_CUTS else 0
    limits = _limits_note(molecule, cutters)
    lines = [render_text(molecule, enzymes), limits, note]
    return drawing_html(render_svg(molecule, enzymes), lines, 640)


def _limits_note(molecule: Molecule, cutters: int) -> str:
    """Return which of the annotations and enzymes the static map shows; empty if it shows all."""
    notes, annotations = [], len(molecule.annotations)
    if annotations > MAX_ANNOTATIONS:
        notes.append(
            f"Only the longest {MAX_ANNOTATIONS} annotations are drawn, and {MAX_LABELS} labelled."
        )
    elif annotations > MAX_LABELS:
        notes.append(f"Only the longest {MAX_LABELS} annotations are labelled.")
    if molecule.circular:
        _, crowded = maps.assign_lanes(molecule, _drawn(molecule)[0])
        if crowded:
            number = pluralize(crowded, "annotation")
            notes.append(f"Drawn over others in the innermost ring: {number}.")
    if cutters > MAX_CUTS:
        notes.append(f"Only the first {MAX_CUTS} of {cutters} enzymes are drawn.")
    return " ".join(notes)


def render_svg(molecule: Molecule, enzymes: Sequence[str]) -> str:
    """Return the map as SVG, with the sites of the enzymes that cut once."""
    drawn, labelled = _drawn(molecule)
    cutters = unique_cutters(molecule, enzymes)[:MAX_CUTS]
    once = [site for name in cutters for site in cut_sites(molecule, name)]
    draw = maps.draw_circular if molecule.circular else maps.draw_linear
    return draw(molecule, drawn, labelled, once)


def _drawn(molecule: Molecule) -> tuple[list[Annotation], set[int]]:
    """Return the annotations of the static map, and the indices of those with a label."""
    longest = sorted(
        molecule.annotations,
        key=lambda annotation: -molecule.span(annotation.start, annotation.end),
    )[:MAX_ANNOTATIONS]
    drawn = sorted(longest, key=lambda annotation: (annotation.start, annotation.end))
    named = {id(annotation) for annotation in longest[:MAX_LABELS]}
    return drawn, {i for i, annotation in enumerate(drawn) if id(annotation) in named}


def render_text(molecule: Molecule, enzymes: Sequence[str]) -> str:
    """Return a one-line summary of a molecule.

    For example: `pBAD30: 4,923 bp, circular, 10 annotations; cut once by EcoRI, NcoI`.
    """
    summary = (
        f"{molecule.name}: {len(molecule):,} bp, {'circular' if molecule.circular else 'linear'}, "
    )
    summary += pluralize(len(molecule.annotations), "annotation")
    if molecule.omitted:
        summary += f", {pluralize(molecule.omitted, 'mark')} outside the sequence omitted"
    once = unique_cutters(molecule, enzymes)
    return f"{summary}; cut once by {join_words(once, 8)}" if once else summary


_MAX_TABLE_ROWS = 20


def render_table(molecule: Molecule, enzymes: Sequence[str]) -> str:
    """Return the summary, and a line with range, strand and name for each annotation."""
    rows = [
        render_text(molecule, enzymes),
        *(_row(molecule, annotation) for annotation in molecule.annotations[:_MAX_TABLE_ROWS]),
    ]
    if (rest := len(molecule.annotations) - _MAX_TABLE_ROWS) > 0:
        rows.append(f"  … and {rest:,} more")
    return "\n".join(rows)


def range_text(start: int, end: int) -> str:
    """Return a range in biological notation, 1-based with an inclusive end: `120-360`."""
    return f"{start + 1}-{end}"


def strand_sign(strand: int) -> str:
    """Return `+`, `-`, or a dot if the strand is unspecified."""
    return "+" if strand > 0 else "-" if strand < 0 else "."


def _row(molecule: Molecule, annotation: Annotation) -> str:
    digits = 2 * len(str(len(molecule))) + 1
    kind = f" ({annotation.type})" if annotation.type and annotation.type != annotation.name else ""
    sign = strand_sign(annotation.strand)
    return (
        f"  {range_text(annotation.start, annotation.end):>{digits}} {sign} {annotation.name}{kind}"
    )


MAX_LIVE_BASES = 100_000
"""Maximum number of bases in the live view; longer sequences have the static map and `search`."""


@dataclass(frozen=True)
class Selection:
    """A selected range: 0-based `start`, exclusive `end`, strand 1 or -1, and its bases.

    The bases are as read on the strand. If the range spans the origin of a circular molecule, `end`
    is not greater than `start`.
    """

    start: int
    end: int
    strand: int
    bases: str


def sequence_viewer(
    record: Mapping[str, Any], *, enzymes: str | Iterable[str] | None = None
) -> SequenceViewer:
    """Return a viewer for a record of the platform, for display in a cell.

    Args:
        record: a mapping with `name`, `bases`, `isCircular`, and `annotations` and `translations`
            as lists of `{name, type, start, end, strand, color}`; also a row of a frame.
        enzymes: the enzymes whose sites are displayed; by default the common ones that cut once.

    Raises:
        InputError: the record has no bases, or an enzyme is unknown.
    """
    return SequenceViewer(record, enzymes)


class SequenceViewer(LiveOutput):
    """A sequence with its map, its selection, and its restriction sites.

    Attributes:
        record: the record it was created from.
    """

    def __init__(
        self, record: Mapping[str, Any], enzymes: str | Iterable[str] | None = None
    ) -> None:
        super().__init__()
        self.record = record
        self._molecule = parse_molecule(record)
        self._selection: Selection | None = None
        self._enzymes = (
            unique_cutters(self._molecule, COMMON) if enzymes is None else find_enzymes(enzymes)
        )

    @property
    def selection(self) -> Selection | None:
        """The selected range, in the map or by `select`; None if nothing is selected."""
        return self._selection

    @property
    def enzymes(self) -> tuple[str, ...]:
        """The displayed enzymes; can be set to a list of names, or to one string of names."""
        return self._enzymes

    @enzymes.setter
    def enzymes(self, names: str | Iterable[str]) -> None:
        self._enzymes = find_enzymes(names)
        self._send_change({"sites": self._sites(self._enzymes)})
        self._update_static()

    @property
    def sites(self) -> list[Site]:
        """The cut sites of the displayed enzymes, in the order of the sequence."""
        sites = [site for name in self._enzymes for site in cut_sites(self._molecule, name)]
        return sorted(sites, key=lambda site: (site.start, site.enzyme))

    def unique_cutters(self) -> tuple[str, ...]:
        """Return all known enzymes that cut the molecule once."""
        return unique_cutters(self._molecule)

    def select(self, start: int, end: int, strand: int = 1) -> Selection:
        """Select a range, in the live map too, and return it.

        On a circular molecule `end` may be less than `start` if the range spans the origin.

        Raises:
            InputError: the range does not lie on the molecule.
        """
        selection = self._range(start, end, strand)
        self._select(selection, "")
        return selection

    def deselect(self) -> None:
        """Clear the selection."""
        self._select(None, "")

    def search(self, pattern: str) -> list[Hit]:
        """Return the matches of a pattern of IUPAC codes on both strands.

        Hits may overlap, and on a circular molecule span the origin. Each match of a palindromic
        pattern is reported once.

        Raises:
            InputError: the pattern is empty, or contains a letter that is not an IUPAC code.
        """
        return search(self._molecule, pattern)

    def __repr__(self) -> str:
        """Return one line, without the bases."""
        return f"<SequenceViewer {render_text(self._molecule, ())}>"

    def __str__(self) -> str:
        """Return the molecule and its annotations, one per line."""
        return render_table(self._molecule, self._enzymes)

    def _mount(self, output: Placeholder) -> None:
        if len(self._molecule) <= MAX_LIVE_BASES:
            output.live("sequence", self._state(), self._receive)

    def _render(self) -> tuple[str, str]:
        note = ""
        if len(self._molecule) > MAX_LIVE_BASES:
            note = (
                f"The interactive map supports up to {MAX_LIVE_BASES:,} bases; this one is static."
            )
        return (
            render_html(self._molecule, self._enzymes, note),
            render_text(self._molecule, self._enzymes),
        )

    def _state(self) -> dict[str, Any]:
        return {
            "name": self._molecule.name,
            "bases": self._molecule.bases,
            "circular": self._molecule.circular,
            "annotations": [asdict(annotation) for annotation in self._molecule.annotations],
            "translations": [asdict(translation) for translation in self._molecule.translations],
            "sites": self._sites(self._enzymes),
            "unique": self._sites(self.unique_cutters()),
            "selection": self._selection_state(""),
        }

    def _sites(self, names: Iterable[str]) -> list[dict[str, Any]]:
        return [asdict(site) for name in names for site in cut_sites(self._molecule, name)]

    def _range(self, start: int, end: int, strand: int) -> Selection:
        first, last = as_integer(start), as_integer(end)
        if first is None or last is None or not self._molecule.has(first, last):
            raise InputError(
                f"{start!r} to {end!r} is not a range of {self._molecule.name}, which has "
                f"{len(self._molecule):,} bases and is "
                f"{'circular' if self._molecule.circular else 'linear'}.",
                "Count from 0, with an exclusive end: select(0, 100).",
            )
        if strand not in (1, -1):
            raise InputError(f"{strand!r} is not a strand.", "Use 1 or -1.")
        return Selection(first, last, int(strand), self._molecule.part(first, last, strand))

    def _select(self, selection: Selection | None, sender: str) -> None:
        self._selection = selection
        self._send_change({"selection": self._selection_state(sender)})

    def _selection_state(self, sender: str) -> dict[str, Any]:
        """Return the selection for the live views, with the view that sent it."""
        if self._selection is None:
            return {"start": None, "end": None, "strand": 1, "sender": sender}
        selection = self._selection
        return {
            "start": selection.start,
            "end": selection.end,
            "strand": selection.strand,
            "sender": sender,
        }

    def _receive(self, content: Any, _buffers: list[Any]) -> None:
        """Apply a selection made in a live view, and forward it to the other views."""
        if not isinstance(content, dict) or content.get("do") != "select":
            return
        start, end, strand = (content.get(key) for key in ("start", "end", "strand"))
        selection = None
        if start is not None:
            try:
                selection = self._range(start, end, strand)  # type: ignore[arg-type]
            except InputError:
                return
        self._select(selection, str(content.get("sender")))
