"""Downloads that are cut, refused, expired, or find no room: whole or not there."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import random
import socket
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from labext.errors import AccessError, NotFoundError, ServiceError, StorageError, UnreachableError
from labext.http import download
from labext.http.download import download_file, is_html_name
from labext.http.retry_policy import RequestOptions

pytestmark = pytest.mark.faults

CONTENT = random.Random(7).randbytes(300_000)
ETAG = '"v1"'


class Store:
    """Serves CONTENT as a store does: Range and If-Range; cut after so many bytes if asked."""

    def __init__(self, *cuts: int | None, etag: str | None = ETAG, ranges: bool = True) -> None:
        self.cuts = list(cuts)
        self.etag = etag
        self.ranges = ranges
        self.content = CONTENT

    def __call__(self, connection: socket.socket, request: Any) -> bool:
        start, status = 0, 200
        asked = request.headers.get("range")
        if asked and self.ranges and request.headers.get("if-range") == self.etag:
            start, status = int(asked.removeprefix("bytes=").rstrip("-")), 206
        rest = self.content[start:]
        lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(rest)}"]
        if status == 206:
            end = len(self.content) - 1
            lines.append(f"Content-Range: bytes {start}-{end}/{len(self.content)}")
        if self.etag:
            lines.append(f"ETag: {self.etag}")
        cut = self.cuts.pop(0) if self.cuts else None
        sent = rest if cut is None else rest[:cut]
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + sent)
        return cut is None


@pytest.fixture
def into(tmp_path: Path, clock: Any) -> Any:
    def get(server: Any, name: str = "a.zip", **options: Any) -> Path:
        url = server if isinstance(server, str) else f"{server.url}{name}?signature=c0ffee"
        request_options = RequestOptions(timeout=(1, 0.3), clock=clock, sleep=clock.sleep)
        return download_file(url, tmp_path / "out" / name, options=request_options, **options)

    return get


@pytest.fixture
def before_writing(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Have something happen in the middle of a download."""

    def happens(act: Callable[[], None]) -> None:
        write = download.PartialFile.write

        def written(self: Any, chunk: bytes) -> None:
            act()
            write(self, chunk)

        monkeypatch.setattr(download.PartialFile, "write", written)

    return happens


def left_behind(path: Path) -> list[str]:
    return sorted(os.listdir(path / "out"))


def test_a_download_appears_whole_and_sends_no_key(faulty: Any, into: Any, tmp_path: Path) -> None:
    server = faulty(Store())
    told: list[tuple[int, int | None]] = []
    path = into(server, on_bytes=lambda done, total: told.append((done, total)))
    assert path.read_bytes() == CONTENT
    assert left_behind(tmp_path) == ["a.zip"]
    assert told[-1] == (len(CONTENT), len(CONTENT))
    assert not {"x-api-key", "authorization"} & set(server.received[0].headers)


@pytest.mark.parametrize("seed", range(5))
def test_twenty_cuts_at_random_bytes_end_in_the_same_checksum(
    seed: int, faulty: Any, into: Any
) -> None:
    cuts = [random.Random(seed).randrange(1, 25_000) for _ in range(20)]
    server = faulty(Store(*cuts))
    path = into(server)
    assert hashlib.sha256(path.read_bytes()).digest() == hashlib.sha256(CONTENT).digest()
    starts = [request.headers.get("range") for request in server.received]
    assert starts[0] is None
    assert all(starts[1:])
    assert server.count <= 21


def test_a_cut_without_ranges_begins_anew(faulty: Any, into: Any) -> None:
    server = faulty(Store(1000, 200_000, ranges=False))
    assert into(server).read_bytes() == CONTENT
    assert server.count == 3


def test_a_cut_without_a_name_for_the_content_begins_anew(faulty: Any, into: Any) -> None:
    server = faulty(Store(1000, etag=None))
    assert into(server).read_bytes() == CONTENT
    assert "range" not in server.received[1].headers


def test_content_that_changed_in_between_begins_anew(faulty: Any, into: Any) -> None:
    old, new = Store(1000), Store(etag='"v2"')
    new.content = CONTENT[::-1]
    assert into(faulty(old, new)).read_bytes() == CONTENT[::-1]


