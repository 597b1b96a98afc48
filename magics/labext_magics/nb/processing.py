"""`%nb sources status`, `wait` and `retry`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from labext import messages
from labext.errors import WatchInterrupted
from labext.progress import Outcome
from labext_magics.core import output, value_types
from labext_magics.core.dispatch import Call
from labext_magics.core.grammar import Command, Parameter
from labext_magics.core.options import OUT
from labext_magics.core.session import NotebookInUse
from labext_magics.nb import options, scope

if TYPE_CHECKING:
    import pandas as pd

    from labext.nb.polling import Ingestion
    from labext.nb.records import Record

_STALLED_AFTER = timedelta(hours=1)
"""Time without a change after which commands no longer wait for a source."""

_MAX_NAMED = 5
"""Maximum number of sources that the line to resume a watch names."""


def status(call: Call, *, source: str) -> pd.DataFrame:
    """Return the processing state of a source."""
    from labext.nb.views import status_frame

    return status_frame([call.nb.sources.status(scope.resolve_id(call, "source", source))])


def wait(call: Call, *, sources: list[str]) -> pd.DataFrame:
    """Watch sources until they are processed; by default all sources of the notebook in use."""
    if sources:
        return watch_sources(call, [scope.resolve_id(call, "source", source) for source in sources])
    notebook = scope.current_notebook(call)
    unprocessed = call.nb.sources.unprocessed(notebook.id)
    if not unprocessed:
        output.print_message(f"No source of {notebook.name} is being processed.")
        return call.nb.sources.list(notebook.id)
    return watch_sources(call, [source["id"] for source in unprocessed])


def retry(call: Call, *, sources: list[str], wait: bool) -> pd.DataFrame:
    """Retry the processing of failed sources."""
    from labext.nb import views

    records = [call.nb.sources.retry(source["id"]) for source in scope.find_sources(call, sources)]
    output.print_message(f"Processing {messages.pluralize(len(records), 'source')} again.")
    if wait:
        return watch_sources(call, [str(record["id"]) for record in records])
    return views.source_frame(records)


def watch_sources(call: Call, sources: Sequence[str]) -> pd.DataFrame:
    """Show the progress of sources until all are processed, and return one row per source.

    Sources that are deleted meanwhile, such as by another session, have no row.

    Raises:
        JobFailedError: the processing of a source failed.
        WatchInterrupted: the kernel was interrupted; the processing continues.
    """
    from labext.nb import views
    from labext.nb.polling import DELETED_STATUS, MAX_REASONS

    nb = call.nb
    # the sources may belong to another notebook than the one in use
    identifiers = " ".join(sources) if len(sources) <= _MAX_NAMED else ""
    again = f"%nb sources wait {identifiers}".rstrip()
    last = _show_progress(nb.sources.watch(sources), again, MAX_REASONS)
    rows = () if last is None else last.rows
    deleted = {row.id for row in rows if row.status == DELETED_STATUS}
    remaining = [source for source in sources if source not in deleted]
    return nb.sources.wait(remaining) if remaining else views.source_frame([])


def wait_for_text(
    call: Call,
    notebook: NotebookInUse | None,
    sources: Sequence[str] | None = None,
    *,
    wait: bool = True,
    option: str | None = "--no-wait",
    vectors: bool = False,
    outcome: str = "the question was not sent",
) -> None:
    """Wait until sources have been processed, and print the skipped sources.

    A source whose record has not changed for an hour is skipped, since its worker has probably
    been stopped. With `vectors`, the vectors of the sources are awaited, too. The error of an
    interrupt states the `outcome`.

    Raises:
        WatchInterrupted: the kernel was interrupted; no request was sent.
    """
    unprocessed = call.nb.sources.unprocessed(
        None if notebook is None else notebook.id, sources, vectors=vectors
    )
    waiting = [source for source in unprocessed if wait and not _is_stalled(source)]
    skipped = [source for source in unprocessed if source not in waiting]
    suffix = "" if notebook is None else f" of {notebook.name}"
    if skipped:
        output.print_message(
            f"{_being_processed(skipped, suffix)}, so not included: {_names(skipped)}."
        )
    if not waiting:
        return
    hint = "" if option is None else f"; `{option}` skips this"
    output.print_message(f"{_being_processed(waiting, suffix)}: {_names(waiting)}. Waiting{hint}.")
    snapshots = call.nb.sources.watch([source["id"] for source in waiting])
    try:
        last = _show_progress(snapshots, "%nb sources wait")
    except WatchInterrupted:
        raise WatchInterrupted(
            f"Waiting for {messages.pluralize(len(waiting), 'source')} was interrupted; {outcome}.",
            f"Run the line again{'' if option is None else f', or with `{option}`'}.",
        ) from None
    rows = () if last is None else last.rows
    failed = {row.id: row.reason for row in rows if row.outcome is not Outcome.COMPLETE}
    for source in waiting:
        if source["id"] in failed:
            reason = failed[source["id"]] or "no reason given"
            output.print_message(
                f"{scope.source_name(source)} is not included because its processing failed: "
                f"{reason}"
            )


def _show_progress(
    snapshots: Iterator[Ingestion], again: str, repeated: int | None = None
) -> Ingestion | None:
    """Show the progress of sources until all are processed; return the last snapshot.

    The reasons of `repeated` failed sources (None for all) follow in an error or in further lines,
    so that text output omits them here.
    """
    import labext_widgets
    from labext_widgets.core.front_end import FrontEnd, front_end

    last: Ingestion | None = None

    def displayed() -> Iterator[Ingestion]:
        nonlocal last
        is_text = front_end() is not FrontEnd.INTERACTIVE
        for last in snapshots:
            yield _without_reasons(last, repeated) if is_text and last.outcome else last

    labext_widgets.watch_ingestion(displayed(), again=again)
    return last


def _without_reasons(ingestion: Ingestion, count: int | None) -> Ingestion:
    """Return a snapshot without the reasons of the first `count` failed sources."""
    failed = [row.id for row in ingestion.rows if row.outcome is Outcome.FAILED][:count]
    rows = (replace(row, reason="") if row.id in failed else row for row in ingestion.rows)
    return replace(ingestion, rows=tuple(rows))


def _is_stalled(source: Record) -> bool:
    """Return True if a source has not changed for `_STALLED_AFTER`."""
    try:
        changed = datetime.fromisoformat(str(source["updated_at"]))
        return datetime.now(UTC) - changed > _STALLED_AFTER
    except (ValueError, TypeError):  # no timestamp, or one without a time zone
        return False


def _being_processed(sources: Sequence[Record], suffix: str) -> str:
    verb = "is" if len(sources) == 1 else "are"
    return f"{messages.pluralize(len(sources), 'source')}{suffix} {verb} still being processed"


def _names(sources: Sequence[Record]) -> str:
    return messages.join_words(map(scope.source_name, sources))


WAIT = Parameter("wait", None, "wait until all sources are processed")
NO_WAIT = Parameter("no-wait", None, "exclude sources that are still being processed")

COMMANDS = (
    Command(
        "sources status",
        "Show the processing status of a source.",
        status,
        [options.ONE_SOURCE],
        [OUT],
    ),
    Command(
        "sources wait",
        "Watch sources until they are processed; interrupting stops only the watch.",
        wait,
        [
            Parameter(
                "SOURCE",
                value_types.SOURCE,
                "a source; by default all sources of the notebook in use",
                many=True,
                dest="sources",
            )
        ],
        [OUT],
    ),
    Command(
        "sources retry", "Process failed sources again.", retry, [options.SOME_SOURCES], [WAIT, OUT]
    ),
)
