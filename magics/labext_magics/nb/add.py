"""`%nb add` and `%%nb source`: add files, pages and texts as sources, without duplicates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from labext import messages
from labext.errors import ConflictError, InputError, LabextError, WatchInterrupted
from labext_magics.core import output, value_types
from labext_magics.core.dispatch import Call
from labext_magics.core.grammar import Command, Parameter
from labext_magics.core.line import quote
from labext_magics.core.options import OUT
from labext_magics.core.session import NotebookInUse
from labext_magics.nb import options, processing, scope, setup_hints

if TYPE_CHECKING:
    import pandas as pd

    from labext.nb.library import Library
    from labext.nb.records import Record


def add_text(
    call: Call, into: NotebookInUse, content: str, title: str | None, arguments: dict[str, Any]
) -> Record:
    """Add a text, unless the notebook already has it under this title."""
    candidates = [
        source
        for source in call.nb.sources.iter(into.id)
        if _may_match_text(source, content, title)
    ]
    for source in candidates:
        record = call.nb.sources.get(source["id"])
        if (record["full_text"] or "").strip() == content:
            output.print_message(
                f"{_title(record)} with this text is already in {into.name}; it was kept."
            )
            return record
    if title is not None and candidates:
        raise ConflictError(
            f"{into.name} already has a source {title} with another text.",
            f"Use another title, or delete it first: `%nb sources delete {quote(title)} --yes`.",
        )
    record = call.nb.sources.add_text(content, into.id, title, **arguments)
    output.print_message(f"Added {_title(record)} to {into.name}.")
    return record


def _may_match_text(source: Record, content: str, title: str | None) -> bool:
    """Tell whether a source may contain a text, judging by its title."""
    if title is not None:
        return bool(source["title"] == title)
    begins = str(source["title"] or "").rstrip("… .")
    return source["kind"] == "text" and content.startswith(begins)


def add_files(
    call: Call,
    into: NotebookInUse,
    items: Sequence[Path | str],
    title: str | None,
    arguments: dict[str, Any],
) -> tuple[list[Record], InputError | None]:
    """Add the items that the notebook does not have yet, and retry those that have failed.

    A file is identified by its name and content, a page by its address. Return the records, and an
    error listing the items that the service refused, if any.
    """
    from labext.nb.uploads import rejection_error

    existing = list(call.nb.sources.iter(into.id))
    matches: dict[Path | str, Record] = {}
    for item in items:
        record = _find_source(call, existing, item, into)
        if record is not None:
            matches[item] = record
    failed = {item: source for item, source in matches.items() if source["status"] == "failed"}
    unchanged = {item: source for item, source in matches.items() if item not in failed}
    again = {item: call.nb.sources.retry(source["id"]) for item, source in failed.items()}
    new = [item for item in items if item not in matches]
    refused: dict[Path | str, InputError] = {}
    added = _send_items(call, into, new, title, arguments, refused) if new else {}
    actions = {
        f"already in {into.name}; processed again": again,
        f"already in {into.name}; kept": unchanged,
    }
    for action, records in actions.items():
        if records:
            names = (item.name if isinstance(item, Path) else item for item in records)
            output.print_message(f"{messages.join_subject(names)} {action}.")
    records = {**unchanged, **again, **added}
    sources = [records[item] for item in items if item in records]
    return sources, rejection_error(refused, len(sources)) if refused else None


def add_library(
    call: Call, into: NotebookInUse, library: Library, arguments: dict[str, Any]
) -> list[Record]:
    """Add the entries of a library of references that the notebook does not have yet."""
    existing: dict[str, list[Record]] = {}
    for source in call.nb.sources.iter(into.id):
        existing.setdefault(str(source["title"]), []).append(source)
    records, kept = [], 0
    for entry in library.entries:
        candidates = (call.nb.sources.get(s["id"]) for s in existing.get(entry.title, ()))
        same = next(
            (record for record in candidates if entry.matches(record["full_text"] or "")), None
        )
        kept += same is not None
        records.append(
            same or call.nb.sources.add_text(entry.text, into.id, entry.title, **arguments)
        )
    added = messages.pluralize(len(records) - kept, "reference")
    rest = f"; {kept} were already there and were kept" if kept else ""
    output.print_message(f"{library.path.name}: added {added} to {into.name}{rest}.")
    if library.missing_files:
        names = messages.join_words(library.missing_files)
        output.print_message(
            f"Attached files that are not in the library's folder were not added: {names}."
        )
    return records


def _find_source(
    call: Call, records: Sequence[Record], item: Path | str, into: NotebookInUse
) -> Record | None:
    """Return the source of a notebook that was made from an address or a file.

    A file matches if its name and content do. If the service has no original to compare with, the
    name decides, and a message says so.
    """
    from labext.nb.records import has_number_suffix

    if isinstance(item, str):
        return next((source for source in records if source["url"] == item), None)
    named = [source for source in records if source["file_name"] == item.name]
    numbered = [
        source for source in records if has_number_suffix(source["file_name"] or "", item.name)
    ]
    unknown = None
    for record in (*named, *numbered):
        same = _has_content(call, record, item)
        if same:
            return record
        if same is None and record in named:
            unknown = record
    if unknown is not None:
        output.print_message(
            f"The service does not store the original of {item.name}, so only its name was "
            "compared. To add a changed file, delete the source first with `%nb sources "
            "delete`, or use another name."
        )
    elif named:
        output.print_message(
            f"{into.name} has another {item.name} ({named[0]['id']}) with different content; "
            f"both are kept. `%nb sources delete {named[0]['id']} --yes` deletes that one."
        )
    return unknown


def _has_content(call: Call, record: Record, file: Path) -> bool | None:
    """Tell whether a source has a file's content; comparing sizes may suffice."""
    size = record.get("size")
    if size is not None and size != file.stat().st_size:
        return False
    return call.nb.sources.has_content(record["id"], file)


