"""Write a notebook's notes, answers, insights and transcripts with numbered citations."""

from __future__ import annotations

import hashlib
import html
import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

from labext import messages, storage
from labext.actions import parameter
from labext.errors import ConflictError, InputError, LabextError
from labext.nb.records import Answer
from labext.nb.references import (
    CITATION_MARK,
    Reference,
    format_reference,
    is_quoted,
    letters,
    mark_ids,
    note_reference,
    one_line,
    source_reference,
    to_bibtex,
)
from labext.sanitize import strip_control

if TYPE_CHECKING:
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

    from labext.nb.chat import Chat
    from labext.nb.insights import Insights
    from labext.nb.notebooks import Notebooks
    from labext.nb.notes import Notes
    from labext.nb.podcasts import Podcasts
    from labext.nb.sources import Sources

ExportFormat = Literal["md", "html", "ipynb"]
Part = Literal["notes", "answers", "insights", "transcripts"]
PARTS: tuple[Part, ...] = get_args(Part)
_LEVEL = 4
"""Level of the highest headings within a text."""

_TITLE_PAGE = 1000
"""Characters at the beginning of a document among which its title is looked for."""

_MIN_TITLE = 16
"""Letters and digits of the shortest title by which a document is recognized."""

_OTHER_BIBLIOGRAPHIES = frozenset({".ris", ".json", ".enw", ".xml", ".nbib"})
"""Suffixes of bibliographies in other formats than BibTeX."""

_SUFFIXES: Mapping[str, ExportFormat] = {
    ".md": "md",
    ".markdown": "md",
    ".html": "html",
    ".htm": "html",
    ".ipynb": "ipynb",
}
_BEGIN, _END = "\ue000", "\ue001"
_NUMBERS = re.compile(f"{_BEGIN}([^{_BEGIN}{_END}]*){_END}")
_OWN_NUMBERS = re.compile(r"\[\d{1,3}(?: ?[-–,;] ?\d{1,3})*\](?!\()")
_OWN_NUMBERS_HINT = " Numbers in brackets below are those of the references of that document."
_PUNCTUATION = re.compile(r"([\\`*_{}\[\]<>#|~&!$])|^(\s*)([-+=]|\d+[.)])(?=\s|$)")
_FORMULA = re.compile(
    r"\$\$.+?\$\$|\$(?=\S)[^$\n]+?(?<=\S)\$(?!\d)|\\\(.+?\\\)|"
    r"\\\[(?=[^]]*(?:\\[a-zA-Z,]|(?<!\\)[_^])).+?\\\]",
    re.DOTALL,
)
"""A formula in LaTeX; `\\[a\\]` without a command or an index is text in brackets."""

_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_CODE_LINK_OR_TAG = re.compile(
    r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)|<(?:[a-z][a-z0-9+.-]+:[^\s<>]*|[\w.+-]+@[\w.-]+)>"
    rf"|(?P<tag>{_TAG.pattern})",
    re.DOTALL | re.IGNORECASE,
)
_STYLE = (
    "max-width:46em;margin:2em auto;padding:0 1em;font:16px/1.5 system-ui,sans-serif;color:#222;"
    "background:#fff;overflow-wrap:anywhere"
)

_BLOCK = re.compile(r"<(h[1-6]|p|li|th|td)\b")
"""An element whose text has a direction of its own, such as right to left."""


class Readable(Protocol):
    """The resources of a client that an export reads."""

    notebooks: Notebooks
    sources: Sources
    notes: Notes
    chat: Chat
    insights: Insights
    podcasts: Podcasts


@dataclass(frozen=True)
class Export:
    """The result of an export.

    Attributes:
        path: the file.
        counts: the number of exported records by kind.
        references: the cited sources and notes, in the order of their numbers.
    """

    path: Path
    counts: Mapping[str, int]
    references: tuple[Reference, ...]


@dataclass
class _Document:
    """The sections of the document, in Markdown, with markers for citations."""

    title: str
    sections: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, kind: str, heading: str, parts: Iterable[tuple[str, str]]) -> None:
        """Add a heading with parts, each a title and its text; nothing if there are none."""
        count = 0
        for title, text in parts:
            if not count:
                self.sections.append(f"## {heading}")
            self.sections.append(f"### {escape_markdown(title)}\n\n{text}".rstrip())
            count += 1
        if count:
            self.counts[kind] = count


