"""The sequence viewer in Python: selection, search, enzymes, display and messages."""

from __future__ import annotations

import random
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from javascript import run_javascript
from widget_fakes import Placeholders

from labext.dna import reverse_complement
from labext.errors import InputError
from labext_widgets.core import placeholder
from labext_widgets.core.front_end import FrontEnd
from labext_widgets.sequence import Selection, sequence_viewer
from labext_widgets.sequence.enzymes import COMMON, all_enzymes, cut_sites, unique_cutters
from labext_widgets.sequence.molecule import Molecule, parse_molecule
from labext_widgets.sequence.search import IUPAC, Hit, search
from labext_widgets.sequence.viewer import MAX_LIVE_BASES

CIRCLE = {
    "id": "seq_1",
    "name": "pTiny",
    "bases": "AAAACCCCAGGTTTTTGAATTCA",
    "isCircular": True,
    "annotations": [
        {"name": "over", "type": "CDS", "start": 20, "end": 3, "strand": -1, "color": "#ff0000"},
        {"name": "cs", "type": "misc", "start": 4, "end": 8, "strand": 1, "color": None},
    ],
    "translations": [{"start": 4, "end": 10, "strand": 1, "aminoAcids": "PR"}],
}
LINE = CIRCLE | {"isCircular": False}


@pytest.fixture
def placeholders(placeholders: Placeholders, set_front_end: Any) -> Placeholders:
    """The placeholders of an interactive notebook."""
    set_front_end(FrontEnd.INTERACTIVE, placeholder)
    return placeholders


@pytest.mark.parametrize(
    ("start", "end", "strand", "bases"),
    [
        (4, 8, 1, "CCCC"),
        (4, 8, -1, "GGGG"),
        (2, 6, -1, "GGTT"),
        (20, 3, 1, "TCAAAA"),
        (20, 3, -1, "TTTTGA"),
        (22, 0, 1, "A"),
        (0, 23, 1, CIRCLE["bases"]),
        (4, 4, 1, "CCCCAGGTTTTTGAATTCAAAAA"),
    ],
)
def test_selection_on_a_circle(start: int, end: int, strand: int, bases: str) -> None:
    viewer = sequence_viewer(CIRCLE)
    assert viewer.selection is None
    assert viewer.select(start, end, strand) == Selection(start, end, strand, bases)
    assert viewer.selection == Selection(start, end, strand, bases)
    viewer.deselect()
    assert viewer.selection is None


@pytest.mark.parametrize(
    ("start", "end"),
    [(20, 3), (4, 4), (-1, 3), (3, 24), (0.5, 3), (True, 3), (np.True_, 3), (np.array([1, 2]), 3)],
)
def test_invalid_range_on_a_line_is_refused(start: Any, end: Any) -> None:
    viewer = sequence_viewer(LINE)
    with pytest.raises(InputError, match=r"is not a range of pTiny, which has 23 bases"):
        viewer.select(start, end)
    assert viewer.selection is None


def test_lower_strand_of_rna_is_rna() -> None:
    rna = {"name": "r", "bases": "AUGcau", "isCircular": False}
    assert sequence_viewer(rna).select(0, 6, -1).bases == "augCAU"
    assert sequence_viewer({**rna, "bases": "AAGGCC"}).select(0, 6, -1).bases == "GGCCTT"


def test_invalid_strand_is_refused() -> None:
    with pytest.raises(InputError, match=r"0 is not a strand. Use 1 or -1\."):
        sequence_viewer(CIRCLE).select(0, 3, 0)


@pytest.mark.parametrize("bases", [None, "", "  ", float("nan")])
def test_record_without_bases_names_the_column_to_request(bases: Any) -> None:
    with pytest.raises(InputError, match="pTiny: the record has no bases") as error_info:
        sequence_viewer(CIRCLE | {"bases": bases})
    assert "name `bases` among the columns" in error_info.value.next_step


