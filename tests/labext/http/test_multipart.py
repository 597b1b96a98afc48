"""Multipart forms are streamed with a known length and parse back to their fields."""

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
def test_form_read_in_chunks_of_any_size_parses_back(size: int) -> None:
    form = MultipartForm([("type", "text"), ("content", "zwölf\r\nBoxkämpfer")])
    stream = form.open()
    chunks = []
    while chunk := stream.read(size):
        chunks.append(chunk)
    body = b"".join(chunks)
    assert len(body) == len(stream)
    first, second = parsed(form, body)
    assert first.get_param("name", header="content-disposition") == "type"
    assert second.get_payload(decode=True) == "zwölf\r\nBoxkämpfer".encode()


def test_file_part_has_its_content_and_can_be_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "a “b”.pdb"
    path.write_bytes(bytes(range(256)) * 5000)
    form = MultipartForm([("type", "upload")], {"file": path})
    for _ in range(2):  # opened again for a retry
        stream = form.open()
        body = stream.read()
        stream.close()
    part = parsed(form, body)[1]
    assert part.get_payload(decode=True) == path.read_bytes()
    assert part.get_content_type() == "application/octet-stream"


def test_missing_file_fails_on_open(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        MultipartForm(files={"file": tmp_path / "none"}).open()


def test_file_that_shrinks_while_read_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"0" * 1000)
    stream = MultipartForm(files={"file": path}).open()
    path.write_bytes(b"0")
    with pytest.raises(OSError, match="became shorter"):
        stream.read()
    stream.close()