def test_a_part_other_than_the_one_asked_for_begins_anew(faulty: Any, into: Any) -> None:
    wrong = faulty.answer(b"xx", 206, Content_Range="bytes 5-6/300000", ETag=ETAG)
    assert into(faulty(Store(1000), wrong, Store())).read_bytes() == CONTENT


def test_what_an_earlier_run_left_is_taken_up(faulty: Any, into: Any, tmp_path: Path) -> None:
    with pytest.raises(UnreachableError):
        into(faulty(Store(200_000), faulty.silence))
    assert left_behind(tmp_path) == [".a.zip.part", ".a.zip.part.json"]
    server = faulty(Store())
    assert into(server).read_bytes() == CONTENT
    assert server.received[0].headers["range"].startswith("bytes=")
    assert left_behind(tmp_path) == ["a.zip"]


def test_what_something_else_left_is_not_taken_up(faulty: Any, into: Any, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / ".a.zip.part").write_bytes(b"of another file")
    server = faulty(Store())
    assert into(server).read_bytes() == CONTENT
    assert "range" not in server.received[0].headers


@pytest.mark.parametrize("status", [400, 401, 403, 410])
def test_an_expired_address_is_asked_for_anew_and_goes_on(
    status: int, faulty: Any, into: Any
) -> None:
    expired = faulty(Store(100_000), faulty.answer("Request has expired", status, kind="text/xml"))
    good = faulty(Store())
    asked: list[int] = []

    def fresh() -> str:
        asked.append(1)
        return f"{good.url}a.zip?signature=beef"

    assert into(expired, fresh=fresh).read_bytes() == CONTENT
    assert len(asked) == 1
    assert good.received[0].headers["range"].startswith("bytes=")


def test_addresses_that_all_expire_are_given_up(faulty: Any, into: Any) -> None:
    server = faulty(faulty.answer("Request has expired", 403, kind="text/plain"))
    with pytest.raises(AccessError, match="Request has expired"):
        into(server, fresh=lambda: f"{server.url}a.zip?signature=beef")
    assert server.count == 3


def test_an_expired_address_is_an_error_where_there_is_no_other(
    faulty: Any, into: Any, tmp_path: Path
) -> None:
    server = faulty(faulty.answer("Request has expired", 403, kind="text/plain"))
    with pytest.raises(AccessError, match="no longer"):
        into(server)
    assert server.count == 1
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410])
def test_new_address_is_used_without_a_wait(
    status: int, faulty: Any, into: Any, clock: Any
) -> None:
    expired, good = faulty(faulty.answer(b"", status)), faulty(Store())
    assert into(expired, fresh=lambda: f"{good.url}a.zip").read_bytes() == CONTENT
    assert sum(clock.slept) < 0.1


def test_failing_store_is_not_asked_for_a_new_address(faulty: Any, into: Any) -> None:
    server = faulty(faulty.answer(b"", 503), Store())
    assert into(server, fresh=lambda: pytest.fail("not expired")).read_bytes() == CONTENT


def part_left(path: Path, size: int, total: int | None) -> None:
    """Leave the start of the content, as an interrupted download does."""
    (path / "out").mkdir()
    (path / "out" / ".a.zip.part").write_bytes(CONTENT[:size])
    note = json.dumps({"validator": ETAG, "total": total})
    (path / "out" / ".a.zip.part.json").write_text(note)


def test_part_is_taken_up_by_the_date_of_the_file(faulty: Any, into: Any, tmp_path: Path) -> None:
    date = "Sun, 22 Nov 2026 20:00:00 GMT"
    begun = faulty.answer(CONTENT[:1000], length=len(CONTENT), Last_Modified=date)
    server = faulty(begun, Store(etag=date))
    assert into(server).read_bytes() == CONTENT
    assert server.received[1].headers["if-range"] == date


