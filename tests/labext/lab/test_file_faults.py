"""Files of sequences: existing files, failed writes, and what is refused."""

from __future__ import annotations

import errno
import gzip
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from Bio import BiopythonWarning
from sequence_records import PLASMID, PRIMER

from labext.errors import ConflictError, InputError, LabextError, NotFoundError, StorageError
from labext.lab import files
from labext.lab.files import features


def refused(error: type[LabextError], *arguments: Any, **options: Any) -> str:
    with pytest.raises(error) as caught:
        files.write(*arguments, **options)
    assert caught.value.next_step
    return caught.value.message


def test_existing_file_is_replaced_with_overwrite_only(tmp_path: Path) -> None:
    path = tmp_path / "a.fa"
    path.write_text("mine")
    with pytest.raises(ConflictError, match="already exists") as caught:
        files.write([PRIMER], path)
    assert "overwrite=True" in caught.value.next_step
    assert path.read_text() == "mine"
    files.write([PRIMER], path, overwrite=True, whole=True)
    assert files.read(path) == [PRIMER]


@pytest.mark.parametrize("name", ["a.fa", "a.gb"])
def test_identical_content_does_not_rewrite_the_file(name: str, tmp_path: Path) -> None:
    path = files.write([PLASMID], tmp_path / name)
    before = path.stat()
    files.write([PLASMID], path)
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_overwrite_renews_a_file_with_other_locations_of_the_same_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An export of labext 0.1 has no exons, but the same record in its comment."""
    gene = {"name": "kin2", "type": "CDS", "start": 10, "end": 60, "strand": 1}
    regions = [{"start": 10, "end": 25}, {"start": 40, "end": 60}]
    translation = gene | {"regions": regions, "aminoAcids": ""}
    record = {
        "name": "g",
        "bases": "ACGT" * 25,
        "annotations": [gene],
        "translations": [translation],
    }
    to_feature = features.to_feature
    with monkeypatch.context() as patch:
        patch.setattr(
            features,
            "to_feature",
            lambda mark, size, _, proteins, **b: to_feature(mark, size, [], proteins, **b),
        )
        path = files.write(record, tmp_path / "g.gb")
    assert "11..60" in files.write(record, path).read_text()
    assert "join(11..25,41..60)" in files.write(record, path, overwrite=True).read_text()


@pytest.mark.parametrize(("name", "whole"), [("a.fa", True), ("a.gb", False)])
def test_other_platform_port_does_not_change_the_file(
    name: str, whole: bool, tmp_path: Path
) -> None:
    def at(port: int, **changed: Any) -> dict[str, Any]:
        return PLASMID | {"apiURL": f"https://localhost:{port}/api/v2/dna-sequences/x"} | changed

    path = files.write([at(20_001)], tmp_path / name, whole=whole)
    before = path.read_text()
    assert files.write([at(20_002)], path, whole=whole).read_text() == before
    with pytest.raises(ConflictError):
        files.write([at(20_002, aliases=["another"])], path, whole=whole)
    other = "fasta" if name == "a.gb" else "genbank"
    with pytest.raises(ConflictError):
        files.write([at(20_001)], path, format=other, whole=True)


def test_failed_write_keeps_the_existing_file(tmp_path: Path) -> None:
    path = tmp_path / "a.fa"
    files.write([PRIMER], path, whole=True)
    for bad in ([PRIMER, {"name": "b"}], [PRIMER, PRIMER]):
        refused(InputError, bad, path, overwrite=True)
    assert files.read(path) == [PRIMER]
    assert [path.name for path in tmp_path.iterdir()] == ["a.fa"]


def test_unwritable_folder_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused(StorageError, [PRIMER], tmp_path / "file" / "a.fa")
    message = refused(StorageError, [PRIMER], Path("/proc/a.fa"))
    assert message.startswith("/proc/a.fa can't be written")


@pytest.mark.parametrize("code", [errno.EINVAL, errno.EBADF, errno.ENOTSUP])
def test_network_drive_that_can_not_sync_folders_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    sync = os.fsync

    def refuse_folders(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(code, os.strerror(code))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", refuse_folders)
    assert files.read(files.write([PRIMER], tmp_path / "a.fa", whole=True)) == [PRIMER]


def test_error_of_a_read_only_file_system_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Any, *_: Any, **__: Any) -> Any:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(os, "unlink", refuse)
    message = refused(StorageError, [PRIMER], tmp_path / "a.fa")
    assert message == f"{tmp_path / 'a.fa'} can't be written (Read-only file system)."


@pytest.mark.parametrize("bases", [None, "", float("nan"), pd.NA])
def test_rows_without_bases_are_reported(bases: Any, tmp_path: Path) -> None:
    rows = [PRIMER, {"name": "empty", "bases": bases}, {"bases": bases}]
    message = refused(InputError, rows, tmp_path / "a.fa")
    assert message == "Sequences without bases: empty, row 2."
    message = refused(InputError, pd.DataFrame(rows), tmp_path / "a.fa")
    assert message == "Sequences without bases: empty, row 2."


@pytest.mark.parametrize("column", ["name", "bases"])
def test_missing_column_is_reported(column: str, tmp_path: Path) -> None:
    table = pd.DataFrame([PRIMER]).drop(columns=column)
    assert f'"{column}"' in refused(InputError, table, tmp_path / "a.fa")


def test_duplicate_names_are_reported_with_ids(tmp_path: Path) -> None:
    rows = [PRIMER | {"id": name} for name in ("seq_1", "seq_2")] + [PLASMID]
    message = refused(ConflictError, rows, tmp_path / "a.gb")
    assert "primer (seq_1, seq_2)" in message
    assert str(PLASMID["name"]) not in message


@pytest.mark.parametrize("bases", ["ACGT ACGT", "AC\n>b", "1 acgt", "ACGÜ"])
def test_invalid_base_is_refused(bases: str, tmp_path: Path) -> None:
    assert "is not a base" in refused(InputError, {"name": "a", "bases": bases}, tmp_path / "a.fa")


def test_id_replaces_a_missing_name(tmp_path: Path) -> None:
    row = {"id": "seq_9", "bases": "ACGT"}
    assert files.read(files.write(row, tmp_path / "a.fa", whole=True)) == [row]
    message = refused(InputError, [row, {"bases": "ACGT"}], tmp_path / "b.fa")
    assert message == "Sequences without a name: row 1."


def test_empty_list_and_unknown_format_are_refused(tmp_path: Path) -> None:
    refused(InputError, [], tmp_path / "a.fa")
    assert "format" in refused(InputError, [PRIMER], tmp_path / "a.txt")
    assert "embl" in refused(InputError, [PRIMER], tmp_path / "a.gb", format="embl")


@pytest.mark.parametrize("kind", [None, "fasta"])
def test_uncompressed_file_is_not_named_gz(kind: Any, tmp_path: Path) -> None:
    message = refused(InputError, [PRIMER], tmp_path / "a.fa.gz", format=kind)
    assert message == "Files are written uncompressed."
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("suffix", ["fa", "gb"])
def test_gzipped_and_utf_16_files_are_read(encoding: str, suffix: str, tmp_path: Path) -> None:
    path = files.write([PLASMID, PRIMER], tmp_path / f"a.{suffix}", whole=True)
    encoded = path.read_text().encode(encoding)
    for content in (encoded, gzip.compress(encoded)):
        path.write_bytes(content)
        assert files.read(path) == [PLASMID, PRIMER]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gzip.compress(b">a\nACGT\n", mtime=0)[:-9], "can't be unpacked by gzip"),
        (b"\x1f\x8b and no more", "can't be unpacked by gzip"),
        (b"PK\x03\x04\x00\x00", "is not a text file"),
    ],
)
def test_damaged_and_binary_files_are_refused(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.fa.gz").write_bytes(content)
    with pytest.raises(InputError, match=rf"a\.fa\.gz {message}\.") as raised:
        files.read(tmp_path / "a.fa.gz")
    assert "FASTA" in raised.value.next_step


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (">a\nACGT\n", None),
        ("\n  >a\nAC?T\n", None),
        (">a\n;comment\nACGT\n", 'a: ";" is not a base'),
        (">b\n  1 acgt acgt\n 61 ac\n", 'b: "1" is not a base'),
        (">P1;CRAB\nALPHA CRYSTALLIN CHAIN\n  MDITIHNPLI\n*\n", "contains no sequences"),
        (">DL;X1\nCAT BAND DNA\nACGT*\n\n>DL;X2\n\nAC*\n", "contains no sequences"),
        (">N1;size=5\nACGT\n", None),
    ],
)
def test_lines_above_and_beside_the_bases_are_refused(
    text: str, message: str | None, tmp_path: Path
) -> None:
    (tmp_path / "a.fa").write_text(text)
    if message is None:
        assert files.read(tmp_path / "a.fa")[0]["length"] == 4
    else:
        with pytest.raises(InputError, match=message):
            files.read(tmp_path / "a.fa")


def test_unreadable_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="There is no file"):
        files.read(tmp_path / "nothing.gb")
    with pytest.raises(InputError, match="can't be read"):
        files.read(tmp_path)
    for text in ("", "hello"):
        (tmp_path / "odd").write_text(text)
        with pytest.raises(InputError, match="contains no sequences"):
            files.read(tmp_path / "odd")
    (tmp_path / "odd").write_text("LOCUS       x  no GenBank at all\nFEATURES\nORIGIN\n")
    with pytest.raises(InputError):
        files.read(tmp_path / "odd")


def test_file_mode_follows_the_umask(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    written = files.write([PRIMER], tmp_path / "a.fa").stat().st_mode
    assert stat.S_IMODE(written) == stat.S_IMODE((tmp_path / "mine").stat().st_mode)


WITHOUT_BIOPYTHON = """
import sys
sys.modules["Bio"] = None
from labext.errors import SetupError
from labext.lab import files
record = {"name": "a", "bases": "ACGT"}
assert files.read(files.write(record, "a.fa", whole=True)) == [record]
for act in (lambda: files.write(record, "a.gb"), lambda: files.read("b.gb")):
    try:
        act()
    except SetupError as error:
        print(error)
