"""Readers of markup and data in text files: tables, notebooks, RTF, XML and sequences."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from itertools import chain, islice, pairwise
from typing import Any

from labext.genbank import accession_numbers, complete_locus_lines
from labext.sandbox.nb.errors import UnreadableError
from labext.sandbox.nb.ingestion import reading
from labext.sandbox.nb.ingestion.formulas import mark_formulas
from labext.sandbox.nb.ingestion.readers import chapter_text, find_heading, read_page
from labext.sandbox.nb.ingestion.reading import Document, OnStage, SourceFile

_DELIMITERS = "\t;|,"
"""Delimiters of values, the most reliable ones first: a comma may be a decimal one."""

_DECLARED_DELIMITER = re.compile(r"sep=([,;\t|])\n")
"""The first line of tables for Excel."""

_MAX_SAMPLE_LINES = 50
_MAX_FIELD_LENGTH = 120
"""Maximum characters of an XML element that is taken as a field, `name: value`."""

_XML_ROWS = ("tr", "row")
_XML_ROW_PARENTS = ("table", "tbody", "tfoot", "thead")
_XML_LAYOUT = ("col", "colspec", "graphic")
"""Elements of tables and figures that have attributes for their layout only."""

_XML_BLOCKS = frozenset(
    {"boxed-text", "def-list", "disp-formula", "disp-quote", "fig", "list", "preformat"}
    | {"table-wrap", "figure", "informaltable", "itemizedlist", "orderedlist", "programlisting"}
    | {"table", "variablelist"}
)
"""Elements of JATS, DocBook and TEI that paragraphs may contain."""

_XML_INLINE = frozenset(
    {"bold", "emphasis", "hi", "italic", "monospace", "sc", "style", "sub", "subscript", "sup"}
    | {"superscript", "underline", "xref"}
)
_XML_NOTES = ("fn", "footnote", "note")
_XML_LINE_BREAKS = ("break", "br", "lb")


@contextmanager
def report_broken(kind: str) -> Iterator[None]:
    """Raise UnreadableError if the block, which reads a file of a kind such as `e-mail`, fails."""
    try:
        yield
    except UnreadableError:
        raise
    except Exception as error:  # the libraries raise many different exceptions
        raise UnreadableError(
            f"The {kind} is broken: check that it opens, save it again and add it again."
        ) from error


def read_table(file: SourceFile, _on_stage: OnStage) -> Document:
    """Read delimited values; each row becomes a line."""
    # The first line may begin with a tab: the header of the column of row names is often empty.
    text = reading.clean_characters(reading.decode_text(file.content(), file.charset)).strip("\n")
    declared = _DECLARED_DELIMITER.match(text)
    if declared is not None:
        text = text[declared.end() :]
    with _unlimited_fields():
        delimiter = declared[1] if declared is not None else _guess_delimiter(text)
        source = io.StringIO(text, newline="")
        rows: Iterator[list[str]] = csv.reader(source, delimiter=delimiter)
        if delimiter == "\t" and text.count('"') % 2:  # a quotation mark that is text
            rows = csv.reader(source, delimiter=delimiter, quoting=csv.QUOTE_NONE)
        comments, header = [], next(rows, [])
        while header and header[0].startswith("#"):
            comments.append(header)
            header = next(rows, [])
        if comments and len(comments[-1]) == len(header):  # such as `#CHROM`
            rows, header = chain([header], rows), comments.pop()
        sample = [*islice(rows, _MAX_SAMPLE_LINES)]
        is_named = all(len(row) == len(header) + 1 and row[0] for row in sample if row)
        if len(header) > 1 and is_named and any(row[-1] for row in sample if row):
            header = ["", *header]  # R writes no header for the names of rows
        lines = [delimiter.join(comment).replace("\t", " ") for comment in comments]
        lines += reading.sheet_lines(chain([header], sample, rows))
    return Document([(None, "\n".join(lines))])


@contextmanager
def _unlimited_fields() -> Iterator[None]:
    """Accept CSV fields above the default limit of 128 KiB, such as genomes."""
    limit = csv.field_size_limit(1 << 30)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def _guess_delimiter(text: str) -> str:
    """Return the delimiter that splits most of the first lines into equally many fields."""
    lines = text.split("\n", _MAX_SAMPLE_LINES)[:_MAX_SAMPLE_LINES]

    def rank(delimiter: str) -> tuple[int, int]:
        rows = [*csv.reader(lines, delimiter=delimiter)]
        widths = Counter(map(len, rows))
        del widths[1]
        cut_quotations = sum('"' in field for row in rows for field in row)
        return max(widths.values(), default=0), -cut_quotations

    return max(_DELIMITERS, key=rank)


_TERMINAL_CODE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_OVERWRITTEN = re.compile(r"[^\r\n]*\r(?=[^\r\n])")
"""Text before a carriage return, such as earlier states of a progress bar."""

_OBJECT = re.compile(r"<[\w.]+(?: object)?(?: at 0x[\da-fA-F]+)?>")
"""The text of an output that only its HTML shows, such as a styled table."""

_CLEAR_OUTPUTS = "clear its large outputs, save it and add it again"


def read_notebook(file: SourceFile, _on_stage: OnStage) -> Document:
    """Read the cells of a Jupyter notebook and the texts of their outputs.

    The format is read as JSON: importing nbformat takes longer than reading most notebooks.
    """
    text = reading.decode_text(file.content(_CLEAR_OUTPUTS), file.charset)
    try:
        notebook = json.loads(text)
        if "worksheets" in notebook:
            raise UnreadableError(
                "The notebook is of an old version: save it again in Jupyter and add it again."
            )
        blocks = [block for cell in notebook["cells"] for block in _cell_blocks(cell)]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UnreadableError(
            "It is not a valid Jupyter notebook: check that it opens, save it again and add it "
            "again."
        ) from error
    result = "\n\n".join(block for block in blocks if block.strip())
    if not result:
        raise UnreadableError("The notebook is empty: add it again once its cells have text.")
    if len(result) > file.max_bytes:
        raise UnreadableError(
            f"The text of the notebook is bigger than {file.max_bytes:,} bytes; {_CLEAR_OUTPUTS}."
        )
    return Document([(None, result)], find_heading(result))


def _cell_blocks(cell: dict[str, Any]) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] != "code":
        yield source
        return
    if source.strip():
        yield f"```\n{source}\n```"
    for output in cell.get("outputs", ()):
        data = output.get("data", {})
        error = ": ".join(output[key] for key in ("ename", "evalue") if output.get(key))
        text = "".join(
            output.get("text") or data.get("text/markdown") or data.get("text/plain") or error
        )
        page = "".join(data.get("text/html", ()))
        if page and _OBJECT.fullmatch(text.strip()):
            text = chapter_text(page.encode())
        yield _OVERWRITTEN.sub("", _TERMINAL_CODE.sub("", text))


_MAIL_FIELDS = ("Subject", "From", "To", "Cc", "Date")
_MAIL_TEXTS = ("text/", "multipart/")
"""Types of parts with text; of several parts if their boundary is missing."""

_SHOWN = ("text/plain", "text/html")
"""Types of files that e-mail programs show below the text."""


def read_mail(file: SourceFile, _on_stage: OnStage) -> Document:
    """Read an e-mail, or a web page that a browser has saved in one file (MHTML)."""
    with report_broken("e-mail"):
        return _read_message(message_from_bytes(file.content(), policy=policy.default))


def _read_message(message: EmailMessage) -> Document:
    """Read a message, and those that are attached to it."""
    page = message.get_body(("html",))
    if message.get_content_type() == "multipart/related" and page is not None and not message["To"]:
        content: Any = page.get_payload(decode=True)
        return read_page(content, page.get_content_charset())
    fields = "\n".join(f"{name}: {message[name]}" for name in _MAIL_FIELDS if message[name])
    return Document([(None, "\n\n".join([fields, *_mail_blocks(message)]))], message["Subject"])


def _mail_blocks(part: Any) -> Iterator[str]:
    """Yield the texts of a part of an e-mail, and remarks in place of its attachments."""
    kind, name = part.get_content_type(), part.get_filename()
    if kind == "message/rfc822":
        yield _read_message(part.get_content()).text
    elif kind == "multipart/alternative":
        options = ([*_mail_blocks(option)] for option in sorted(part.iter_parts(), key=_rank))
        yield from next(filter(None, options), [])
    elif part.is_multipart():
        parts = [*part.iter_parts()]
        is_extended = kind in ("multipart/related", "multipart/signed")  # by pictures, a signature
        for child in parts[:1] if is_extended else parts:
            yield from _mail_blocks(child)
    elif part.is_attachment() or not kind.startswith(_MAIL_TEXTS) or (name and kind not in _SHOWN):
        yield f"(the attachment {name or kind} is not included: add that file, too)"
    else:
        content, charset = part.get_payload(decode=True), part.get_content_charset()
        read = chapter_text if kind == "text/html" else reading.decode_text
        if text := read(content, charset).strip():
            yield text


def _rank(alternative: Any) -> tuple[bool, bool]:
    """Return the rank of an alternative text: first one with attachments, then plain text."""
    kind = alternative.get_content_type()
    return kind != "multipart/mixed", kind != "text/plain"


_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)


def group_end(source: str, start: int) -> int:
    """Return the end of the group in braces at `start`; `start` if there is none.

    Blanks may precede it. A backslash escapes a brace, in LaTeX and in RTF.
    """
    blanks = re.compile(r"\s*").match(source, start)
    position = start if blanks is None else blanks.end()
    if source[position : position + 1] != "{":
        return start
    depth = 0
    for brace in _BRACE.finditer(source, position):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if depth == 0:
            return brace.end()
    return start


_RTF_NOTE = re.compile(r"\{(?:\\\*)?\\footnote\b(?:\s*\\ftnalt\b)? ?")
_RTF_LIST_NUMBER = re.compile(r"\{(?:\\\*)?\\(?:pntext|listtext)\b ?")
_RTF_BINARY_WITHOUT_LENGTH = re.compile(r"\\bin(?![a-z\d-])")
"""As written by pandoc, before hexadecimal digits; striprtf fails with it."""

_RTF_GROUP = re.compile(r"(?<!\\)\{(?:[^{}\\]|\\.)*+\}", re.DOTALL)
_RTF_HIDDEN = re.compile(r"\{(?:\\[a-z]++(?:-?\d++)?\s?)*?\\(?:deleted|v)(?![a-z\d])")
"""The beginning of a group of deleted or hidden text."""

_RTF_ROW_START = re.compile(r"\\(?:trowd|row)\b")
_RTF_PARAGRAPH = re.compile(r"\\par(?![a-z\d]) ?")
_RTF_STYLE = re.compile(r"\\s(\d+) ?")
_RTF_HEADING_STYLE = re.compile(r"(?i)\{\\s(\d+)(?!\d)[^{}]*\bheading ([1-6]);\}")
_RTF_HEADING = re.compile(r"\\outlinelevel([0-5])(?!\d) ?")
_RTF_SUPERSCRIPT = re.compile(r"\\super(?![a-z\d]) ?")
_RTF_TITLE = re.compile(r"\{\\title [^{}]*\}")
_RTF_ROW = re.compile(r"(?m)^(.*)\|$")


def read_rich_text(file: SourceFile, _on_stage: OnStage) -> Document:
    """Read a document in rich text format (RTF)."""
    source = _RTF_BINARY_WITHOUT_LENGTH.sub("", file.content().decode("latin-1"))
    source = _RTF_GROUP.sub(lambda group: "" if _RTF_HIDDEN.match(group[0]) else group[0], source)
    source = _join_rtf_cells(_RTF_LIST_NUMBER.sub("{", source))
    source = _RTF_SUPERSCRIPT.sub(rf"\\super {reading.SUPERSCRIPT}", source)
    source = _mark_rtf_headings(source)
    title = next(reversed([*_RTF_TITLE.finditer(source)]), None)  # the first one may be ANSI
    with report_broken("RTF document"):
        text = _rtf_text(_with_rtf_notes(source))
        title_text = None if title is None else _rtf_text(rf"{{\rtf1\ansi {title[0][8:]}")
    text = _RTF_ROW.sub(lambda row: reading.format_table([row[1].split("|")]), text)
    return Document([(None, text)], title_text or find_heading(text))


def _join_rtf_cells(source: str) -> str:
    """Return RTF with each cell of a table as one paragraph, so that its row stays one line."""
    parts = re.split(r"(\\cell\b)", source)
    for place in range(0, len(parts) - 1, 2):
        start = max((match.end() for match in _RTF_ROW_START.finditer(parts[place])), default=0)
        cell = _RTF_PARAGRAPH.sub(" ", parts[place][start:])
        parts[place] = parts[place][:start] + cell
    return "".join(parts)


def _mark_rtf_headings(source: str) -> str:
    """Return RTF with marks before headings, found by outline levels or else by their styles."""
    start = source.find(r"{\stylesheet")
    end = 0 if start < 0 else group_end(source, start)
    styles, body = source[:end], source[end:]
    body, count = _RTF_HEADING.subn(lambda level: f"{'#' * (int(level[1]) + 1)} ", body)
    if not count:
        marks = {style: "#" * int(level) for style, level in _RTF_HEADING_STYLE.findall(styles)}
        body = _RTF_STYLE.sub(
            lambda style: f"{marks[style[1]]} " if style[1] in marks else style[0], body
        )
    return styles + body


def _rtf_text(source: str) -> str:
    from striprtf.striprtf import rtf_to_text

    text = rtf_to_text(source, errors="replace")  # type: ignore[no-untyped-call]
    return reading.resolve_superscripts(str(text))


def _with_rtf_notes(source: str) -> str:
    """Return RTF with its notes in brackets at their marks, where striprtf reads them."""
    parts: list[str] = []
    start = 0
    for note in _RTF_NOTE.finditer(source):
        end = group_end(source, note.start())
        if start <= note.start() < end:
            parts += [source[start : note.start()], "{ [", source[note.end() : end - 1], "]}"]
            start = end
    return "".join([*parts, source[start:]])


def read_xml(file: SourceFile, _on_stage: OnStage) -> Document:
    """Read the paragraphs of an XML document, and short elements as fields, `name: value`."""
    from lxml import etree  # type: ignore[import-untyped]

    try:
        root = parse_xml(file.content())
    except etree.XMLSyntaxError as error:
        raise UnreadableError(_xml_problem(" ".join(str(error.msg).split()))) from None
    reading.fill_spans(root)
    reading.mark_exponents(root)
    mark_formulas(root)
    _number_xml_lists(root)
    return Document([(None, "\n".join(_xml_blocks(root)))], _xml_title(root))


def _number_xml_lists(root: Any) -> None:
    """Put their numbers before the items of ordered lists of JATS and DocBook."""
    ordered = "//*[local-name()='list'][@list-type='order'] | //*[local-name()='orderedlist']"
    for items in root.xpath(ordered):
        for number, item in enumerate(items.iterchildren("{*}list-item", "{*}listitem"), 1):
            paragraph = next(item.iterchildren("{*}p", "{*}para", "{*}simpara"), None)
            if paragraph is not None and item.find("{*}label") is None:
                paragraph.text = f"{number}. {paragraph.text or ''}"


def _xml_problem(reason: str) -> str:
    """Return the message about XML that libxml2 refuses, from its reason."""
    if "amplification" in reason or "entity reference loop" in reason:
        return (
            "Its entities expand to far more text than it has: save it without them (the part "
            "<!DOCTYPE …>) and add it again."
        )
    if "Excessive depth" in reason:
        return "Its elements are nested too deeply to be read: save it with fewer levels."
    return f"The XML is not well-formed: {reason}. Correct it and add it again."


def parse_xml(content: bytes) -> Any:
    """Parse XML without entities and network, within the limits of libxml2."""
    from lxml import etree

    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True
    )
    return etree.fromstring(content, parser=parser)


def _xml_blocks(element: Any) -> Iterator[str]:
    name = xml_name(element)
    if not name or name in _XML_LAYOUT:
        return
    parent = element.getparent()
    parent_name = "" if parent is None else xml_name(parent)
    attributes = _xml_attributes(element)
    if name in _XML_ROWS and parent_name in _XML_ROW_PARENTS:
        line = reading.format_table([[_xml_text(cell) for cell in element]])
        is_first = element.getprevious() is None
        yield line if is_first or not line or " | " in f" {line}" else f"{line} |"
    elif _has_own_text(element) and any(map(_is_xml_block, element)):
        yield from _xml_flow(element)
    elif _has_own_text(element):
        text = " ".join(_xml_text(element).split())
        if name in ("title", "head") and parent_name != "caption":
            yield f"\n## {text}\n"
        elif len(element) or name in ("p", "para", "title") or len(text) > _MAX_FIELD_LENGTH:
            yield f"\n{text}\n"
        else:
            yield f"{name}: {text}" + (f" ({attributes})" if attributes else "")
    else:
        blocks = [block for child in element for block in _xml_blocks(child)]
        if attributes and not any(block.startswith("\n") or " | " in block for block in blocks):
            yield f"{name}: {attributes}"
        yield from blocks


def _xml_attributes(element: Any) -> str:
    """Return the attributes of an element except those of other namespaces, such as links."""
    attributes = ((key, value) for key, value in element.attrib.items() if key[0] != "{")
    return ", ".join(f"{key} {value}" for key, value in attributes if key != "name-style")


def _xml_flow(element: Any) -> Iterator[str]:
    """Yield the text of a paragraph, and the lists, tables and formulas between it."""
    text = element.text or ""
    for child in element:
        if _is_xml_block(child):
            if line := " ".join(text.split()):
                yield f"\n{line}\n"
            yield from _xml_blocks(child)
            text = ""
        else:
            text += _xml_text(child)
        text += child.tail or ""
    if line := " ".join(text.split()):
        yield f"\n{line}\n"


def xml_name(element: Any) -> str:
    """Return the local name of an element; empty for an entity."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _is_xml_block(element: Any) -> bool:
    return xml_name(element) in _XML_BLOCKS


