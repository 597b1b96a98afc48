"""A form with files is sent as a stream of a known length, and reads back as what it was."""

from __future__ import annotations

from email.message import Message
from email.parser import BytesParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.http.upload import MultipartForm


def parsed(form: MultipartForm, body: bytes) -> list[Message]:
    head = f"Content-Type: {form.headers['Content-Type']}\r\n\r\n".encode()
    parts = BytesParser().parsebytes(head + body).get_payload()
    assert isinstance(parts, list)
    return [part for part in parts if isinstance(part, Message)]


@given(st.integers(1, 5000))
def test_it_reads_back_as_what_it_was_in_pieces_of_any_size(size: int) -> None:
    form = MultipartForm([("type", "text"), ("content", "zwölf\r\nBoxkämpfer")])
    stream = form.open()
    pieces = []
    while piece := stream.read(size):
        pieces.append(piece)
    body = b"".join(pieces)
    assert len(body) == len(stream)
    first, second = parsed(form, body)
    assert first.get_param("name", header="content-disposition") == "type"
    assert second.get_payload(decode=True) == "zwölf\r\nBoxkämpfer".encode()


def test_a_file_goes_along_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "a “b”.pdb"
    path.write_bytes(bytes(range(256)) * 5000)
    form = MultipartForm([("type", "upload")], {"file": path})
    for _ in range(2):  # as often as need be
        stream = form.open()
        body = stream.read()
        stream.close()
    part = parsed(form, body)[1]
    assert part.get_payload(decode=True) == path.read_bytes()
    assert part.get_content_type() == "application/octet-stream"


def test_a_file_that_is_not_there_fails_before_anything_is_sent(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        MultipartForm(files={"file": tmp_path / "none"}).open()


def test_a_file_that_shrinks_while_it_is_sent_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"0" * 1000)
    stream = MultipartForm(files={"file": path}).open()
    path.write_bytes(b"0")
    with pytest.raises(OSError, match="became shorter"):
        stream.read()
    stream.close()
