"""Interactive viewer of a molecular structure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from labext.errors import InputError
from labext.messages import join_words
from labext_widgets.core.arguments import as_integer, read_source
from labext_widgets.core.picture import PNG, PictureView
from labext_widgets.core.placeholder import LiveOutput
from labext_widgets.structure import drawing
from labext_widgets.structure.colors import (
    COMPARED,
    Scheme,
    default_scheme,
    residue_colors,
    schemes,
)
from labext_widgets.structure.drawing import Style, draw_structure, draw_thumbnail, principal_axes
from labext_widgets.structure.molecule import Floats, Format, Structure, live_file, parse_structure
from labext_widgets.structure.superposition import Superposition, superpose

if TYPE_CHECKING:
    from labext_widgets.core.placeholder import Placeholder

MAX_LIVE_ATOMS = 100_000
"""Maximum number of atoms in all models of a live view; larger structures are only drawn."""

MAX_PICTURE_BYTES = 140_000
"""Maximum size of a browser's picture: base64 adds a third, and a saved view has at most 200 kB."""

_RESIDUE = re.compile(r"(?:(?P<chain>\S+):)?(?P<number>-?\d+)(?P<insertion>[A-Za-z]?)")


@dataclass(frozen=True)
class ResidueRange:
    """Selected residues: a chain, the numbers of the first and last one, and their letters."""

    chain: str
    start: int
    end: int
    letters: str


def structure_viewer(
    source: str | bytes | Path, format: Format | None = None, *, name: str | None = None
) -> StructureViewer:
    """Return a viewer for a PDB, mmCIF or SDF file.

    Args:
        source: the file as a `Path`, or its content.
        format: `pdb`, `cif` or `sdf`; by default it is detected.
        name: the title; by default the name of the file.

    Raises:
        InputError: the file cannot be read, or is not of the format.
        SetupError: the extra `views` is not installed.
    """
    content, file_name = read_source(source)
    return StructureViewer(parse_structure(content, format, name or file_name or "structure"))


