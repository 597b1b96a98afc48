"""Arbitrary bytes give a text or a reason, never another error."""

from __future__ import annotations

import contextlib
import io
import struct
import tracemalloc
import zipfile

import openpyxl  # type: ignore[import-untyped]
import pptx
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from labext_test_documents import docx, pdf, saved, zip_archive

from labext.sandbox.nb.errors import UnreadableError
from labext.sandbox.nb.ingestion import readers

REAL = {
    "paper.pdf": pdf(["Cells were induced.", "Glucose represses."], "Induction"),
    "notes.docx": docx(["# Induction", "First.", [["a", "b"]]]),
    "page.html": b"<!DOCTYPE html><html><head><title>T</title></head><body><p>Text</p></html>",
    "notes.md": b"---\ntitle: x\n---\n# Heading\n\nText\n=====\n```\ncode\n```\n",
}
BEGINNINGS = [b"%PDF-1.4\n", b"PK\3\4", b"<!doctype html>", b"<?xml?><html>", b"\xff\xfe", b"# "]
NAMES = st.sampled_from([*REAL, "notes.txt", "sound.bin", ""])

few = settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])


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


def test_unclosed_forms_are_read_in_linear_time():
    text = readers.chapter_text(b"<form>a" * 200_000)  # would exceed pytest's time limit
    assert text.count("a") == 200_000


ENTITIES = b'<!DOCTYPE r [<!ENTITY a "text">' + b"".join(
    b'<!ENTITY %c "%s">' % (98 + level, b"&%c;" % (97 + level) * 10) for level in range(9)
)


@pytest.mark.parametrize("body", [b'<r><p x="&j;">one</p></r>', b"<article><p>&j;</p></article>"])
def test_entities_that_expand_to_gigabytes_are_not_expanded(read, body):
    tracemalloc.start()
    try:
        with contextlib.suppress(UnreadableError):
            assert len(read(ENTITIES + b"]>" + body, "paper.xml").text) < 100
        assert tracemalloc.get_traced_memory()[1] < 10 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["a.xml", "book.fb2"])
def test_deeply_nested_xml_is_refused(read_error, name):
    content = b"<?xml version='1.0'?>" + b"<a>" * 100_000
    assert "nested too deeply" in read_error(content, name)


BOOK: dict[str, str | bytes] = {
    "META-INF/container.xml": '<c><rootfile full-path="book.opf"/></c>',
    "book.opf": '<p><item id="a" href="a.html"/><itemref idref="a"/></p>',
    "a.html": "<p>Text.</p>",
}
PACKAGES = {
    "docx": docx(["Text."]),
    "pptx": saved(pptx.Presentation()),
    "xlsx": saved(openpyxl.Workbook()),
    "ods": zip_archive({"META-INF/manifest.xml": "<m/>", "content.xml": "<a/>"}),
    "epub": zip_archive(BOOK),
}
"""Small documents that are zip archives."""

MAIN_ENTRY = {
    "docx": "word/document.xml",
    "pptx": "ppt/presentation.xml",
    "xlsx": "xl/workbook.xml",
    "ods": "content.xml",
    "epub": "a.html",
}


def with_entry(kind: str, size: int, declared: int, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a document whose main entry unpacks to `size` bytes and declares another size."""
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(PACKAGES[kind])) as source,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for name in source.namelist():
            if name != MAIN_ENTRY[kind]:
                target.writestr(name, source.read(name))
        target.writestr(MAIN_ENTRY[kind], b"<p/>" * (size // 4), method)
    return out.getvalue().replace(struct.pack("<L", size), struct.pack("<L", declared))


@pytest.mark.parametrize("kind", [*MAIN_ENTRY])
@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_entry_larger_than_declared_is_not_unpacked(read_error, kind, method):
    size = 20_000_000 if method == zipfile.ZIP_DEFLATED else 40_000  # bzip2 is slow
    content = with_entry(kind, size, 1000, method)
    tracemalloc.start()
    try:
        assert "is broken: check that it opens, save it again" in read_error(content, f"a.{kind}")
        assert tracemalloc.get_traced_memory()[1] < 15 << 20
    finally:
        tracemalloc.stop()
