"""`%nb view`: show the pages of a source."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from labext import messages
from labext.actions import use_style
from labext.errors import LabextError, NotFoundError
from labext_magics.core import value_types
from labext_magics.core.actions import MAGIC_STYLE
from labext_magics.core.dispatch import Call
from labext_magics.core.grammar import Command, Parameter
from labext_magics.core.options import OUT
from labext_magics.nb import options, scope

if TYPE_CHECKING:
    from labext.nb import NotebookClient
    from labext.nb.records import Citation, Record
    from labext_widgets.documents import Pages, SourceView

_NO_FILES = frozenset({403, 405, 501})
"""Response statuses of services that do not provide the files of sources."""

_FOLDER_PREFIX = "labext-view-"
"""Start of the names of temporary folders for PDFs; the id of the process follows."""


def view(call: Call, *, source: str, page: int | None, passage: str | None) -> SourceView:
    """Return a view of a source, at a page or at the first page with a passage.

    The default passage is the first one of this source in the last search or answer.
    """
    record = scope.find_source(call, source)
    citation = None
    if passage is None:
        citation = _first_citation(call.session.cited, str(record["id"]), page)
        passage = _cited_text(citation) if citation else ""
    with scope.interrupted_as_error("Run this line again.", "The download"):
        view = _open_source(call.nb, record, page, passage)
    return _at_citation(view, citation) if citation and page is None else view


def _first_citation(cited: Sequence[Citation], source: str, page: int | None) -> Citation | None:
    """Return the first citation of a source or a page."""
    for citation in cited:
        if citation.id == source and (page is None or citation.page in (None, page)):
            return citation
    return None


def _cited_text(citation: Citation) -> str:
    return citation.quote or citation.passage


def _at_citation(view: SourceView, citation: Citation) -> SourceView:
    """Return a view of the same source at the page of a citation, with its passage."""
    # Without the file there is a single page, in which the passage is located by its text.
    return view.at(citation.page if view.pages > 1 else None, _cited_text(citation))


def citation_opener(nb: NotebookClient) -> Callable[[Citation], SourceView]:
    """Return a function that opens the source of a citation and caches downloaded sources."""
    opened: dict[str, SourceView] = {}

    @use_style(MAGIC_STYLE)
    def open_citation(citation: Citation) -> SourceView:
        if citation.id not in opened:
            opened[citation.id] = _open_source(nb, nb.sources.get(citation.id), None, "")
        return _at_citation(opened[citation.id], citation)

    return open_citation


def _open_source(nb: NotebookClient, record: Record, page: int | None, passage: str) -> SourceView:
    from labext_widgets.core.markup import view_line
    from labext_widgets.documents import SourceView, TextPages

    title = scope.source_title(record)
    pages, note = _pages(nb, record, title)
    if page is not None and isinstance(pages, TextPages):  # a slide, or a page of a picture
        page, note = None, note or "Only a PDF is shown by page; this is the whole text."
    line = view_line(record["id"], str(record["title"] or ""))
    return SourceView(title, pages, page, passage, note, line)


def _pages(nb: NotebookClient, record: Record, title: str) -> tuple[Pages, str]:
    """Return the pages of a source, and a note that explains a missing PDF."""
    from labext_widgets.documents import TextPages

    name = str(record["file_name"] or "")
    note = ""
    if name.lower().endswith(".pdf"):
        pages = _pdf_pages(nb, record, title)
        if pages is not None:
            return pages, ""
        note = "The service does not provide the PDF, so its text is shown, without pages."
    elif not name and record["url"]:
        note = f"A web page without a file: this is the text extracted from {record['url']}"
    if not str(record["full_text"] or "").strip():
        reason = f": {record['error']}" if record["error"] else f" ({record['status']})"
        raise NotFoundError(
            f"The source {messages.quote_value(title)} has no text to show{reason}",
            f"`%nb sources status {record['id']}` shows its processing.",
        )
    return TextPages(str(record["full_text"]), name or None), note


def _pdf_pages(nb: NotebookClient, record: Record, title: str) -> Pages | None:
    """Return the pages of a source's PDF; None if the service does not provide the file."""
    from labext_widgets.documents import PdfPages

    _remove_leftovers()
    folder = tempfile.mkdtemp(prefix=f"{_FOLDER_PREFIX}{os.getpid()}-")
    file = Path(folder) / "source.pdf"
    try:
        nb.sources.download(record["id"], file)
        pages = PdfPages(file, title)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, LabextError) and (
            isinstance(error, NotFoundError) or error.status in _NO_FILES
        ):
            return None
        raise
    weakref.finalize(pages, shutil.rmtree, folder, ignore_errors=True)
    return pages


def _remove_leftovers() -> None:
    """Remove the folders that killed processes of this user have left."""
    try:
        import psutil
    except ImportError:  # only ipykernel and the sandbox require it
        return

    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER_PREFIX}*-*"):
        pid = folder.name.removeprefix(_FOLDER_PREFIX).partition("-")[0]
        with suppress(OSError, OverflowError):
            state = folder.lstat()  # a link is no folder
            is_ours = sys.platform == "win32" or state.st_uid == os.getuid()
            is_folder = stat.S_ISDIR(state.st_mode)
            if is_ours and is_folder and pid.isdecimal() and not psutil.pid_exists(int(pid)):
                shutil.rmtree(folder, ignore_errors=True)


SHORTCUTS = (
    Command(
        "view",
        "Show a source: the pages of a PDF as pictures, everything else as text.",
        view,
        [options.ONE_SOURCE],
        [
            Parameter("page", value_types.INTEGER, "the page of a PDF, from 1"),
            Parameter(
                "passage",
                value_types.text_type("TEXT"),
                "highlight this passage; by default the passage last found or cited",
            ),
            OUT,
        ],
        examples=["%nb view paper.pdf --page 1"],
    ),
)
