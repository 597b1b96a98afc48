"""The example data: real sequences, and hairpins extracted by the rule in its README."""

from __future__ import annotations

import csv
import re
import warnings

import pytest
from job_tools import COMPLEMENT, DATA, genbank_bases

SOURCES = ("pBAD30.gb", "NC_005816.gb", "ls_orchid.fasta")
STEM, LOOP, FLANK, ROWS = 5, range(3, 13), 8, 250


def sequences() -> dict[str, str]:
    """Return the source sequences by accession without version, in order of the files."""
    result = {}
    for name in SOURCES:
        text = (DATA / name).read_text()
        if name.endswith(".gb"):
            accession = re.search(r"^LOCUS\s+(\S+)", text, re.M)[1]
            result[accession] = genbank_bases(name)
            continue
        for record in text.split(">")[1:]:
            header, *lines = record.split("\n")
            accession = re.search(r"(Z\d+)\.\d", header)[1]
            result[accession] = "".join(lines)
    return {accession: letters.upper() for accession, letters in result.items()}


def stems(letters: str) -> list[tuple[int, int, int, int]]:
    """Return (stem, loop, start, end) of all inverted repeats with flanks; 0-based, half-open."""
    results = []
    for inner in range(len(letters)):
        for loop in LOOP:
            across, stem = inner + loop + 1, 0
            while (
                inner - stem >= 0
                and across + stem < len(letters)
                and letters[inner - stem] in "ACGT"
                and letters[inner - stem].translate(COMPLEMENT) == letters[across + stem]
            ):
                stem += 1
            start, end = inner - stem + 1 - FLANK, across + stem + FLANK
            if stem >= STEM and start >= 0 and end <= len(letters) and end - start >= 30:
                results.append((stem, loop, start, end))
    return results


def hairpins() -> list[tuple[str, str]]:
    """Return the hairpins by the rule in example_notebooks/data/README.md."""
    order = {accession: place for place, accession in enumerate(sequences())}
    ranked = []
    for accession, letters in sequences().items():
        durations: list[tuple[int, int]] = []
        for stem, loop, start, end in sorted(
            stems(letters), key=lambda stem: (-stem[0], stem[1], stem[2])
        ):
            bases = letters[start:end]
            if set(bases) <= set("ACGT") and all(end <= a or b <= start for a, b in durations):
                durations.append((start, end))
                ranked.append((-stem, loop, order[accession], start, accession, bases))
    chosen: dict[str, tuple[int, int, str]] = {}
    for _, _, place, start, accession, bases in sorted(ranked):
        if len(chosen) < ROWS:
            chosen.setdefault(bases, (place, start, f"{accession}_{start + 1}"))
    return [(name, bases) for bases, (_, _, name) in sorted(chosen.items(), key=lambda i: i[1])]


def table() -> list[tuple[str, str]]:
    with (DATA / "hairpins.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["name", "bases"]
    return [(name, bases) for name, bases in rows[1:]]


def test_hairpins_follow_the_rule_of_the_readme():
    assert table() == hairpins()


def test_its_sequences_are_records_of_the_orchid_file():
    records = (DATA / "its.fasta").read_text().split(">")[1:]
    assert len(records) == 10
    source = sequences()
    for record in records:
        header, *lines = record.split("\n")
        assert "".join(lines) == source[header.split(".")[0]]


def test_data_is_small_and_every_file_is_in_the_readme():
    readme = (DATA / "README.md").read_text()
    files = [path for path in DATA.iterdir() if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 320_000
    assert all(f"`{path.name}`" in readme for path in files if path.name != "README.md")


def test_genbank_files_parse_without_a_warning():
    SeqIO = pytest.importorskip("Bio.SeqIO", reason="biopython is in the sandbox extra")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lengths = [
            len(SeqIO.read(DATA / name, "genbank")) for name in SOURCES if name.endswith(".gb")
        ]
    assert lengths == [4923, 9609]
