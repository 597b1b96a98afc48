"""`%nb sources`: what a notebook's knowledge comes from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from labext.errors import InputError
from labext_magics import kinds, nb_add, nb_options, nb_scope, output
from labext_magics.dispatch import Call
from labext_magics.grammar import Command, Parameter
from labext_magics.line import quote
from labext_magics.options import OUT, PREVIEW, YES

if TYPE_CHECKING:
    import pandas as pd

    from labext.nb.records import Record
    from labext_widgets.answers.documents import SourceText


def list_(
    call: Call,
    *,
    notebook: str | None,
    every: bool,
    limit: int | None,
    offset: int | None,
    order_by: str | None,
) -> pd.DataFrame:
    """Return a row for each source of the notebook in use, of another or of all."""
    within = nb_scope.notebook_or_all(call, notebook, every)
    return call.nb.sources.list(
        None if within is None else within.id,
        limit=limit,
        offset=offset,
        order_by=nb_scope.ordered(order_by),
    )


def show(call: Call, *, source: str, text: bool) -> pd.DataFrame | SourceText:
    """Return what is known of one source, or the whole text that was read out of it."""
    record = nb_scope.source(call, source)
    if text:
        from labext_widgets.answers.documents import SourceText

        title, file = nb_scope.title(record), record["file_name"]
        return SourceText(str(record["full_text"] or ""), title, file)
    return _rows([record])


def edit(call: Call, *, source: str, title: str | None, topic: str | None) -> pd.DataFrame:
    """Change a source's title or topic."""
    changes = nb_scope.changes({"title": title, "topic": topic}, "%nb sources edit")
    record = call.nb.sources.update(nb_scope.one(call, "source", source), **changes)
    output.say(f"The source {record['title']} is changed.")
    return _rows([record])


def delete(call: Call, *, sources: list[str], yes: bool, preview: bool) -> None:
    """Delete sources of the notebook in use, once all of them are known to be there.

    A source that is in other notebooks too is deleted there as well.
    """
    records = nb_scope.sources(call, sources, to_delete=True)
    described = {record["id"]: _described(call, record) for record in records}
    would_go = [f"the source {each}" for each in described.values()]
    if not output.confirmed("delete", would_go, yes=yes, preview=preview):
        return
    for identifier, source in described.items():
        call.nb.sources.delete(identifier)
        output.say(f"The source {source} is deleted.")


def download(call: Call, *, source: str, to: Path | None, check: bool) -> None:
    """Fetch the file that a source was made from, or look whether the service has it.

    Without `to` it is put beside the notebook, under its own name.
    """
    import labext_widgets

    if check and to is not None:
        raise InputError("`--check` fetches nothing, so `--to` has no use.", "Keep one of the two.")
    found = nb_scope.one(call, "source", source)
    if check:
        words = "can be downloaded" if call.nb.sources.exists(found) else "is not on the service"
        output.say(f"The original of {source} {words}.")
        return
    again = f"%nb sources download {quote(source)}"
    with labext_widgets.Transfer(source, "original", again) as transfer:
        written = call.nb.sources.download(found, to, transfer.bytes)
        transfer.end(f"{source} is in {written}.")


def insights(call: Call, *, source: str) -> pd.DataFrame:
    """Return a row for each thing that models have made of a source."""
    from labext_widgets.answers.documents import INSIGHTS

    return INSIGHTS.show(call.nb.sources.insights(nb_scope.one(call, "source", source)))


def _rows(records: list[Record]) -> pd.DataFrame:
    from labext.nb import rowviews

    return rowviews.sources(records)


def _described(call: Call, record: Record) -> str:
    """Return a source's title, its file where the title is another one, and its notebooks."""
    title, file = nb_scope.title(record), record["file_name"]
    named = title if file in (None, title) else f"{title} ({file})"
    return f"{named}{nb_scope.places(call, record['notebooks'] or ())}"


COMMANDS = (
    Command(
        "sources",
        "List the sources of the notebook in use.",
        list_,
        options=[
            nb_options.IN_NOTEBOOK,
            nb_options.ALL,
            nb_options.LIMIT,
            nb_options.OFFSET,
            Parameter(
                "order-by", kinds.ordered_by("updated_at", "created_at", "title"), "the order"
            ),
            OUT,
        ],
        examples=["sources = %nb sources"],
    ),
    Command(
        "sources show",
        "Show one source.",
        show,
        [nb_options.ONE_SOURCE],
        [Parameter("text", None, "the whole text that was read out of it"), OUT],
    ),
    nb_add.NEW,
    Command(
        "sources edit",
        "Change a source's title or topic.",
        edit,
        [nb_options.ONE_SOURCE],
        [nb_options.TITLE, nb_options.TOPIC, OUT],
    ),
    Command(
        "sources delete",
        "Delete sources, in every notebook that has them.",
        delete,
        [nb_options.SOME_SOURCES],
        [YES, PREVIEW],
    ),
    Command(
        "sources download",
        "Fetch the file that a source was made from.",
        download,
        [nb_options.ONE_SOURCE],
        [
            Parameter("to", kinds.PATH, "the file, or a folder that is there"),
            Parameter("check", None, "only look whether the service has it"),
        ],
    ),
    Command(
        "sources insights",
        "Show what models have made of a source.",
        insights,
        [nb_options.ONE_SOURCE],
        [OUT],
    ),
)
