"""The PDB parsers with records from real files."""

from __future__ import annotations

import pytest
from job_tools import pdb_atom as atom

from labext.sandbox.jobs.tools._protein import Atom, read_residues
from labext.sandbox.jobs.tools.tool import ToolError


@pytest.fixture
def write(tmp_path):
    def write_lines(*lines):
        path = tmp_path / "x.pdb"
        path.write_text("".join(lines))
        return path

    return write_lines


def test_residues_are_read_from_the_first_model(write):
    path = write(f"MODEL        1\n{atom(1)}ENDMDL\n", f"MODEL        2\n{atom(2)}ENDMDL\n")
    assert [residue.number for residue in read_residues(path)] == ["1"]


def test_alpha_carbon_with_highest_occupancy_wins_and_the_first_on_a_tie(write):
    path = write(
        atom(1, (1, 0, 0), alternative="A", occupancy="0.40"),
        atom(1, (2, 0, 0), alternative="B", occupancy="0.60"),
        atom(2, (3, 0, 0), alternative="A", occupancy="0.50"),
        atom(2, (4, 0, 0), alternative="B", occupancy="0.50"),
    )
    assert [residue.atoms["CA"].xyz[0] for residue in read_residues(path)] == [2, 3]


def test_residue_is_read_from_one_alternative_location(write):
    path = write(
        atom(1),
        atom(1, (1, 0, 0), " CB ", alternative="A", occupancy="0.60"),
        atom(1, (1, 1, 0), " CG ", alternative="A", occupancy="0.30"),
        atom(1, (2, 0, 0), " CB ", alternative="B", occupancy="0.40"),
        atom(1, (2, 1, 0), " CG ", alternative="B", occupancy="0.70"),
        atom(2, (9, 0, 0), alternative="A", residue="SER", occupancy="0.50"),
        atom(2, (9, 1, 0), alternative="B", residue="THR", occupancy="0.50"),
    )
    first_residue, two = read_residues(path)
    assert [a.xyz for a in first_residue.atoms.values()] == [(0, 0, 0), (2, 0, 0), (2, 1, 0)]
    assert (two.name, two.atoms["CA"].xyz) == ("SER", (9, 0, 0))


def test_atom_of_the_alternative_location_replaces_one_without_a_label(write):
    """As in arginine 27 of the extract of 1AH7 in Biopython's tests."""
    (residue,) = read_residues(
        write(
            atom(27),
            atom(27, (1, 0, 0), " CZ ", occupancy="0.50"),
            atom(27, (2, 0, 0), " CZ ", alternative="B", occupancy="0.50"),
            atom(27, (1, 1, 0), " NH1", alternative="A", occupancy="0.50"),
            atom(27, (2, 1, 0), " NH1", alternative="B", occupancy="0.50"),
        )
    )
    assert [a.xyz for a in residue.atoms.values()] == [(0, 0, 0), (2, 0, 0), (2, 1, 0)]


def test_only_modified_residues_are_read_from_hetatm_records(write):
    path = write(
        "MODRES 1ABC SEP A    3  SER  PHOSPHOSERINE\n",
        atom(1),
        atom(2, (3.8, 0, 0), record="HETATM", residue="MSE"),
        atom(3, (7.6, 0, 0), record="HETATM", residue="SEP"),
        atom(4, (9, 0, 0), record="HETATM", residue="LIG"),
        atom(5, (9, 9, 0), "CA  ", record="HETATM", residue="CA", element="CA"),
        atom(6, (9, 9, 9), " CB "),
    )
    assert [residue.number for residue in read_residues(path)] == ["1", "2", "3"]


@pytest.mark.parametrize(
    "ion", [{"residue": "CA", "element": "CA"}, {"residue": "CAL"}, {"residue": "CA"}]
)
@pytest.mark.parametrize("number", [1, 5])
def test_calcium_in_an_atom_record_is_no_residue(write, ion, number):
    path = write(atom(1), atom(number, (9, 9, 0), "CA  ", **ion))
    assert [residue.number for residue in read_residues(path)] == ["1"]


def test_insertion_codes_separate_residues(write):
    path = write(atom(52), atom(52, (4, 0, 0), insertion="A"), atom(52, (8, 0, 0), insertion="B"))
    assert [residue.number for residue in read_residues(path)] == ["52", "52A", "52B"]


@pytest.mark.parametrize("between", ["TER\n", "END\n", ""])
def test_residue_that_occurs_twice_is_an_error(write, between):
    path = write(atom(1, chain=" "), atom(2, chain=" "), between, atom(2, (60, 0, 0), chain=" "))
    with pytest.raises(ToolError, match=r"^pdbFile: residue 2 of chain _ occurs twice; give each"):
        read_residues(path)


def test_chains_can_be_selected_and_a_missing_chain_is_named(write):
    path = write(atom(1, chain="A"), atom(1, chain="b"), atom(1, chain=" "))
    assert len(read_residues(path)) == 3
    assert [residue.chain for residue in read_residues(path, chains=["b"])] == ["b"]
    with pytest.raises(ToolError, match=r"^chains: there is no chain B; the file has A, b, _\.$"):
        read_residues(path, chains=["B"])


def test_short_line_without_occupancy_is_read(write):
    (residue,) = read_residues(write(atom(1, (1, 2, 3))[:54]))
    assert residue.atoms["CA"] == Atom("CA", "C", (1, 2, 3))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no alpha carbons"),
        (">seq\nACGT\n", "no alpha carbons"),
        ("# by hand\ndata_1ABC\nloop_\nATOM   1 N N . MSE A 1 1 ? 19.5\n", "it is an mmCIF file"),
        ("REMARK\n" + atom(1).replace("   0.000", "   x.000"), "line 2 is not a valid ATOM record"),
        (atom(1).replace("   0.000", "     nan"), "line 1 is not a valid ATOM record"),
        (atom(1)[:40], "line 1 is not a valid ATOM record"),
        (atom(1, name="    "), "line 1 is not a valid ATOM record"),
        (atom(1, (1, 2, 13.5))[:50], "line 1 is not a valid ATOM record"),
    ],
)
def test_invalid_file_is_an_error_with_the_line(write, text, message):
    with pytest.raises(ToolError, match=message) as error:
        read_residues(write(text))
    assert str(error.value).startswith("pdbFile: ")


@pytest.mark.parametrize(
    ("text", "b_factor"), [(" 12.50", 12.5), ("      ", None), ("******", None)]
)
def test_b_factor_is_none_unless_it_is_a_number(write, text, b_factor):
    (residue,) = read_residues(write(atom(1, b_factor=text)))
    assert residue.atoms["CA"].b_factor == b_factor
