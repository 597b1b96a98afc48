"""Structures are parsed, superposed, colored and drawn by their coordinates."""

from __future__ import annotations

import gzip
import io
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from widget_fakes import FakePlaceholder

from labext.errors import InputError
from labext_widgets.alignment import alignment_view
from labext_widgets.core import placeholder
from labext_widgets.core.front_end import FrontEnd
from labext_widgets.structure import ResidueRange, StructureViewer, drawing, structure_viewer
from labext_widgets.structure.colors import default_scheme, residue_colors, schemes
from labext_widgets.structure.drawing import draw_structure
from labext_widgets.structure.molecule import parse_structure
from labext_widgets.structure.superposition import superpose

DATA = Path(__file__).parents[2] / "example_notebooks" / "data"
ETHANOL = """ethanol
  test

  3  2  0  0  0  0            999 V2000
    0.0000    0.0000    0.0000 C   0  0
    1.5000    0.0000    0.0000 C   0  0
    2.0000    1.3000    0.0000 O   0  0
  1  2  1  0
  2  3  1  0
M  END
$$$$
"""


@pytest.fixture
def opened(
    set_front_end: Callable[..., None], placeholders: list[FakePlaceholder]
) -> list[FakePlaceholder]:
    """The placeholders of viewers that are displayed in a notebook."""
    set_front_end(FrontEnd.INTERACTIVE, placeholder)
    return placeholders


def pdb(
    count: int, *, chain: str = "A", b_factor: float | None = None, residue: str = "ALA"
) -> str:
    """Return a helix with the backbone of `count` residues."""
    rows = []
    for i in range(count):
        for atom, radius, turn, rise in (
            ("N", 1.55, -0.48, -0.87),
            ("CA", 2.28, 0.0, 0.0),
            ("C", 1.66, 0.46, 1.1),
        ):
            angle = np.radians(100) * i + turn
            x, y, z = radius * np.cos(angle), radius * np.sin(angle), 1.5 * i + rise
            value = 10 + len(rows) % 60 if b_factor is None else b_factor + i
            rows.append(
                f"ATOM  {len(rows) + 1:5d}  {atom:<3} {residue} {chain}{i + 1:4d}    "
                f"{x:8.3f}{y:8.3f}{z:8.3f}  1.00 {value:5.2f}           {atom[0]}"
            )
    return "\n".join(rows) + "\n"


def rotated(text: str, angle: float, shift: tuple[float, float, float]) -> str:
    """Return a PDB text rotated about the x axis and shifted."""
    turn = np.array(
        [[1, 0, 0], [0, np.cos(angle), -np.sin(angle)], [0, np.sin(angle), np.cos(angle)]]
    )
    rows = []
    for row in text.splitlines():
        x, y, z = turn @ [float(row[i : i + 8]) for i in (30, 38, 46)] + shift
        rows.append(f"{row[:30]}{x:8.3f}{y:8.3f}{z:8.3f}{row[54:]}")
    return "\n".join(rows)


def test_helix_is_recognized_with_its_sequence_and_chain() -> None:
    view = structure_viewer(pdb(20), name="h1")
    assert view.sequences == {"A": "A" * 20}
    assert "H" * 15 in str(view)
    assert repr(view) == "<StructureViewer h1: 20 residues>"


ATP = ("PG", "PB", "PA", "O5'", "C5'", "C4'", "O4'", "C3'", "C2'", "C1'", "N9")
SAM = ("N", "CA", "C", "O", "CB", "CG", "SD", "CE", "C5'", "C4'", "O4'", "C1'", "N9")
GLUTAMATE = ("N", "CA", "C", "O", "CB", "CG", "CD", "OE1")