def test_invalid_record_is_refused() -> None:
    for bases, letter in {"1 acgt": "1", "MKTAYIAKQRQISF": "Q"}.items():
        with pytest.raises(InputError, match=f'"{letter}" is not a base'):
            sequence_viewer(CIRCLE | {"bases": bases})
    with pytest.raises(InputError, match="one record, not a DataFrame") as error_info:
        parse_molecule(pd.DataFrame([{"name": "p", "bases": "ACGT"}]))
    assert "frame.iloc[0]" in error_info.value.next_step
    with pytest.raises(InputError, match="not str"):
        sequence_viewer("ACGT")


def test_viewer_accepts_a_row_of_a_frame() -> None:
    frame = pd.DataFrame([CIRCLE, LINE])
    assert "circular, 2 annotations" in repr(sequence_viewer(frame.iloc[0]))
    assert "23 bp, linear" in repr(sequence_viewer(frame.iloc[1]))
    frame["annotations"] = frame["annotations"].map(np.array)  # as read from a Parquet file
    assert "circular, 2 annotations" in repr(sequence_viewer(frame.iloc[0]))


@pytest.mark.parametrize("circular", [False, True])
def test_end_0_means_the_sequence_end(circular: bool) -> None:
    mark = {"name": "tail", "start": 2, "end": 0}
    record = {"name": "x", "bases": "ACGTA", "isCircular": circular, "annotations": [mark]}
    (read,) = parse_molecule(record).annotations
    assert (read.start, read.end) == (2, 5)
    assert "3-5" in str(sequence_viewer(record))


def test_annotations_outside_the_sequence_are_counted() -> None:
    odd = [
        {"name": "far", "start": 30, "end": 40},
        {"name": "back", "start": 8, "end": 4},
        {"name": "words", "start": "four", "end": 8},
        "nothing",
        {"name": "good", "start": 4, "end": 8, "color": '"/><script>'},
    ]
    viewer = sequence_viewer(LINE | {"annotations": odd, "translations": None})
    assert "1 annotation, 4 marks outside the sequence omitted" in str(viewer)


def test_default_enzymes_are_common_unique_cutters() -> None:
    viewer = sequence_viewer(CIRCLE)
    assert viewer.enzymes == ("EcoRI",)
    (site,) = viewer.sites
    assert (site.start, site.end, site.cut, site.lower_cut) == (16, 22, 17, 21)
    assert "EcoRI" in viewer.unique_cutters()
    viewer.enzymes = "bamhi, EcoRI ecori"
    assert viewer.enzymes == ("BamHI", "EcoRI")
    with pytest.raises(InputError, match=r"\"EcoR1\" .* Did you mean EcoRI\?"):
        viewer.enzymes = ["EcoR1"]
    assert viewer.enzymes == ("BamHI", "EcoRI")


def test_selection_is_synchronized_with_the_browser(placeholders: Placeholders) -> None:
    viewer = sequence_viewer(CIRCLE)
    viewer._ipython_display_()
    viewer._ipython_display_()
    first_placeholder, two = placeholders
    first_placeholder.message(do="select", start=20, end=3, strand=-1, sender="a")
    assert viewer.selection == Selection(20, 3, -1, "TTTTGA")
    expected = {"selection": {"start": 20, "end": 3, "strand": -1, "sender": "a"}}
    assert (first_placeholder.changes, two.changes) == ([expected], [expected]), (
        "the other cell's map follows"
    )
    first_placeholder.message(do="select", start=None, sender="a")
    assert viewer.selection is None
    viewer.select(0, 4)
    assert first_placeholder.changes[-1] == {
        "selection": {"start": 0, "end": 4, "strand": 1, "sender": ""}
    }
    for nonsense in (
        {"do": "select", "start": 99, "end": 3, "strand": 1},
        {"do": "select", "start": "0", "end": 3, "strand": 1},
        {"do": "select", "start": 0, "end": 3, "strand": 7},
        {"do": "else", "start": None},
    ):
        first_placeholder.message(**nonsense)
    assert viewer.selection == Selection(0, 4, 1, "AAAA")
    first_placeholder.close()
    viewer.select(4, 8)
    assert len(first_placeholder.changes) == 3
    assert len(two.changes) == 4
    viewer.close()
    viewer.select(0, 8)
    assert len(two.changes) == 4