"""


def test_genbank_without_biopython_names_the_package(tmp_path: Path) -> None:
    (tmp_path / "b.gb").write_text("LOCUS       a 4 bp DNA linear\n")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_BIOPYTHON],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    assert all('pip install "labext-jupyter[lab]"' in line for line in lines)
    assert not (tmp_path / "a.gb").exists()


def test_names_may_be_numbers(tmp_path: Path) -> None:
    for numbers in ([7, 8], [7.0, 8.0], pd.array([7, 8], dtype="Int64")):
        frame = pd.DataFrame({"name": numbers, "bases": ["ACGT", "GG"]})
        path = files.write(frame, tmp_path / "a.fa", overwrite=True)
        assert path.read_text() == ">7\nACGT\n>8\nGG\n"
    message = refused(InputError, pd.DataFrame({"name": [np.nan], "bases": ["A"]}), path)
    assert message == "Sequences without a name: row 0."


@pytest.mark.parametrize("true", [1, 1.0, np.True_, "True", "TRUE", "true"])
def test_topology_may_be_a_number_or_a_text(true: Any, tmp_path: Path) -> None:
    """SQLite stores booleans as numbers, `pd.read_csv(…, dtype=str)` reads them as texts."""
    path = files.write({"name": "p", "bases": "ACGT", "isCircular": true}, tmp_path / "p.gb")
    assert files.read(path)[0]["isCircular"] is True
    assert "circular" in path.read_text().splitlines()[0]


def test_genbank_file_that_is_cut_off_is_read_with_a_warning(tmp_path: Path) -> None:
    path = files.write({"name": "p", "bases": "ACGT" * 100}, tmp_path / "p.gb")
    path.write_text(path.read_text()[:-100])
    with pytest.warns(BiopythonWarning, match="Expected sequence length 400, found"):
        files.read(path)
    files.write({"name": "p", "bases": "ACGT" * 100}, path, overwrite=True)


def test_genbank_record_without_bases_is_named(tmp_path: Path) -> None:
    text = files.write({"name": "ctg", "bases": "ACGT"}, tmp_path / "c.gb").read_text()
    contig = text.partition("ORIGIN")[0] + "CONTIG      join(AB000001.1:1..4)\n//\n"
    (tmp_path / "c.gb").write_text(contig)
    with pytest.raises(InputError, match="ctg has no bases"):
        files.read(tmp_path / "c.gb")