@pytest.mark.parametrize(("name", "atoms"), [("ATP", ATP), ("SAM", SAM), ("GLU", GLUTAMATE)])
def test_ligand_like_a_residue_is_in_no_sequence(name: str, atoms: tuple[str, ...]) -> None:
    ligand = "".join(
        f"HETATM{900 + i:5d}  {atom:<3} {name} A 500    "
        f"{30 + i % 4:8.3f}{i:8.3f}{9 + i % 2:8.3f}  1.00 20.00           {atom[0]}\n"
        for i, atom in enumerate(atoms)
    )
    structure = parse_structure(pdb(12) + pdb(8, chain="B") + ligand)
    assert structure.letters == "A" * 20
    assert len(structure.other_atoms) == len(atoms)
    modified = pdb(12).replace("ATOM  ", "HETATM", 9).replace("ALA A   2", "SEP A   2")
    assert parse_structure(modified).letters == "AS" + "A" * 10
    protonated = "".join(
        pdb(1, chain=chain, residue=residue)
        for chain, residue in zip("ABCDEF", ("HIE", "ASH", "CYM", "CYX", "GLH", "LYN"), strict=True)
    )
    assert parse_structure(protonated).letters == "HDCCEK"


def test_residues_of_a_chain_in_several_parts_keep_their_colors() -> None:
    """The live view numbers them chain by chain."""
    first, second = (pdb(20).splitlines(keepends=True)[part] for part in (slice(36), slice(36, 60)))
    text = "".join(first) + pdb(9, chain="B", residue="GLY") + "".join(second)
    viewer = structure_viewer(text)
    assert viewer.sequences == {"A": "A" * 20, "B": "G" * 9}
    state = viewer.state()
    chains, scheme = state["chains"], state["schemes"]["chain"]
    assert [len(chain["numbers"]) for chain in chains] == [20, 9]
    assert scheme["residues"] == [0] * 20 + [1] * 9
    assert "".join(chain["letters"] for chain in chains) == "A" * 20 + "G" * 9


def test_water_is_left_out_and_models_are_counted() -> None:
    water = "HETATM  900  O   HOH A 900      10.000  10.000  10.000  1.00 20.00           O\n"
    text = "".join(f"MODEL {i}\n{pdb(5)}{water}ENDMDL\n" for i in (1, 2, 3))
    structure = parse_structure(text)
    assert structure.models == 3
    assert len(structure.coordinates) == 15


def test_format_is_detected_by_the_content() -> None:
    assert parse_structure(ETHANOL, name="x.dat").format == "sdf"
    assert parse_structure(pdb(4), name="x.dat").format == "pdb"
    with pytest.raises(InputError, match="is not a structure file"):
        parse_structure("name,length\na,1\n", name="a.csv")


@pytest.mark.parametrize("content", ["", "ATOM      1  CA  ALA A   1      xx"])
def test_unreadable_content_is_an_input_error(content: str) -> None:
    with pytest.raises(InputError):
        parse_structure(content, "pdb", "broken")


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(row[:30] + "  " + row[30:] for row in pdb(2).splitlines()),
        "ATOM 1 N ALA A 1 0 0 0",
    ],
)
def test_line_with_coordinates_in_wrong_columns_is_named(text: str) -> None:
    with pytest.raises(InputError, match="line 1 has no coordinates in columns 31 to 54"):
        parse_structure(text, "pdb", "shifted")


def test_page_instead_of_a_pdb_file_has_no_atoms() -> None:
    with pytest.raises(InputError, match="it has no atoms"):
        parse_structure("<html>404</html>", name="1abc.pdb")


def test_lines_may_end_after_the_coordinates() -> None:
    structure = parse_structure("\n".join(row[:54] for row in pdb(5).splitlines()))
    assert structure.letters == "AAAAA"
    assert not structure.b_factors.any()


def test_first_of_alternate_locations_with_numbers_is_read() -> None:
    rows = pdb(5).splitlines()
    both = [f"{row[:16]}{location}{row[17:]}" for row in rows for location in "12"]
    structure = parse_structure("\n".join(both))
    assert structure.letters == "AAAAA"
    assert len(structure.coordinates) == len(rows)


def test_live_view_has_ligands_whose_locations_begin_with_b() -> None:
    ligand = [
        f"HETATM   9{n} C{n}  {location}LIG A 101    {30 + n:8.3f}{0:8.3f}{0:8.3f}  0.40 20.00"
        for location in "BC"
        for n in (1, 2)
    ]
    view = structure_viewer("\n".join([*pdb(4).splitlines(), *ligand]))
    lines = [line for line in view.state()["content"].decode().splitlines() if " LIG " in line]
    assert [line[12:20].split() for line in lines] == [["C1", "LIG"], ["C2", "LIG"]]