class _Citations:
    """Numbers the cited sources and notes in the order in which they are mentioned."""

    def __init__(self, find: Callable[[str, str], Reference | None]) -> None:
        self._find = find
        self._references: dict[str, Reference | None] = {}
        self.cited: list[Reference] = []

    def number(self, identifier: str, title: str = "") -> int | None:
        """Return the number of a record; None if it is not known."""
        if identifier not in self._references:
            self._references[identifier] = self._find(identifier, title)
        reference = self._references[identifier]
        if reference is None:
            return None
        numbers = [cited.id for cited in self.cited]
        if reference.id not in numbers:
            self.cited.append(reference)
            return len(self.cited)
        return numbers.index(reference.id) + 1

    def numbered(self, text: str, citations: Sequence[Mapping[str, Any]] = ()) -> str:
        """Return Markdown with markers in place of its citation marks, then unquoted quotes."""
        text = _clean_markdown(text)
        queues: dict[str, list[Any]] = {}
        for item in citations:
            queues.setdefault(str(item.get("id")), []).append(item)
        parts, at = [], 0
        for mark in CITATION_MARK.finditer(text):
            sentence = text[at : mark.start()]
            marker = self._marker(mark_ids(mark), queues, sentence)
            parts += [sentence, marker or mark[0]]
            at = mark.end()
        return "".join([*parts, text[at:]]) + self._quotes(text, citations)

    def _marker(
        self, identifiers: Iterable[str], queues: Mapping[str, list[Any]], sentence: str
    ) -> str:
        numbers = []
        for identifier in identifiers:
            items = queues.get(identifier, [])
            quoted = [item for item in items if is_quoted(str(item.get("quote") or ""), sentence)]
            matching = quoted or items[:1]
            if len(items) > 1:
                items[:] = [item for item in items if item not in matching] or matching
            title = str(matching[0].get("title") or "") if matching else ""
            number = self.number(identifier, title)
            if number is not None:
                pages = [item["page"] for item in matching if item.get("page")]
                numbers += [_place(number, page) for page in pages or [None]]
        return f" {_BEGIN}{'; '.join(dict.fromkeys(numbers))}{_END}" if numbers else ""

    def _quotes(self, text: str, citations: Sequence[Mapping[str, Any]]) -> str:
        lines = []
        for item in citations:
            number = self.number(str(item.get("id")), str(item.get("title") or ""))
            quote = " ".join(str(item.get("quote") or "").split())
            if number is None or not quote or is_quoted(quote, text):
                continue
            marker = f"{_BEGIN}{_place(number, item.get('page'))}{_END}"
            lines.append(f"- {marker} “{escape_markdown(quote)}”")
        return "\n\n" + "\n".join(dict.fromkeys(lines)) if lines else ""


def export_notebook(
    client: Readable,
    path: Path,
    notebook: str,
    *,
    format: ExportFormat | None = None,
    bibliography: Path | None = None,
    overwrite: bool = False,
    include: Collection[Part] = PARTS,
    answers: Iterable[Answer] = (),
) -> Export:
    """Write a notebook to a file; see `NotebookClient.export`."""
    path = storage.user_path(path)
    bibliography = bibliography and storage.user_path(bibliography)
    _check_places(path, bibliography)
    form = format or _format_of(path)
    parts = [include] if isinstance(include, str) else include
    _check_choice("format", [form], _WRITERS)
    _check_choice("part", parts, PARTS)
    record = client.notebooks.get(notebook)
    identifier = str(record["id"])
    collector = _Collector(client, identifier)
    document = _Document(one_line(str(record["name"])))
    if "notes" in parts:
        document.add("note", "Notes", collector.notes())
    if "answers" in parts:
        document.add("answer", "Answers", collector.answers(answers))
        document.add("chat", "Chats", collector.chats())
    if "insights" in parts:
        document.add("insight", "Insights", collector.insights())
    if "transcripts" in parts:
        document.add("transcript", "Podcasts", collector.transcripts())
    if not document.counts:
        raise InputError(
            f"The notebook {messages.quote_value(document.title)} has nothing to export.",
            "Write a note, or chat about its sources, first.",
        )
    cited = tuple(collector.citations.cited)
    contents = {path: _WRITERS[form](document, cited).encode("utf-8", "replace")}
    if bibliography is not None:
        contents[bibliography] = strip_control(to_bibtex(cited)).encode("utf-8", "replace")
    changed = [file for file, content in contents.items() if not _holds(file, content)]
    for file in changed:
        if file.exists() and not overwrite:
            raise ConflictError(
                f"The file {messages.quote_value(file.name)} exists already, with other content.",
                f"Choose another name, or replace it with {parameter('overwrite')}.",
            )
    for file in changed:
        storage.make_folder(file.parent)
        storage.write_atomic(file, contents[file])
    return Export(path, document.counts, cited)


