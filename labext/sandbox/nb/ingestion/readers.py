"""Readers of plain text, HTML and audio."""

from __future__ import annotations

import codecs
import contextlib
import json
import re
from collections.abc import Iterator
from html import unescape
from itertools import groupby, takewhile
from pathlib import PurePosixPath
from typing import Any

from starlette.exceptions import HTTPException

from labext.sandbox.nb.errors import UnreadableError
from labext.sandbox.nb.ingestion import reading
from labext.sandbox.nb.ingestion.formulas import mark_formulas
from labext.sandbox.nb.ingestion.reading import Document, OnStage, SourceFile
from labext.sandbox.nb.speech import transcription

_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|$)", re.DOTALL)
_FRONT_MATTER_TITLE = re.compile(r"""(?m)^title:[ \t]*(["']?)(.+?)\1[ \t]*$""")
_FENCE = re.compile(r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)")
_MARKDOWN_HEADING = re.compile(
    r"(?m)^#{1,3}[ \t]+(.+?)[ \t#]*$|^(\S[^\n]*)\n(?:={3,}|-{3,})[ \t]*$"
)

_JSON_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"')
_JSON_SUFFIXES = (".json", ".jsonl", ".ndjson", ".geojson")
_COMMENTED_LIST = (
    ".bed .cfg .conf .gff .gff3 .ini .jl .pl .py .r .rb .sh .smk .toml .vcf .yaml .yml"
)
_COMMENTED_SUFFIXES = frozenset(_COMMENTED_LIST.split())
"""Files in which `#` begins a comment, not a heading."""


_SUBTITLE_SUFFIXES = (".srt", ".vtt")
_SUBTITLE_BLOCK = re.compile(r"(?m)(?:\A|(?<=\n\n))(?:WEBVTT|NOTE|STYLE|REGION)\b.*(?:\n.+)*")
_SUBTITLE_TIME = re.compile(r"(?m)^(?:(?:(?<=\n\n).+|\d+)\n)?[\d:.,]+ +--> .*$")
_SUBTITLE_VOICE = re.compile(r"<v[^ >]* ([^>\n]+)>")
_SUBTITLE_TAG = re.compile(r"</?(?:[bciuv]|font|lang|rt|ruby)\b[^>\n]*>|<[\d:.]+>|\{\\an\d\}")


def read_plain_text(file: SourceFile, _on_stage: OnStage) -> Document:
    """Read a text file: JSON without escapes such as `\\u00b5`, subtitles without times."""
    text = reading.clean_text(reading.decode_text(file.content(), file.charset))
    suffix = PurePosixPath(file.name.lower()).suffix
    if suffix in _JSON_SUFFIXES:
        with contextlib.suppress(ValueError):  # JSON with comments, or broken
            text = _JSON_STRING.sub(lambda match: f'"{json.loads(match[0], strict=False)}"', text)
    if suffix in _SUBTITLE_SUFFIXES:
        text = _subtitle_text(text)
    return Document([(None, text)], None if suffix in _COMMENTED_SUFFIXES else find_heading(text))


def _subtitle_text(text: str) -> str:
    """Return the lines of subtitles, with names of voices; those that captions repeat, once."""
    text = _SUBTITLE_TIME.sub("", _SUBTITLE_BLOCK.sub("", text))
    text = unescape(_SUBTITLE_TAG.sub("", _SUBTITLE_VOICE.sub(r"\1: ", text)))
    lines = filter(None, map(str.strip, text.split("\n")))
    return "\n".join(line for line, _ in groupby(lines))


_MAX_WORDS_BEFORE_TITLE = 3
"""Words before a title, such as a link to the project's page."""

_SECTION = re.compile(
    r"(?i:title|abstract|summary|introduction|overview|(?:table of )?contents)|"
    r"(?:\d{1,2}|[A-Z])\. [A-Z].*"
)


def find_heading(text: str) -> str | None:
    """Return the title in a Markdown text: from its front matter, or a heading at its beginning.

    A heading further down is that of a section, such as `Usage`, and so is `Abstract` or one with a
    number.
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
    name = heading[1] or heading[2]
    return None if _SECTION.fullmatch(name.strip()) else name


_CHARSET = re.compile(
    rb"""(?i)<(?:meta|\?xml)[^>]{0,200}?(?:charset|encoding)=["']?([\w-]{2,40})"""
)

_HEADING_TAGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_HEADING_MARK = "\N{ASTERISM}"  # trafilatura removes private characters
_MARKED_HEADING = re.compile(f"(?m)^[^\\S\n]*{_HEADING_MARK}([1-6])[^\\S\n]+(\\S.*)$")
_OTHER_MARK = re.compile(f"{_HEADING_MARK}[1-6] ?")
"""The mark of a heading without text."""

