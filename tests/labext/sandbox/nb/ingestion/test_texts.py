"""Pages, Markdown and plain text: what is read, what it is called, in which encoding it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.sandbox.nb.ingestion import reading

PAGE = """<!DOCTYPE html><html><head><title>Catabolite repression</title>
<style>p {color: red}</style><script>var hidden = 1;</script></head><body>
<nav><a href="/">Home</a> <a href="/shop">Shop</a></nav>
<article><h1>Catabolite repression</h1>
<p>Glucose keeps the promoter of the arabinose operon closed: without cyclic AMP the activator does
not bind, however much arabinose there is in the medium around the cells.</p>
<p>This is why glucose is added to the culture that is not to be induced at all — the leak of
the promoter is then as small as it can be, and toxic proteins do no harm.</p>
<table><tr><th>Sugar</th><th>Promoter</th></tr><tr><td>glucose</td><td>closed</td></tr></table>
</article><footer>Imprint and cookies</footer></body></html>"""


def test_a_page_is_what_it_says_without_what_is_around_it(read):
    found = read(PAGE.encode(), "page.html")
    assert found.title == "Catabolite repression"
    assert "Glucose keeps the promoter" in found.text
    assert "glucose" in found.text.lower()
    assert "Shop" not in found.text
    assert "hidden" not in found.text
    assert "color" not in found.text


def test_a_page_of_a_few_words_is_read_too(read):
    assert read(b"<p>Hello there.</p><script>no()</script>", "p.html").text == "Hello there."


def test_a_page_without_words_has_no_text(refused):
    assert refused(b"<html><script>only()</script></html>", "app.html")


@pytest.mark.parametrize(
    ("declared", "encoding"),
    [
        ('<meta charset="iso-8859-1">', "iso-8859-1"),
        ('<meta charset="utf-8">', "utf-8"),
        ("", "utf-8"),
    ],
)
def test_a_page_is_read_in_its_own_charset(read, declared, encoding):
    source = f"<html><head>{declared}<title>Präparat</title></head><body><p>Größe 5 µm.</p></body>"
    found = read(source.encode(encoding), "page.html")
    assert (found.title, found.text) == ("Präparat", "Größe 5 µm.")


def test_the_server_knows_the_charset_better(read):
    source = '<meta charset="utf-8"><p>Größe 5 µm.</p>'.encode("iso-8859-1")
    assert read(source, "", media_type="text/html", charset="iso-8859-1").text == "Größe 5 µm."


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# Bench *notes* #\n\nText.", "Bench *notes*"),
        ("Bench notes\n===========\n\nText.", "Bench notes"),
        ("---\ntitle: 'Day: one'\nauthor: x\n---\n# Other\n", "Day: one"),
        ("---\nauthor: x\n---\n# Other\n", "Other"),
        ("```\n# no heading\n```\n## Yes\n", "Yes"),
        ("No heading.\n", None),
    ],
)
def test_markdown_is_kept_and_called_by_its_heading(read, text, title):
    found = read(text.encode(), "notes.md")
    assert found.text == text.strip()
    assert found.title == title


WORDS = "Größe, façade, naïve, 20 °C, 5 µm – señor Ångström. " * 8


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252", "utf-16-le", "utf-16-be"]
)
def test_plain_text_is_read_in_any_encoding(read, encoding):
    assert read(WORDS.encode(encoding), "notes.txt").text == WORDS.strip()


@pytest.mark.parametrize("encoding", ["shift_jis", "koi8-r", "big5"])
def test_other_scripts_are_read_by_what_is_likely(read, encoding):
    text = {
        "shift_jis": "大腸菌はグルコースがあるとアラビノースを使わない。",
        "koi8-r": "Глюкоза подавляет промотор, и поэтому её добавляют в культуру без индукции.",
        "big5": "葡萄糖抑制啟動子，因此將其添加到未誘導的培養物中。",
    }[encoding]
    assert text in read((text * 10).encode(encoding), "notes.txt").text


def test_a_told_charset_that_is_none_is_not_believed(read):
    for charset in ("idna", "rot13", "nonsense", "base64", "a\0b", "unicode_escape"):
        assert read(b"Plain \\u0041.", charset=charset).text == "Plain \\u0041."


@pytest.mark.parametrize("content", [b"", b"\0" * 3000])
def test_an_empty_file_says_so(refused, content):
    assert refused(content) == "The file is empty."


def test_a_file_of_blanks_has_no_text(refused):
    assert refused(b" \n\t \n", "notes.txt") == "It contains no text."


@pytest.mark.parametrize(
    ("beginning", "told"),
    [
        (b"\x89PNG\r\n\x1a\n", "picture"),
        (b"\xff\xd8\xff\xe0", "picture"),
        (b"\x7fELF\x02", "program"),
        (b"\x1f\x8b\x08", "packed"),
        (b"{\\rtf1", "rich text"),
    ],
)
def test_other_kinds_are_named_and_what_can_be_read(refused, beginning, told):
    reason = refused(beginning + bytes(range(256)) * 8, "notes.txt")
    assert told in reason
    assert "DOCX" in reason


def test_bytes_of_no_kind_are_no_text(refused):
    assert "not supported" in refused(bytes(range(256)) * 20, "data.bin")


def test_a_text_over_the_limit_says_how_much_it_may_be(refused):
    assert "1,000 bytes" in refused(b"word " * 300, "long.txt", max_bytes=1000)
    assert "1,000 bytes" in refused(b"word " * 3000, "long.txt", max_bytes=1000)


def test_ends_of_lines_are_plain_and_what_nobody_sees_goes(read):
    assert read(b"one\r\ntwo\rthree\x0c\x07 in\xc2\xadduced of\xef\xac\x81ce").text == (
        "one\ntwo\nthree\n induced office"
    ).replace("office", "office")


@given(st.text())
def test_clean_text_stays_as_it_is(text):
    clean = reading.clean_text(text)
    assert reading.clean_text(clean) == clean
    clean.encode()


@given(st.text(max_size=400))
def test_a_title_is_one_line_of_a_length(text):
    title = reading.clean_title(text)
    if title is not None:
        assert 0 < len(title) <= reading.MAX_TITLE_LENGTH
        assert title == " ".join(title.split())
