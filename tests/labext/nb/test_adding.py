"""What can't be sent is told before anything is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from labext.errors import InputError, NotFoundError, ServiceError
from labext.nb import uploads
from labext.nb.backends import RequestExecutor
from labext.nb.backends.contract import ContractBackend

GIVEN: dict[str, Any] = {"notebook": None, "title": None, "topic": None, "process_async": True}


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    path = tmp_path / "paper.pdf"
    path.write_bytes(b"%PDF")
    return path


def test_a_file_has_to_be_one_with_something_in_it(paper, tmp_path):
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
def test_a_file_that_may_not_be_read(paper):
    paper.chmod(0)
    with pytest.raises(InputError, match="can't be read"):
        uploads.validate_file(paper)


@pytest.mark.parametrize("url", ["https://example.org/page", " http://example.org "])
def test_addresses(url):
    assert uploads.is_url(url)
    assert uploads.validate_url(url) == url.strip()


@pytest.mark.parametrize(
    "url", ["", "example.org", "ftp://example.org", "https://", "file:///x", "http://["]
)
def test_no_addresses(url):
    with pytest.raises(InputError, match="is not a URL"):
        uploads.validate_url(url)


def test_a_text_has_to_say_something():
    assert uploads.validate_text(" a ") == " a "
    with pytest.raises(InputError, match="empty"):
        uploads.validate_text(" \n")


@pytest.mark.parametrize(
    ("kept", "name"),
    [
        ("paper.pdf", "paper.pdf"),
        ("/data/uploads/paper.pdf", "paper.pdf"),
        ("..\\..\\paper.pdf", "paper.pdf"),
        ("../../etc/passwd", "passwd"),
    ],
)
def test_a_file_keeps_its_bare_name(kept, name):
    assert uploads.original_file_name({"file_name": kept}) == name


@pytest.mark.parametrize("kept", [None, "", "..", "/", "a/.."])
def test_a_source_without_a_file_has_nothing_to_download(kept):
    with pytest.raises(NotFoundError, match="Bench notes"):
        uploads.original_file_name({"file_name": kept, "title": "Bench notes", "id": "source:1"})


class TestSeveral:
    """Files and pages, one after the other."""

    @pytest.fixture
    def sent(self, wire: RequestExecutor) -> list[Any]:
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

    def several(self, wire: RequestExecutor, what: Any, on_bytes: Any = None) -> list[Any]:
        return list(uploads.add_several(wire, ContractBackend(), what, GIVEN, on_bytes))

    def test_each_goes_its_way(self, wire, sent, paper):
        told: list[Any] = []
        what = [str(paper), "https://example.org/page", paper]
        records = self.several(wire, what, lambda *each: told.append(each))
        assert [record["id"] for record in records] == ["source:1", "source:2", "source:3"]
        assert [bool(each.files) for each in sent] == [True, False, True]
        assert told == [("paper.pdf", 4, 4)] * 2
        assert len(self.several(wire, str(paper))) == 1

    def test_nothing_is_sent_if_one_is_not_there(self, wire, sent, paper, tmp_path):
        with pytest.raises(InputError, match="There is no file"):
            self.several(wire, [paper, tmp_path / "none.pdf"])
        assert sent == []

    def test_the_one_that_fails_is_named_and_those_before_it(self, wire, sent, paper):
        with pytest.raises(ServiceError) as caught:
            self.several(wire, [paper, "https://example.org/broken", paper])
        assert caught.value.message == (
            "https://example.org/broken (1 of 3 were added before it): It failed."
        )
        assert str(caught.value) == f"{caught.value.message} Look."
        assert len(sent) == 2

    def test_an_item_that_is_refused_does_not_stop_the_others(self, wire, sent, paper):
        what = ["https://example.org/refused", paper]
        records: list[Any] = []
        with pytest.raises(InputError) as caught:
            records.extend(uploads.add_several(wire, ContractBackend(), what, GIVEN))
        assert caught.value.message == (
            "1 of 2 were added. Rejected: https://example.org/refused: Too large."
        )
        assert caught.value.next_step == "Add a smaller one."
        assert len(sent) == 2
        refused: dict[Any, InputError] = {}
        steps = uploads.add_several(
            wire, ContractBackend(), what, GIVEN, on_rejected=refused.__setitem__
        )
        assert len(list(steps)) == 1
        assert list(refused) == what[:1]

    def test_a_refusal_that_is_not_about_the_item_stops(self, wire, sent):
        with pytest.raises(NotFoundError, match="missing: No such notebook"):
            self.several(wire, ["https://example.org/missing", "https://example.org/page"])
        assert all("missing" in each.json["url"] for each in sent)