def test_part_is_not_taken_up_where_the_store_has_no_ranges(faulty: Any, into: Any) -> None:
    begun = faulty.answer(CONTENT[:1000], length=len(CONTENT), ETag=ETAG, Accept_Ranges="None")
    server = faulty(begun, Store())
    assert into(server).read_bytes() == CONTENT
    assert "range" not in server.received[1].headers


@pytest.mark.parametrize(
    ("content", "headers"), [(b"", {"ETag": ETAG}), (CONTENT[:1000], {}), (b"", {})]
)
def test_part_that_cannot_be_taken_up_is_removed(
    content: bytes, headers: dict[str, str], faulty: Any, into: Any, tmp_path: Path
) -> None:
    with pytest.raises(ServiceError):
        into(faulty(faulty.answer(content, length=len(CONTENT), **headers)))
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("name", ["r.html", "R.HTM", "r.xhtml"])
def test_page_is_told_by_its_name(name: str) -> None:
    assert is_html_name(name)
    assert not is_html_name(f"{name}.zip")


def test_part_that_is_the_whole_file_is_taken(faulty: Any, into: Any, tmp_path: Path) -> None:
    part_left(tmp_path, len(CONTENT), len(CONTENT))
    server = faulty(faulty.answer(b"", 416))
    assert into(server).read_bytes() == CONTENT
    assert server.count == 1


@pytest.mark.parametrize("total", [None, len(CONTENT)])
def test_part_beyond_the_end_of_the_file_begins_anew(
    total: int | None, faulty: Any, into: Any, tmp_path: Path
) -> None:
    part_left(tmp_path, 1000, total)
    server = faulty(faulty.answer(b"", 416), Store())
    assert into(server).read_bytes() == CONTENT
    assert [request.headers.get("range") for request in server.received] == ["bytes=1000-", None]


def test_part_of_a_file_of_unknown_length_is_taken_up(
    faulty: Any, into: Any, tmp_path: Path
) -> None:
    part_left(tmp_path, 1000, len(CONTENT))
    rest = faulty.answer(CONTENT[1000:], 206, Content_Range=f"bytes 1000-{len(CONTENT) - 1}/*")
    server = faulty(rest)
    assert into(server).read_bytes() == CONTENT
    assert server.count == 1


def test_part_is_taken_up_behind_a_redirect(faulty: Any, into: Any, tmp_path: Path) -> None:
    part_left(tmp_path, 1000, len(CONTENT))
    other = faulty(Store())
    server = faulty(faulty.answer(b"", 302, Location=f"{other.url}a.zip"))
    assert into(server).read_bytes() == CONTENT
    headers = other.received[0].headers
    assert (headers["range"], headers["if-range"]) == ("bytes=1000-", ETAG)
    assert (headers["accept-encoding"], headers["user-agent"]) == ("identity", "labext")


def test_web_page_in_place_of_a_file_is_refused_in_any_case(faulty: Any, into: Any) -> None:
    with pytest.raises(ServiceError, match=r"answered a web page, “Sign in” in place of a\.zip"):
        into(faulty(faulty.answer("<title>Sign in</title>", kind="Text/HTML; charset=utf-8")))


def test_nothing_at_the_address_is_told(faulty: Any, into: Any) -> None:
    with pytest.raises(NotFoundError):
        into(faulty(faulty.answer("no such key", 404, kind="text/plain")))


def test_a_failing_store_is_outlasted(faulty: Any, into: Any, clock: Any) -> None:
    server = faulty(
        faulty.answer("busy", 503, Retry_After="2"), faulty.silence, faulty.stall, Store()
    )
    assert into(server).read_bytes() == CONTENT
    assert sum(clock.slept) > 2


@pytest.mark.parametrize(
    "fault",
    [
        lambda faulty: faulty.answer("<html><title>Sign in</title></html>", kind="text/html"),
        lambda faulty: faulty.raw(b"HTTP/1.1 200 OK\r\nContent-Type: a/zip\r\n\r\n"),
        lambda faulty: faulty.answer(b"abc", length=1000),
        lambda faulty: faulty.stall_within,
        lambda faulty: faulty.silence,
    ],
)
def test_what_never_comes_whole_never_looks_whole(
    fault: Any, faulty: Any, into: Any, tmp_path: Path
) -> None:
    server = faulty(fault(faulty))
    with pytest.raises(ServiceError) as caught:
        into(server)
    assert not (tmp_path / "out" / "a.zip").exists()
    assert 5 <= server.count <= 6
    assert "c0ffee" not in "".join(traceback.format_exception(caught.value))


