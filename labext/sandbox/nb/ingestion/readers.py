"""Readers of plain text, HTML, PDF, pictures and audio."""

from __future__ import annotations

import codecs
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from starlette.exceptions import HTTPException

from labext.sandbox.nb.errors import UnreadableError
from labext.sandbox.nb.ingestion import reading
from labext.sandbox.nb.ingestion.reading import Document, OnStage, SourceFile
from labext.sandbox.nb.speech import transcription

_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|$)", re.DOTALL)
_FRONT_MATTER_TITLE = re.compile(r"""(?m)^title:[ \t]*(["']?)(.+?)\1[ \t]*$""")
_FENCE = re.compile(r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)")
_MARKDOWN_HEADING = re.compile(
    r"(?m)^#{1,3}[ \t]+(.+?)[ \t#]*$|^(\S[^\n]*)\n(?:={3,}|-{3,})[ \t]*$"
)


def read_plain_text(file: SourceFile, _on_stage: OnStage) -> Document:
    """Read a text file."""
    text = reading.clean_text(reading.decode_text(file.content(), file.charset))
    return Document([(None, text)], find_heading(text))


_MAX_WORDS_BEFORE_TITLE = 3
"""Words before a title, such as a link to the project's page."""


def find_heading(text: str) -> str | None:
    """Return the title in a Markdown text: from its front matter, or a heading at its beginning.

    A heading further down is that of a section: `Parameters`, `Usage`.
    """
    beginning = text[:100_000]
    front_matter = _FRONT_MATTER.match(beginning)
    if front_matter is not None:
        title = _FRONT_MATTER_TITLE.search(front_matter[1])
        if title is not None:
            return title[2]
        beginning = beginning[front_matter.end() :]
    beginning = _FENCE.sub("", beginning)
    heading = _MARKDOWN_HEADING.search(beginning)
    if heading is None or len(beginning[: heading.start()].split()) > _MAX_WORDS_BEFORE_TITLE:
        return None
    return heading[1] or heading[2]


_CHARSET = re.compile(
    rb"""(?i)<(?:meta|\?xml)[^>]{0,200}?(?:charset|encoding)=["']?([\w-]{2,40})"""
)

_HIDDEN_TAGS = ("noscript", "template", "head", "svg", "select", "button")


def read_html(file: SourceFile, _on_stage: OnStage) -> Document:
    """Read a web page."""
    content = file.content()
    tree = _parse_html(_decode_html(content, file.charset))
    if tree is None:
        raise UnreadableError("The page has no readable text.")
    title = _html_title(tree)
    return Document([(None, _main_text(tree))], title)


def _decode_html(content: bytes, charset: str | None) -> str:
    """Decode a page with the charset declared by the server or by the page."""
    if charset is None and not content.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE)):
        declared = _CHARSET.search(content[:4096])
        charset = None if declared is None else declared[1].decode()
        if charset is not None and charset.lower().startswith("utf-16"):
            charset = None  # impossible, as the declaration itself is ASCII
    return reading.decode_text(content, charset)


def _parse_html(text: str) -> Any:
    """Parse a page into a tree; None if there is none."""
    from lxml import etree, html  # type: ignore[import-untyped]

    parser = html.HTMLParser(remove_comments=True, remove_pis=True)
    source = re.sub(r"^\s*<\?xml[^>]*\?>", "", reading.clean_text(text))
    try:
        return html.document_fromstring(source, parser=parser)
    except (etree.LxmlError, ValueError, AssertionError):
        return None


def _html_title(tree: Any) -> str | None:
    for path in ('//meta[@property="og:title"]/@content', "//title", "//h1"):
        for element in tree.xpath(path):
            text = element if isinstance(element, str) else element.text_content()
            if title := reading.clean_title(str(text)):
                return title
    return None


def _main_text(tree: Any) -> str:
    """Return the main text found by trafilatura, or else all visible text."""
    import trafilatura
    from lxml import etree

    try:
        text = trafilatura.extract(
            tree, include_comments=False, include_tables=True, favor_recall=True
        )
    except (etree.LxmlError, ValueError, RecursionError, AttributeError, TypeError, KeyError):
        text = None
    if text and text.strip():
        return str(text)
    return _visible_text(tree)


def _visible_text(tree: Any) -> str:
    """Return all text except that of scripts and forms."""
    from lxml_html_clean import Cleaner

    Cleaner(style=True, kill_tags=_HIDDEN_TAGS, safe_attrs_only=False)(tree)
    lines = (" ".join(text.split()) for text in tree.itertext())
    return "\n".join(filter(None, lines))


_HYPHENATION = re.compile("(?<=\\w)[\x02\ufffe](?:\r\n|[\r\n])?")
"""The characters that PDFium returns for a hyphen at the end of a line."""