def test_live_view_gets_the_complete_state(placeholders: Placeholders) -> None:
    viewer = sequence_viewer(CIRCLE, enzymes="EcoRI")
    viewer.select(4, 8)
    viewer._ipython_display_()
    (placeholder,) = placeholders
    assert placeholder.view == "sequence"
    assert placeholder.state["bases"] == CIRCLE["bases"]
    assert placeholder.state["circular"] is True
    assert [annotation["name"] for annotation in placeholder.state["annotations"]] == ["cs", "over"]
    assert placeholder.state["translations"][0]["start"] == 4
    assert [site["enzyme"] for site in placeholder.state["sites"]] == ["EcoRI"]
    assert {item["enzyme"] for item in placeholder.state["unique"]} == set(viewer.unique_cutters())
    assert placeholder.state["selection"] == {"start": 4, "end": 8, "strand": 1, "sender": ""}
    viewer.enzymes = "SmaI"
    assert placeholder.changes == [{"sites": []}], "the enzyme does not cut"
    assert "cut once by EcoRI" in placeholder.saved[0][1]
    assert "cut once by" not in placeholder.saved[-1][1], "the saved picture follows"


def test_very_long_sequence_has_no_live_map(placeholders: Placeholders) -> None:
    sequence_viewer(
        {"name": "long", "bases": "ACGTT" * (MAX_LIVE_BASES // 5 + 1)}
    )._ipython_display_()
    (placeholder,) = placeholders
    assert placeholder.states == []
    assert "The interactive map supports up to 100,000 bases" in placeholder.saved[0][0]


def test_terminal_prints_the_annotations(
    set_front_end: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    set_front_end(FrontEnd.TERMINAL, placeholder)
    sequence_viewer(CIRCLE)._ipython_display_()
    assert capsys.readouterr().out.splitlines() == [
        "pTiny: 23 bp, circular, 2 annotations; cut once by EcoRI",
        "    5-8 + cs (misc)",
        "   21-3 - over (CDS)",
    ]


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
        # Biopython returns the base after the cut, counted from 1, also at the ends.
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


SCRIPT = """
import { Molecule } from "./molecule.js";
import { search } from "./search.js";
import { rangeOf, selectRange } from "./selection.js";
const answers = value.map(({ bases, circular, pattern }) => {
  const molecule = new Molecule({ bases, circular, annotations: [], translations: [] });
  return (search(molecule, pattern) ?? []).map((hit) => [
    hit.start, hit.end, hit.strand,
    molecule.extract(hit.start, hit.end, hit.strand),
    rangeOf(molecule, selectRange(molecule, hit)),
  ]);
});
"""

mixed = st.text("ACGTNRYacgtu", min_size=1, max_size=30)
patterns = st.text("".join(IUPAC), min_size=1, max_size=4)


def plainly(bases: str, circular: bool, pattern: str) -> set[tuple[int, int, int]]:
    """Search by comparing every letter at every position."""
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
    drawn = random.Random(4)
    cases = [
        {
            "bases": "".join(drawn.choices("ACGTNacgu", k=drawn.randint(1, 40))),
            "circular": drawn.random() < 0.5,
            "pattern": "".join(drawn.choices("ACGTNRYSWKMu", k=drawn.randint(1, 4))),
        }
        for _ in range(400)
    ]
    hit_count = 0
    for case, answer in zip(cases, run_javascript(SCRIPT, cases, "sequence"), strict=True):
        molecule = Molecule("x", case["bases"], case["circular"])
        expected = search(molecule, case["pattern"])
        assert [tuple(hit[:3]) for hit in answer] == [(h.start, h.end, h.strand) for h in expected]
        for start, end, strand, bases, bounds in answer:
            assert bases == molecule.part(start, end, strand)
            assert bounds == {"start": start, "end": end}
        hit_count += len(expected)
    assert hit_count > 400


TRANSLATE = """
import { Molecule } from "./molecule.js";
import { translate } from "./translation.js";
const answers = value.map((record) =>
  translate(new Molecule(record), record.translations[0]));
"""


def translated(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the pieces of codons that the viewer draws for a record's only translation."""
    (pieces,) = run_javascript(TRANSLATE, [asdict(parse_molecule(record))], "sequence")
    return list(pieces)


@pytest.mark.parametrize("strand", [1, -1])
@pytest.mark.parametrize("end", [60, 0])  # some services write the end of the sequence as 0
def test_codons_of_a_spliced_gene_on_either_strand_match_biopython(strand: int, end: int) -> None:
    from Bio.Seq import Seq
    from Bio.SeqFeature import CompoundLocation, SimpleLocation

    bases = "".join(random.Random(9).choices("ACGT", k=60))
    regions = [(2, 10), (20, 32), (50, 60)]
    parts = [SimpleLocation(a, b, strand) for a, b in regions][::strand]
    protein = str(CompoundLocation(parts).extract(Seq(bases)).translate())
    exons = [{"start": a, "end": b} for a, b in regions[:-1]] + [{"start": 50, "end": end}]
    mark = {"start": 2, "end": end, "strand": strand, "regions": exons}
    pieces = translated({"bases": bases, "translations": [mark]})
    assert "".join(piece["letter"] for piece in pieces) == protein
    starts = [(piece["position"], piece["length"]) for piece in pieces]
    drawn = {position for start, length in starts for position in range(start, start + length)}
    assert drawn == {p for a, b in regions for p in range(a, b)}
    assert len(pieces) == len(protein) + 2, "two codons lie on both sides of an intron"


def test_amino_acids_of_the_record_are_displayed_and_further_codons_translated() -> None:
    mark = {"start": 8, "end": 5, "strand": 1, "aminoAcids": "MW"}
    pieces = translated({"bases": "ATAATCCCTTTG", "isCircular": True, "translations": [mark]})
    assert [(piece["position"], piece["length"], piece["letter"]) for piece in pieces] == [
        (8, 3, "M"),
        (0, 2, "W"),  # a codon across the origin
        (11, 1, ""),
        (2, 3, "N"),
    ]


@pytest.mark.parametrize(
    ("code", "letters"), [("VERTEBRATE_MITOCHONDRIAL", "MW*"), ("STANDARD", "MWR")]
)
def test_codon_after_the_protein_is_the_stop_of_another_genetic_code(
    code: str, letters: str
) -> None:
    mark = {"start": 0, "end": 9, "strand": 1, "aminoAcids": "MW", "geneticCode": code}
    pieces = translated({"bases": "ATATGAAGA", "translations": [mark]})
    assert "".join(piece["letter"] for piece in pieces) == letters


ROWS = """
globalThis.document = {
  createElementNS: (_, name) => ({
    name, children: [], attributes: {},
    setAttribute(key, value) { this.attributes[key] = value; },
    append(...children) { this.children.push(...children); },
  }),
};
const { LinearMapRow } = await import("./linear_map_row.js");
const { Molecule } = await import("./molecule.js");
const { translate } = await import("./translation.js");
const answers = value.map((record) => {
  const molecule = new Molecule(record);
  const codons = record.translations.map((mark) => translate(molecule, mark));
  return [0, 10, 20].map((first) => {
    const row = new LinearMapRow(molecule, { first, count: 10, scale: 10, sites: [], codons });
    const { children } = row.draw(100);
    const boxes = children.filter((child) => /labext-codon/.test(child.attributes.class));
    const letters = children.filter((child) => child.attributes.class === "labext-amino");
    return [
      boxes.map(({ attributes: { x, width } }) => [x, width]),
      letters.flatMap((text) => text.children),
    ];
  });
});
"""


@pytest.mark.parametrize("start", [0, 1, 2])
def test_codons_across_two_rows_of_the_map_are_drawn_in_both(start: int) -> None:
    mark = {"start": start, "end": start + 27, "strand": 1, "aminoAcids": "MACDEFGHI"}
    record = asdict(parse_molecule({"bases": "A" * 30, "translations": [mark]}))
    (rows,) = run_javascript(ROWS, [record], "sequence")
    assert "".join(letter for _, letters in rows for letter in letters) == "MACDEFGHI"
    drawn = {
        row * 10 + round(x / 10) + n
        for row, (boxes, _) in enumerate(rows)
        for x, width in boxes
        for n in range(round(width / 10))
    }
    assert drawn == {*range(start, start + 27)}