_TYPESET = (
    "//*[contains(@class, 'katex') or contains(@class, 'MathJax')][.//math]"
    "//*[@aria-hidden='true'][not(.//math)]"
)
_UNSEEN = (
    "//span[contains(@class, 'mw-editsection')] | //*[contains(@class, 'linenos')] | "
    "//a[contains(@class, 'headerlink') or . = '¶' or . = '#'] | //body//*"
    "[@hidden and @hidden != 'until-found' and not(@role = 'tabpanel' or @id = //@aria-controls)]"
)
"""XPath of hidden elements, except those that a click shows, of the edit links of Wikipedia, and of
line numbers of code and links beside headings."""

_DOCUMENT_PROGRAM = re.compile(
    r"(?i)\b(?:pandoc|quarto|microsoft (?:word|excel)|(?:libre|open)office|org mode|asciidoctor|"
    r"latexml|pdoc|docutils|documentation_options)\b"
)
"""Programs whose pages are documents: in their main element, all text belongs to them."""

_PROGRAMS = (
    "//meta[@name = 'generator' or @name = 'Generator']/@content | "
    "//script/@src[contains(., 'documentation_options')]"  # Sphinx
)
_DOCUMENTS = "//article", "//*[@role='main']", "//main", "//body"

_FOOTNOTES = (
    "//*[@role='doc-endnotes' or @role='doc-footnote' or starts-with(@id, 'sdfootnote') or "
    "starts-with(@id, 'sdendnote') or contains(concat(' ', @class, ' '), ' footnotes ')]"
)
"""XPath of footnotes as written by pandoc, LibreOffice and others."""

_REMARKS = "//*[self::article or self::main]//aside[.//p and not(.//a or .//nav)]"
"""XPath of remarks within a text, such as warnings, unlike lists of links."""

_LINE_BREAK = "\N{LINE SEPARATOR}"
"""Stands for `<br>`, unlike other line ends of HTML, which are blanks."""

_BLANKS = re.compile(r"\s+")
_NOT_LETTER = re.compile(r"[\W_]+")
_MARKED_ITEM = re.compile(r"(?m)^([ \t]*)- (?=(?:(?:\d+|[a-zA-Z]|[ivxIVX]+)\.|-) )")
_INLINE_LIST = """
    a abbr b bdi bdo big blink cite code data del dfn em embed font i iframe img ins kbd mark
    picture q rp rt ruby s samp small source span strike strong sub sup time tt u var wbr br
"""
_INLINE = frozenset(_INLINE_LIST.split())
_HIDDEN_LIST = """
    applet audio button head input noscript script select style svg template textarea video
"""
_HIDDEN_TAGS = _HIDDEN_LIST.split()
_MIN_MAIN_TEXT = 250
"""Minimum characters of a main text; trafilatura takes shorter pages apart, element by element."""


def read_html(file: SourceFile, _on_stage: OnStage) -> Document:
    """Read a web page."""
    return read_page(file.content(), file.charset)


def read_page(content: bytes, charset: str | None) -> Document:
    """Read the content of a web page."""
    tree = _parse_html(_decode_html(content, charset))
    if tree is None:
        raise UnreadableError(
            "The page has no readable text: check that it shows some without JavaScript."
        )
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
    """Parse a page into a tree with marks of list items and exponents; None if there is none."""
    from lxml import etree, html  # type: ignore[import-untyped]

    parser = html.HTMLParser(remove_comments=True, remove_pis=True)
    source = re.sub(r"^\s*<\?xml[^>]*\?>", "", reading.clean_text(text))
    try:
        tree = html.document_fromstring(source, parser=parser)
    except (etree.LxmlError, ValueError, AssertionError):
        return None
    for element in tree.xpath(_UNSEEN):
        element.drop_tree()
    _drop_typeset_formulas(tree)
    _keep_footnotes(tree)
    _mark_list_items(tree)
    reading.fill_spans(tree)
    reading.mark_exponents(tree)
    mark_formulas(tree)
    for formula in tree.iter("math"):
        formula.tag = "span"  # trafilatura drops others
        formula.getparent().attrib.pop("style", None)  # Wikipedia shows a picture of it instead
    _join_definitions(tree)
    return tree


