"""Files, texts and URLs are validated before anything is sent."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from labext.errors import InputError, NotFoundError, ServiceError
from labext.nb import uploads
from labext.nb.backends import RequestExecutor
from labext.nb.backends.contract import ContractBackend

FIELDS: dict[str, Any] = {"notebook": None, "title": None, "topic": None, "process_async": True}


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    path = tmp_path / "paper.pdf"
    path.write_bytes(b"%PDF")
    return path


def test_invalid_file_states_the_reason(paper, tmp_path):
    assert uploads.validate_file(str(paper)) == paper
    with pytest.raises(InputError, match="is a folder"):
        uploads.validate_file(tmp_path)
    with pytest.raises(InputError, match=r'did you mean "paper\.pdf"'):
        uploads.validate_file(tmp_path / "papre.pdf")
    with pytest.raises(InputError, match="There is no file"):
        uploads.validate_file(tmp_path / "none" / "at all.pdf")
    (tmp_path / "empty.pdf").touch()
    with pytest.raises(InputError, match="is empty"):
        uploads.validate_file(tmp_path / "empty.pdf")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file_is_an_error(paper):
    paper.chmod(0)
    with pytest.raises(InputError, match="can't be read"):
        uploads.validate_file(paper)


@pytest.mark.parametrize("url", ["https://example.org/page", " http://example.org "])
def test_http_urls_are_accepted(url):
    assert uploads.is_url(url)
    assert uploads.validate_url(url) == url.strip()


@pytest.mark.parametrize(
    "url", ["", "example.org", "ftp://example.org", "https://", "file:///x", "http://["]
)
def test_other_urls_are_rejected(url):
    with pytest.raises(InputError, match="is not a URL"):
        uploads.validate_url(url)


def test_blank_text_is_rejected():
    assert uploads.validate_text(" a ") == " a "
    with pytest.raises(InputError, match="empty"):
        uploads.validate_text(" \n")


@pytest.mark.parametrize(
    ("stored_name", "name"),
    [
        ("paper.pdf", "paper.pdf"),
        ("/data/uploads/paper.pdf", "paper.pdf"),
        ("..\\..\\paper.pdf", "paper.pdf"),
        ("../../etc/passwd", "passwd"),
    ],
)
def test_original_file_name_has_no_folder(stored_name, name):
    assert uploads.original_file_name({"file_name": stored_name}) == name


@pytest.mark.parametrize("stored_name", [None, "", "..", "/", "a/.."])
def test_source_without_a_file_has_no_original(stored_name):
    with pytest.raises(NotFoundError, match="Bench notes"):
        uploads.original_file_name(
            {"file_name": stored_name, "title": "Bench notes", "id": "source:1"}
        )


class TestAddSeveral:
    """Files and URLs, one after the other."""

    @pytest.fixture
    def requests(self, wire: RequestExecutor) -> list[Any]:
        requests: list[Any] = []

        def send(request: Any, on_bytes: Any = None) -> Any:
            requests.append(request)
            if on_bytes is not None:
                on_bytes(4, 4)
            if request.json and "refused" in request.json["url"]:
                raise InputError("Too large.", "Add a smaller one.", status=413)
            if request.json and "missing" in request.json["url"]:
                raise NotFoundError("No such notebook.", "Look.", status=404)
            if request.json and "broken" in request.json["url"]:
                raise ServiceError("It failed.", "Look.")
            return {"id": f"source:{len(requests)}", "title": "t"}

        wire.send = send
        return requests

    def add_several(self, wire: RequestExecutor, items: Any, on_bytes: Any = None) -> list[Any]:
        return list(uploads.add_several(wire, ContractBackend(), items, FIELDS, on_bytes))

    def test_files_and_urls_are_sent_in_order(self, wire, requests, paper):
        progress: list[Any] = []
        items = [str(paper), "https://example.org/page", paper]
        records = self.add_several(wire, items, lambda *counts: progress.append(counts))
        assert [record["id"] for record in records] == ["source:1", "source:2", "source:3"]
        assert [bool(request.files) for request in requests] == [True, False, True]
        assert progress == [("paper.pdf", 4, 4)] * 2
        assert len(self.add_several(wire, str(paper))) == 1

    def test_missing_file_prevents_all_uploads(self, wire, requests, paper, tmp_path):
        with pytest.raises(InputError, match="There is no file"):
            self.add_several(wire, [paper, tmp_path / "none.pdf"])
        assert requests == []

    def test_failure_names_the_item_and_counts_those_added(self, wire, requests, paper):
        with pytest.raises(ServiceError) as caught:
            self.add_several(wire, [paper, "https://example.org/broken", paper])
        assert caught.value.message == (
            "https://example.org/broken (1 of 3 were added before it): It failed."
        )
        assert str(caught.value) == f"{caught.value.message} Look."
        assert len(requests) == 2

    def test_rejected_item_does_not_stop_the_others(self, wire, requests, paper):
        items = ["https://example.org/refused", paper]
        records: list[Any] = []
        with pytest.raises(InputError) as caught:
            records.extend(uploads.add_several(wire, ContractBackend(), items, FIELDS))
        assert caught.value.message == (
            "1 of 2 were added. Rejected: https://example.org/refused: Too large."
        )
        assert caught.value.next_step == "Add a smaller one."
        assert len(requests) == 2
        rejected: dict[Any, InputError] = {}
        steps = uploads.add_several(
            wire, ContractBackend(), items, FIELDS, on_rejected=rejected.__setitem__
        )
        assert len(list(steps)) == 1
        assert list(rejected) == items[:1]

    def test_rejection_not_caused_by_the_item_stops(self, wire, requests):
        with pytest.raises(NotFoundError, match="missing: No such notebook"):
            self.add_several(wire, ["https://example.org/missing", "https://example.org/page"])
        assert all("missing" in request.json["url"] for request in requests)
