"""`%nb add` and `%%nb source`: add files, web pages and texts as sources, without duplicates."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from labext import messages
from labext.errors import (
    ConflictError,
    InputError,
    LabextError,
    TransferInterrupted,
    WatchInterrupted,
)
from labext.storage import user_path
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
    from labext.nb.uploads import ExistingSource


def add_text(
    call: Call, target: NotebookInUse, content: str, title: str | None, arguments: dict[str, Any]
) -> Record:
    """Add a text unless the notebook already has a source with this title and text."""
    candidates = [
        source
        for source in call.nb.sources.iter(target.id)
        if _may_match_text(source, content, title)
    ]
    for source in candidates:
        record = call.nb.sources.get(source["id"])
        if (record["full_text"] or "").strip() == content:
            output.print_message(
                f"{scope.source_name(record)} with this text is already in {target.name}; "
                "it was kept."
            )
            return record
    if title is not None and candidates:
        raise ConflictError(
            f"{target.name} already has a source {title} with another text.",
            f"Use another title, or delete it first: `%nb sources delete {quote(title)} --yes`.",
        )
    record = call.nb.sources.add_text(content, target.id, title, **arguments)
    output.print_message(f"Added {scope.source_name(record)} to {target.name}.")
    return record


def _may_match_text(source: Record, content: str, title: str | None) -> bool:
    """Return False if the title of a source shows that it does not contain a text."""
    if title is not None:
        return bool(source["title"] == title)
    prefix = str(source["title"] or "").rstrip("… .")
    return source["kind"] == "text" and content.startswith(prefix)


def add_files(
    call: Call,
    target: NotebookInUse,
    items: Sequence[Path | str],
    title: str | None,
    arguments: dict[str, Any],
) -> tuple[list[Record], InputError | None]:
    """Add new files and web pages to a notebook, and retry failed ones.

    A file is identified by its name and content, a web page by its URL.

    Returns:
        The records of the sources, and an error that lists the rejected items, or None.
    """
    from labext.nb.uploads import rejection_error

    matches: dict[Path | str, Record] = {}
    for item, existing in call.nb.sources.find_existing(items, target.id).items():
        _report_namesake(item, existing, target)
        if existing.record is not None:
            matches[item] = existing.record
    failed = {item: source for item, source in matches.items() if source["status"] == "failed"}
    unchanged = {item: source for item, source in matches.items() if item not in failed}
    retried = {item: call.nb.sources.retry(source["id"]) for item, source in failed.items()}
    new = [item for item in items if item not in matches]
    rejected: dict[Path | str, InputError] = {}
    added = _send_items(call, target, new, title, arguments, rejected) if new else {}
    actions = {
        f"already in {target.name}; processed again": retried,
        f"already in {target.name}; kept": unchanged,
    }
    for action, records in actions.items():
        if records:
            names = (item.name if isinstance(item, Path) else item for item in records)
            output.print_message(f"{messages.join_subject(names)} {action}.")
    records = {**unchanged, **retried, **added}
    sources = [records[item] for item in items if item in records]
    return sources, rejection_error(rejected, len(sources)) if rejected else None


def add_library(
    call: Call, target: NotebookInUse, library: Library, arguments: dict[str, Any]
) -> list[Record]:
    """Add the new entries of a library of references to a notebook.

    An entry exists if a source has its title, or its DOI under a title that is not in the library.
    """
    from labext.nb.library import doi_of

    existing: dict[str, list[Record]] = {}
    for source in call.nb.sources.iter(target.id):
        if source["kind"] == "text":
            existing.setdefault(str(source["title"]), []).append(source)
    titles = {entry.title for entry in library.entries}
    renamed: dict[str, list[Record]] = {}
    if not titles <= existing.keys():
        for source in itertools.chain(*(existing[title] for title in existing.keys() - titles)):
            record = call.nb.sources.get(source["id"])
            renamed.setdefault(doi_of(record["full_text"] or ""), []).append(record)
    records, kept, changed = [], 0, []
    for entry in library.entries:
        namesakes = (call.nb.sources.get(s["id"]) for s in existing.get(entry.title, ()))
        candidates = itertools.chain(namesakes, renamed.get(doi_of(entry.text), ()))
        same = next(
            (record for record in candidates if entry.matches(record["full_text"] or "")), None
        )
        if same is not None:
            kept += 1
            if entry.has_changed(same["full_text"] or ""):
                changed.append(f"{entry.title} ({same['id']})")
        records.append(
            same or call.nb.sources.add_text(entry.text, target.id, entry.title, **arguments)
        )
    added = messages.pluralize(len(records) - kept, "reference")
    note = f"; kept {kept} existing" if kept else ""
    output.print_message(f"{library.path.name}: added {added} to {target.name}{note}.")
    if changed:
        output.print_message(
            f"Kept with other fields than in {library.path.name}: {messages.join_words(changed)}. "
            "To replace a reference, delete it with `%nb sources delete`, then add the library "
            "again."
        )
    if library.missing_files:
        names = messages.join_words(library.missing_files)
        output.print_message(f"Skipped attached files not in the library's folder: {names}.")
    return records


def _report_namesake(item: Path | str, existing: ExistingSource, target: NotebookInUse) -> None:
    """Print a message if a file of the same name is not known to have the same content."""
    name = item.name if isinstance(item, Path) else item
    if not existing.compared:
        output.print_message(
            f"The service does not store the original of {name}, so only its name was "
            "compared. To add a changed file, delete the source first with `%nb sources "
            "delete`, or use another name."
        )
    elif existing.other is not None:
        source = existing.other["id"]
        output.print_message(
            f"{target.name} has another {name} ({source}) with different content; "
            f"both are kept. `%nb sources delete {source} --yes` deletes the other one."
        )


def _send_items(
    call: Call,
    target: NotebookInUse,
    new: Sequence[Path | str],
    title: str | None,
    arguments: dict[str, Any],
    rejected: dict[Path | str, InputError],
) -> dict[Path | str, Record]:
    """Send files and URLs one by one, with a progress bar.

    The errors of items that the service rejects are added to `rejected`.
    """
    import labext_widgets

    added: list[Record] = []
    name = str(new[0]) if len(new) == 1 else messages.pluralize(len(new), "source")
    with labext_widgets.Transfer(name, "source", call.line, "Sending") as transfer:
        if title is None:
            call.nb.sources.add(
                new,
                target.id,
                on_bytes=lambda _, transferred, size: transfer.bytes(transferred, size),
                on_added=added.append,
                on_rejected=rejected.__setitem__,
                again=True,
                **arguments,
            )
        elif isinstance(new[0], Path):
            added.append(
                call.nb.sources.add_file(
                    new[0], target.id, title, on_bytes=transfer.bytes, **arguments
                )
            )
        else:
            added.append(call.nb.sources.add_url(new[0], target.id, title, **arguments))
        if added:
            names = messages.join_words(map(scope.source_name, added))
            transfer.end(f"Added to {target.name}: {names}.")
    return dict(zip((item for item in new if item not in rejected), added, strict=True))


_MAX_NAMED = 3
"""Maximum number of sources in a hint; otherwise the hint applies to all sources."""


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
    """Add files and web pages, or the cell body, to a notebook, and return one row per source.

    Identical sources are kept. The command waits for texts to be processed unless `async_` is set,
    and for files and web pages with `wait` or `sync`.
    """
    if sync and async_:
        raise InputError("`--sync` and `--async` exclude each other.", "Keep one of them.")
    text = call.text
    items = _resolve_items(what, url)
    _check_arguments(text, items, title)
    items, libraries = _split_libraries(items)
    if libraries and title is not None:
        raise InputError(
            "`--title` is for a single source, but a library has several.", "Omit `--title`."
        )
    target = scope.notebook_of(call, notebook)
    arguments = {"topic": topic, "process_async": bool(text) or not sync}
    rejection: InputError | None = None
    try:
        names = [item.name if isinstance(item, Path) else item for item in items]
        with scope.creation_lock(call, "source", target.id, *(names or [title or text])):
            if text:
                records = [add_text(call, target, text, title, arguments)]
            else:
                records, rejection = add_files(call, target, items, title, arguments)
                for library in libraries:
                    records += add_library(call, target, library, arguments)
                    rejection = rejection or library.error()
    except (KeyboardInterrupt, TransferInterrupted) as error:
        is_transfer = isinstance(error, TransferInterrupted)
        again = f"`{call.line}` continues with" if is_transfer else "run the line again to add"
        raise WatchInterrupted(
            f"Adding to {target.name} was interrupted; sources already sent may still be "
            "processed.",
            f"`%nb sources` lists the sources; {again} the others.",
        ) from None
    if rejection is not None and not records:
        raise rejection
    _report_missing_model(call, records)
    wait = wait or sync or (bool(text) and not async_)
    try:
        rows = _source_rows(call, records, wait=wait)
    except LabextError:
        if rejection is not None:
            output.print_message(str(rejection))
        raise
    if rejection is not None:
        raise rejection
    return rows


def _report_missing_model(call: Call, records: Sequence[Record]) -> None:
    """Print the next step if no embedding model is set for the new sources."""
    from labext.nb.backends.detect import OPEN_NOTEBOOK

    added = [record for record in records if record["status"] != "failed"]
    if not added or call.nb.models.defaults().get("embedding") is not None:
        return
    message = (
        "No embedding model is set, so vector search does not find the added sources. "
        f"{setup_hints.next_step(call, ['embedding'])}"
    )
    if call.nb.status()["backend"] == OPEN_NOTEBOOK:  # others compute the vectors by themselves
        names = (quote(str(record["title"] or record["id"])) for record in added[:_MAX_NAMED])
        embed = "sources embed " + " ".join(names)
        if len(added) > _MAX_NAMED:
            embed = "embeddings rebuild --mode all"
        message += f" Then run `%nb {embed}`."
    output.print_message(message)


def _source_rows(call: Call, records: Sequence[Record], *, wait: bool) -> pd.DataFrame:
    """Return one row per source, with `wait` after all sources have been processed."""
    from labext.nb.views import source_frame

    if not wait:
        return source_frame(records)
    names = [str(record["id"]) for record in records]
    if all(record["status"] == "completed" for record in records):
        return call.nb.sources.wait(names)
    return processing.watch_sources(call, names)


def _resolve_items(what: Iterable[str], urls: Iterable[str]) -> list[Path | str]:
    """Return the validated files and URLs without duplicates."""
    from labext.nb import uploads

    items: list[Path | str] = []
    errors: list[InputError] = []
    for path_or_url in what:
        if "://" in path_or_url:
            items.append(_url(path_or_url))
            continue
        for path in _expand_path(path_or_url):
            try:
                items.append(uploads.validate_file(path))
            except InputError as error:
                errors.append(error)
    if errors:
        steps = dict.fromkeys(error.next_step for error in errors)
        raise InputError(" ".join(error.message for error in errors), " ".join(steps))
    return list(dict.fromkeys([*items, *map(_url, urls)]))


def _split_libraries(items: Sequence[Path | str]) -> tuple[list[Path | str], list[Library]]:
    """Split items into libraries of references and other items, including attached files."""
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
    path = user_path(typed)
    if not os.path.exists(path) and _is_prose(typed):
        raise InputError(
            "The line contains a text, not a file name.",
            "Write the text as a cell body: `%%nb source --title TITLE`.",
        )
    return value_types.expand_pattern(path)


def _is_prose(typed: str) -> bool:
    """Return True if the argument is a sentence rather than a path."""
    return len(typed.split()) > 3 and (typed.rstrip().endswith((".", "!", "?")) or ". " in typed)


def _check_arguments(text: str, items: Sequence[Path | str], title: str | None) -> None:
    """Check that the line has either a text, or files and web pages, else raise InputError."""
    if text and items:
        raise InputError(
            "The line has files or web pages, but the cell also has a body.",
            "Add the text in a separate cell: `%%nb source --title …`.",
        )
    if not text and not items:
        raise InputError(
            "There is nothing to add.",
            "Give files or addresses, as in `%nb add paper.pdf`, or write a text below `%%nb "
            "source --title …`.",
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
    Parameter("async", None, "do not wait until a text is processed"),
    OUT,
]
_DETAILS = (
    "Supported formats depend on the service: documents (PDF, Word, PowerPoint, Excel, "
    "OpenDocument, EPUB, RTF, LaTeX), web pages, Jupyter notebooks, tables (CSV), XML, Markdown, "
    "plain text, e-mails, pictures, audio and video. Each entry of a library of references (.bib,"
    " .ris, CSL JSON) becomes a source, and so do attached PDF files in the library's folder. All"
    " files are checked before the first one is sent. A source that is already in the notebook, "
    "with the same name and content, address, or title and text, is kept; if it failed, it is "
    "processed again."
)

SOURCE = Command(
    "source",
    "Add a text, or a page, to the notebook in use.",
    add,
    [_WHAT],
    _OPTIONS,
    body="the source's text.",
    examples=[
        '%%nb source --title "Bench notes"',
        "The strain is DH10B. Glucose represses the arabinose promoter.",
    ],
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
    SOURCE,
)

NEW = replace(
    SOURCE,
    name="sources new",
    summary="Add files, pages or a text to the notebook in use.",
    details=_DETAILS,
    examples=(),
)