class StructureViewer(LiveOutput):
    """A structure with its picture, its sequence and a live three-dimensional view.

    Attributes:
        compared: the structure that is superposed on it, or None.
    """

    def __init__(
        self, structure: Structure, compared: Structure | None = None, *, style: Style | None = None
    ) -> None:
        super().__init__()
        self._structure = structure
        self.compared = compared
        self._superposition: Superposition | None = None
        if compared is not None:
            self._superposition = superpose(structure, compared)
        self._scheme: Scheme = "model" if compared is not None else default_scheme(structure)
        self._style: Style = style or drawing.styles(structure)[0]
        self._selection: ResidueRange | None = None
        self._picture: bytes | None = None

    @property
    def name(self) -> str:
        """The title."""
        return self._structure.name

    @property
    def rmsd(self) -> float | None:
        """The RMSD in Å of the superposed trace atoms (C-alpha, or P of nucleotides), or None."""
        return None if self._superposition is None else self._superposition.rmsd

    @property
    def sequences(self) -> dict[str, str]:
        """The one-letter sequence of each chain."""
        return {chain["id"]: chain["letters"] for chain in _chain_state(self._structure)}

    @property
    def style(self) -> Style:
        """How the molecule is drawn: `cartoon`, `stick` or `surface`; can be set."""
        return self._style

    @style.setter
    def style(self, style: Style) -> None:
        available = drawing.styles(self._structure)
        if style not in available:
            raise InputError(f"{style!r} is not a style.", f"Use {join_words(available)}.")
        self._style = style
        self._send_change({"style": style})

    @property
    def color_scheme(self) -> Scheme:
        """How residues are colored; can be set.

        One of `chain`, `secondary`, `residue`, `b_factor`, `confidence` and, of two superposed
        structures, `model`.
        """
        return self._scheme

    @color_scheme.setter
    def color_scheme(self, scheme: Scheme) -> None:
        available = self._schemes()
        if scheme not in available:
            raise InputError(f"{scheme!r} is not a color scheme.", f"Use {join_words(available)}.")
        self._scheme = scheme
        self._picture = None
        self._send_change({"scheme": scheme})
        self._update_static()

    @property
    def selection(self) -> ResidueRange | None:
        """The residues selected in the live view or by `select`; None if there are none."""
        return self._selection

    def select(self, start: int, end: int | None = None, chain: str | None = None) -> ResidueRange:
        """Select residues by their numbers in the file, in the live view too, and return them.

        Args:
            start: the number of the first residue.
            end: the number of the last one, inclusive; by default the first.
            chain: the chain; by default the first.

        Raises:
            InputError: the chain has no such residues.
        """
        selection = self._range(start, start if end is None else end, chain)
        self._select(selection, "")
        return selection

    def deselect(self) -> None:
        """Clear the selection."""
        self._select(None, "")

    def distance(self, first: int | str, second: int | str) -> float:
        """Return the distance of two residues' C-alpha atoms (P of nucleotides) in Å.

        Args:
            first: a residue's number in the first chain, or chain and number such as `A:12`; with
                its insertion code if it has one.
            second: the other residue.

        Raises:
            InputError: there is no such residue.
        """
        trace = self._structure.trace
        return float(np.linalg.norm(trace[self._position(first)] - trace[self._position(second)]))

    def compare(
        self, content: str | bytes, format: Format | None = None, *, name: str = "other"
    ) -> StructureViewer:
        """Return a viewer of this structure with another one superposed on it.

        Raises:
            InputError: the content is not a structure, or has too few corresponding residues.
        """
        other = parse_structure(content, format, name)
        return StructureViewer(self._structure, other, style=self._style)

    @property
    def svg(self) -> str:
        """A drawing of the structure as SVG."""
        return draw_structure(self._structure, self._scheme, self._other())

    def thumbnail(self, width: int, height: int, max_bytes: int) -> bytes:
        """Return a small drawing as SVG, or as PNG if the SVG has more than `max_bytes`.

        Args:
            width: the width in pixels.
            height: the maximum height in pixels.
            max_bytes: the maximum size, which only pictures of very low resolution exceed.
        """
        return draw_thumbnail(
            self._structure, self._scheme, self._other(), width, height, max_bytes
        )

    def _other(self) -> tuple[Structure, Superposition] | None:
        if self.compared is None or self._superposition is None:
            return None
        return self.compared, self._superposition

    def picture(self) -> PictureView:
        """Return the picture of the live view (PNG), or a drawing (SVG) if there was none yet."""
        return PictureView(self._picture or self.svg.encode(), self.name)

    def __repr__(self) -> str:
        return f"<StructureViewer {self._summary()}>"

    def __str__(self) -> str:
        """Return the summary and the sequence of each chain with its secondary structure."""
        return drawing.render_text(self._structure, self._summary())

    def _mount(self, output: Placeholder) -> None:
        if self._is_live():
            output.live("structure", self.state(), self._receive)

    def _is_live(self) -> bool:
        structure = self._structure
        return len(structure.coordinates) * structure.models <= MAX_LIVE_ATOMS

    def _summary(self) -> str:
        return drawing.summarize(self._structure, self.compared, self._superposition)

    def _render(self) -> tuple[str, str]:
        summary = self._summary()
        notes = [] if self._is_live() else ["The structure is too large for the interactive view."]
        if self._picture is None:
            structures = [self._structure, *([self.compared] if self.compared else [])]
            notes.append(drawing.omission_note(*structures))
        note = " ".join(filter(None, notes))
        legend = self._legends()[self._scheme]["legend"]
        html = drawing.render_html(summary, legend, self._picture or self.svg.encode(), note)
        return html, self._summary()

    def _schemes(self) -> tuple[Scheme, ...]:
        comparison: tuple[Scheme, ...] = ("model",) if self.compared is not None else ()
        return comparison + schemes(self._structure)

    def _legends(self) -> dict[Scheme, dict[str, Any]]:
        """Return for each scheme its legend, and the colors of the residues."""
        result: dict[Scheme, dict[str, Any]] = {}
        for scheme in self._schemes():
            if scheme == "model":
                assert self.compared is not None
                colors, legend = drawing.model_colors(self._structure, self.compared)
            else:
                colors, legend = residue_colors(self._structure, scheme)
            palette = list(dict.fromkeys(colors))
            indices = {color: i for i, color in enumerate(palette)}
            result[scheme] = {
                "label": drawing.SCHEME_LABELS[scheme],
                "palette": palette,
                "residues": [indices[color] for color in colors],
                "legend": [list(pair) for pair in legend],
            }
        return result

    def state(self) -> dict[str, Any]:
        """Return the state of the live view: JSON, with the files' contents as bytes."""
        structure = self._structure
        format, content = live_file(structure)
        return {
            "name": structure.name,
            "summary": self._summary(),
            "format": format,
            "content": content.encode(),
            "models": structure.models,
            "trace_only": structure.trace_only,
            "orientation": _quaternion(principal_axes(structure)[0]),
            "chains": _chain_state(structure),
            "schemes": self._legends(),
            "scheme": self._scheme,
            "styles": list(drawing.styles(structure)),
            "style": self._style,
            "selection": self._selection_state(""),
            "compared": self._compared_state(),
        }

    def _compared_state(self) -> dict[str, Any] | None:
        if self.compared is None or self._superposition is None:
            return None
        format, content = live_file(self.compared)
        return {
            "name": self.compared.name,
            "format": format,
            "content": content.encode(),
            "rotation": self._superposition.rotation.ravel().tolist(),
            "translation": self._superposition.translation.tolist(),
            "color": COMPARED[1],
            "trace_only": self.compared.trace_only,
            "chains": _chain_state(self.compared),
        }

    def _select(self, selection: ResidueRange | None, sender: str) -> None:
        self._selection = selection
        self._send_change({"selection": self._selection_state(sender)})

    def _selection_state(self, sender: str) -> dict[str, Any]:
        """Return the selection for the live views, with the view that sent it."""
        if self._selection is None:
            return {"chain": None, "start": 0, "end": 0, "sender": sender}
        selection = self._selection
        return {
            "chain": selection.chain,
            "start": selection.start,
            "end": selection.end,
            "sender": sender,
        }

    def _range(self, start: int, end: int, chain: str | None) -> ResidueRange:
        structure = self._structure
        if not structure.residues:
            raise InputError(
                f"{self.name} has no residues.", "Select in a protein or nucleic acid."
            )
        if as_integer(start) is None or as_integer(end) is None:
            raise InputError(
                f"{start!r} to {end!r} are not numbers of residues.",
                'Pass numbers, and the chain by its name: select(1, 10, chain="A").',
            )
        chains = structure.chains
        chain = chains[0] if chain is None else chain
        if chain not in chains:
            raise InputError(f"{self.name} has no chain {chain}.", f"It has {join_words(chains)}.")
        positions = structure.positions(chain, *sorted((start, end)))
        if not positions:
            numbers = [residue.number for residue in structure.residues if residue.chain == chain]
            requested = f"residue {start}" if start == end else f"residues {start} to {end}"
            raise InputError(
                f"Chain {chain} of {self.name} has no {requested}.",
                f"Its residues are numbered {min(numbers)} to {max(numbers)}.",
            )
        letters = "".join(structure.letters[i] for i in positions)
        return ResidueRange(chain, min(start, end), max(start, end), letters)

    def _position(self, residue: int | str) -> int:
        match = _RESIDUE.fullmatch(str(residue))
        if match is None:
            raise InputError(
                f"{residue!r} is not a residue.", "Pass a number, or chain and number: `A:12`."
            )
        number = int(match["number"])
        chain = self._range(number, number, match["chain"]).chain
        for i in self._structure.positions(chain, number, number):
            if self._structure.residues[i].insertion == match["insertion"]:
                return i
        raise InputError(
            f"Chain {chain} of {self.name} has no residue {number}{match['insertion']}.",
            "Give the number with the insertion code that it has in the file.",
        )

    def _receive(self, content: Any, buffers: list[Any]) -> None:
        """Apply a selection or change of a live view."""
        if not isinstance(content, dict):
            return
        action = content.get("do")
        if action == "select":
            self._receive_selection(content)
        elif action == "appearance":
            self._receive_appearance(content)
        elif action == "picture" and buffers:
            picture = bytes(buffers[0])
            if len(picture) <= MAX_PICTURE_BYTES and picture.startswith(PNG):
                self._picture = picture
                self._update_static()

    def _receive_selection(self, content: Mapping[str, Any]) -> None:
        chain, start, end = (content.get(key) for key in ("chain", "start", "end"))
        selection = None
        if isinstance(chain, str) and isinstance(start, int) and isinstance(end, int):
            try:
                selection = self._range(start, end, chain)
            except InputError:
                return
        self._select(selection, str(content.get("sender")))

    def _receive_appearance(self, content: Mapping[str, Any]) -> None:
        style, scheme = content.get("style"), content.get("scheme")
        if style in drawing.styles(self._structure):
            self._style = style
        if scheme in self._schemes():
            self._scheme = scheme
        sender = str(content.get("sender"))
        self._send_change({"style": self._style, "scheme": self._scheme, "sender": sender})


def _quaternion(rotation: Floats) -> list[float]:
    """Return a rotation matrix as the quaternion x, y, z, w."""
    xx, yy, zz = (float(value) for value in np.diag(rotation))
    squares = np.array([1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz, 1 + xx + yy + zz])
    quaternion = np.sqrt(np.maximum(squares, 0)) / 2
    for i, (row, column) in enumerate(((2, 1), (0, 2), (1, 0))):
        quaternion[i] = np.copysign(quaternion[i], rotation[row, column] - rotation[column, row])
    return [float(value) for value in quaternion]


def _chain_state(structure: Structure) -> list[dict[str, Any]]:
    chains: dict[str, dict[str, Any]] = {}
    for residue, letter, state in zip(
        structure.residues, structure.letters, structure.secondary, strict=True
    ):
        chain = chains.setdefault(
            residue.chain,
            {"id": residue.chain, "numbers": [], "insertions": [], "letters": "", "secondary": ""},
        )
        chain["numbers"].append(residue.number)
        chain["insertions"].append(residue.insertion)
        chain["letters"] += letter
        chain["secondary"] += state
    return list(chains.values())