def _send_items(
    call: Call,
    into: NotebookInUse,
    new: Sequence[Path | str],
    title: str | None,
    arguments: dict[str, Any],
    refused: dict[Path | str, InputError],
) -> dict[Path | str, Record]:
    """Upload files and addresses one by one, with a progress bar.

    Items that the service refuses are added to `refused`, with the error.
    """
    import labext_widgets

    added: list[Record] = []
    again = "%nb add " + " ".join(quote(str(entry)) for entry in new)
    name = str(new[0]) if len(new) == 1 else messages.pluralize(len(new), "source")
    with labext_widgets.Transfer(name, "source", again) as transfer:
        if title is None:
            call.nb.sources.add(
                new,
                into.id,
                on_bytes=lambda _, moved, size: transfer.bytes(moved, size),
                on_added=added.append,
                on_rejected=refused.__setitem__,
                **arguments,
            )
        elif isinstance(new[0], Path):
            options = {**arguments, "on_bytes": transfer.bytes}
            added.append(call.nb.sources.add_file(new[0], into.id, title, **options))
        else:
            added.append(call.nb.sources.add_url(new[0], into.id, title, **arguments))
        if added:
            transfer.end(f"Added to {into.name}: {messages.join_words(map(_title, added))}.")
    return dict(zip((item for item in new if item not in refused), added, strict=True))


def _title(record: Record) -> str:
    """Return the file name or address of a source as typed, else its title."""
    return str(record["file_name"] or record["url"] or record["title"] or record["id"])


_MAX_NAMED = 3
"""Maximum number of sources listed in a hint; beyond that it names a command for all."""


