"""The table of restriction enzymes and their cuts, held against Biopython's copy of REBASE."""

from __future__ import annotations

import random

import pytest

from labext.errors import InputError
from labext_widgets.sequence.enzymes import (
    COMMON,
    all_enzymes,
    cut_sites,
    find_enzymes,
    unique_cutters,
)
from labext_widgets.sequence.molecule import Molecule

DRAWN = random.Random(9)
BASES = "".join(DRAWN.choices("ACGT", k=4000))


def test_enzyme_table_matches_rebase() -> None:
    from Bio import Restriction

    assert len(all_enzymes()) > 200
    for name, enzyme in all_enzymes().items():
        known = getattr(Restriction, name)
        assert enzyme.site == known.site, name
        assert (enzyme.cut, enzyme.lower_cut) == (known.fst5, known.size + known.fst3), name
    assert set(COMMON) <= set(all_enzymes())


@pytest.mark.parametrize("circular", [True, False])
def test_cut_sites_match_biopython(circular: bool) -> None:
    from Bio import Restriction
    from Bio.Seq import Seq

    molecule = Molecule("x", BASES, circular)
    counted = 0
    for name in all_enzymes():
        # Biopython tells the base after the cut, counted from 1; it leaves out none at the ends.
        expected = {
            (cut - 1) % len(BASES)
            for cut in getattr(Restriction, name).search(Seq(BASES), linear=not circular)
        }
        positions = {site.cut for site in cut_sites(molecule, name)}
        if circular:
            assert positions == expected, name
        else:
            assert positions <= expected, name
            assert all(row < 30 or row > len(BASES) - 30 for row in expected - positions), name
        counted += len(positions)
    assert counted > 1000


def test_lower_strand_cut_mirrors_the_upper() -> None:
    (upper,) = cut_sites(Molecule("x", "AAAAGGTCTCAAAAAAAAAA", False), "BsaI")
    assert (upper.strand, upper.cut, upper.lower_cut) == (1, 11, 15)
    (lower,) = cut_sites(Molecule("x", "AAAAAAAAAAGAGACCAAAA", False), "BsaI")
    assert (lower.strand, lower.cut, lower.lower_cut) == (-1, 5, 9)


def test_cut_beyond_the_end_counts_only_on_a_circle() -> None:
    bases = "GAGACCAAAAAAAAAAAAAAAAAAAAA"
    assert cut_sites(Molecule("x", bases, False), "BsaI") == []
    (site,) = cut_sites(Molecule("x", bases, True), "BsaI")
    assert (site.cut, site.lower_cut) == (len(bases) - 5, len(bases) - 1)


def test_site_across_the_origin() -> None:
    (site,) = cut_sites(Molecule("x", "TTCAAAAAAGAA", True), "EcoRI")
    assert (site.start, site.end, site.cut, site.lower_cut) == (9, 3, 10, 2)
    assert cut_sites(Molecule("x", "TTCAAAAAAGAA", False), "EcoRI") == []
    assert "EcoRI" in unique_cutters(Molecule("x", "TTCAAAAAAGAA", True))


@pytest.mark.parametrize(
    ("misspelled", "meant"), [("EcoR1", "EcoRI"), ("Hind3", "HindIII"), ("BamH", "BamHI")]
)
def test_unknown_enzyme_suggests_a_similar_name(misspelled: str, meant: str) -> None:
    with pytest.raises(InputError, match=rf"is no restriction enzyme .* Did you mean {meant}\?"):
        find_enzymes([misspelled])


def test_enzyme_names_are_case_insensitive_and_unique() -> None:
    assert find_enzymes("ecori, BAMHI  EcoRI") == ("EcoRI", "BamHI")
    assert find_enzymes([]) == ()
