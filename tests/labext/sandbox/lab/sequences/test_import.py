"""Sequence files are imported completely or refused with a one-line error (LAB-185 to LAB-187)."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from Bio import SeqIO
from Bio.Seq import Seq
from Bio.SeqFeature import SeqFeature, SimpleLocation
from Bio.SeqRecord import SeqRecord
from hypothesis import given
from hypothesis import strategies as st

from labext.errors import InputError
from labext.lab import files
from labext.sandbox.lab import sample_data, tables
from labext.sandbox.lab.sequences import importing
from labext.sandbox.lab.sequences.importing import add_sequences
from labext.sandbox.lab.tables import Folder, User

FASTA = ">one\tfirst of all \nACGT\nacgtn\n\n > two\nRYKMSWBDHVN\n"
GENBANK = (sample_data.DATA_FOLDER / "pBAD30.gb").read_bytes()
CONTIG = """LOCUS       EMPTY                    100 bp    DNA     linear   UNK 01-JAN-2020
DEFINITION  No bases.
CONTIG      join(AB000001.1:1..100)
//
"""


def genbank(name="part", bases="ACGTACGT", kind="DNA", features=()):
    """Return a record in the format that Biopython writes."""
    record = SeqRecord(Seq(bases), id="X1", name=name, annotations={"molecule_type": kind})
    record.features = [SeqFeature(SimpleLocation(a, b, 1), type="CDS") for a, b in features]
    return record.format("genbank")


@pytest.fixture
def put(own_lists, tmp_path):
    """Import a file with this content into a folder; return the response."""

    def imported(content, name="file.txt", folder="Digests"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        with own_lists.site.database.write() as session:
            creator = session.get_one(User, tables.stable_identifier("ent", "campus", "guest"))
            target = session.get_one(Folder, own_lists.folder_ids[folder])
            return add_sequences(session, target, importing.read_sequences(path), creator)

    return imported


def test_fasta_file_is_imported(own_lists, put):
    imported = put(FASTA)
    assert [{**record, "id": ""} for record in imported] == [
        {"id": "", "name": "one", "length": 9, "isCircular": False},
        {"id": "", "name": "two", "length": 11, "isCircular": False},
    ]
    first, second, *_ = own_lists.all()  # the latest, in the file's order
    assert [first["id"], second["id"]] == [record["id"] for record in imported]
    assert first["bases"] == "ACGTacgtn"
    assert first["customFields"] == {"Description": {"value": "first of all"}}
    assert first["creator"]["handle"] == "guest"
    assert first["folderId"] == own_lists.folder_ids["Digests"]
    assert first["schema"] is None
    assert first["fields"] == {}


@pytest.mark.parametrize("name", ["pBAD30.gb", "pBAD30.gb.gz", "no-extension"])
def test_genbank_file_is_imported(own_lists, put, name):
    (imported,) = put(gzip.compress(GENBANK) if name.endswith("gz") else GENBANK, name)
    seeded, mine = own_lists.all({"name": "pBAD30", "sort": "createdAt:asc"})
    assert mine["id"] == imported["id"] != seeded["id"]  # names need not be unique
    for field in ("bases", "annotations", "translations", "isCircular"):
        assert mine[field] == seeded[field]


def test_line_endings_and_byte_order_mark_are_ignored(own_lists, put):
    (imported,) = put(b"\xef\xbb\xbf\r\n>one\r\nAC GT\r\nAC\r\n")
    assert imported["length"] == 6
    assert own_lists.all({"ids": imported["id"]})[0]["bases"] == "ACGTAC"


@pytest.mark.parametrize(
    ("rest", "circular"),
    [
        ("DNA circular", True),
        ("ds-DNA     circular     29-OCT-2019", True),  # as ApE writes it
        ("ds-DNA     linear       29-OCT-2019", False),
        ("DNA     circular SYN 29-OCT-2019", True),
        ("DNA     circular BCT", True),
        ("DNA   CIRCULAR SYN       29-OCT-2019", True),
        ("circular SYN 29-OCT-2019", True),
        ("DNA circular 29-OCT-19", True),
    ],
)
def test_topology_is_read_without_a_division(tmp_path, rest, circular):
    path = tmp_path / "ape.gb"
    path.write_text(f"LOCUS       pUC19   12 bp {rest}\nORIGIN\n        1 acgtacgtac gt\n//\n")
    (entry,) = importing.read_sequences(path)
    (record,) = files.read(path)
    assert entry.circular is record["isCircular"] is circular
    assert entry.name == record["name"] == "pUC19"


@pytest.mark.parametrize(
    ("start", "name"),
    [
        ("NODE_2_length_273755_cov_32.4120 bp   DNA", "NODE_2_length_273755_cov_32.4"),
        ("gnl|Prokka|PROKKA_contig000120120 bp    DNA", "gnl|Prokka|PROKKA_contig000120"),
    ],
)
@pytest.mark.parametrize("end", ["circular       20-JAN-2015", "circular BCT 20-JAN-2015"])
def test_length_that_prokka_joins_to_a_long_name_is_read(tmp_path, start, name, end):
    record = genbank(bases="ACGT" * 30)
    path = tmp_path / "prokka.gbk"
    path.write_text(record + re.sub("LOCUS.*", f"LOCUS       {start}     {end}", record))
    _, entry = importing.read_sequences(path)
    assert (entry.name, len(entry.bases), entry.circular) == (name, 120, True)
    assert files.read(path)[1]["isCircular"] is True


def test_spaces_in_the_name_of_a_record_become_underscores(tmp_path):
    path = tmp_path / "a.gb"
    text = GENBANK.decode()
    path.write_text(re.sub("LOCUS +pBAD30", "LOCUS       my pBAD30 copy", text))
    (entry,) = importing.read_sequences(path)
    assert (entry.name, entry.circular) == ("my_pBAD30_copy", True)
    assert files.read(path)[0]["name"] == "my_pBAD30_copy"


@pytest.mark.parametrize("end", ["PLN 29-OCT-2019", "29-OCT-2019", ""])
@pytest.mark.parametrize("kind", ["DNA", "mRNA", "ss-DNA", "ds-RNA", "tRNA"])
def test_kind_of_molecule_is_kept(tmp_path, kind, end):
    text = f"LOCUS       NM_1   12 bp {kind}   linear   {end}\nDEFINITION  A gene.\n"
    (tmp_path / "m.gb").write_text(f"{text}ORIGIN\n        1 acgtacgtac gt\n//\n")
    (entry,) = importing.read_sequences(tmp_path / "m.gb")
    assert entry.custom == {"Definition": "A gene", "Molecule type": kind}


@pytest.mark.parametrize("file", ["pUC19 v1.2.gb", "pUC19 v1.2.gb.gz"])
def test_export_of_snapgene_is_named_after_its_file(tmp_path, file):
    text = SNAPGENE.encode()
    (tmp_path / file).write_bytes(gzip.compress(text) if file.endswith("gz") else text)
    (entry,) = importing.read_sequences(tmp_path / file)
    (record,) = files.read(tmp_path / file)
    assert entry.name == record["name"] == record["id"] == "pUC19 v1.2"
    own = files.write(record | {"name": "Exported", "x": 1}, tmp_path / "own.gb")
    assert files.read(own)[0]["name"] == "Exported", "a name that labext wrote is kept"


SNAPGENE = """\
LOCUS       Exported                  12 bp ds-DNA     circular SYN 29-OCT-2019
DEFINITION  synthetic circular DNA
ACCESSION   .
VERSION     .
ORIGIN
        1 acgtacgtac gt
