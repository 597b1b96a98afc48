"""Archives: unpacked as they are, or not at all."""

from __future__ import annotations

import contextlib
import io
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labext.errors import ArchiveError
from labext.jobs import archives, merging
from labext.jobs.archives import Bounds

PART = st.text(st.characters(codec="utf-8", exclude_characters="/\\:\0"), min_size=1, max_size=8)
ANY_NAME = st.lists(PART | st.sampled_from(["..", ".", "", "C:", "/", "\\"]), min_size=1).map(
    "/".join
)


def packed(folder: Path, files: dict[str, bytes]) -> Path:
    path = folder / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return path


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return lambda: tmp_path_factory.mktemp("place")


@given(st.dictionaries(ANY_NAME, st.binary(), max_size=5))
@settings(max_examples=200, deadline=None)
def test_nothing_is_ever_written_outside(places: Any, files: dict[str, bytes]) -> None:
    place = places()
    into = place / "deep" / "into"
    into.mkdir(parents=True)
    archive = packed(place, files)
    try:
        found = archives.unpack(archive, into)
    except ArchiveError:
        found = None
    outside = [
        path for path in place.rglob("*") if path.is_file() and not path.is_relative_to(into)
    ]
    assert outside == [archive]
    if found is not None:
        for file in found:
            path = into / file.path
            assert path.resolve().is_relative_to(into.resolve())
            assert archives.file_of(path, file.path) == file


def test_files_come_out_as_they_went_in(tmp_path: Path) -> None:
    files = {"log.txt": b"x" * 3_000_000, "a/b/c.bin": os.urandom(5000), "a/empty": b""}
    archive = packed(tmp_path, files)
    into = tmp_path / "into"
    into.mkdir()
    assert archives.unpacked_size(archive) == sum(map(len, files.values()))
    found = archives.unpack(archive, into)
    assert {file.path: (into / file.path).read_bytes() for file in found} == files


@pytest.mark.parametrize(
    "bounds",
    [Bounds(files=2), Bounds(bytes=100), Bounds(ratio=10, free=1000)],
)
def test_bounds(tmp_path: Path, bounds: Bounds) -> None:
    archive = packed(tmp_path, {"a": bytes(50_000), "b": b"1", "c": b"2"})
    into = tmp_path / "into"
    into.mkdir()
    with pytest.raises(ArchiveError, match="not safe to unpack"):
        archives.unpack(archive, into, bounds)
    assert not list(into.iterdir())


@pytest.mark.parametrize(
    "pair",
    [("a.txt", "A.TXT"), ("é", "e\u0301"), ("x", "x."), ("a/x", "A/X"), ("x", "x/y"), ("x/y", "x")],
)
def test_names_that_are_one_on_some_disks(tmp_path: Path, pair: tuple[str, str]) -> None:
    archive = packed(tmp_path, dict.fromkeys(pair, b""))
    with archives.opened(archive) as whole, pytest.raises(ArchiveError):
        archives.members(whole)


def test_folders_may_be_named_again(tmp_path: Path) -> None:
    archive = packed(tmp_path, {"a/": b"", "a/b/": b"", "a/b/c": b"1", "a/d": b"2"})
    with archives.opened(archive) as whole:
        assert list(archives.members(whole)) == ["a/b/c", "a/d"]


@given(st.binary(max_size=300), st.integers(0, 10_000))
@settings(max_examples=200, deadline=None)
def test_damage_is_an_archive_error_or_no_damage(places: Any, noise: bytes, at: int) -> None:
    place = places()
    archive = packed(place, {"a.txt": b"hello " * 100, "b/c.txt": b"x"})
    content = bytearray(archive.read_bytes())
    at %= len(content)
    content[at : at + len(noise)] = noise
    archive.write_bytes(content)
    into = place / "into"
    into.mkdir()
    with contextlib.suppress(ArchiveError):
        for file in archives.unpack(archive, into):
            assert archives.file_of(into / file.path, file.path) == file


def test_an_encrypted_member_is_refused(tmp_path: Path) -> None:
    archive = packed(tmp_path, {"a.txt": b"hello"})
    content = bytearray(archive.read_bytes())
    for magic, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(magic) + offset] |= 1
    archive.write_bytes(content)
    (tmp_path / "into").mkdir()
    with pytest.raises(ArchiveError, match="encrypted"):
        archives.unpack(archive, tmp_path / "into")


@given(st.permutations(range(9)), st.integers(1, 8))
@settings(deadline=None)
def test_merged_metrics_are_in_the_inputs_order(order: list[int], cut: int) -> None:
    tables = {
        "b-part1of2": order[:cut],
        "b-part2of2": order[cut:],
    }
    parts = {
        part: ("job,n\n" + "".join(f"{part}-j{n},{n}\n" for n in jobs)).encode()
        for part, jobs in tables.items()
    }
    text = merging.metrics_of(parts, [f"j{n}" for n in range(9)])
    assert text == "job,n\n" + "".join(f"j{n},{n}\n" for n in range(9))


def test_merged_metrics_keep_every_cell() -> None:
    text = merging.metrics_of(
        {
            "b-part1of2": '\ufeffscore,Name,note\n1e-300,x,"a,""b""\n"\n'.encode(),
            "b-part2of2": b"Name,energy\ny,0.1\n\nz\n",
        },
        ["x", "y", "z"],
    )
    assert text == 'score,Name,note,energy\n1e-300,x,"a,""b""\n",\n,y,,0.1\n,z,,\n'
    assert merging.metrics_of({"p": b""}, []) == ""
    with pytest.raises(ArchiveError, match="no table"):
        merging.metrics_of({"p": b"\xff\xfe"}, [])


def test_merging_keeps_bytes(tmp_path: Path) -> None:
    content = os.urandom(3_000_000)
    first, second = tmp_path / "1.zip", tmp_path / "2.zip"
    for path, name in ((first, "p1/x/a.bin"), (second, "y/a.bin")):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(name, content)
    target = tmp_path / "whole.zip"
    merging.merge({"p1": first, "p2": second}, target, ["x", "y"])
    with zipfile.ZipFile(io.BytesIO(target.read_bytes())) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["x/a.bin", "y/a.bin"]
        assert archive.read("x/a.bin") == content
