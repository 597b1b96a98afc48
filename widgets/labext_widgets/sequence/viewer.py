"""Interactive sequence viewer with selection, search and restriction sites."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from labext.errors import InputError
from labext_widgets.core.live_output import LiveOutput
from labext_widgets.sequence import static_view
from labext_widgets.sequence.enzymes import COMMON, Site, cut_sites, find_enzymes, unique_cutters
from labext_widgets.sequence.molecule import parse_molecule
from labext_widgets.sequence.search import Hit, search

if TYPE_CHECKING:
    from labext_widgets.core.placeholder import Placeholder

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
        self._select(self._range(start, end, strand), "")
        assert self._selection is not None
        return self._selection

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
        return f"<SequenceViewer {static_view.render_text(self._molecule, ())}>"

    def __str__(self) -> str:
        """Return the molecule and its annotations, one per line."""
        return static_view.render_table(self._molecule, self._enzymes)

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
            static_view.render_html(self._molecule, self._enzymes, note),
            static_view.render_text(self._molecule, self._enzymes),
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
        if not (_is_integer(start) and _is_integer(end) and self._molecule.has(start, end)):
            raise InputError(
                f"{start!r} to {end!r} is not a range of {self._molecule.name}, which has "
                f"{len(self._molecule):,} bases and is "
                f"{'circular' if self._molecule.circular else 'linear'}.",
                "Count from 0, with an exclusive end: select(0, 100).",
            )
        if strand not in (1, -1):
            raise InputError(f"{strand!r} is not a strand.", "Use 1 or -1.")
        bases = self._molecule.part(start, end, strand)
        return Selection(int(start), int(end), int(strand), bases)

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


def _is_integer(value: Any) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)