//
"""


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "latin-1"])
def test_encodings_of_windows_are_read(tmp_path, encoding):
    path = tmp_path / "windows.fa"
    path.write_bytes(">one caf\xe9\r\nACGT\r\n".encode(encoding))
    for content in (path.read_bytes(), gzip.compress(path.read_bytes())):
        path.write_bytes(content)
        (entry,) = importing.read_sequences(path)
        assert (entry.name, entry.bases) == ("one", "ACGT")
        assert entry.custom == {"Description": "caf\xe9"}


@pytest.mark.parametrize("break_", ["\x85", "\u2028", "\x0b"])  # \x85 is … in Windows-1252
def test_header_ends_at_the_end_of_its_line_only(tmp_path, break_):
    path = tmp_path / "a.fa"
    path.write_bytes(f">a the{break_} tag\rACGT\r".encode())
    (entry,) = importing.read_sequences(path)
    assert (entry.name, entry.bases, *entry.custom.values()) == ("a", "ACGT", f"the{break_} tag")


def test_region_of_a_record_is_no_alias(tmp_path):
    """The NCBI writes it for a part of a record."""
    text = genbank().replace("X1", "NC_1 AB_2 REGION: complement(5..12)", 1)
    (tmp_path / "a.gb").write_text(text)
    (entry,) = importing.read_sequences(tmp_path / "a.gb")
    assert entry.aliases == ["NC_1", "AB_2"]
    assert entry.custom["Accession"] == "NC_1"


def test_genbank_file_of_an_old_mac_is_imported(tmp_path):
    path = tmp_path / "a.gb"
    path.write_bytes(GENBANK.replace(b"\n", b"\r"))
    (entry,) = importing.read_sequences(path)
    assert len(entry.bases) == 4923


LOCATIONS = [
    "3..9",
    "complement(<2..>8)",
    "(2.4)..9",
    "join(1..4,8..12)",
    "complement(join(<1..4,8..12))",
    "order(2..4,8..9)",
    "join(2..4,complement(8..9))",
    "5^6",
    "join(12..16,1..4)",
    "complement(join(12..16,1..4))",
    "12",
]


def test_exported_sequence_keeps_its_features(own_lists, put, tmp_path):
    """It goes through the platform and a file, twice."""
    lines = [
        line
        for number, location in enumerate(LOCATIONS)
        for line in (
            f"     misc_feature    {location}",
            f'{" " * 21}/label="f{number}"',
            f'{" " * 21}/ApEinfo_fwdcolor="#12abcd"',
        )
    ]
    empty = genbank(bases="ACGT" * 4).replace("linear  ", "circular")
    text = re.sub("(FEATURES.*)", lambda line: "\n".join([line[1], *lines]), empty)
    for _ in range(2):
        put(text)
        record = own_lists.all()[0]
        text = files.write(record, tmp_path / "own.gb", overwrite=True).read_text()
        assert re.findall("     misc_feature    (.*)", text) == LOCATIONS
        for mark, location in zip(record["annotations"], LOCATIONS, strict=True):
            assert mark["color"] == "#12ABCD"
            assert mark["customFields"] in (
                [{"name": "label", "value": mark["name"]}, {"name": "location", "value": location}],
                [{"name": "label", "value": mark["name"]}],
            )


BAD = {
    "blanks": (" \n\n", "file.txt is empty."),
    "a table": ("name,bases\none,ACGT\n", "file.txt is neither FASTA nor GenBank."),
    "a picture": (b"\x89PNG\r\n\x1a\n\xff\x00", "file.txt is not a text file."),
    "a broken archive": (gzip.compress(FASTA.encode())[:-9], "file.txt can't be unpacked by gzip."),
    "no archive": (b"\x1f\x8b and no more", "file.txt can't be unpacked by gzip."),
    "gaps": ("\n >a\nACGT\nAC--GT\n", 'file.txt, line 4: "-" is not a base.'),
    "a protein": (">a\nACGT\n>b\nMKLV\n", 'file.txt, line 4: "L" is not a base.'),
    "no bases": (">a\nACGT\n>b\n>c\nACGT\n", "file.txt, line 3: the bases are missing."),
    "no bases at the end": (">a\nACGT\n>b", "file.txt, line 3: the bases are missing."),
    "no name": (">a\nACGT\n> \nACGT\n", "file.txt, line 3: the name is missing."),
    "a long name": (f">{'n' * 256}\nACGT\n", "file.txt, line 1: the name "),
    "a name that does not show": (">a\x07b\nACGT\n", "file.txt, line 1: the name "),
    "a record without its bases": (CONTIG, "file.txt, record 1 (EMPTY): the bases are missing."),
    "a GenBank protein": (
        genbank("good") + genbank("prot", "MKLVEE", "protein"),
        'file.txt, record 2 (prot): "L" is not a base.',
    ),
    "a feature outside": (
        genbank(features=[(2, 50)]),
        "file.txt, record 1 (part): a feature (CDS) lies outside the sequence of 8 bases.",
    ),
    "a record cut off": (GENBANK[:1500], "file.txt, record 1"),
    "a record cut off in its bases": (GENBANK[:5000], "file.txt, record 1"),
    "a record with fewer bases than it tells": (
        genbank(bases="ACGTACGT").replace(" 8 bp", "80 bp"),
        "file.txt, record 1: Expected sequence length 80, found 8",
    ),
    "LOCUS alone": ("LOCUS", "file.txt contains no sequence."),
}


@pytest.mark.parametrize(("content", "words"), BAD.values(), ids=[*BAD])
def test_invalid_file_is_refused_and_nothing_is_added(own_lists, put, content, words):
    before = own_lists.page()
    with pytest.raises(InputError) as caught:
        put(content)
    assert caught.value.message.startswith(words)
    assert "\n" not in caught.value.message
    assert caught.value.next_step
    assert own_lists.page() == before


def test_missing_file_and_folder_are_refused(tmp_path):
    for path in (tmp_path / "nothing.fa", tmp_path, Path()):
        with pytest.raises(InputError, match=f"^{re.escape(str(path))} can't be read"):
            importing.read_sequences(path)


def test_compressed_file_above_the_size_limit_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(importing, "MAX_FILE_BYTES", 1_000_000)
    path = tmp_path / "bomb.fa.gz"
    path.write_bytes(gzip.compress(b">a\n" + b"A" * (8 << 20)))
    with pytest.raises(InputError, match="larger than 1 MB"):
        importing.read_sequences(path)


NAMES = st.text(
    st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=20
).filter(str.isprintable)
BASES = st.text(importing.IUPAC_LETTERS + importing.IUPAC_LETTERS.lower(), min_size=1)
RECORDS = st.lists(st.tuples(NAMES, BASES), min_size=1)


@given(RECORDS)
def test_fasta_written_by_biopython_round_trips(tmp_path_factory, records):
    path = tmp_path_factory.mktemp("fasta") / "some.fa"
    written = [SeqRecord(Seq(bases), id=name, description="") for name, bases in records]
    SeqIO.write(written, path, "fasta")
    assert [(entry.name, entry.bases) for entry in importing.read_sequences(path)] == records
