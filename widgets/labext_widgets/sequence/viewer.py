"""Interactive sequence viewer with selection, search and restriction sites."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from labext.errors import InputError
from labext_widgets.core.display import display_html
from labext_widgets.core.front_end import FrontEnd, front_end
from labext_widgets.sequence import static_view
from labext_widgets.sequence.enzymes import COMMON, Site, cut_sites, find_enzymes, unique_cutters
from labext_widgets.sequence.molecule import parse_molecule
from labext_widgets.sequence.search import Hit, search

LIVE = 100_000
"""Bases at most that the live view draws; of what is longer there is the picture, and `search`."""


@dataclass(frozen=True)
class Selection:
    """A selected range: 0-based `start`, exclusive `end`, strand 1 or -1, and its bases.

    The bases are as the strand reads them. Over the origin of a circular molecule `end` is not
    above `start`.
    """

    start: int
    end: int
    strand: int
    bases: str


def sequence_viewer(
    record: Mapping[str, Any], *, enzymes: str | Iterable[str] | None = None
) -> SequenceViewer:
    """Return a viewer of a record of the platform; a cell that ends with it shows it.

    Args:
        record: with `name`, `bases`, `isCircular`, and `annotations` and `translations` as lists
            of `{name, type, start, end, strand, color}`. A row of a frame will do.
        enzymes: whose sites are shown; otherwise the common ones that cut once.

    Raises:
        InputError: the record has no bases, or an enzyme isn't known.
    """
    return SequenceViewer(record, enzymes)


class SequenceViewer:
    """A sequence with its map, its selection, and its restriction sites.

    Attributes:
        record: what it was made of.
    """

    def __init__(
        self, record: Mapping[str, Any], enzymes: str | Iterable[str] | None = None
    ) -> None:
        self.record = record
        self._on = parse_molecule(record)
        self._selection: Selection | None = None
        self._enzymes = (
            unique_cutters(self._on, COMMON) if enzymes is None else find_enzymes(enzymes)
        )
        self._shown: list[Any] = []  # the placeholders of the cells that show it

    @property
    def selection(self) -> Selection | None:
        """What is selected, in the map or by `select`; None where nothing is."""
        return self._selection

    @property
    def enzymes(self) -> tuple[str, ...]:
        """The enzymes whose sites are shown; set it to names, or to one string of them."""
        return self._enzymes

    @enzymes.setter
    def enzymes(self, names: str | Iterable[str]) -> None:
        self._enzymes = find_enzymes(names)
        self._tell({"chosen": self._sites(self._enzymes)})
        for each in self._shown:
            each.update(*self._drawn())

    @property
    def sites(self) -> list[Site]:
        """Where the enzymes cut, in the order of the molecule."""
        found = [site for name in self._enzymes for site in cut_sites(self._on, name)]
        return sorted(found, key=lambda each: (each.start, each.enzyme))

    def unique_cutters(self) -> tuple[str, ...]:
        """Return every known enzyme that cuts the molecule once."""
        return unique_cutters(self._on)

    def select(self, start: int, end: int, strand: int = 1) -> Selection:
        """Select a range, in the live map too, and return it.

        On a circular molecule `end` may be before `start`: the range goes over the origin.

        Raises:
            InputError: the range does not lie on the molecule.
        """
        self._select(self._range(start, end, strand), "")
        assert self._selection is not None
        return self._selection

    def deselect(self) -> None:
        """Select nothing."""
        self._select(None, "")

    def search(self, pattern: str) -> list[Hit]:
        """Return where a pattern is, on both strands; letters of IUPAC stand for several bases.

        Hits may overlap, and on a circular molecule go over the origin. A pattern that reads the
        same on both strands is found once a place.

        Raises:
            InputError: the pattern is empty, or has a letter that IUPAC doesn't have.
        """
        return search(self._on, pattern)

    def close(self) -> None:
        """End the live views; the pictures stay."""
        for each in list(self._shown):
            each.close()

    def __repr__(self) -> str:
        """One line, without the bases."""
        return f"<SequenceViewer {static_view.render_text(self._on, ())}>"

    def __str__(self) -> str:
        """The molecule and its annotations, a line for each."""
        return static_view.render_table(self._on, self._enzymes)

    def _ipython_display_(self) -> None:
        front = front_end()
        if front is FrontEnd.TERMINAL:
            print(self)
        elif front is FrontEnd.EXECUTED:
            display_html(*self._drawn())
        else:
            self._open()

    def _open(self) -> None:
        from labext_widgets.core.placeholder import Placeholder

        opened = Placeholder(*self._drawn(), on_close=lambda: self._shown.remove(opened))
        self._shown.append(opened)
        if len(self._on) <= LIVE:
            opened.live("sequence", self._state(), self._receive)

    def _drawn(self) -> tuple[str, str]:
        note = ""
        if len(self._on) > LIVE:
            note = f"The live map is for {LIVE:,} bases at most; this is its picture."
        return (
            static_view.render_html(self._on, self._enzymes, note),
            static_view.render_text(self._on, self._enzymes),
        )

    def _state(self) -> dict[str, Any]:
        return {
            "name": self._on.name,
            "bases": self._on.bases,
            "circular": self._on.circular,
            "annotations": [asdict(each) for each in self._on.annotations],
            "translations": [asdict(each) for each in self._on.translations],
            "chosen": self._sites(self._enzymes),
            "unique": self._sites(self.unique_cutters()),
            "selection": self._told(""),
        }

    def _sites(self, names: Iterable[str]) -> list[dict[str, Any]]:
        return [asdict(site) for name in names for site in cut_sites(self._on, name)]

    def _range(self, start: int, end: int, strand: int) -> Selection:
        if not (_is_whole(start) and _is_whole(end) and self._on.has(start, end)):
            raise InputError(
                f"{start!r} to {end!r} is no range of {self._on.name}, which has {len(self._on):,} "
                f"bases and is {'circular' if self._on.circular else 'linear'}.",
                "Count from 0, with an exclusive end: select(0, 100).",
            )
        if strand not in (1, -1):
            raise InputError(f"{strand!r} is no strand.", "It is 1 or -1.")
        bases = self._on.part(start, end, strand)
        return Selection(int(start), int(end), int(strand), bases)

    def _select(self, selection: Selection | None, by: str) -> None:
        self._selection = selection
        self._tell({"selection": self._told(by)})

    def _told(self, by: str) -> dict[str, Any]:
        """The selection for the live views, and which of them it comes from."""
        if self._selection is None:
            return {"start": None, "end": None, "strand": 1, "by": by}
        chosen = self._selection
        return {"start": chosen.start, "end": chosen.end, "strand": chosen.strand, "by": by}

    def _tell(self, change: Mapping[str, Any]) -> None:
        for each in self._shown:
            each.tell(change)

    def _receive(self, content: Any, _buffers: list[Any]) -> None:
        """Take over what was selected in a live view; the other views of it follow."""
        if not isinstance(content, dict) or content.get("do") != "select":
            return
        start, end, strand = (content.get(each) for each in ("start", "end", "strand"))
        selection = None
        if start is not None:
            try:
                selection = self._range(start, end, strand)  # type: ignore[arg-type]
            except InputError:
                return
        self._select(selection, str(content.get("by")))


def _is_whole(value: Any) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)