def add(
    call: Call,
    *,
    what: list[str],
    url: list[str],
    title: str | None,
    topic: str | None,
    notebook: str | None,
    sync: bool,
    async_: bool,
    wait: bool,
) -> pd.DataFrame:
    """Add files and pages, or the text of the cell's body, to a notebook; return a row for each.

    Identical sources already in the notebook are kept. Texts are waited for, unless `async_` is
    set; files and pages only with `wait` or `sync`.

    Raises:
        InputError: a file is missing, empty or unreadable, and nothing was sent; or the service
            refused some of the items, and the others were added.
        JobFailedError: a source that was waited for has failed.
        WatchInterrupted: the kernel was interrupted; the service continues.
    """
    if sync and async_:
        raise InputError("`--sync` and `--async` exclude each other.", "Keep one of them.")
    text = (call.body or "").strip()
    items = _resolve_items(what, url)
    _check_arguments(text, items, title)
    items, libraries = _split_libraries(items)
    if libraries and title is not None:
        raise InputError("`--title` names one source; a library has several.", "Leave it out.")
    into = scope.notebook_of(call, notebook)
    arguments = {"topic": topic, "process_async": bool(text) or not sync}
    refusal: InputError | None = None
    with _interruptible(into.name):
        if text:
            records = [add_text(call, into, text, title, arguments)]
        else:
            records, refusal = add_files(call, into, items, title, arguments)
            for library in libraries:
                records += add_library(call, into, library, arguments)
                refusal = refusal or library.error()
    if refusal is not None and not records:
        raise refusal
    _report_missing_model(call, records)
    waits = wait or sync or (bool(text) and not async_)
    try:
        rows = _source_rows(call, records, wait=waits)
    except LabextError:
        if refusal is not None:
            output.print_message(str(refusal))
        raise
    if refusal is not None:
        raise refusal
    return rows


def _report_missing_model(call: Call, records: Sequence[Record]) -> None:
    """Report that no embedding model is set for the new sources, with the next step."""
    added = [record for record in records if record["status"] != "failed"]
    if not added or call.nb.models.defaults().get("embedding") is not None:
        return
    names = (quote(str(record["title"] or record["id"])) for record in added[:_MAX_NAMED])
    embed = "sources embed " + " ".join(names)
    if len(added) > _MAX_NAMED:
        embed = "embeddings rebuild --mode all"
    output.print_message(
        "No embedding model is set, so vector search does not find the added sources. "
        f"{setup_hints.next_step(call, ['embedding'])} Then run `%nb {embed}`."
    )


@contextmanager
def _interruptible(notebook: str) -> Iterator[None]:
    """Turn an interrupt during the upload into a one-line error."""
    try:
        yield
    except KeyboardInterrupt:
        raise WatchInterrupted(
            f"Adding to {notebook} was interrupted; sources sent before may still be processed.",
            "`%nb sources` lists the sources; run the line again to add the rest.",
        ) from None


def _source_rows(call: Call, records: Sequence[Record], *, wait: bool) -> pd.DataFrame:
    """Return a row for each source; with `wait` after all have been processed."""
    from labext.nb.views import source_frame

    if not wait:
        return source_frame(records)
    names = [str(record["id"]) for record in records]
    if all(record["status"] == "completed" for record in records):
        return call.nb.sources.wait(names)
    return processing.watch_sources(call, names)


def _resolve_items(what: Iterable[str], urls: Iterable[str]) -> list[Path | str]:
    """Return the named files and addresses, validated and without duplicates."""
    from labext.nb import uploads

    items: list[Path | str] = []
    for path_or_url in what:
        if "://" in path_or_url:
            items.append(_url(path_or_url))
        else:
            items += [uploads.validate_file(path) for path in _expand_path(path_or_url)]
    return list(dict.fromkeys([*items, *map(_url, urls)]))


def _split_libraries(items: Sequence[Path | str]) -> tuple[list[Path | str], list[Library]]:
    """Return the items with the files attached to libraries of references, and the libraries."""
    from labext.nb.library import is_library, read_library

    paths = [item for item in items if isinstance(item, Path) and is_library(item)]
    libraries = [read_library(path) for path in paths]
    attached = [file for library in libraries for file in library.files]
    others = [item for item in items if item not in paths]
    return list(dict.fromkeys([*others, *attached])), libraries