def _has_own_text(element: Any) -> bool:
    return bool((element.text or "").strip()) or any(
        (child.tail or "").strip() or (xml_name(child) in _XML_INLINE and _has_own_text(child))
        for child in element
    )


def _xml_text(element: Any) -> str:
    """Return the text of an element; blanks separate elements that have no text between them."""
    name = xml_name(element)
    if not name or name in _XML_LINE_BREAKS:
        return name and " "
    if _has_own_text(element):
        inner = (
            text for child in element for text in (_xml_text(child), child.tail or _xml_gap(child))
        )
        words = "".join([element.text or "", *inner, " " * (name == "label")])
    else:
        words = " ".join(map(_xml_text, element))
    parent = element.getparent()
    is_note = name in _XML_NOTES and parent is not None and _has_own_text(parent)
    return f" [{words.strip()}]" if is_note else words


def _xml_gap(element: Any) -> str:
    """Return the blank between an element and the next one, or nothing beside an inline one."""
    following = element.getnext()
    both = {xml_name(element), "" if following is None else xml_name(following)}
    return "" if following is None or both & _XML_INLINE else " "


def _xml_title(root: Any) -> str | None:
    for name in ("article-title", "title"):
        for element in root.iter(f"{{*}}{name}"):
            if text := reading.clean_title(_xml_text(element)):
                return text
    return None


