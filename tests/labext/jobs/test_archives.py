"""Archives are unpacked within bounds and never outside the target folder."""

from __future__ import annotations

import contextlib
import copy
import io
import os
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.errors import ArchiveError
from labext.jobs.results import archives
from labext.jobs.results.archives import ArchiveBounds

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
def test_members_are_never_written_outside_the_folder(places: Any, files: dict[str, bytes]) -> None:
    place = places()
    into = place / "deep" / "into"
    into.mkdir(parents=True)
    archive = packed(place, files)
    try:
        unpacked = archives.unpack_archive(archive, into)
    except ArchiveError:
        unpacked = None
    outside = [
        path for path in place.rglob("*") if path.is_file() and not path.is_relative_to(into)
    ]
    assert outside == [archive]
    if unpacked is not None:
        for file in unpacked:
            path = into / file.path
            assert path.resolve().is_relative_to(into.resolve())
            assert archives.describe_file(path, file.path) == file


@pytest.fixture
def into(tmp_path: Path) -> Path:
    """An empty folder for unpacked files."""
    folder = tmp_path / "into"
    folder.mkdir()
    return folder


def test_unpacked_files_equal_the_packed_ones(tmp_path: Path, into: Path) -> None:
    files = {"log.txt": b"x" * 3_000_000, "a/b/c.bin": os.urandom(5000), "a/empty": b""}
    archive = packed(tmp_path, files)
    assert archives.unpacked_size(archive) == sum(map(len, files.values()))
    unpacked = archives.unpack_archive(archive, into)
    assert {file.path: (into / file.path).read_bytes() for file in unpacked} == files


@pytest.mark.parametrize("bounds", [ArchiveBounds(bytes=100), ArchiveBounds(ratio=10, free=1000)])
def test_archive_beyond_its_bounds_is_refused(
    tmp_path: Path, into: Path, bounds: ArchiveBounds
) -> None:
    archive = packed(tmp_path, {"a": bytes(50_000), "b": b"1", "c": b"2"})
    with pytest.raises(ArchiveError, match="not safe to unpack"):
        archives.unpack_archive(archive, into, bounds)
    assert not list(into.iterdir())


@pytest.mark.parametrize(
    "pair",
    [("a.txt", "A.TXT"), ("é", "e\u0301"), ("x", "x."), ("a/x", "A/X"), ("x", "x/y"), ("x/y", "x")],
)
def test_names_equal_on_some_file_systems_are_refused(
    tmp_path: Path, pair: tuple[str, str]
) -> None:
    archive = packed(tmp_path, dict.fromkeys(pair, b""))
    with archives.open_archive(archive) as whole, pytest.raises(ArchiveError):
        archives.list_members(whole)


TRAVERSAL = ["../x", "a/../../x", "/etc/x", "\\\\host\\x", "..\\x", "C:x", "c:/x", "a/..", "//x"]
STEERING = ["a\nb", "a\x1b[2Jb", "a\x9b2Jb", "a\u202efdp.exe", "a\u2028b", "a\x7fb", "a\u2067b"]


@pytest.mark.parametrize("name", [*TRAVERSAL, *STEERING])
def test_traversal_and_control_characters_in_names_are_refused(
    tmp_path: Path, into: Path, name: str
) -> None:
    archive = packed(tmp_path, {"fine.txt": b"x", name: b"x"})
    with pytest.raises(ArchiveError) as raised:
        archives.unpack_archive(archive, into)
    assert not any(character in str(raised.value) for character in "\n\x1b\x9b\u202e\u2028\u2067")
    assert not list(into.iterdir())


@pytest.mark.parametrize("name", ["CON", "a/LPT³.log", "ab:stream", "a./b", "a /b", 'x".csv'])
def test_reserved_names_are_refused_on_windows(
    tmp_path: Path, into: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = packed(tmp_path, {name: b"x", "console/nullable.com": b"y"})
    monkeypatch.setattr(archives, "_WINDOWS", True)
    with pytest.raises(ArchiveError, match="Windows"):
        archives.unpack_archive(archive, into)
    monkeypatch.setattr(archives, "_WINDOWS", False)
    assert len(archives.unpack_archive(archive, into)) == 2


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO])
def test_links_and_devices_are_refused(tmp_path: Path, into: Path, kind: int) -> None:
    path, info = tmp_path / "a.zip", zipfile.ZipInfo("passwd")
    info.external_attr = (kind | 0o777) << 16
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(ArchiveError, match="link or a device"):
        archives.unpack_archive(path, into)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_duplicate_names_are_refused(tmp_path: Path, into: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "one")
        archive.writestr("a.txt", "two")
    with pytest.raises(ArchiveError, match="differs from another name"):
        archives.unpack_archive(path, into)


def test_overlapping_members_are_refused(tmp_path: Path) -> None:
    """A zip bomb whose central directory refers to the same compressed bytes many times."""
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("0", os.urandom(1000))
        first = archive.infolist()[0]
        for number in range(1, 50):
            again = copy.copy(first)
            again.filename = again.orig_filename = str(number)
            archive.filelist.append(again)
            archive.NameToInfo[again.filename] = again
    with archives.open_archive(path) as whole, pytest.raises(ArchiveError, match="overlaps"):
        archives.list_members(whole)


def test_bomb_is_refused_and_a_nested_archive_stays_packed(tmp_path: Path, into: Path) -> None:
    bomb = packed(tmp_path, {"zeros": b"\0"})
    declared, claimed = (size.to_bytes(4, "little") for size in (1, 300 * 1024**2))
    head, directory, tail = bomb.read_bytes().partition(b"PK\x01\x02")
    assert tail[20:24] == declared
    bomb.write_bytes(head + directory + tail[:20] + claimed + tail[24:])
    with pytest.raises(ArchiveError, match="would unpack to"):
        archives.unpack_archive(bomb, into)
    packed_bomb = bomb.read_bytes()
    nested = packed(tmp_path, {"inner.zip": packed_bomb})
    archives.unpack_archive(nested, into)
    assert (into / "inner.zip").read_bytes() == packed_bomb, "left unchanged"