def _drop_typeset_formulas(tree: Any) -> None:
    """Remove the copies of MathML formulas that KaTeX and MathJax typeset."""
    for copy in tree.xpath(_TYPESET):
        copy.drop_tree()
    for container in tree.xpath("//*[starts-with(name(), 'mjx-')]"):
        container.tag = "span"


def _keep_footnotes(tree: Any) -> None:
    """Remove what trafilatura drops footnotes and headings for: their classes and anchors."""
    for note in tree.xpath(_FOOTNOTES):
        for element in note.iter():
            for name in ("class", "id", "role"):
                element.attrib.pop(name, None)
            element.attrib.pop("href", None)
    for anchor in [*tree.iter("a")]:
        if anchor.get("href") is None:
            anchor.drop_tag()


def _html_title(tree: Any) -> str | None:
    for path in ('//meta[@property="og:title"]/@content', "//title", "//h1"):
        for element in tree.xpath(path):
            text = element if isinstance(element, str) else element.text_content()
            if title := reading.clean_title(str(text)):
                return title
    return None


def _main_text(tree: Any) -> str:
    """Return the main text found by trafilatura, or all text of documents and short pages.

    trafilatura's Markdown escapes characters, as in `pBAD\\_33`, which search and quotations would
    not find; in its plain text, headings are lines like others, so they are marked before.
    """
    import trafilatura
    from lxml import etree

    if any(map(_DOCUMENT_PROGRAM.search, tree.xpath(_PROGRAMS))):
        return "\n\n".join(_visible_blocks(_document(tree)))
    for figure in tree.xpath(f"//figure | //blockquote[.//table] | {_REMARKS}"):
        figure.tag = "div"  # others lose their text
    for caption in tree.xpath("//figcaption | //div[contains(@class, 'caption')]"):
        caption.attrib.pop("class", None)
        is_text = all(element.tag in _INLINE for element in caption.iterdescendants())
        caption.tag = "p" if is_text else "div"
    for element in tree.iter("output", "time"):
        element.tag = "span"  # trafilatura drops others
    for table in tree.xpath("//table[not(ancestor::table)]"):
        for caption in table.findall("caption"):  # it would be the header
            caption.tag = "p"
            table.addprevious(caption)
        end = table.makeelement("p")
        end.text = f"{_HEADING_MARK}1"
        end.tail, table.tail = table.tail, None
        table.addnext(end)
    for line_break in tree.xpath("//li//br"):  # the text after it loses blanks
        line_break.tail = f" {line_break.tail or ''}"
        line_break.drop_tag()
    for heading in [*tree.iter(*_HEADING_TAGS)]:
        if next(heading.iterancestors("table"), None) is not None:
            continue
        _join_lines(heading)
        _keep_section(heading)
        heading.text = f"{_HEADING_MARK}{heading.tag[1]} {heading.text or ''}"
        heading.tag = "p"  # trafilatura drops headings outside of <main> and <article>
    try:
        text = trafilatura.extract(
            tree, include_comments=False, include_tables=True, favor_recall=True
        )
    except (etree.LxmlError, ValueError, RecursionError, AttributeError, TypeError, KeyError):
        text = None
    if len(text or "") < _MIN_MAIN_TEXT:
        text = "\n\n".join(_visible_blocks(tree))
    text = _MARKED_HEADING.sub(lambda line: f"\n{'#' * int(line[1])} {line[2]}\n", str(text))
    text = _MARKED_ITEM.sub(r"\1", _OTHER_MARK.sub("", text))
    return re.sub(r"\n{3,}", "\n\n", text)


def _document(tree: Any) -> Any:
    """Return the element of a page of documentation that has its text, without navigation."""
    for navigation in tree.xpath("//nav | //*[@role='navigation']"):
        navigation.drop_tree()
    found = (tree.xpath(path) for path in _DOCUMENTS)
    return next((elements[0] for elements in found if len(elements) == 1), tree)


def _join_lines(heading: Any) -> None:
    """Put the text of a heading on one line."""
    for element in heading.iter():
        element.text = _BLANKS.sub(" ", element.text or "")
        if element is not heading:
            element.tail = _BLANKS.sub(" ", element.tail or "")


def _keep_section(heading: Any) -> None:
    """Remove the name of a section if it is that of its heading.

    trafilatura drops sections with some names, such as `related-work` and `author-contributions`.
    """
    section = heading.getparent()
    title = _NOT_LETTER.sub("", heading.text_content()).lower()
    if section is not None and _NOT_LETTER.sub("", section.get("id", "")).lower() == title:
        section.attrib.pop("id", None)


