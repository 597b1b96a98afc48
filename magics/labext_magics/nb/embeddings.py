"""`%nb sources embed`, `%nb notes embed` and `%nb embeddings`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from labext import messages
from labext_magics.core import output, value_types
from labext_magics.core.dispatch import Call
from labext_magics.core.grammar import Command, Parameter
from labext_magics.core.options import OUT
from labext_magics.nb import commands, options, scope

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from labext.nb.records import Record


def embed_sources(call: Call, *, sources: list[str]) -> pd.DataFrame:
    """Compute vectors of sources, wait until they are complete, and return the sources' rows."""
    from labext.nb.views import source_frame

    records = scope.find_sources(call, sources)
    embed = call.nb.embeddings.source
    _wait(call, [(scope.source_title(source), embed(source["id"])) for source in records])
    return source_frame([call.nb.sources.get(record["id"]) for record in records])


def embed_notes(call: Call, *, notes: list[str]) -> None:
    """Compute vectors of notes, and wait until they are complete."""
    titles = {scope.resolve_id(call, "note", note): note for note in dict.fromkeys(notes)}
    _wait(call, [(name, call.nb.embeddings.note(note)) for note, name in titles.items()])


def rebuild(
    call: Call,
    *,
    mode: Literal["existing", "all"] | None,
    no_sources: bool,
    no_notes: bool,
    no_insights: bool,
    background: bool,
) -> pd.DataFrame:
    """Recompute vectors, show the progress, and return its row."""
    started = call.nb.embeddings.rebuild(
        mode or "existing", sources=not no_sources, notes=not no_notes, insights=not no_insights
    )
    job, total = started["job_id"], started["total_items"]
    count = "" if total is None else f" of about {messages.pluralize(total, 'item')}"
    again = f"%nb embeddings status {job}"
    output.print_message(f"Rebuilding vectors{count}; `{again}` shows the progress.")
    if not background:
        commands.watch_snapshots(call.nb.embeddings.watch(job), again)
    return status(call, job=job)


def status(call: Call, *, job: str) -> pd.DataFrame:
    """Return the progress of a rebuild of vectors."""
    from labext.nb.views import rebuild_frame

    return rebuild_frame([call.nb.embeddings.status(job)])


def _wait(call: Call, started: Sequence[tuple[str, Record]]) -> None:
    """Show the progress of each command until it ends."""
    for name, record in started:
        job = record["job_id"]
        if job is None:  # the service completed it synchronously
            continue
        snapshots = call.nb.commands.watch(job, f"Vectors of {name}")
        commands.watch_snapshots(snapshots, f"%nb commands wait {job}")
    output.print_message(
        f"Computed the vectors of {messages.join_words([name for name, _ in started])}."
    )


SOURCE_COMMANDS = (
    Command(
        "sources embed",
        "Compute vectors of sources, so that vector search finds them.",
        embed_sources,
        [options.SOME_SOURCES],
        [OUT],
    ),
)
NOTE_COMMANDS = (
    Command(
        "notes embed",
        "Compute vectors of notes, so that vector search finds them.",
        embed_notes,
        [options.SOME_NOTES],
    ),
)
COMMANDS = (
    Command(
        "embeddings rebuild",
        "Recompute vectors, for example after a change of the embedding model.",
        rebuild,
        options=[
            Parameter(
                "mode",
                value_types.choice("existing", "all"),
                "existing: only items with vectors (default); all: every item",
            ),
            options.NO_SOURCES,
            options.NO_NOTES,
            Parameter("no-insights", None, "skip insights"),
            Parameter("background", None, "do not wait"),
            OUT,
        ],
        details="Applies to all items on the service, not only to the notebook in use. When the "
        "command completes, all items are queued; the last vectors are computed shortly after.",
        examples=["%nb embeddings rebuild --mode all --no-insights"],
    ),
    Command(
        "embeddings status",
        "Show the progress of a rebuild.",
        status,
        [
            Parameter(
                "JOB",
                value_types.text_type("JOB"),
                "the job id shown by `embeddings rebuild`",
                required=True,
            )
        ],
        [OUT],
    ),
)