def test_wrong_checksum_is_an_error(tmp_path: Path, into: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", b"ATOM 1")
    path.write_bytes(path.read_bytes().replace(b"ATOM 1", b"ATOM 2"))
    with pytest.raises(ArchiveError, match="CRC"):
        archives.unpack_archive(path, into)


def test_more_files_than_allowed_are_refused(tmp_path: Path, into: Path) -> None:
    assert ArchiveBounds().files == 50_000
    archive, bounds = packed(tmp_path, {"a": b"", "b": b"", "c": b""}), ArchiveBounds(files=2)
    with pytest.raises(ArchiveError, match="more than 2 files") as refusal:
        archives.unpack_archive(archive, into, bounds)
    assert refusal.value.next_step == "Nothing was written; ask the administrator of the service."
    assert list(into.iterdir()) == []


def test_file_limit_of_a_split_batch_grows_with_its_parts() -> None:
    assert ArchiveBounds.for_parts(2).files == 2 * ArchiveBounds().files


def test_file_limit_is_checked_before_reading_the_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the size of the central directory: that of 10 files takes less than 1 MB."""
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(20):
            info = zipfile.ZipInfo(str(number))
            info.comment = bytes(60_000)
            archive.writestr(info, b"")
    monkeypatch.setattr(
        zipfile.ZipInfo, "__init__", lambda *_: pytest.fail("an entry was looked at")
    )
    with pytest.raises(ArchiveError, match="more than 10 files"):
        archives.unpacked_size(path, ArchiveBounds(files=10))


def test_metrics_beyond_the_memory_limit_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "_MAX_METRICS_SIZE", 10)
    part = packed(tmp_path, {"metrics.csv": b"job,score\nx,1\n"})
    with pytest.raises(ArchiveError, match="at most 10 are allowed"):
        archives.merge_archives({"p1": part}, tmp_path / "whole.zip", ["x"])
    assert not (tmp_path / "whole.zip").exists()


def test_folder_entries_are_ignored(tmp_path: Path) -> None:
    archive = packed(tmp_path, {"a/": b"", "a/b/": b"", "a/b/c": b"1", "a/d": b"2"})
    with archives.open_archive(archive) as whole:
        assert list(archives.list_members(whole)) == ["a/b/c", "a/d"]


@given(st.binary(max_size=300), st.integers(0, 10_000))
def test_damaged_archive_is_an_error_or_unpacks_correctly(
    places: Any, noise: bytes, at: int
) -> None:
    place = places()
    archive = packed(place, {"a.txt": b"hello " * 100, "b/c.txt": b"x"})
    content = bytearray(archive.read_bytes())
    at %= len(content)
    content[at : at + len(noise)] = noise
    archive.write_bytes(content)
    into = place / "into"
    into.mkdir()
    with contextlib.suppress(ArchiveError):
        for file in archives.unpack_archive(archive, into):
            assert archives.describe_file(into / file.path, file.path) == file


def test_encrypted_member_is_refused(tmp_path: Path, into: Path) -> None:
    archive = packed(tmp_path, {"a.txt": b"hello"})
    content = bytearray(archive.read_bytes())
    for magic, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(magic) + offset] |= 1
    archive.write_bytes(content)
    with pytest.raises(ArchiveError, match=r'"a.txt" in the archive .* is encrypted') as caught:
        archives.unpack_archive(archive, into)
    assert "ZipInfo" not in str(caught.value)


def test_merged_metrics_keep_every_cell() -> None:
    text = archives.merge_metrics(
        [
            ("b-part1of2", '\ufeffscore,Name,note\n1e-300,x,"a,""b""\n"\n'.encode()),
            ("b-part2of2", b"Name,energy\ny,0.1\n\nz\n"),
        ],
        ["x", "y", "z"],
    )
    assert text == 'score,Name,note,energy\n1e-300,x,"a,""b""\n",\n,y,,0.1\n,z,,\n'
    assert archives.merge_metrics([("p", b"")], []) == ""
    with pytest.raises(ArchiveError, match="not a CSV table"):
        archives.merge_metrics([("p", b"\xff\xfe")], [])


def test_folder_of_a_part_is_determined_once() -> None:
    class Sizes(dict[str, int]):
        readings = 0

        def __iter__(self) -> Iterator[str]:
            self.readings += 1
            return super().__iter__()

    sizes = Sizes({f"p1/x{n}/a.txt": n for n in range(50)})
    merged = archives.merge_sizes({"p1": sizes})
    assert merged == {f"x{n}/a.txt": n for n in range(50)}
    assert sizes.readings == 1


def test_merged_archive_is_synced_to_the_disk(tmp_path: Path, is_synced: Any) -> None:
    archives.merge_archives({"p1": packed(tmp_path, {"x/a": b"a"})}, tmp_path / "whole.zip", ["x"])
    assert is_synced(tmp_path / "whole.zip")


def test_merged_archive_keeps_content(tmp_path: Path) -> None:
    content = os.urandom(3_000_000)
    first, second = tmp_path / "1.zip", tmp_path / "2.zip"
    for path, name in ((first, "p1/x/a.bin"), (second, "y/a.bin")):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(name, content)
    target = tmp_path / "whole.zip"
    archives.merge_archives({"p1": first, "p2": second}, target, ["x", "y"])
    with zipfile.ZipFile(io.BytesIO(target.read_bytes())) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["x/a.bin", "y/a.bin"]
        assert archive.read("x/a.bin") == content