def test_a_cut_always_at_the_same_byte_ends(faulty: Any, into: Any) -> None:
    server = faulty(Store(*[1000] * 50, ranges=False))
    with pytest.raises(UnreachableError, match="cut short"):
        into(server)
    assert server.count == 6


def test_a_whole_file_that_is_there_stays_until_the_new_one_is_whole(
    faulty: Any, into: Any, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a.zip").write_bytes(b"old")
    with pytest.raises(ServiceError):
        into(faulty(Store(1000), faulty.silence))
    assert (tmp_path / "out" / "a.zip").read_bytes() == b"old"


def test_packed_content_is_unpacked(faulty: Any, into: Any) -> None:
    import gzip

    packed = gzip.compress(CONTENT)
    server = faulty(faulty.answer(packed, kind="text/csv", Content_Encoding="gzip", ETag=ETAG))
    assert into(server).read_bytes() == CONTENT


def test_a_page_may_be_what_was_asked_for(faulty: Any, into: Any) -> None:
    page = "<html><title>Report</title></html>"
    assert into(faulty(faulty.answer(page, kind="text/html")), "r.html").read_text() == page


def test_an_empty_file_is_a_file(faulty: Any, into: Any) -> None:
    assert into(faulty(faulty.answer(b"", kind="text/plain")), "log.txt").read_bytes() == b""


# --- the disk ----------------------------------------------------------------------------------


def test_a_full_disk_is_told_before_anything_is_written(
    faulty: Any, into: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = type("usage", (), {"total": 10**9, "free": 1000})
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    with pytest.raises(StorageError, match="disk is full"):
        into(faulty(Store()))
    assert left_behind(tmp_path) == []


def test_a_disk_that_fills_up_leaves_nothing_behind(
    faulty: Any, into: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(self: Any, chunk: bytes) -> None:
        self._storing(fill)

    def fill() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(download.PartialFile, "write", write)
    server = faulty(Store())
    with pytest.raises(StorageError, match="disk is full") as caught:
        into(server)
    assert left_behind(tmp_path) == []
    assert server.count == 1
    assert caught.value.next_step


def test_a_folder_that_is_a_file_is_told(faulty: Any, into: Any, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    server = faulty(Store())
    with pytest.raises(StorageError, match="can't be written"):
        into(server)
    assert server.count == 0


def test_a_target_that_is_a_folder_is_told(faulty: Any, into: Any, tmp_path: Path) -> None:
    (tmp_path / "out" / "a.zip").mkdir(parents=True)
    server = faulty(Store())
    with pytest.raises(StorageError, match="is a folder"):
        into(server)
    assert server.count == 0


def test_two_downloads_to_one_file_do_not_mix(
    faulty: Any, into: Any, tmp_path: Path, before_writing: Any
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    results: list[Path] = []

    def wait() -> None:
        begun.set()
        assert go_on.wait(10)

    before_writing(wait)
    server = faulty(Store())
    first = threading.Thread(target=lambda: results.append(into(server)))
    first.start()
    assert begun.wait(10)
    try:
        with pytest.raises(StorageError, match="Another download"):
            into(server)
    finally:
        go_on.set()
        first.join(10)
    assert results[0].read_bytes() == CONTENT
    assert left_behind(tmp_path) == ["a.zip"]


def test_an_interrupted_download_can_be_taken_up(
    faulty: Any, into: Any, tmp_path: Path, before_writing: Any
) -> None:
    once = iter([KeyboardInterrupt])

    def interrupt() -> None:
        for interruption in once:
            raise interruption

    before_writing(interrupt)
    with pytest.raises(KeyboardInterrupt):
        into(faulty(Store()))
    assert "a.zip" not in left_behind(tmp_path)
    assert into(faulty(Store())).read_bytes() == CONTENT