def _holds(file: Path, content: bytes) -> bool:
    """Return whether a file has this content already."""
    with storage.storage_errors(file):
        return file.is_file() and file.read_bytes() == content


class _Collector:
    """Reads the exported objects, as titles with texts in Markdown."""

    def __init__(self, client: Readable, notebook: str) -> None:
        self._client = client
        self._notebook = notebook
        self._sources = {str(record["id"]): record for record in client.sources.iter(notebook)}
        self._notes = {str(record["id"]): record for record in client.notes.iter(notebook)}
        self._insights = {str(item["id"]): item for item in client.insights.iter(notebook)}
        self.citations = _Citations(self._find)

    def notes(self) -> Iterator[tuple[str, str]]:
        for record in self._notes.values():
            text = self.citations.numbered(str(record["content"] or ""))
            yield str(record["title"] or "Untitled note"), text

    def answers(self, answers: Iterable[Answer]) -> Iterator[tuple[str, str]]:
        for answer in answers:
            cited = [vars(citation) for citation in answer.citations]
            yield answer.question or "Answer", self.citations.numbered(answer.text, cited)

    def chats(self) -> Iterator[tuple[str, str]]:
        for row in self._client.chat.sessions(self._notebook).to_dict("records"):
            parts = []
            session = self._client.chat.get(str(row["id"]))
            for message in session["messages"] or ():
                text = str(message["content"] or "")
                if message["type"] == "human":
                    lines = text.strip().splitlines()
                    parts.append("\n".join(f"> {escape_markdown(line)}".rstrip() for line in lines))
                else:
                    parts.append(self.citations.numbered(text, message["citations"] or ()))
            if parts:
                yield str(session["title"] or session["id"]), "\n\n".join(parts)

    def insights(self) -> Iterator[tuple[str, str]]:
        for record in self._insights.values():
            source = self._sources.get(str(record["source_id"]), {})
            kind = str(record["insight_type"] or "Insight")
            number = self.citations.number(str(record["source_id"]))
            text = self.citations.numbered(str(record["content"] or ""))
            if number is not None:
                hint = "" if _BEGIN in text or not _OWN_NUMBERS.search(text) else _OWN_NUMBERS_HINT
                text = f"From {_BEGIN}{number}{_END}.{hint}\n\n{text}"
            title = one_line(str(source.get("title") or ""))
            yield f"{kind}: {title}" if title else kind, text

    def transcripts(self) -> Iterator[tuple[str, str]]:
        for episode in self._client.podcasts.iter(self._notebook):
            if episode["job_status"] not in (None, "completed"):
                continue
            detail = self._client.podcasts.episode(str(episode["id"]))
            turns = (detail["transcript"] or {}).get("transcript") or ()
            lines = [
                f"**{escape_markdown(str(turn.get('speaker') or '?'))}:** "
                f"{escape_markdown(str(turn.get('dialogue') or ''))}"
                for turn in turns
                if isinstance(turn, Mapping)
            ]
            if lines:
                yield str(detail["name"] or detail["id"]), "\n\n".join(lines)

    def _find(self, identifier: str, title: str) -> Reference | None:
        """Return the reference to a source, a note, or the source of an insight."""
        if identifier in self._notes:
            return note_reference(self._notes[identifier])
        insight = self._insights.get(identifier)
        source = identifier if insight is None else str(insight["source_id"])
        if source in self._sources:
            text = self._text(source)
            reference = source_reference(self._sources[source], text)
            return reference if reference.authors else self._library_entry(text) or reference
        if not title:
            return None
        return Reference(identifier, one_line(title), is_note=identifier.startswith("note:"))

    def _library_entry(self, text: str) -> Reference | None:
        """Return the reference to the entry of a library whose title a document begins with."""
        head = letters(text[:_TITLE_PAGE])
        titles = {
            letters(str(record.get("title") or "")): source
            for source, record in self._sources.items()
            if not record.get("file_name") and not record.get("url")
        }
        for title in sorted(titles, key=len, reverse=True):
            if len(title) >= _MIN_TITLE and title in head:
                source = titles[title]
                reference = source_reference(self._sources[source], self._text(source))
                if reference.authors:
                    return reference
        return None

    def _text(self, source: str) -> str:
        try:
            return str(self._client.sources.get(source).get("full_text") or "")
        except LabextError:
            return ""


