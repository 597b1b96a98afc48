"""Search: against the plainest way to do it, and the same in Python as in the page."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.dna import reverse_complement
from labext.errors import InputError
from labext_widgets.sequence.molecule import Molecule
from labext_widgets.sequence.search import IUPAC, Hit, search

JS = Path(__file__).parents[2] / "widgets" / "js" / "sequence"
SCRIPT = """
import { readFileSync } from "node:fs";
import { Molecule } from "./molecule.js";
import { search } from "./search.js";
import { rangeOf, selectRange } from "./selection.js";
const answers = JSON.parse(readFileSync(0)).map(({ bases, circular, pattern }) => {
  const molecule = new Molecule({ bases, circular, annotations: [], translations: [] });
  return (search(molecule, pattern) ?? []).map((hit) => [
    hit.start, hit.end, hit.strand,
    molecule.extract(hit.start, hit.end, hit.strand),
    rangeOf(molecule, selectRange(molecule, hit)),
  ]);
});
console.log(JSON.stringify(answers));
"""

dna = st.text("ACGT", min_size=1, max_size=30)
mixed = st.text("ACGTNRYacgtu", min_size=1, max_size=30)
patterns = st.text("".join(IUPAC), min_size=1, max_size=4)


def plainly(bases: str, circular: bool, pattern: str) -> set[tuple[int, int, int]]:
    """Every place, every letter, one after the other."""
    read, matches = bases.upper().replace("U", "T"), set()
    other = reverse_complement(pattern)
    for strand, strand_pattern in ((1, pattern), (-1, other)):
        if (strand == -1 and other == pattern) or len(strand_pattern) > len(read):
            continue
        for start in range(len(read) if circular else len(read) - len(strand_pattern) + 1):
            part = [read[(start + i) % len(read)] for i in range(len(strand_pattern))]
            if all(
                set(IUPAC[a]) <= set(IUPAC[b]) for a, b in zip(part, strand_pattern, strict=True)
            ):
                end = start + len(strand_pattern)
                matches.add((start, end - len(read) if end > len(read) else end, strand))
    return matches


@given(mixed, st.booleans(), patterns)
def test_search_matches_brute_force(bases: str, circular: bool, pattern: str) -> None:
    hits = search(Molecule("x", bases, circular), pattern)
    assert len(hits) == len({(hit.start, hit.strand) for hit in hits})
    assert {(hit.start, hit.end, hit.strand) for hit in hits} == plainly(bases, circular, pattern)
    assert hits == sorted(hits, key=lambda hit: hit.start)


@given(dna, st.booleans(), dna)
def test_hit_equals_the_pattern(bases: str, circular: bool, pattern: str) -> None:
    molecule = Molecule("x", bases, circular)
    for hit in search(molecule, pattern):
        assert molecule.part(hit.start, hit.end, hit.strand) == pattern


@given(st.text("ACGTUMRWSYKVHDBNacgtumrwsykvhdbn"))
def test_reverse_complement_matches_biopython(bases: str) -> None:
    from Bio.Seq import Seq

    assert reverse_complement(bases) == str(Seq(bases).reverse_complement())


def test_hits_overlap_cross_the_origin_and_cover_both_strands() -> None:
    circle = Molecule("x", "AAAACCCG", True)
    assert search(circle, "AA") == [Hit(0, 2, 1), Hit(1, 3, 1), Hit(2, 4, 1)]
    assert search(circle, "cgaa") == [Hit(6, 2, 1)]
    assert search(circle, "UUU") == [Hit(0, 3, -1), Hit(1, 4, -1)]
    assert search(circle, "CG") == [Hit(6, 8, 1)], "the same on both strands is one hit"
    assert search(Molecule("x", "AAAACCCG", False), "CGAA") == []


@pytest.mark.parametrize(
    ("pattern", "message"), [("", "is empty"), (" ", "is empty"), ("AXA", '"X"')]
)
def test_invalid_pattern_is_refused(pattern: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        search(Molecule("x", "ACGT", True), pattern)


def test_javascript_search_matches_python() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not on the PATH; the page's search can't be run")
    drawn = random.Random(4)
    cases = [
        {
            "bases": "".join(drawn.choices("ACGTNacgu", k=drawn.randint(1, 40))),
            "circular": drawn.random() < 0.5,
            "pattern": "".join(drawn.choices("ACGTNRYSWKMu", k=drawn.randint(1, 4))),
        }
        for _ in range(400)
    ]
    ran = subprocess.run(
        [node, "--input-type=module", "-e", SCRIPT],
        cwd=JS,
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    hit_count = 0
    for case, answer in zip(cases, json.loads(ran.stdout), strict=True):
        molecule = Molecule("x", case["bases"], case["circular"])
        expected = search(molecule, case["pattern"])
        assert [tuple(hit[:3]) for hit in answer] == [(h.start, h.end, h.strand) for h in expected]
        for start, end, strand, bases, bounds in answer:
            assert bases == molecule.part(start, end, strand)
            assert bounds == {"start": start, "end": end}
        hit_count += len(expected)
    assert hit_count > 400
