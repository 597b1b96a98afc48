"""Which sources are in which notebook: `link` and `unlink`, of sources and of notebooks."""

from __future__ import annotations

from labext import wording
from labext.errors import NotFoundError
from labext_magics import nb_options, nb_scope, output
from labext_magics.dispatch import Call
from labext_magics.grammar import Command
from labext_magics.session import NotebookInUse


def link(call: Call, *, sources: list[str], notebook: str | None) -> None:
    """Put sources of any notebook into one; what is in it already stays."""
    into = nb_scope.notebook_of(call, notebook)
    found = dict.fromkeys(_find(call, each, into) for each in sources)
    records = [call.nb.sources.get(each) for each in found]
    for record in records:
        call.nb.notebooks.link(into.id, record["id"])
    output.say(f"{wording.are(map(nb_scope.title, records))} in {into.name}.")


def unlink(call: Call, *, sources: list[str], notebook: str | None) -> None:
    """Take sources out of a notebook; they are not deleted."""
    out_of = nb_scope.notebook_of(call, notebook)
    named = (call.nb.sources.find(each, out_of.id) for each in sources)
    records = [call.nb.sources.get(each) for each in dict.fromkeys(named)]
    for record in records:
        call.nb.notebooks.unlink(out_of.id, record["id"])
    output.say(
        f"{wording.are(map(nb_scope.title, records))} no longer in {out_of.name}, and not deleted."
    )


def _find(call: Call, named: str, into: NotebookInUse) -> str:
    """Return the identifier of a source to link: of the notebook in use, else of any notebook."""
    within = call.session.notebook
    if within is not None and within != into:
        try:
            return call.nb.sources.find(named, within.id)
        except NotFoundError:
            pass  # look in all notebooks
    return call.nb.sources.find(named)


def link_to(call: Call, *, notebook: str, sources: list[str]) -> None:
    """As `link`, the notebook named first."""
    link(call, sources=sources, notebook=notebook)


def unlink_from(call: Call, *, notebook: str, sources: list[str]) -> None:
    """As `unlink`, the notebook named first."""
    unlink(call, sources=sources, notebook=notebook)


OF_SOURCES = (
    Command(
        "sources link",
        "Put sources into the notebook in use as well.",
        link,
        [nb_options.SOME_SOURCES],
        [nb_options.INTO_NOTEBOOK],
    ),
    Command(
        "sources unlink",
        "Take sources out of the notebook in use, without deleting them.",
        unlink,
        [nb_options.SOME_SOURCES],
        [nb_options.IN_NOTEBOOK],
    ),
)

OF_NOTEBOOKS = (
    Command(
        "notebooks link",
        "Put sources into a notebook as well.",
        link_to,
        [nb_options.ONE_NOTEBOOK, nb_options.SOME_SOURCES],
    ),
    Command(
        "notebooks unlink",
        "Take sources out of a notebook, without deleting them.",
        unlink_from,
        [nb_options.ONE_NOTEBOOK, nb_options.SOME_SOURCES],
    ),
)