@pytest.mark.parametrize(("atoms", "note"), [(500, ""), (501, "501 atoms")])
def test_saved_view_states_that_ligands_are_not_drawn(atoms: int, note: str) -> None:
    ligand = [
        f"HETATM{n:5d} C1   LIG B{n:4d}    {n % 20:8.3f}{n // 20:8.3f}{30:8.3f}  1.00 20.00"
        for n in range(atoms)
    ]
    view = structure_viewer("\n".join([*pdb(4).splitlines(), *ligand]), name="lipids")
    html, _ = view._render()
    text = f"{note} outside proteins and nucleic acids of lipids are not drawn."
    assert (text in html) is bool(note)


def test_motion_whose_lines_end_after_the_coordinates_is_read() -> None:
    trace = [row[:54] for row in pdb(9).splitlines() if " CA " in row]
    text = "\n".join(row for n in range(3) for row in (f"MODEL {n + 1}", *trace, "ENDMDL"))
    assert parse_structure(text).models == 3


def mmcif(text: str, **names: str) -> str:
    """Return a PDB file as mmCIF, with other names of its chains or residues."""
    from biotite.structure.io import pdb as pdb_files
    from biotite.structure.io import pdbx

    atoms = pdb_files.PDBFile.read(io.StringIO(text)).get_structure(extra_fields=["b_factor"])
    for annotation, name in names.items():
        atoms.set_annotation(annotation, np.full(atoms.array_length(), name))
    file = pdbx.CIFFile()
    pdbx.set_structure(file, atoms)
    return file.serialize()


def test_mmcif_is_drawn_with_its_models_and_insertion_codes() -> None:
    inserted = pdb(5).replace("A   3 ", "A   2A")
    text = "".join(f"MODEL {i}\n{inserted}ENDMDL\n" for i in (1, 2, 3))
    state = structure_viewer(mmcif(text)).state()
    assert state["format"] == "pdb"
    drawn = parse_structure(state["content"])
    assert drawn.models == 3
    assert [(r.number, r.insertion) for r in drawn.residues[:3]] == [(1, ""), (2, ""), (2, "A")]

    lines = mmcif(text).splitlines()
    del lines[max(n for n, line in enumerate(lines) if line.startswith("ATOM"))]
    shorter = structure_viewer("\n".join(lines)).state()["content"]  # by an atom of a model
    assert parse_structure(shorter).models == 3


def test_distance_of_residues_with_insertion_codes() -> None:
    text = pdb(6)
    plain = structure_viewer(text)
    view = structure_viewer(text.replace("A   3 ", "A   2A").replace("A   4 ", "A   3B"))
    assert view.distance("A:2", "2A") == pytest.approx(plain.distance(2, 3))
    assert view.distance(1, "A:3B") == pytest.approx(plain.distance(1, 4))
    with pytest.raises(InputError, match="no residue 3\\."):
        view.distance(1, 3)


def test_mmcif_that_pdb_has_no_room_for_is_drawn_by_its_first_model() -> None:
    text = "".join(f"MODEL {i}\n{pdb(5)}ENDMDL\n" for i in (1, 2, 3))
    state = structure_viewer(mmcif(text, chain_id="AAA")).state()
    assert state["format"] == "cif"
    assert parse_structure(state["content"]).models == 1


def test_rigid_motion_is_undone_with_an_rmsd_of_zero() -> None:
    text = pdb(12)
    fixed, mobile = parse_structure(text), parse_structure(rotated(text, 1.1, (5.0, -3.0, 8.0)))
    result = superpose(fixed, mobile)
    assert result.rmsd == pytest.approx(0, abs=2e-3)
    assert result.residues == 12
    assert np.allclose(result.apply(mobile.coordinates), fixed.coordinates, atol=5e-3)
    assert np.linalg.det(result.rotation) == pytest.approx(1)


