"""Arbitrary bytes give a text or a reason, never another error."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from labext_test_documents import docx, pdf

from labext.sandbox.nb.errors import UnreadableError

REAL = {
    "paper.pdf": pdf(["Cells were induced.", "Glucose represses."], "Induction"),
    "notes.docx": docx(["# Induction", "First.", [["a", "b"]]]),
    "page.html": b"<!DOCTYPE html><html><head><title>T</title></head><body><p>Text</p></html>",
    "notes.md": b"---\ntitle: x\n---\n# Heading\n\nText\n=====\n```\ncode\n```\n",
}
BEGINNINGS = [
    b"%PDF-1.4\n",
    b"PK\x03\x04",
    b"<!doctype html>",
    b"<?xml?><html>",
    b"\xff\xfe",
    b"# ",
]
NAMES = st.sampled_from([*REAL, "notes.txt", "sound.bin", ""])

few = settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])


def outcome(read, content: bytes, name: str, **options: object) -> None:
    with contextlib.suppress(UnreadableError):
        result = read(content, name, **options)
        assert result.text.strip()
        result.text.encode()


@few
@given(st.sampled_from([b"", *BEGINNINGS]), st.binary(max_size=2000), NAMES)
@example(b"", b"\xff", "")
@example(b"", b"RIFF\0\0\0\0WAVEfmt ", "a.wav")
@example(b"", b"\0\0\0\x18ftypmp42", "film.mp4")
@example(b"", b"ID3\x04\0\0\0\0\0\0\xff\xfb\x90\0", "a.mp3")
def test_arbitrary_bytes_are_read_or_refused(read, beginning, rest, name):
    outcome(read, beginning + rest, name)


@few
@given(
    st.sampled_from([*REAL]),
    st.lists(st.tuples(st.floats(0, 1), st.binary(min_size=1, max_size=4)), max_size=8),
)
def test_corrupted_files_are_read_or_refused(read, name, changes):
    content = bytearray(REAL[name])
    for where, change in changes:
        place = int(where * (len(content) - 1))
        content[place : place + len(change)] = change
    outcome(read, bytes(content), name)


@few
@given(st.sampled_from([*REAL]), st.floats(0, 1))
def test_truncated_files_are_read_or_refused(read, name, where):
    outcome(read, REAL[name][: int(where * len(REAL[name]))], name)


@few
@given(st.binary(max_size=300), st.text(max_size=20), st.text(max_size=20))
def test_arbitrary_media_type_and_charset_are_handled(read, content, media_type, charset):
    outcome(read, content, "", media_type=media_type, charset=charset)


@pytest.mark.parametrize(
    "content",
    [
        b"<div>" * 20_000 + b"deep" + b"</div>" * 20_000,
        b"<html><body>" + b"<table><tr><td>" * 3_000 + b"deep",
        b"<p>" + b"&amp;" * 50_000,
        b"<html>&lol;<!DOCTYPE x [<!ENTITY lol 'lol'>]></html>",
    ],
)
def test_hostile_html_is_read_or_refused(read, content):
    outcome(read, content, "page.html")
