"""Profile searches: members of a family, their positions, and the rate of random hits."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from job_tools import (
    COMPLEMENT,
    DATA,
    assert_setting_error,
    coding_features,
    fasta,
    read_csv,
    run_tool,
)

from labext.sandbox.jobs.tools import _inputs, hmm_search, msa_tree
from labext.sandbox.jobs.tools.tool import ToolError

TOOL = hmm_search.TOOL
needs_pyhmmer = pytest.mark.skipif(
    bool(TOOL.missing_modules()), reason="pyhmmer is in the tools extra"
)


def search(out: Path, query: str, targets: str, **options):
    inputs = {"query": out / "query.txt", "targets": out / "targets.fasta"}
    for name, text in (("query", query), ("targets", targets)):
        inputs[name].write_text(text)
    score = run_tool(TOOL, out, inputs, query="query.txt", targets="targets.fasta", **options)
    rows = read_csv(out / "hits.csv")
    assert score["domains"] == len(rows)
    assert score["hits"] == len({row["target"] for row in rows})
    assert ("best_evalue" in score) == bool(rows)
    return score, rows


def proteins() -> dict[str, str]:
    """Return the annotated proteins of plasmid pPCP1 by locus tag."""
    return {
        feature.qualifiers["locus_tag"][0]: feature.qualifiers["translation"][0]
        for feature in coding_features("NC_005816.gb")[1]
    }


def relative(letters: str, seed: int, alphabet: str, share: float) -> str:
    """Return the sequence with a fraction of its letters changed."""
    chance = random.Random(seed)
    return "".join(
        chance.choice(alphabet) if chance.random() < share else letter for letter in letters
    )


@needs_pyhmmer
def test_protein_finds_only_itself_among_those_of_its_plasmid(tmp_path):
    all_proteins = proteins()
    for name in ("YP_pPCP01", "YP_pPCP07"):
        score, rows = search(tmp_path, fasta(query=all_proteins[name]), fasta(**all_proteins))
        length = str(len(all_proteins[name]))
        assert rows[0]["target"] == name
        assert [rows[0][key] for key in ("length", "end", "profile_end")] == [length] * 3
        assert [rows[0][key] for key in ("start", "profile_start")] == ["1", "1"]
        assert score["members"] == 1
        assert score["best_evalue"] < 1e-50
        assert score["profile_length"] == len(all_proteins[name])
        assert score["targets"] == len(all_proteins)


@needs_pyhmmer
def test_family_finds_a_relative_within_a_longer_protein(tmp_path):
    letters = "ACDEFGHIKLMNPQRSTVWY"
    chance = random.Random(11)
    core = "".join(chance.choices(letters, k=80))
    rows = {f"row{i}": relative(core, i, letters, 0.3) for i in range(8)}
    rows["row3"] = rows["row3"][:40] + "--" + rows["row3"][42:]
    noise = ["".join(chance.choices(letters, k=200)) for _ in range(50)]
    targets = {f"noise{i}": text for i, text in enumerate(noise)}
    targets["twice"] = noise[0] + relative(core, 99, letters, 0.3) + noise[1] + core + noise[2]
    score, result = search(tmp_path, fasta(**rows), fasta(**targets))
    members = [row for row in result if row["member"] == "yes"]
    assert [row["target"] for row in members] == ["twice", "twice"]
    for row, start in zip(members, (201, 481), strict=True):
        assert abs(int(row["start"]) - start) <= 3
        assert abs(int(row["end"]) - (start + 79)) <= 3
        assert float(row["domain_evalue"]) < 1e-10
    assert score["members"] == 1
    alphabet = _inputs.Alphabet(letters, "letter")
    text = (tmp_path / "domains.fasta").read_text()
    aligned = _inputs.parse_fasta(text, "x", alphabet, 10_000, aligned=True)
    assert len(aligned) == 2
    for row in members:
        place = slice(int(row["start"]) - 1, int(row["end"]))
        name = f"twice/{row['start']}-{row['end']}"
        assert aligned[name].replace("-", "") == targets["twice"][place]


@needs_pyhmmer
def test_dna_is_found_on_both_strands(tmp_path):
    chance = random.Random(5)
    noise = ["".join(chance.choices("ACGT", k=3000)) for _ in range(3)]
    gene = (DATA / "its.fasta").read_text().split(">")[1].split("\n", 1)[1].replace("\n", "")
    back = gene.translate(COMPLEMENT)[::-1]
    targets = fasta(genome=noise[0] + gene + noise[1] + back, other=noise[2])
    score, rows = search(tmp_path, f">gene\n{gene}", targets, molecule="DNA")
    assert score["hits"] == score["members"] == 1
    places = {row["strand"]: (int(row["start"]), int(row["end"])) for row in rows}
    assert set(places) == {"+", "-"}
    for strand, (first, last) in {"+": (3001, 3740), "-": (7480, 6741)}.items():
        assert abs(places[strand][0] - first) <= 3
        assert abs(places[strand][1] - last) <= 3


@needs_pyhmmer
def test_alignment_of_three_orchids_finds_all_ten(tmp_path):
    pytest.importorskip("biotite", reason="biotite is in the tools extra")
    records = (DATA / "its.fasta").read_text().split(">")[1:]
    (tmp_path / "some.fasta").write_text("".join(f">{record}" for record in records[:3]))
    inputs = {"sequences": tmp_path / "some.fasta"}
    run_tool(msa_tree.TOOL, tmp_path, inputs, sequences="some.fasta")
    alignment = (tmp_path / "alignment.fasta").read_text()
    targets = (DATA / "its.fasta").read_text()
    score, rows = search(tmp_path, alignment, targets, molecule="DNA")
    assert score["members"] == 10
    best = {row["target"] for row in rows[:3]}
    assert best == {record.split()[0] for record in records[:3]}


@needs_pyhmmer
def test_written_profile_finds_the_same_hits(tmp_path):
    all_proteins = proteins()
    first = search(tmp_path, fasta(a=all_proteins["YP_pPCP05"]), fasta(**all_proteins))
    profile = (tmp_path / "profile.hmm").read_text()
    assert profile.startswith("HMMER3/")
    assert "\nDATE" not in profile
    assert search(tmp_path, profile, fasta(**all_proteins)) == first


@needs_pyhmmer
def test_stockholm_and_fasta_queries_agree(tmp_path):
    rows = {"a": "MKTAYIAKQRQISFVKSHFSRQ", "b": "MKTAYLAKQR-ISFVKSHFARQ"}
    stockholm = "".join(f"{name} {letters}\n" for name, letters in rows.items())
    targets = fasta(t="GG" + rows["a"] + "GG")
    results = [
        search(tmp_path, text, targets)
        for text in (fasta(**rows), f"# STOCKHOLM 1.0\n{stockholm}//\n")
    ]
    assert results[0] == results[1]
    assert results[0][1][0]["start"] == "3"


@needs_pyhmmer
def test_random_sequences_have_few_hits(tmp_path):
    chance = random.Random(2)
    letters = "ACDEFGHIKLMNPQRSTVWY"
    noise = {f"n{i}": "".join(chance.choices(letters, k=100)) for i in range(400)}
    query = fasta(q="".join(chance.choices(letters, k=60)))
    score, rows = search(tmp_path, query, fasta(**noise), evalue=1)
    assert score["hits"] <= 5
    assert all(float(row["evalue"]) <= 1 for row in rows)
    assert score["members"] == 0
    assert not (tmp_path / "domains.fasta").exists()


HMM = "HMMER3/f [3.4 | Aug 2023]\n"


@needs_pyhmmer
@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("MKTAYIAK", "query: it is not FASTA, a Stockholm alignment or a HMMER 3 profile."),
        (HMM, "query: it has 0 profiles; exactly one is required."),
        ("HMMER3/x\nfoo\n", "query: HMMER could not build a profile from it: "),
        ("# STOCKHOLM 1.0\na MK\n", "query: HMMER could not build a profile from it: "),
        (
            ">a\nMK--\n>b\n--TA\n>c\nM\n",
            "query: it is not an alignment: c has 1 column, but a has 4",
        ),
        (">a\n" + "M" * 1001, "query, a: it has 1,001 letters; 1 to 1,000 are allowed."),
        (">a\n--\n", "query: a has no letters."),
    ],
)
def test_invalid_query_is_an_error(tmp_path, query, message):
    with pytest.raises(ToolError) as caught:
        search(tmp_path, query, ">t\nMKTAYIAK\n")
    assert str(caught.value).startswith(message)


@needs_pyhmmer
def test_profile_of_another_molecule_is_an_error(tmp_path):
    search(tmp_path, ">a\nMKTAYIAKQRQISFVKSHFSRQ", ">t\nMKTAYIAK")
    profile = (tmp_path / "profile.hmm").read_text()
    message = r"^query: the profile is not a DNA profile, as required by molecule\.$"
    with pytest.raises(ToolError, match=message):
        search(tmp_path, profile, ">t\nACGT", molecule="DNA")


@needs_pyhmmer
def test_too_large_search_is_an_error(tmp_path):
    targets = "".join(f">t{i}\n{'MK' * 5000}\n" for i in range(81))
    with pytest.raises(ToolError, match=r"^targets: their letters times the profile length 1000"):
        search(tmp_path, ">a\n" + "MKTAYIAKQR" * 100, targets)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"query": ">a\nMKV", "targets": ">t\nACGTACGTAC\n>u\nNNNACGTACGT"},
            "molecule: send it, DNA or protein, since the letters of targets are those of DNA.",
        ),
        ({"query": ">a\nMK1"}, "query, a: invalid amino acid '1' at 3"),
        ({"query": ">a\nACGE", "molecule": "DNA"}, "query, a: invalid DNA base 'E' at 4"),
        ({"targets": ">a\nM-K*\n>b\n\n"}, "targets: b has no letters."),
        ({"targets": ">a\n" + "M" * 20_001}, "targets, a: it has 20,001 letters; 1 to 20,000"),
        ({"evalue": 0}, "evalue: 0 is outside 1e-300 to 1000."),
        ({"inclusion": "much"}, "inclusion: a number is expected, not 'much'."),
        ({"molecule": "RNA"}, "molecule: 'RNA' is not one of protein, DNA."),
    ],
)
def test_invalid_setting_is_named(options, message):
    assert_setting_error(TOOL, {"query": "q.fasta", "targets": "t.fasta", **options}, message)