def test_mirror_image_is_not_superposed_by_a_reflection() -> None:
    text = pdb(12)
    mirrored = "\n".join(
        f"{row[:30]}{-float(row[30:38]):8.3f}{row[38:]}" for row in text.splitlines()
    )
    assert superpose(parse_structure(text), parse_structure(mirrored)).rmsd > 1


def test_related_sequences_are_paired_by_alignment() -> None:
    whole = parse_structure(pdb(20, residue="LEU"))
    part = parse_structure("".join(pdb(20, residue="LEU").splitlines(keepends=True)[9:]))
    result = superpose(whole, part)
    assert result.residues == 17


def test_unrelated_molecules_are_refused() -> None:
    with pytest.raises(InputError, match="0 of their residues correspond"):
        superpose(parse_structure(pdb(12), name="a"), parse_structure(ETHANOL, name="b"))


def test_equal_b_factors_within_residues_are_shown_as_confidence() -> None:
    assert default_scheme(parse_structure(pdb(20))) == "secondary"
    predicted = parse_structure(pdb(20, b_factor=62))
    assert default_scheme(predicted) == "confidence"
    colors, _ = residue_colors(predicted, "confidence")
    assert colors[0] != colors[-1], "62 is low, 81 is high"
    assert "b_factor" not in schemes(predicted)


@pytest.mark.parametrize(
    ("method", "scheme"),
    [("ELECTRON MICROSCOPY", "secondary"), ("THEORETICAL MODEL", "confidence")],
)
def test_b_factors_of_an_experiment_are_no_confidence(method: str, scheme: str) -> None:
    text = pdb(20, b_factor=62)
    assert default_scheme(parse_structure(f"EXPDTA    {method}\n{text}")) == scheme
    cif = f"{mmcif(text).rstrip()}\n_exptl.method '{method}'\n"
    assert default_scheme(parse_structure(cif)) == scheme


def test_confidence_of_each_atom_is_recognized_in_mmcif() -> None:
    cif = mmcif(pdb(20))  # B-factors differ within residues
    metric = "loop_\n_ma_qa_metric.id\n_ma_qa_metric.mode\n_ma_qa_metric.name\n1 local pLDDT\n#\n"
    assert default_scheme(parse_structure(cif)) == "secondary"
    predicted = parse_structure(f"{cif.rstrip()}\n{metric}")
    assert default_scheme(predicted) == "confidence"
    assert "b_factor" not in schemes(predicted)


def test_b_factors_up_to_1_keep_their_values_if_they_are_no_confidence() -> None:
    rows = pdb(20, b_factor=62).splitlines()
    text = "\n".join(f"{row[:60]}{n % 7 / 10:6.2f}{row[66:]}" for n, row in enumerate(rows))
    structure = parse_structure(text)
    assert not structure.confidence
    assert structure.b_factors.max() <= 1


def test_colors_name_one_color_for_each_residue_and_a_legend_of_those_in_use() -> None:
    structure = parse_structure(pdb(10) + pdb(8, chain="B"))
    for scheme in schemes(structure):
        colors, legend = residue_colors(structure, scheme)
        assert len(colors) == 18
        assert legend
    colors, legend = residue_colors(structure, "chain")
    assert [label for label, _ in legend] == ["Chain A", "Chain B"]
    assert len(set(colors)) == 2


def test_legend_of_b_factors_states_that_both_ends_include_what_is_beyond() -> None:
    structure = parse_structure(pdb(100))
    structure.b_factors[:] = [*range(100)]
    colors, legend = residue_colors(structure, "b_factor")
    assert [label for label, _ in legend] == ["B ≤ 4.95 Å²", "B = 49.5 Å²", "B ≥ 94 Å²"]
    assert colors[0] == colors[4] == legend[0][1]