_MAX_LETTERS = 200
"""Maximum length of a sequence that is quoted, such as a primer's."""

_FIELDS = ("accessions", "organism", "keywords")
_NAME_QUALIFIERS = ("label", "gene", "standard_name", "locus_tag")
_TEXT_QUALIFIERS = ("gene", "product", "function", "note", "EC_number", "organism", "strain")
_PRESERVED_VALUES = "labext:"
"""Start of the lines in which exported files keep values that GenBank has no place for."""


def read_sequences(file: SourceFile, _on_stage: OnStage) -> Document:
    """Read the names, descriptions, references and features of sequences; else the plain text."""
    from Bio import SeqIO

    text = reading.clean_text(reading.decode_text(file.content(), file.charset))
    kind = "fasta" if text.startswith(">") else "genbank"
    records = []
    # The parser warns of unusual lines, and raises many different exceptions.
    with warnings.catch_warnings(action="ignore"), contextlib.suppress(Exception):
        records = [*SeqIO.parse(io.StringIO(complete_locus_lines(text)), kind)]
    if not records:
        return Document([(None, text)])
    if kind == "fasta":
        return Document([(None, "\n".join(map(_fasta_item, records)))])
    title = _description(records[0]) if len(records) == 1 else None
    return Document([(None, "\n\n".join(map(_genbank_section, records)))], title)


