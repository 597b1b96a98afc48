"""Vectors, by which a search finds what means the same: `%nb sources embed`, `%nb embeddings`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from labext import wording
from labext_magics import kinds, nb_commands, nb_options, nb_scope, output
from labext_magics.dispatch import Call
from labext_magics.grammar import Command, Parameter
from labext_magics.options import OUT

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from labext.nb.records import Record


def embed_sources(call: Call, *, sources: list[str]) -> pd.DataFrame:
    """Have vectors of sources computed, wait for them, and return the sources' rows."""
    from labext.nb.rowviews import sources as shown

    found = nb_scope.sources(call, sources)
    _wait(call, [(nb_scope.title(each), call.nb.embeddings.source(each["id"])) for each in found])
    return shown([call.nb.sources.get(each["id"]) for each in found])


def embed_notes(call: Call, *, notes: list[str]) -> None:
    """Have vectors of notes computed, and wait for them."""
    found = [nb_scope.one(call, "note", each) for each in dict.fromkeys(notes)]
    titles = dict(zip(found, notes, strict=False))
    _wait(call, [(name, call.nb.embeddings.note(each)) for each, name in titles.items()])


def rebuild(
    call: Call,
    *,
    mode: Literal["existing", "all"] | None,
    no_sources: bool,
    no_notes: bool,
    no_insights: bool,
    background: bool,
) -> pd.DataFrame:
    """Have vectors computed again, draw how far that is, and return its row."""
    begun = call.nb.embeddings.rebuild(
        mode or "existing", sources=not no_sources, notes=not no_notes, insights=not no_insights
    )
    job, total = begun["job_id"], begun["total_items"]
    about = "" if total is None else f" of about {wording.count(total, 'thing')}"
    again = f"%nb embeddings status {job}"
    output.say(f"Vectors{about} are computed again; `{again}` shows how far that is.")
    if not background:
        nb_commands.follow(call.nb.embeddings.watch(job), again)
    return status(call, job=job)


def status(call: Call, *, job: str) -> pd.DataFrame:
    """Return how far vectors are computed again."""
    from labext.nb.beyond.views import rebuild as shown

    return shown(call.nb.embeddings.status(job))


def _wait(call: Call, begun: Sequence[tuple[str, Record]]) -> None:
    """Draw each until its vectors are computed."""
    for name, record in begun:
        job = record["job_id"]
        if job is None:  # it was done at once
            continue
        watched = call.nb.commands.watch(job, f"Vectors of {name}")
        nb_commands.follow(watched, f"%nb commands wait {job}")
    output.say(f"Vectors of {wording.listed([name for name, _ in begun])} are computed.")


OF_SOURCES = (
    Command(
        "sources embed",
        "Have vectors of sources computed, so that a search by meaning finds them.",
        embed_sources,
        [nb_options.SOME_SOURCES],
        [OUT],
    ),
)
OF_NOTES = (
    Command(
        "notes embed",
        "Have vectors of notes computed, so that a search by meaning finds them.",
        embed_notes,
        [nb_options.SOME_NOTES],
    ),
)
COMMANDS = (
    Command(
        "embeddings rebuild",
        "Have vectors computed again, as after another embedding model is set.",
        rebuild,
        options=[
            Parameter(
                "mode", kinds.choice("existing", "all"), "of what has some (so without it), or all"
            ),
            nb_options.NO_SOURCES,
            nb_options.NO_NOTES,
            Parameter("no-insights", None, "leave the insights out"),
            Parameter("background", None, "don't wait for it"),
            OUT,
        ],
        details="It goes through everything of the service, not only the notebook in use. Once it "
        "is completed, all of it is queued; the last vectors come a little later.",
        examples=["%nb embeddings rebuild --mode all --no-insights"],
    ),
    Command(
        "embeddings status",
        "Show how far vectors are computed again.",
        status,
        [Parameter("JOB", kinds.text("JOB"), "the job that `rebuild` told", required=True)],
        [OUT],
    ),
)