def _mark_list_items(tree: Any) -> None:
    """Put their numbers, or hyphens, before the text of list items."""
    for items in tree.iter("ol", "ul"):
        number = _integer(items.get("start"), 1)
        for item in items.iterchildren("li"):
            number = _integer(item.get("value"), number)
            first = item
            while len(first) and not (first.text or "").strip() and first[0].tag in ("div", "p"):
                first = first[0]
            numbered = reading.format_list_number(number, items.get("type", "1"))
            mark = "-" if items.tag == "ul" else f"{numbered}."
            first.text = f"{mark} {(first.text or '').lstrip()}"
            number += 1


def _join_definitions(tree: Any) -> None:
    """Put the definitions of a list behind their terms, from which a passage could part them."""
    for term in [*tree.iter("dt")]:
        definitions = [*takewhile(lambda element: element.tag == "dd", term.itersiblings())]
        text = " ".join(term.text_content().split()).rstrip(":")
        if not definitions or not text or next(term.iter(*_HEADING_TAGS), None) is not None:
            continue
        del term[:]
        term.text = f"{text}: "
        for definition in definitions:
            definition.text = (definition.text or "").lstrip()
            definition.tail = " "
            is_text = all(element.tag in _INLINE for element in definition.iterdescendants())
            definition.tag = "span" if is_text else "div"
            term.append(definition)


def _integer(text: str | None, default: int) -> int:
    return int(text) if text is not None and text.isdecimal() else default


def chapter_text(content: bytes, charset: str | None = None) -> str:
    """Return all text of a chapter of a book, or of an e-mail."""
    tree = _parse_html(_decode_html(content, charset))
    return "" if tree is None else "\n\n".join(_visible_blocks(tree))


def _visible_blocks(tree: Any) -> Iterator[str]:
    """Yield the headings, paragraphs, list items, table rows and code of a page."""
    from lxml import etree

    etree.strip_elements(tree, *_HIDDEN_TAGS, with_tail=False)
    for line_break in tree.iter("br"):
        line_break.tail = f"{_LINE_BREAK}{line_break.tail or ''}"
    yield from _blocks(tree)


def _blocks(element: Any) -> Iterator[str]:
    if element.tag == "pre":
        code = element.text_content().replace(_LINE_BREAK, "\n").strip("\n")
        yield f"```\n{code}\n```"
    elif element.tag == "table" and (rows := _table_rows(element)):
        captions = (" ".join(item.text_content().split()) for item in element.iter("caption"))
        yield "\n\n".join([*filter(None, captions), reading.format_table(rows)])
    elif element.tag in _HEADING_TAGS:
        if text := " ".join(element.text_content().split()):
            yield f"{'#' * int(element.tag[1])} {text}"
    else:
        yield from _flow(element)


def _table_rows(table: Any) -> list[list[str]]:
    """Return the rows of a table; none of one that is a layout, with a single column of text."""
    rows = [
        [*map(_cell_text, row.iterchildren())]
        for row in table.iter("tr")
        if next(row.iterancestors("table")) is table
    ]
    return rows if any(len([*filter(str.strip, row)]) > 1 for row in rows) else []


def _cell_text(cell: Any) -> str:
    """Return the text of a cell with blanks around its paragraphs and list items."""
    text = cell.text or ""
    for child in cell:
        gap = "" if _is_inline(child) else " "
        text += f"{gap}{_cell_text(child)}{gap}{child.tail or ''}"
    return text


def _is_inline(element: Any) -> bool:
    return element.tag in _INLINE or ":" in element.tag  # such as Word's `o:p`


def _flow(element: Any) -> Iterator[str]:
    """Yield the blocks in an element, and the text between them."""
    text = element.text or ""
    for child in element:
        if all(map(_is_inline, child.iter())):
            text += child.text_content()
        else:
            yield from _broken_lines(text)
            yield from _blocks(child)
            text = ""
        text += child.tail or ""
    yield from _broken_lines(text)


def _broken_lines(text: str) -> Iterator[str]:
    """Yield a text with its line breaks, if it has other characters than blanks."""
    lines = (" ".join(line.split()) for line in text.split(_LINE_BREAK))
    if block := "\n".join(lines).strip():
        yield block


def read_audio(file: SourceFile, on_stage: OnStage) -> Document:
    """Transcribe an audio or video file."""
    try:
        transcript = (file.hear or transcription.transcribe_built_in)(file.path, on_stage)
    except HTTPException as error:  # the model's server failed
        raise UnreadableError(error.detail) from None
    if not transcript.text.strip():
        raise UnreadableError("No speech was recognized in it: check that it contains speech.")
    return Document([(None, transcript.text)], transcript=transcript)