def _fasta_item(record: Any) -> str:
    short = f": {record.seq}" if len(record) <= _MAX_LETTERS else ""
    return f"- {record.description}, {len(record):,} letters{short}"


def _genbank_section(record: Any) -> str:
    annotations = record.annotations
    molecule = annotations.get("molecule_type", "")
    unit = "residues" if molecule == "protein" else "bp"
    kind = " ".join(filter(None, (annotations.get("topology"), molecule)))
    length = ", ".join(filter(None, (f"{len(record):,} {unit}", kind)))
    blocks = [f"# {_description(record)}", f"Name: {record.name}", f"Length: {length}"]
    for field in _FIELDS:
        value = annotations.get(field, "")
        value = accession_numbers(value) if field == "accessions" else value
        words = ", ".join(value) if isinstance(value, list) else value
        if words.strip(". "):
            blocks.append(f"{field.capitalize()}: {words}")
    blocks += [
        ". ".join(filter(None, (item.authors.rstrip("."), item.title, item.journal)))
        for item in annotations.get("references", ())
    ]
    blocks.append(_without_preserved(annotations.get("comment", "")))
    circular = annotations.get("topology") == "circular"
    features = [
        _feature_item(feature, len(record), circular=circular) for feature in record.features
    ]
    if features:
        blocks += ["## Features", "\n".join(features)]
    return "\n\n".join(filter(None, blocks))


