"""Display texts of models and sources as documents."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePath
from typing import Any

import pandas as pd

from labext.frames.views import RowView, cell_text
from labext.nb.backends.contract.search import parse_citations
from labext.nb.records import Answer
from labext_widgets.answers import static_view
from labext_widgets.answers.text import render_answer
from labext_widgets.core.display import display_html
from labext_widgets.core.front_end import FrontEnd, front_end
from labext_widgets.core.markup import (
    MUTED,
    div,
    escape,
    plain,
    scrolled,
    span,
    text_div,
    tidy,
    view_html,
)

_OPEN = 20_000
"""Maximum total length of the documents, in characters, that are displayed unfolded."""

_DISPLAYED = 200_000
"""Maximum number of characters of a source's text that are displayed in a notebook."""

_MARKDOWN_FILES = {".md", ".markdown", ".qmd", ".rmd"}
_OTHER_TEXT_FILES = {".txt", ".csv", ".tsv", ".json", ".fasta", ".fa", ".gb", ".pdb", ".py", ".r"}
_MARKDOWN = re.compile(
    r"^#{1,6} +\S|^ {0,3}(?:```|~~~)|\*\*[^\s*][^*\n]*\*\*|\[[^\]\n]+\]\(https?://", re.MULTILINE
)
_PLAIN = "white-space:pre-wrap;overflow-wrap:anywhere"


@dataclass(frozen=True, kw_only=True, eq=False)
class DocumentView(RowView):
    """Frames with a document in each row.

    Attributes:
        heading: the column with the document's heading.
        content: the column with the document's text.
        plain: the headings of documents not written by a model, which are not Markdown.
        hidden: columns that are not listed beside the heading.
        in_text: columns that plain text lists beside the heading.
    """

    heading: str
    content: str
    plain: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    in_text: tuple[str, ...] = ()

    def applies_to(self, frame: pd.DataFrame) -> bool:
        """Return True if the rows are documents."""
        return {self.heading, self.content} <= set(frame.columns) and super().applies_to(frame)

    def text(self, frame: pd.DataFrame) -> str:
        """Return the documents with their line breaks, or a table if they are very long."""
        if not len(frame) or not self._are_short(frame):
            return super().text(frame)
        documents = [
            f"{plain(self._text_heading(heading, row))}\n{self._body_text(content, row)}"
            for heading, content, _, row in self._rows(frame)
        ]
        return "\n\n".join(documents)

    def html(self, frame: pd.DataFrame) -> str | None:
        """Return the documents as HTML, each foldable under its heading."""
        if not len(frame):
            return super().html(frame)
        opened = " open" if self._are_short(frame) else ""
        documents = [
            f'<details{opened} style="margin:0 0 8px"><summary>'
            f"{span(escape(heading), 'font-weight:600')} {span(escape(details), MUTED)}</summary>"
            f"{self._body_html(content, row)}</details>"
            for heading, content, details, row in self._rows(frame)
        ]
        return view_html(div("".join(documents), static_view.STYLE))

    def _are_short(self, frame: pd.DataFrame) -> bool:
        return int(frame[self.content].astype("str").str.len().sum()) <= _OPEN

    def _text_heading(self, heading: str, row: Mapping[Any, Any]) -> str:
        details = (cell_text(row[column]) for column in self.in_text if column in row)
        return " · ".join(filter(None, (heading, *details)))

    def _body_text(self, content: str, row: Mapping[Any, Any]) -> str:  # noqa: ARG002
        return tidy(content)

    def _body_html(self, content: str, row: Mapping[Any, Any]) -> str:
        return _document_html(content, is_markdown=cell_text(row[self.heading]) not in self.plain)

    def _rows(self, frame: pd.DataFrame) -> list[tuple[str, str, str, Mapping[Any, Any]]]:
        """Return the heading, the content and the other fields of each row, and the row."""
        hidden = (self.heading, self.content, *self.hidden)
        others = [label for label in frame.columns if label not in hidden]
        return [
            (
                cell_text(row[self.heading]),
                "" if pd.isna(row[self.content]) else str(row[self.content]),
                " · ".join(dict.fromkeys(filter(None, (_detail(row[label]) for label in others)))),
                row,
            )
            for row in frame.to_dict("records")
        ]