def _format_of(path: Path) -> ExportFormat:
    suffix = path.suffix.lower()
    if suffix in _SUFFIXES:
        return _SUFFIXES[suffix]
    raise InputError(
        f"The format of {messages.quote_value(path.name)} is not known.",
        "Choose a name that ends in .md, .html or .ipynb, or set the format: "
        f"{parameter('format', 'md')}.",
    )


def _check_choice(noun: str, values: Iterable[str], allowed: Collection[str]) -> None:
    for value in values:
        if value not in allowed:
            near = messages.did_you_mean(value, allowed)
            raise InputError(
                f"An export has no {noun} {messages.quote_value(value)}{near}.",
                f"Choose from {messages.join_all(allowed, 'and')}.",
            )


def _check_places(path: Path, bibliography: Path | None) -> None:
    """Refuse the names of folders, the same name for both files, and that of another format."""
    if bibliography is not None and bibliography.absolute() == path.absolute():
        raise InputError(
            "The bibliography has the name of the export.", "Choose another name for it."
        )
    if bibliography is not None and bibliography.suffix.lower() in _OTHER_BIBLIOGRAPHIES:
        raise InputError(
            f"The bibliography is written as BibTeX, not as {bibliography.suffix}.",
            "Choose a name that ends in .bib.",
        )
    for file in filter(None, (path, bibliography)):
        if os.path.isdir(file):  # unlike Path.is_dir, False for a name that is too long
            raise InputError(
                f"{messages.quote_value(str(file))} is a folder.", "Add the name of a file."
            )


def escape_markdown(text: str) -> str:
    """Return text on one line that Markdown shows as it is."""

    def escape(match: re.Match[str]) -> str:
        if match[1]:
            return {"<": "&lt;", "&": "&amp;"}.get(match[1], f"\\{match[1]}")
        marker = match[3]
        return f"{match[2]}{marker[:-1]}\\{marker[-1]}"

    return _PUNCTUATION.sub(escape, one_line(_clean(text)))


def _clean(text: str) -> str:
    return strip_control(text).translate({ord(_BEGIN): None, ord(_END): None})


def _clean_markdown(text: str) -> str:
    """Return Markdown with its headings from level 4 on, and raw HTML as text."""
    text = _escape_html(_clean(text).strip())
    lines = text.split("\n")
    headings = [token for token in _parse(text) if token.type == "heading_open"]
    deeper = max(_LEVEL - min((int(token.tag[1]) for token in headings), default=_LEVEL), 0)
    for token in reversed(headings):  # as an underlined heading becomes one line
        assert token.map is not None
        begin, end = token.map
        marks = "#" * min(int(token.tag[1]) + deeper, 6)
        if token.markup[0] == "#":
            lines[begin] = lines[begin].replace(token.markup, marks, 1)
        elif token.level == 0:
            lines[begin:end] = [f"{marks} {one_line(' '.join(lines[begin : end - 1]))}"]
    return "\n".join(lines)