def _description(record: Any) -> str:
    return record.description.strip(". ") or str(record.name)


def _feature_item(feature: Any, length: int, *, circular: bool) -> str:
    """Return a list item such as `- CDS bla, 3001–3861, reverse strand: beta-lactamase`."""
    names = (name for key in _NAME_QUALIFIERS for name in feature.qualifiers.get(key, ()))
    head = f"{feature.type} {next(names, '')}".strip()
    texts = dict.fromkeys(_texts(feature.qualifiers))
    detail = "; ".join(text for text in texts if text not in head)
    place = _place(feature.location, length, circular=circular)
    return ", ".join(filter(None, (f"- {head}", place))) + (f": {detail}" if detail else "")


def _place(location: Any, length: int, *, circular: bool) -> str:
    """Return the positions from 1 and the strand; across the origin, the start exceeds the end.

    Empty if the location is invalid, unknown or in another record.
    """
    parts = [] if location is None else [part for part in location.parts if not part.ref]
    try:
        spans = [(int(part.start), int(part.end)) for part in parts]
    except TypeError:
        return ""
    if not spans:
        return ""
    if location.strand == -1:
        spans.reverse()
    start, end = spans[0][0], spans[-1][1]
    joins_ends = any(a[1] == length and b[0] == 0 for a, b in pairwise(spans))
    if not (circular and joins_ends and end <= start):
        start, end = min(a for a, _ in spans), max(b for _, b in spans)
    place = f"{start}^{end % length + 1}" if start == end else f"{start + 1}–{end}"
    return f"{place}, reverse strand" if location.strand == -1 else place


def _texts(qualifiers: dict[str, list[str]]) -> Iterator[str]:
    for key in _TEXT_QUALIFIERS:
        for value in qualifiers.get(key, ()):
            if text := " ".join(_without_preserved(value).split()):
                yield text


def _without_preserved(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith(_PRESERVED_VALUES))
