"""`%nb add` and `%%nb source`: files, pages and texts become sources, once each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from labext.errors import InputError, LabextError, WatchInterrupted
from labext_magics import (
    kinds,
    nb_keeping,
    nb_model_setup,
    nb_options,
    nb_processing,
    nb_scope,
    output,
)
from labext_magics.dispatch import Call
from labext_magics.grammar import Command, Parameter
from labext_magics.line import quote
from labext_magics.options import OUT

if TYPE_CHECKING:
    import pandas as pd

    from labext.nb.records import Record


_NAMED = 3
"""Sources that a hint names; for more it names a line for all."""


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

    What is in the notebook already, and the same, is kept. A text is waited for, unless `async_`
    is there; files and pages with `wait` or `sync`.

    Raises:
        InputError: a file is missing, empty or unreadable: then nothing is sent. Or the service
            refused some; the others were added.
        JobFailedError: a source that was waited for has failed.
        WatchInterrupted: the kernel was interrupted; the service goes on.
    """
    if sync and async_:
        raise InputError("`--sync` and `--async` are both there.", "Keep one of the two.")
    text = (call.body or "").strip()
    items = _items(what, url)
    _check(text, items, title)
    into = nb_scope.notebook_of(call, notebook)
    given = {"topic": topic, "process_async": bool(text) or not sync}
    refusal: InputError | None = None
    with _interruptible(into.name):
        if text:
            records = [nb_keeping.text(call, into, text, title, given)]
        else:
            records, refusal = nb_keeping.files(call, into, items, title, given)
    if refusal is not None and not records:
        raise refusal
    _tell_missing_model(call, records)
    waits = wait or sync or (bool(text) and not async_)
    try:
        found = _shown(call, records, wait=waits)
    except LabextError:
        if refusal is not None:
            output.say(str(refusal))
        raise
    if refusal is not None:
        raise refusal
    return found


def _tell_missing_model(call: Call, records: Sequence[Record]) -> None:
    """Say that sources get no vectors, where no embedding model is set, and how they get them."""
    added = [record for record in records if record["status"] != "failed"]
    if not added or call.nb.models.defaults().get("embedding") is not None:
        return
    names = (quote(str(record["title"] or record["id"])) for record in added[:_NAMED])
    embed = "sources embed " + " ".join(names)
    if len(added) > _NAMED:
        embed = "embeddings rebuild --mode all"
    output.say(
        "No embedding model is set, so a search by meaning does not find what is added now. "
        f"{nb_model_setup.next_step(call, ['embedding'])} Then run `%nb {embed}`."
    )


@contextmanager
def _interruptible(notebook: str) -> Iterator[None]:
    """Raise an interrupt while sources are sent as one line that says what may go on."""
    try:
        yield
    except KeyboardInterrupt:
        raise WatchInterrupted(
            f"Adding to {notebook} was interrupted: what was sent may still be processed.",
            "`%nb sources` shows what is there; run the line again for the rest.",
        ) from None


def _shown(call: Call, records: Sequence[Record], *, wait: bool) -> pd.DataFrame:
    """Return a row for each source; with `wait` once all have been processed."""
    from labext.nb.rowviews import sources

    if not wait:
        return sources(records)
    names = [str(record["id"]) for record in records]
    if all(record["status"] == "completed" for record in records):
        return call.nb.sources.wait(names)
    return nb_processing.follow(call, names)


def _items(what: Iterable[str], urls: Iterable[str]) -> list[Path | str]:
    """Return the files and addresses that are meant, each once, all of them looked at."""
    from labext.nb import adding

    found: list[Path | str] = []
    for each in what:
        if "://" in each:
            found.append(_url(each))
        else:
            found += [adding.checked_file(path) for path in _paths(each)]
    return list(dict.fromkeys([*found, *map(_url, urls)]))


def _url(typed: str) -> str:
    from labext.nb import adding

    address = adding.checked_url(typed)
    parts = urlsplit(address)
    if parts.username or parts.password:
        raise InputError(
            "This line has an address with a user or a password, and a line is kept in the "
            "notebook: it was not used.",
            "Download the page yourself, and add the file.",
        )
    return address


def _paths(typed: str) -> list[Path]:
    """Return the files that a path or a pattern names."""
    import glob

    if _is_prose(typed):
        raise InputError(
            "What the line names is a text, and no file.",
            "Write it below the line, in a cell that begins with `%%nb source --title TITLE`.",
        )
    path = Path(typed).expanduser()
    if path.exists() or not glob.has_magic(typed):
        return [path]
    fitting = sorted(glob.glob(str(path), recursive=True))
    files = [Path(each) for each in fitting if Path(each).is_file()]
    if not files:
        raise InputError(
            f"No file fits {typed}.", "Check the path: it counts from the notebook's folder."
        )
    return files


def _is_prose(typed: str) -> bool:
    """Whether it is a sentence that somebody wrote where a path belongs."""
    several = len(typed.split()) > 3
    return several and (typed.rstrip().endswith((".", "!", "?")) or ". " in typed)


def _check(text: str, items: Sequence[Path | str], title: str | None) -> None:
    """Raise InputError unless there is one text, or files and pages."""
    if text and items:
        raise InputError(
            "The line names files or pages, and there is a text below it.",
            "Add the text in a cell of its own: `%%nb source --title …`.",
        )
    if not text and not items:
        raise InputError(
            "There is nothing to add.",
            "Name files or addresses: `%nb add paper.pdf`; or write a text below `%%nb source "
            "--title …`.",
        )
    if title is not None and len(items) > 1:
        raise InputError(
            f"`--title` is one title, and these are {len(items)} sources.",
            "Add them without it; `%nb sources edit SOURCE --title …` changes one.",
        )


_WHAT = Parameter(
    "PATH|URL", kinds.PATHS_OR_URLS, "a file, a pattern or an address", many=True, dest="what"
)
_OPTIONS = [
    nb_options.TITLE,
    nb_options.TOPIC,
    nb_options.INTO_NOTEBOOK,
    Parameter("url", kinds.text("URL"), "a page of the web", many=True),
    nb_processing.WAIT,
    Parameter("sync", None, "have each processed before the next is sent"),
    Parameter("async", None, "don't wait until a text is processed"),
    OUT,
]
_BODY = "the source's text."
_DETAILS = (
    "PDF, DOCX, HTML, Markdown, plain text, sound and video. All files are looked at before the "
    "first is sent. What is in the notebook already, with the same name and content, the same "
    "address or the same title and text, is kept; if it has failed, it is processed again."
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
