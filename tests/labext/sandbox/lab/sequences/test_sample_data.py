"""`--sequences N` fills `campus` with fragments and point mutants of the real sequences."""

from __future__ import annotations

import re

import pytest
from Bio.Seq import Seq
from sqlalchemy import delete, func, select

from labext.sandbox.lab.sample_data import FRAGMENT_LENGTH, GENERATED_FOLDER
from labext.sandbox.lab.tables import Folder, Sequence

EITHER = {"archiveReason": "ANY_ARCHIVED_OR_NOT_ARCHIVED"}


@pytest.fixture(scope="module")
def filled(copied, lists_of):
    """A platform that was filled to 400 sequences."""
    return lists_of(copied(sequences=400))


@pytest.fixture(scope="module")
def samples(filled):
    return filled.all({"folderId": filled.folder_ids[GENERATED_FOLDER]})


def total(lists):
    return lists.page(EITHER)[2]


def test_folder_is_filled_to_the_given_number(start, lists_of):
    for number, expected in ((None, 113), (120, 120), (120, 120), (114, 120), (131, 131), (0, 131)):
        assert total(lists_of(start(sequences=number))) == expected


def test_existing_sequences_are_unchanged(start, lists_of):
    before = lists_of(start(sequences=130)).all(EITHER)
    after = lists_of(start(sequences=200)).all(EITHER)
    known = {record["id"] for record in before}
    assert [record for record in after if record["id"] in known] == before


def test_sample_data_are_deterministic(samples, start, lists_of):
    lists = lists_of(start(sequences=150))
    first = lists.all({"folderId": lists.folder_ids[GENERATED_FOLDER], "sort": "createdAt:asc"})
    second = sorted(samples, key=lambda record: record["createdAt"])[: len(first)]
    assert first == second


def test_removed_samples_are_filled_first(start, lists_of):
    lists = lists_of(start(sequences=150))
    removed = lists.all({"folderId": lists.folder_ids[GENERATED_FOLDER]})[5:9]
    with lists.site.database.write() as session:
        ids = [record["id"] for record in removed]
        session.execute(delete(Sequence).where(Sequence.id.in_(ids)))
    again = lists_of(start(sequences=150))
    assert again.all({"ids": ",".join(record["id"] for record in removed)}) == removed


def test_missing_folder_is_not_filled(start, lists_of):
    lists = lists_of(start())
    with lists.site.database.write() as session:
        session.delete(session.get_one(Folder, lists.folder_ids[GENERATED_FOLDER]))
    assert total(lists_of(start(sequences=500))) == 113


def test_fill_spans_several_transactions(monkeypatch, start, lists_of):
    monkeypatch.setattr("labext.sandbox.lab.sample_data._INSERT_BATCH_SIZE", 7)
    lists = lists_of(start(sequences=150))
    assert total(lists) == 150
    with lists.site.database.read() as session:
        assert session.scalar(select(func.count(Sequence.id.distinct()))) == 152  # 2 at clinic


def test_seeded_sequences_lead_the_list(filled):
    assert filled.page()[0][0]["name"] == "pBAD30"
    assert not {GENERATED_FOLDER} & {record["folderId"] for record in filled.page()[0]}


def mutated(bases, mutations):
    """Return the bases after substitutions in the notation `A17G`."""
    for mutation in mutations:
        before, place, after = re.fullmatch(r"([A-Z])(\d+)([ACGT])", mutation).groups()
        assert bases[int(place) - 1].upper() == before != after
        bases = f"{bases[: int(place) - 1]}{after}{bases[int(place) :]}"
    return bases


def test_sample_is_a_fragment_or_mutant_of_a_seeded_sequence(filled, samples):
    sources = {record["id"]: record for record in filled.all()}
    assert len(samples) == 287
    mutants, names = 0, set()
    for record in samples:
        (part,) = record["parts"]
        source = sources[part["sequenceId"]]
        assert record["length"] == FRAGMENT_LENGTH == part["end"]
        fields = {name: field["value"] for name, field in record["fields"].items()}
        assert fields["Source"] == source["name"]
        around = source["bases"] * (1 + source["isCircular"])
        first = fields["First base"] - 1
        expected = mutated(around[first : first + FRAGMENT_LENGTH], fields["Mutations"])
        assert record["bases"].upper() == expected.upper()
        assert record["name"].split(" from ")[1].split()[:-1] == [
            str(first + 1),
            *fields["Mutations"],
        ]
        names.add(record["name"])
        mutants += bool(fields["Mutations"])
    assert mutants == 143
    assert len(names) == 287, "none is called like another"


def test_annotations_of_samples_are_correct(filled, samples):
    sources = {record["id"]: record for record in filled.all()}
    marks = 0
    for record in samples:
        source = sources[record["parts"][0]["sequenceId"]]
        names = {(mark["type"], mark["name"]) for mark in source["annotations"]}
        for mark in record["annotations"]:
            assert (mark["type"], mark["name"]) in names
            assert 0 <= mark["start"] < mark["end"] <= FRAGMENT_LENGTH
            marks += 1
        for primer in record["primers"]:
            binding_site = Seq(record["bases"][primer["start"] : primer["end"]])
            assert primer["bases"] in (str(binding_site), str(binding_site.reverse_complement()))
        for protein in record["translations"]:
            read = "".join(record["bases"][r["start"] : r["end"]] for r in protein["regions"])
            read = Seq(read) if protein["strand"] == 1 else Seq(read).reverse_complement()
            assert protein["aminoAcids"][1:] == str(read.translate(11))[1:].removesuffix("*")
    assert marks > 50