def _escape_html(text: str) -> str:
    """Return Markdown with raw HTML as text, and code unchanged where that is possible."""
    lines = text.split("\n")
    for token in filter(_has_html, _parse(text)):
        assert token.map is not None
        begin, end = token.map
        block = "\n".join(lines[begin:end])
        lines[begin:end] = _CODE_LINK_OR_TAG.sub(
            lambda match: "&lt;" if match["tag"] else match[0], block
        ).split("\n")
    escaped = "\n".join(lines)
    return _TAG.sub("&lt;", text) if any(map(_has_html, _parse(escaped))) else escaped


def _parse(text: str) -> Sequence[Token]:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)


def _has_html(token: Token) -> bool:
    return token.type == "html_block" or any(
        child.type == "html_inline" for child in token.children or ()
    )


def _place(number: int, page: object) -> str:
    return f"{number}, p. {page}" if isinstance(page, int) and page > 0 else str(number)


def _to_notebook(document: _Document, cited: Sequence[Reference]) -> str:
    cells = [
        {
            "cell_type": "markdown",
            "id": hashlib.sha256(f"{place}\n{text}".encode()).hexdigest()[:8] + f"-{place}",
            "metadata": {},
            "source": text,
        }
        for place, text in enumerate(_markdown_sections(document, cited))
    ]
    notebook = {
        "cells": cells,
        "metadata": {"language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"


def _markdown_sections(document: _Document, cited: Sequence[Reference]) -> list[str]:
    sections = [f"# {escape_markdown(document.title)}", *document.sections]
    if cited:
        sections.append("## References\n\n" + "\n\n".join(_markdown_references(cited)))
    return [_NUMBERS.sub(_markdown_citation, text) for text in sections]


def _markdown_citation(match: re.Match[str]) -> str:
    is_link = match.string[match.end() :].startswith(("(", "[", ":"))
    return f"\\[{match[1]}\\]" if is_link else f"[{match[1]}]"


def _markdown_references(cited: Sequence[Reference]) -> Iterator[str]:
    for number, reference in enumerate(cited, 1):
        before, title, after = format_reference(reference)
        before, after = escape_markdown(before), escape_markdown(after)
        text = f"{before} *{escape_markdown(title)}*. {after}".strip()
        yield f"{_BEGIN}{number}{_END} {text}"


def _to_html(document: _Document, cited: Sequence[Reference]) -> str:
    from markdown_it import MarkdownIt

    # Without raw HTML and pictures: nothing runs, and nothing is loaded from elsewhere.
    renderer = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    renderer.inline.ruler.before("escape", "math", _keep_formula)
    title = f"# {escape_markdown(document.title)}"
    body = str(renderer.render("\n\n".join([title, *document.sections])))
    if cited:
        items = [
            f'<p id="reference-{number}">[{number}] {_html_reference(reference)}</p>\n'
            for number, reference in enumerate(cited, 1)
        ]
        body += f"<h2>References</h2>\n{''.join(items)}"
    body = _BLOCK.sub(r'<\1 dir="auto"', _NUMBERS.sub(_html_citation, body))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{html.escape(_clean(document.title))}</title>\n</head>\n"
        f'<body style="{_STYLE}">\n{body}</body>\n</html>\n'
    )


def _keep_formula(state: StateInline, silent: bool) -> bool:
    """Keep a formula in LaTeX as it is: in Markdown, `\\,` would be a comma."""
    formula = _FORMULA.match(state.src, state.pos)
    if formula is None:
        return False
    if not silent:
        state.pending += html.unescape(formula[0])  # raw HTML was escaped
    state.pos = formula.end()
    return True


def _html_citation(match: re.Match[str]) -> str:
    places = (
        f'<a href="#reference-{place.partition(",")[0]}">{place}</a>'
        for place in match[1].split("; ")
    )
    return f"[{'; '.join(places)}]"


def _html_reference(reference: Reference) -> str:
    before, title, after = (html.escape(_clean(part)) for part in format_reference(reference))
    link = re.search(r"https?://\S+$", after)
    if link:
        after = f'{after[: link.start()]}<a href="{link[0]}">{link[0]}</a>'
    return f"{before} <cite>{title}</cite>. {after}".strip()


_WRITERS: Mapping[ExportFormat, Callable[[_Document, Sequence[Reference]], str]] = {
    "md": lambda document, cited: "\n\n".join(_markdown_sections(document, cited)) + "\n",
    "html": _to_html,
    "ipynb": _to_notebook,
}