def test_chains_of_one_color_are_one_entry_of_the_legend() -> None:
    text = "".join(pdb(4, chain=chain) for chain in "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    _, legend = residue_colors(parse_structure(text), "chain")
    labels = [label for label, _ in legend]
    assert len(labels) == 10
    assert labels[0] == "Chains A, K and 1 more"
    assert labels[-1] == "Chains J, T"


def test_drawing_shows_the_longest_axis_horizontally_and_stays_within_the_picture() -> None:
    svg = draw_structure(parse_structure(pdb(40)), "secondary")
    points = np.array(
        [
            [float(x), float(y)]
            for path in re.findall(r' d="M([^"]+)"', svg)
            for x, y in re.findall(r"(-?[\d.]+) (-?[\d.]+)", path)
        ]
    )
    low, high = points.min(axis=0), points.max(axis=0)
    assert high[0] - low[0] > 3 * (high[1] - low[1])
    assert (low > 0).all()
    assert (high < (640, 400)).all()


def test_flat_molecule_has_a_flat_picture() -> None:
    svg = draw_structure(parse_structure(pdb(60)), "secondary")
    assert 'viewBox="0 0 640 160"' in svg


@pytest.mark.parametrize("depth", [-0.2, 1.2])
def test_curve_beyond_the_outermost_atoms_has_a_color(depth: float) -> None:
    assert re.fullmatch("#[0-9a-f]{6}", drawing._shade("#808080", depth)[1])


def test_saved_view_of_a_thousand_residues_has_at_most_200_kilobytes(
    opened: list[FakePlaceholder],
) -> None:
    view = structure_viewer("".join(pdb(250, chain=chain) for chain in "ABCD"))
    view._ipython_display_()
    assert len(opened[0].html) < 200_000


def test_strand_is_seen_from_its_flat_side() -> None:
    rows = []
    for i in range(10):
        side = 1 if i % 2 else -1
        for atom, (x, y, z) in (
            ("N", (-1.2, -0.4, 0.0)),
            ("CA", (0.0, 0.9 * side, 0.0)),
            ("C", (1.2, 0.0, 0.4 * side)),
            ("O", (1.2, 0.0, 1.6 * side)),
        ):
            rows.append(
                f"ATOM  {len(rows) + 1:5d}  {atom:<3} ALA A{i + 1:4d}    "
                f"{3.4 * i + x:8.3f}{y:8.3f}{z:8.3f}  1.00 20.00           {atom[0]}"
            )
    axes, _ = drawing.principal_axes(parse_structure("\n".join(rows)))
    assert abs(axes[0] @ (1, 0, 0)) > 0.99, "the longest axis is horizontal"
    assert abs(axes[1] @ (0, 0, 1)) > 0.9, "its C=O bonds are in the plane of the picture"


def test_axes_of_a_large_structure_take_memory_in_proportion() -> None:
    structure = parse_structure(pdb(2000))
    tracemalloc.start()
    axes, _ = drawing.principal_axes(structure)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert abs(axes[0] @ (0, 0, 1)) > 0.99
    assert peak < 5_000_000


def test_secondary_structure_of_a_motion_is_that_of_its_middle_model() -> None:
    helix = [row for row in pdb(16).splitlines() if row[12:16].strip() == "CA"]
    stretched = [f"{row[:46]}{2.5 * float(row[46:54]):8.3f}{row[54:]}" for row in helix]
    models = "\n".join(
        "\n".join([f"MODEL     {n}", *rows, "ENDMDL"])
        for n, rows in enumerate((stretched, helix, stretched), 1)
    )
    models = "\n".join(row[:76] for row in models.splitlines())  # without elements
    assert "h" not in parse_structure("\n".join(stretched)).secondary
    assert parse_structure(models).secondary == parse_structure("\n".join(helix)).secondary
    assert parse_structure(models).secondary.count("h") > 10


def test_small_molecule_is_colored_by_element_with_a_legend() -> None:
    structure = parse_structure(ETHANOL)
    assert schemes(structure) == ("element",)
    assert default_scheme(structure) == "element"
    _, legend = residue_colors(structure, "element")
    assert [label for label, _ in legend] == ["C", "O"]
    assert structure_viewer(ETHANOL).state()["schemes"]["element"]["label"] == "Element"


def test_superposition_names_the_compared_atoms() -> None:
    compared = structure_viewer(pdb(12), name="one").compare(pdb(12), name="two")
    assert "two superposed, Cα RMSD 0.00 Å over 12 residues" in str(compared)


def test_small_molecule_is_drawn_as_sticks() -> None:
    view = structure_viewer(ETHANOL, name="ethanol")
    assert view.style == "stick"
    assert view.svg.count("<path") >= 2 * 4, "two halves of two bonds with their outlines"
    with pytest.raises(InputError, match="'cartoon' is not a style"):
        view.style = "cartoon"


def test_residue_far_away_costs_no_memory_and_leaves_the_others_as_they_are() -> None:
    lines = (DATA / "1A8O.pdb").read_text().splitlines()
    first = next(n for n, line in enumerate(lines) if line[:4] == "ATOM" and " CA " in line)
    moved = list(lines)
    moved[first] = f"{lines[first][:30]}{'9999.999' * 3}{lines[first][54:]}"
    near, far = (parse_structure("\n".join(rows), "pdb") for rows in (lines, moved))
    assert far.secondary.count("h") > 30
    assert far.secondary[4:] == near.secondary[4:]


def test_selection_and_distance_use_the_numbers_of_the_file() -> None:
    view = structure_viewer(pdb(10) + pdb(8, chain="B"), name="pair")
    assert view.select(2, 4, "B") == ResidueRange("B", 2, 4, "AAA")
    assert view.selection == ResidueRange("B", 2, 4, "AAA")
    assert view.distance("A:1", "B:1") == pytest.approx(0)
    assert view.distance(1, 2) == pytest.approx(3.8, abs=0.1)
    with pytest.raises(InputError, match="has no residue 40") as caught:
        view.select(40)
    assert caught.value.next_step == "Its residues are numbered 1 to 10."
    with pytest.raises(InputError, match="'A:12' are not numbers of residues"):
        view.select("A:12")
    with pytest.raises(InputError, match="no chain C"):
        view.select(1, chain="C")
    view.deselect()
    assert view.selection is None


def test_live_view_sends_selections_and_pictures(opened: list[FakePlaceholder]) -> None:
    view = structure_viewer(pdb(10), name="h1")
    view._ipython_display_()
    (output,) = opened
    picture = b"\x89PNG\r\n\x1a\n" + bytes(100)
    view._receive({"do": "select", "chain": "A", "start": 3, "end": 5, "sender": "x"}, [])
    assert view.selection == ResidueRange("A", 3, 5, "AAA")
    view._receive({"do": "select", "chain": "A", "start": 300, "end": 500}, [])
    assert view.selection is not None, "a range that does not exist changes nothing"
    view._receive({"do": "picture"}, [memoryview(picture)])
    assert view.picture().content == picture
    assert "data:image/png;base64," in output.html
    view._receive({"do": "picture"}, [b"GIF89a"])
    assert view.picture().content == picture


def test_names_are_escaped(opened: list[FakePlaceholder]) -> None:
    view = structure_viewer(pdb(5), name="<script>alert(1)</script>")
    view._ipython_display_()
    assert "<script" not in opened[0].html
    assert "<script" not in view.svg


def test_terminal_shows_the_sequence(
    set_front_end: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    set_front_end(FrontEnd.TERMINAL, placeholder)
    StructureViewer(parse_structure(pdb(5), name="h1"))._ipython_display_()
    assert "Chain A, 5 residues\n     1 AAAAA" in capsys.readouterr().out


def test_path_is_read_and_names_the_viewer(tmp_path: Path) -> None:
    file = tmp_path / "ethanol.sdf"
    file.write_text(ETHANOL)
    assert structure_viewer(file).name == "ethanol.sdf"
    assert structure_viewer(file, name="drink").name == "drink"
    file.write_bytes(gzip.compress(file.read_bytes()))
    assert structure_viewer(file).name == "ethanol.sdf"
    with pytest.raises(InputError, match=r"absent\.pdb.* cannot be read: No such file"):
        structure_viewer(tmp_path / "absent.pdb")


@pytest.mark.parametrize("name", ["data/1A8O.pdb", "my model.cif"])
def test_name_of_a_file_as_content_is_refused_with_the_way_to_pass_it(name: str) -> None:
    with pytest.raises(InputError, match=f'"{name}" is the name of a file') as caught:
        structure_viewer(name)
    assert 'pathlib.Path("…")' in caught.value.next_step
    with pytest.raises(InputError, match="is the name of a file"):
        alignment_view("its.fasta")
