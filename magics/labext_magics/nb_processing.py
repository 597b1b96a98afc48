"""How far sources are processed: `%nb sources status`, `wait` and `retry`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from labext import wording
from labext_magics import kinds, nb_options, nb_scope, output
from labext_magics.dispatch import Call
from labext_magics.grammar import Command, Parameter
from labext_magics.options import OUT

if TYPE_CHECKING:
    import pandas as pd


def status(call: Call, *, source: str) -> pd.DataFrame:
    """Return how far the processing of a source is."""
    from labext.nb.records import STATUS, frame
    from labext.nb.rowviews import SourceRows

    found = call.nb.sources.status(nb_scope.one(call, "source", source))
    return SourceRows(frame(STATUS, [found]))


def wait(call: Call, *, sources: list[str]) -> pd.DataFrame:
    """Watch sources until they are processed; without any, those of the notebook in use."""
    if sources:
        return follow(call, [nb_scope.one(call, "source", each) for each in sources])
    within = nb_scope.in_use(call)
    there = call.nb.sources.list(within.id)
    going = there.loc[there["status"].isin(["new", "queued", "running"]), "id"]
    if not len(going):
        output.say(f"Nothing of {within.name} is being processed.")
        return there
    return follow(call, list(going))


def retry(call: Call, *, sources: list[str], wait: bool) -> pd.DataFrame:
    """Have sources processed again that have failed."""
    from labext.nb import rowviews

    records = [call.nb.sources.retry(each["id"]) for each in nb_scope.sources(call, sources)]
    output.say(f"{wording.count(len(records), 'source')} will be processed again.")
    if wait:
        return follow(call, [str(record["id"]) for record in records])
    return rowviews.sources(records)


def follow(call: Call, sources: Sequence[str]) -> pd.DataFrame:
    """Draw sources until all are processed, and return a row for each.

    Raises:
        JobFailedError: one has failed.
        WatchInterrupted: the kernel was interrupted; the processing goes on.
    """
    import labext_widgets

    nb = call.nb
    labext_widgets.follow_ingestion(nb.sources.watch(sources), again="%nb sources wait")
    return nb.sources.wait(sources)


WAIT = Parameter("wait", None, "watch until all are processed")

COMMANDS = (
    Command("sources status", "Show how far a source is.", status, [nb_options.ONE_SOURCE], [OUT]),
    Command(
        "sources wait",
        "Watch sources until they are processed; interrupting ends the watching only.",
        wait,
        [
            Parameter(
                "SOURCE",
                kinds.SOURCE,
                "a source; else all of the notebook in use",
                many=True,
                dest="sources",
            )
        ],
        [OUT],
    ),
    Command(
        "sources retry",
        "Have sources processed again that have failed.",
        retry,
        [nb_options.SOME_SOURCES],
        [WAIT, OUT],
    ),
)
