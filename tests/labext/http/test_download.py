"""Downloads are resumed, verified and appear under their name only when complete."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import random
import socket
import threading
import traceback
from pathlib import Path
from typing import Any

import pytest
from faulty_server import Faults

from labext import storage
from labext.errors import AccessError, ConflictError, ServiceError, StorageError, UnreachableError
from labext.http import download
from labext.http.download import download_file, is_html_name
from labext.http.retry_policy import RequestOptions

pytestmark = pytest.mark.faults

CONTENT = random.Random(7).randbytes(300_000)
ETAG = '"v1"'


class Store:
    """A file store with Range and If-Range that can truncate its responses."""

    def __init__(
        self,
        *cuts: int | None,
        etag: str | None = ETAG,
        ranges: bool = True,
        content: bytes = CONTENT,
    ) -> None:
        self.cuts = list(cuts)
        self.etag = etag
        self.ranges = ranges
        self.content = content

    def __call__(self, connection: socket.socket, request: Any) -> bool:
        start, status = 0, 200
        requested = request.headers.get("range")
        if requested and self.ranges and request.headers.get("if-range") == self.etag:
            start, status = int(requested.removeprefix("bytes=").rstrip("-")), 206
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
    def get(server: Any, name: str = "a.zip", silence: float = 0.3, **options: Any) -> Path:
        url = f"{server.url}{name}?signature=c0ffee"
        request_options = RequestOptions(timeout=(1, silence), clock=clock, sleep=clock.sleep)
        return download_file(url, tmp_path / "out" / name, options=request_options, **options)

    return get


def files_in(path: Path) -> list[str]:
    return sorted(os.listdir(path / "out"))


def test_download_is_complete_and_reports_progress(faulty: Any, into: Any, tmp_path: Path) -> None:
    server = faulty(Store())
    progress: list[tuple[int, int | None]] = []
    path = into(server, on_bytes=lambda done, total: progress.append((done, total)))
    assert path.read_bytes() == CONTENT
    assert files_in(tmp_path) == ["a.zip"]
    assert progress[-1] == (len(CONTENT), len(CONTENT))


def test_download_does_not_replace_a_file_with_other_content(
    faulty: Any, into: Any, tmp_path: Path
) -> None:
    path = into(faulty(Store()))
    assert into(faulty(Store()), overwrite=False) == path
    path.write_text("edited")
    with pytest.raises(ConflictError, match="already exists with other content"):
        into(faulty(Store()), overwrite=False)
    assert path.read_text() == "edited"
    assert files_in(tmp_path) == ["a.zip"]


def test_download_is_synced_to_the_disk(faulty: Any, into: Any, is_synced: Any) -> None:
    path = into(faulty(Store(1000)))
    assert is_synced(path)
    assert is_synced(path.parent)


def test_download_cut_twenty_times_has_the_same_checksum(faulty: Any, into: Any) -> None:
    cuts = random.Random(0).choices(range(1, 25_000), k=20)
    server = faulty(Store(*cuts))
    path = into(server)
    assert hashlib.sha256(path.read_bytes()).digest() == hashlib.sha256(CONTENT).digest()
    starts = [request.headers.get("range") for request in server.received]
    assert starts[0] is None
    assert all(starts[1:])
    assert server.count <= 21


RESTARTS = {
    "server without ranges": lambda faulty: [Store(1000, 200_000, ranges=False)],
    "changed content": lambda faulty: [Store(1000, content=CONTENT[::-1], etag='"v0"'), Store()],
    "another range than requested": lambda faulty: [
        Store(1000),
        faulty.answer(b"xx", 206, Content_Range="bytes 5-6/300000", ETag=ETAG),
        Store(),
    ],
}


@pytest.mark.parametrize("case", RESTARTS)
def test_download_that_cannot_be_resumed_restarts(case: str, faulty: Any, into: Any) -> None:
    assert into(faulty(*RESTARTS[case](faulty))).read_bytes() == CONTENT


@pytest.mark.parametrize(
    "act",
    [
        Store(1000, etag=None),
        Faults.answer(CONTENT[:1000], length=len(CONTENT), ETag=ETAG, Accept_Ranges="None"),
    ],
)
def test_range_is_requested_only_if_the_server_supports_it(
    act: Any, faulty: Any, into: Any
) -> None:
    server = faulty(act, Store())
    assert into(server).read_bytes() == CONTENT
    assert "range" not in server.received[1].headers


def test_partial_file_of_an_earlier_run_is_resumed(faulty: Any, into: Any, tmp_path: Path) -> None:
    with pytest.raises(UnreachableError):
        into(faulty(Store(200_000), faulty.silence))
    assert files_in(tmp_path) == [".a.zip.part", ".a.zip.part.json"]
    server = faulty(Store())
    assert into(server).read_bytes() == CONTENT
    assert server.received[0].headers["range"].startswith("bytes=")
    assert files_in(tmp_path) == ["a.zip"]


@pytest.mark.parametrize("name", [".a.zip.part", ".a.zip.part.json"])
def test_symbolic_link_with_the_name_of_a_partial_file_is_not_followed(
    name: str, faulty: Any, into: Any, tmp_path: Path
) -> None:
    private = tmp_path / "private"
    private.write_text("mine")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).symlink_to(private)
    assert into(faulty(Store())).read_bytes() == CONTENT
    assert private.read_text() == "mine"
    assert files_in(tmp_path) == ["a.zip"]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410])
def test_expired_url_is_replaced_without_delay_and_the_download_resumed(
    status: int, faulty: Any, into: Any, clock: Any, tmp_path: Path
) -> None:
    write_partial_file(tmp_path, 100_000, len(CONTENT))
    expired = faulty(faulty.answer("Request has expired", status, kind="text/xml"))
    good = faulty(Store())
    requested: list[int] = []

    def fresh() -> str:
        requested.append(1)
        return f"{good.url}a.zip?signature=beef"

    assert into(expired, renew_url=fresh).read_bytes() == CONTENT
    assert sum(clock.slept) < 0.1
    assert len(requested) == 1
    assert good.received[0].headers["range"].startswith("bytes=")


def test_download_fails_after_three_expired_urls(faulty: Any, into: Any) -> None:
    server = faulty(faulty.answer("Request has expired", 403, kind="text/plain"))
    with pytest.raises(AccessError, match="Request has expired"):
        into(server, renew_url=lambda: f"{server.url}a.zip?signature=beef")
    assert server.count == 3


def test_expired_url_without_replacement_is_an_error(
    faulty: Any, into: Any, tmp_path: Path
) -> None:
    server = faulty(faulty.answer("Request has expired", 403, kind="text/plain"))
    with pytest.raises(AccessError, match="has expired"):
        into(server)
    assert server.count == 1
    assert files_in(tmp_path) == []


def test_server_error_does_not_request_a_new_url(faulty: Any, into: Any) -> None:
    server = faulty(faulty.answer(b"", 503), Store())
    assert into(server, renew_url=lambda: pytest.fail("not expired")).read_bytes() == CONTENT


def write_partial_file(path: Path, size: int, total: int | None) -> None:
    """Write a partial file as an interrupted download leaves it."""
    (path / "out").mkdir()
    (path / "out" / ".a.zip.part").write_bytes(CONTENT[:size])
    note = json.dumps({"validator": ETAG, "total": total})
    (path / "out" / ".a.zip.part.json").write_text(note)


def test_last_modified_validates_a_partial_file(faulty: Any, into: Any, tmp_path: Path) -> None:
    date = "Sun, 22 Nov 2026 20:00:00 GMT"
    partial_response = faulty.answer(CONTENT[:1000], length=len(CONTENT), Last_Modified=date)
    server = faulty(partial_response, Store(etag=date))
    assert into(server).read_bytes() == CONTENT
    assert server.received[1].headers["if-range"] == date


@pytest.mark.parametrize(
    ("content", "headers"), [(b"", {"ETag": ETAG}), (CONTENT[:1000], {}), (b"", {})]
)
def test_partial_file_without_validator_is_removed(
    content: bytes, headers: dict[str, str], faulty: Any, into: Any, tmp_path: Path
) -> None:
    with pytest.raises(ServiceError):
        into(faulty(faulty.answer(content, length=len(CONTENT), **headers)))
    assert files_in(tmp_path) == []


@pytest.mark.parametrize("name", ["r.html", "R.HTM", "r.xhtml"])
def test_html_file_names_are_recognized(name: str) -> None:
    assert is_html_name(name)
    assert not is_html_name(f"{name}.zip")


def test_complete_partial_file_is_used_on_416(faulty: Any, into: Any, tmp_path: Path) -> None:
    write_partial_file(tmp_path, len(CONTENT), len(CONTENT))
    server = faulty(faulty.answer(b"", 416))
    assert into(server).read_bytes() == CONTENT
    assert server.count == 1


@pytest.mark.parametrize("total", [None, len(CONTENT)])
def test_partial_file_restarts_on_416(
    total: int | None, faulty: Any, into: Any, tmp_path: Path
) -> None:
    write_partial_file(tmp_path, 1000, total)
    server = faulty(faulty.answer(b"", 416), Store())
    assert into(server).read_bytes() == CONTENT
    assert [request.headers.get("range") for request in server.received] == ["bytes=1000-", None]


@pytest.mark.parametrize(
    ("before", "now"), [(len(CONTENT), "*"), (None, "*"), (None, len(CONTENT))]
)
def test_download_of_unknown_total_length_is_resumed(
    before: int | None, now: int | str, faulty: Any, into: Any, tmp_path: Path
) -> None:
    write_partial_file(tmp_path, 1000, before)
    place = f"bytes 1000-{len(CONTENT) - 1}/{now}"
    server = faulty(faulty.answer(CONTENT[1000:], 206, Content_Range=place))
    assert into(server).read_bytes() == CONTENT
    assert server.count == 1


def test_redirect_keeps_the_range_headers(faulty: Any, into: Any, tmp_path: Path) -> None:
    write_partial_file(tmp_path, 1000, len(CONTENT))
    other = faulty(Store())
    server = faulty(faulty.answer(b"", 302, Location=f"{other.url}a.zip"))
    assert into(server).read_bytes() == CONTENT
    headers = other.received[0].headers
    assert (headers["range"], headers["if-range"]) == ("bytes=1000-", ETAG)
    assert (headers["accept-encoding"], headers["user-agent"]) == ("identity", "labext")


def test_html_response_for_another_file_is_an_error(faulty: Any, into: Any) -> None:
    with pytest.raises(ServiceError, match=r"answered a web page, “Sign in” in place of a\.zip"):
        into(faulty(faulty.answer("<title>Sign in</title>", kind="Text/HTML; charset=utf-8")))


def test_server_errors_and_lost_responses_are_retried(faulty: Any, into: Any, clock: Any) -> None:
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
def test_incomplete_download_leaves_no_file(
    fault: Any, faulty: Any, into: Any, tmp_path: Path
) -> None:
    server = faulty(fault(faulty))
    with pytest.raises(ServiceError) as caught:
        into(server, silence=0.3)
    assert not (tmp_path / "out" / "a.zip").exists()
    assert 5 <= server.count <= 6
    assert "c0ffee" not in "".join(traceback.format_exception(caught.value))


def test_download_without_progress_fails_after_six_attempts(faulty: Any, into: Any) -> None:
    server = faulty(Store(*[1000] * 50, ranges=False))
    with pytest.raises(UnreachableError, match="truncated"):
        into(server)
    assert server.count == 6


def test_existing_file_is_kept_if_the_download_fails(
    faulty: Any, into: Any, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a.zip").write_bytes(b"old")
    with pytest.raises(ServiceError):
        into(faulty(Store(1000), faulty.silence))
    assert (tmp_path / "out" / "a.zip").read_bytes() == b"old"


def test_gzip_content_encoding_is_decoded(faulty: Any, into: Any) -> None:
    import gzip

    packed = gzip.compress(CONTENT)
    server = faulty(faulty.answer(packed, kind="text/csv", Content_Encoding="gzip", ETag=ETAG))
    assert into(server).read_bytes() == CONTENT


def test_html_file_can_be_downloaded(faulty: Any, into: Any) -> None:
    page = "<html><title>Report</title></html>"
    assert into(faulty(faulty.answer(page, kind="text/html")), "r.html").read_text() == page


def test_empty_file_is_downloaded(faulty: Any, into: Any) -> None:
    assert into(faulty(faulty.answer(b"", kind="text/plain")), "log.txt").read_bytes() == b""


def test_full_disk_is_detected_before_writing(
    faulty: Any, into: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = type("usage", (), {"total": 10**9, "free": 1000})
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    with pytest.raises(StorageError, match="disk is full"):
        into(faulty(Store()))
    assert files_in(tmp_path) == []


def test_disk_full_while_writing_leaves_no_file(
    faulty: Any, into: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(self: Any, chunk: bytes) -> None:
        self._store(fill)

    def fill() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(download.PartialFile, "write", write)
    server = faulty(Store())
    with pytest.raises(StorageError, match="disk is full") as caught:
        into(server)
    assert files_in(tmp_path) == []
    assert server.count == 1
    assert caught.value.next_step


@pytest.mark.parametrize(
    ("path", "is_folder", "message"),
    [("out", False, "can't be written"), ("out/a.zip", True, "is a folder")],
)
def test_target_that_cannot_be_written_is_refused_before_the_request(
    path: str, is_folder: bool, message: str, faulty: Any, into: Any, tmp_path: Path
) -> None:
    if is_folder:
        (tmp_path / path).mkdir(parents=True)
    else:
        (tmp_path / path).write_text("")
    server = faulty(Store())
    with pytest.raises(StorageError, match=message):
        into(server)
    assert server.count == 0


def test_target_with_a_name_that_is_too_long_is_refused(tmp_path: Path) -> None:
    target = tmp_path / ("n" * 300)
    with (
        pytest.raises(StorageError, match=r"can't be written \(File name too long\)\. .* shorter"),
        download.PartialFile(target),
    ):
        pass
    assert not storage.is_folder_name(target)
    assert storage.is_folder_name(f"{target}/")


def test_concurrent_download_to_the_same_file_is_refused(
    faulty: Any, into: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body_started, go_on = threading.Event(), threading.Event()
    results: list[Path] = []
    write = download.PartialFile.write

    def wait(self: Any, chunk: bytes) -> None:
        body_started.set()
        assert go_on.wait(10)
        write(self, chunk)

    monkeypatch.setattr(download.PartialFile, "write", wait)
    server = faulty(Store())
    first = threading.Thread(target=lambda: results.append(into(server)))
    first.start()
    assert body_started.wait(10)
    try:
        with pytest.raises(StorageError, match="Another download"):
            into(server)
    finally:
        go_on.set()
        first.join(10)
    assert results[0].read_bytes() == CONTENT
    assert files_in(tmp_path) == ["a.zip"]