def _detail(value: Any) -> str:
    text = cell_text(value)
    return f"{text} UTC" if text and isinstance(value, datetime) else text


@dataclass(frozen=True, kw_only=True, eq=False)
class MessageView(DocumentView):
    """Frames of chat messages, whose citations are displayed as those of an answer."""

    hidden: tuple[str, ...] = ("citations",)

    def _body_text(self, content: str, row: Mapping[Any, Any]) -> str:
        citations = parse_citations(row.get("citations"))
        return render_answer(Answer(content, citations)) if citations else tidy(content)

    def _body_html(self, content: str, row: Mapping[Any, Any]) -> str:
        if citations := parse_citations(row.get("citations")):
            return static_view.cited_html(tidy(content, _DISPLAYED), citations)
        return super()._body_html(content, row)


INSIGHTS = DocumentView(
    name="insight documents",
    empty="There are no insights.",
    first=("insight_type", "source_title", "content"),
    last=("id", "source_id", "created_at", "updated_at"),
    heading="insight_type",
    content="content",
    in_text=("source_title", "id", "source_id"),
)
MESSAGES = MessageView(
    name="message documents",
    empty="There are no messages yet.",
    first=("type", "content"),
    heading="type",
    content="content",
    plain=("human",),
)
NOTES = DocumentView(
    name="note documents",
    empty="There are no notes.",
    first=("title", "note_type", "content"),
    last=("id", "notebook_id", "created_at", "updated_at"),
    heading="title",
    content="content",
)


class SourceText:
    """The text extracted from a source, displayed when it is the value of a cell.

    Attributes:
        text: the full text, unchanged.
        title: the source's title.
        is_markdown: True if it is displayed as Markdown.
    """

    def __init__(self, text: str, title: str = "", file_name: str | None = None) -> None:
        self.text = text
        self.title = title
        self.is_markdown = is_markdown(text, file_name)

    def __repr__(self) -> str:
        return f"<SourceText {plain(self.title)}, {len(self.text):,} characters>"

    def __str__(self) -> str:
        """Return the text with its line breaks, without terminal control characters."""
        return tidy(self.text, max(len(self.text), 1)) or "The text is empty."

    def _ipython_display_(self, **_: Any) -> None:
        text = str(self)
        if front_end() is FrontEnd.TERMINAL:
            print(text)
            return
        excerpt = text[:_DISPLAYED]
        document = _document_html(excerpt, is_markdown=self.is_markdown)
        rows = [scrolled(document, self.title or "Text")]
        if len(excerpt) < len(text):
            note = (
                f"Showing {len(excerpt):,} of {len(text):,} characters; "
                "the attribute `.text` has all of them."
            )
            rows.append(div(escape(note), MUTED))
            excerpt = f"{excerpt}\n\n{note}"
        display_html(view_html(div("".join(rows), static_view.STYLE)), excerpt)


def is_markdown(text: str, file_name: str | None) -> bool:
    """Return True if a source's text is Markdown, judging by its file name, else by its syntax."""
    suffix = PurePath(file_name or "").suffix.lower()
    if suffix in _MARKDOWN_FILES:
        return True
    return suffix not in _OTHER_TEXT_FILES and _MARKDOWN.search(text) is not None


def _document_html(text: str, *, is_markdown: bool) -> str:
    """Return a text as HTML in which nothing is interpreted as markup."""
    tidied = tidy(text, _DISPLAYED)
    return static_view.to_html(tidied) if is_markdown else text_div(html.escape(tidied), _PLAIN)