_PLACEHOLDER_TITLE = re.compile(
    r"(?i)(untitled|microsoft word - .*|.*\.(docx?|tex|dvi|pdf|indd|qxd|ps|rtf|odt)|slide \d+|"
    r"document\d*|powerpoint.*|doi:.*)"
)
"""Meaningless titles written by programs."""

_MAX_HEADING_WORDS = 12
"""Maximum words of a heading."""

_SENTENCE_END = re.compile(r"[.!?:;,…]['\")\]»”’]*$")


def read_pdf(file: SourceFile, on_stage: OnStage) -> Document:
    """Read a PDF."""
    import pypdfium2  # type: ignore[import-untyped]

    try:
        document = pypdfium2.PdfDocument(file.path)
    except pypdfium2.PdfiumError as error:
        raise _pdf_error(str(error)) from None
    with closing(document):
        pages = [*_pdf_pages(document, on_stage)]
        title = _pdf_title(document)
    if not pages:
        raise UnreadableError("The PDF has no pages: it is broken.")
    if not any(text.strip() for _number, text in pages):
        raise UnreadableError(
            f"There is no text on its {len(pages)} page{'s' if len(pages) > 1 else ''}: it looks "
            "scanned. Have a program for text recognition (OCR) add the text, then add it again."
        )
    return Document(pages, title)


def _pdf_error(reason: str) -> UnreadableError:
    if "password" in reason.lower():
        return UnreadableError("The PDF is encrypted: save it without a password and add it again.")
    if "security" in reason.lower():
        return UnreadableError(
            "The PDF is protected in a way that can't be read; save it without that."
        )
    return UnreadableError(
        "The PDF is broken: check that it opens, save it again and add it again."
    )


def _pdf_pages(document: Any, on_stage: OnStage) -> Iterator[tuple[int, str]]:
    count = len(document)
    for number in range(1, count + 1):
        on_stage(f"page {number} of {count}")
        yield number, separate_headings(_HYPHENATION.sub("", _pdf_page_text(document, number - 1)))


def separate_headings(text: str) -> str:
    """Return a page's text with blank lines around lines that look like headings.

    PDF text has no structure but lines. A short line between the end of a sentence and a capital
    letter that does not end a sentence itself is taken as a heading.
    """
    lines = text.splitlines()
    output: list[str] = []
    for number, line in enumerate(lines):
        if _is_heading(lines, number):
            output += ["", line, ""]
        else:
            output.append(line)
    return "\n".join(output)


def _is_heading(lines: list[str], number: int) -> bool:
    line = lines[number].strip()
    before = lines[number - 1].strip() if number else ""
    after = lines[number + 1].strip() if number + 1 < len(lines) else ""
    return (
        0 < len(line.split()) <= _MAX_HEADING_WORDS
        and not _SENTENCE_END.search(line)
        and (line[0].isupper() or line[0].isdigit())
        and (not before or bool(_SENTENCE_END.search(before)))
        and (after[:1].isupper() or after[:1].isdigit())
        and len(line) < max(map(len, lines)) * 0.8
    )


def _pdf_page_text(document: Any, index: int) -> str:
    """Return the text of a page; empty for a broken page."""
    import pypdfium2

    try:
        with closing(document[index]) as page, closing(page.get_textpage()) as text:
            return str(text.get_text_bounded())
    except pypdfium2.PdfiumError:
        return ""


def _pdf_title(document: Any) -> str | None:
    title = str(document.get_metadata_dict(skip_empty=True).get("Title", "")).strip()
    return None if _PLACEHOLDER_TITLE.fullmatch(title) else title


def read_picture(file: SourceFile, _on_stage: OnStage) -> Document:
    """Read the text in a picture with tesseract, if that is installed."""
    tesseract = shutil.which("tesseract")
    if tesseract is None:
        raise UnreadableError(
            "It is a picture: to read its text, install the program tesseract where the service "
            "runs, and add it again."
        )
    result = subprocess.run(
        [tesseract, str(file.path), "stdout"], capture_output=True, check=False, text=True
    )
    if result.returncode:
        raise UnreadableError("The picture is broken, or of a kind that tesseract can't read.")
    if not result.stdout.strip():
        raise UnreadableError("No text was recognized in the picture.")
    return Document([(None, result.stdout)])


def read_audio(file: SourceFile, on_stage: OnStage) -> Document:
    """Transcribe an audio or video file.

    Raises:
        UnreadableError: if no model can transcribe it, it is broken, or nobody speaks in it.
    """
    try:
        transcript = (file.hear or transcription.transcribe_built_in)(file.path, on_stage)
    except HTTPException as error:  # the model's server failed
        raise UnreadableError(error.detail) from None
    if not transcript.text.strip():
        raise UnreadableError("No speech was recognized in it.")
    return Document([(None, transcript.text)], transcript=transcript)