def _url(typed: str) -> str:
    from labext.nb import uploads

    address = uploads.validate_url(typed)
    parts = urlsplit(address)
    if parts.username or parts.password:
        raise InputError(
            "The line contains an address with a user or a password. Lines are saved in the "
            "notebook, so it was not used.",
            "Download the page yourself and add the file.",
        )
    return address


def _expand_path(typed: str) -> list[Path]:
    """Return the files that a path or a pattern matches."""
    import glob

    if _is_prose(typed):
        raise InputError(
            "The line contains a text, not a file name.",
            "Write the text as a cell body: `%%nb source --title TITLE`.",
        )
    path = Path(typed).expanduser()
    if path.exists() or not glob.has_magic(typed):
        return [path]
    matches = sorted(glob.glob(str(path), recursive=True))
    files = [Path(match) for match in matches if Path(match).is_file()]
    if not files:
        raise InputError(
            f"No file matches {typed}.", "Check the path; it is relative to the notebook's folder."
        )
    return files


def _is_prose(typed: str) -> bool:
    """Tell whether the argument is a sentence rather than a path."""
    several = len(typed.split()) > 3
    return several and (typed.rstrip().endswith((".", "!", "?")) or ". " in typed)


def _check_arguments(text: str, items: Sequence[Path | str], title: str | None) -> None:
    """Raise InputError unless there is either one text, or files and pages."""
    if text and items:
        raise InputError(
            "The line names files or pages, but the cell also has a body.",
            "Add the text in a separate cell: `%%nb source --title …`.",
        )
    if not text and not items:
        raise InputError(
            "There is nothing to add.",
            "Name files or addresses: `%nb add paper.pdf`, or write a text below `%%nb source "
            "--title …`.",
        )
    if title is not None and len(items) > 1:
        raise InputError(
            f"`--title` sets one title, but there are {len(items)} sources.",
            "Add them without `--title`; `%nb sources edit SOURCE --title …` changes a title.",
        )


_WHAT = Parameter(
    "PATH|URL", value_types.PATHS_OR_URLS, "a file, a pattern or an address", many=True, dest="what"
)
_OPTIONS = [
    options.TITLE,
    options.TOPIC,
    options.INTO_NOTEBOOK,
    Parameter("url", value_types.text_type("URL"), "a web page", many=True),
    processing.WAIT,
    Parameter("sync", None, "process each source before sending the next"),
    Parameter("async", None, "do not wait for processing"),
    OUT,
]
_BODY = "the source's text."
_DETAILS = (
    "Documents (PDF, Word, PowerPoint, Excel, OpenDocument, EPUB, RTF, LaTeX), web pages, Jupyter "
    "notebooks, tables (CSV), XML, Markdown, plain text, pictures, audio and video, as far as the "
    "service reads them. Of a library of references (.bib, .ris, CSL JSON) each entry becomes a "
    "source, and the PDF files attached to it that are in the library's folder. All files are "
    "checked before the first is sent. A source that is already in the notebook, with the same "
    "name and content, address, or title and text, is kept; if it failed, it is processed again."
)

SHORTCUTS = (
    Command(
        "add",
        "Add files and pages to the notebook in use.",
        add,
        [_WHAT],
        _OPTIONS,
        details=_DETAILS,
        examples=["%nb add data/paper.pdf data/*.docx https://example.org/page --wait"],
    ),
    Command(
        "source",
        "Add a text, or a page, to the notebook in use.",
        add,
        [_WHAT],
        _OPTIONS,
        body=_BODY,
        examples=[
            '%%nb source --title "Bench notes"',
            "The strain is DH10B. Glucose represses the arabinose promoter.",
        ],
    ),
)

NEW = Command(
    "sources new",
    "Add files, pages or a text to the notebook in use.",
    add,
    [_WHAT],
    _OPTIONS,
    body=_BODY,
    details=_DETAILS,
)
