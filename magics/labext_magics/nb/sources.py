"""`%nb sources`: list, show, edit, delete and download sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labext.errors import InputError
from labext_magics.core import output, value_types
from labext_magics.core.dispatch import Call
from labext_magics.core.grammar import Command, Parameter
from labext_magics.core.options import OUT, OVERWRITE, PREVIEW, YES
from labext_magics.nb import add, options, scope

if TYPE_CHECKING:
    import pandas as pd

    from labext.nb.records import Record
    from labext_widgets.answers.documents import SourceText


def list_(
    call: Call, *, notebook: str | None, all_notebooks: bool, order_by: str | None, **page: Any
) -> pd.DataFrame:
    """Return one row per source of the notebook in use, another notebook or all notebooks."""
    target = scope.notebook_or_all(call, notebook, all_notebooks)
    order = scope.order_parameter(order_by)
    return call.nb.sources.list(None if target is None else target.id, order_by=order, **page)


def show(call: Call, *, source: str, text: bool) -> pd.DataFrame | SourceText:
    """Return the row of one source, or its full extracted text."""
    record = scope.find_source(call, source)
    if text:
        from labext_widgets.answers.documents import SourceText

        title, file = scope.source_title(record), record["file_name"]
        return SourceText(str(record["full_text"] or ""), title, file)
    return _rows([record])


def edit(call: Call, *, source: str, title: str | None, topic: str | None) -> pd.DataFrame:
    """Change a source's title or topic."""
    changes = scope.require_changes({"title": title, "topic": topic}, "%nb sources edit")
    record = call.nb.sources.update(scope.resolve_id(call, "source", source), **changes)
    output.print_message(f"Changed the source {record['title']}.")
    return _rows([record])


def delete(call: Call, *, sources: list[str], yes: bool, preview: bool) -> None:
    """Delete sources after checking that all of them exist.

    A source is deleted from all notebooks that share it.
    """
    records = scope.find_sources(call, sources, to_delete=True)
    labels = {record["id"]: f"the source {_describe_source(call, record)}" for record in records}
    output.delete_each(labels, call.nb.sources.delete, yes=yes, preview=preview)


def download(call: Call, *, source: str, to: str | None, check: bool, overwrite: bool) -> None:
    """Download the original file of a source, or check that the service has the file.

    By default the file is saved in the current folder under its original name.
    """
    import labext_widgets

    if check and to is not None:
        raise InputError(
            "`--check` downloads nothing, so `--to` has no effect.", "Keep one of them."
        )
    source_id = scope.resolve_id(call, "source", source)
    if check:
        state = (
            "can be downloaded" if call.nb.sources.exists(source_id) else "is not on the service"
        )
        output.print_message(f"The original file of {source} {state}.")
        return
    with labext_widgets.Transfer(source, "original", call.line) as transfer:
        written = call.nb.sources.download(source_id, to, transfer.bytes, overwrite=overwrite)
        transfer.end(f"Saved {source} to {written}.")


def insights(call: Call, *, source: str) -> pd.DataFrame:
    """Return one row per insight of a source."""
    from labext_widgets.answers.documents import INSIGHTS

    return INSIGHTS.show(call.nb.sources.insights(scope.resolve_id(call, "source", source)))


def _rows(records: list[Record]) -> pd.DataFrame:
    from labext.nb import views

    return views.source_frame(records)


def _describe_source(call: Call, record: Record) -> str:
    """Return a source's title, its file name if it differs, and its notebooks."""
    title, file = scope.source_title(record), record["file_name"]
    label = title if file in (None, title) else f"{title} ({file})"
    return f"{label}{scope.notebook_names_suffix(call, record['notebooks'] or ())}"


COMMANDS = (
    Command(
        "sources",
        "List the sources of the notebook in use.",
        list_,
        options=[
            options.IN_NOTEBOOK,
            options.ALL,
            options.LIMIT,
            options.OFFSET,
            Parameter(
                "order-by", value_types.order_by("updated_at", "created_at", "title"), "sort order"
            ),
            OUT,
        ],
        examples=["sources = %nb sources"],
    ),
    Command(
        "sources show",
        "Show a source.",
        show,
        [options.ONE_SOURCE],
        [Parameter("text", None, "include the full extracted text"), OUT],
    ),
    add.NEW,
    Command(
        "sources edit",
        "Change a source's title or topic.",
        edit,
        [options.ONE_SOURCE],
        [options.TITLE, options.TOPIC, OUT],
        examples=['%nb sources edit "Bench notes" --topic strains'],
    ),
    Command(
        "sources delete",
        "Delete sources from all notebooks.",
        delete,
        [options.SOME_SOURCES],
        [YES, PREVIEW],
    ),
    Command(
        "sources download",
        "Download the original file of a source.",
        download,
        [options.ONE_SOURCE],
        [
            Parameter("to", value_types.FILE_OR_FOLDER, "a file, or a folder: `FOLDER/`"),
            Parameter("check", None, "only check whether the service has the file"),
            OVERWRITE,
        ],
    ),
    Command(
        "sources insights",
        "List the insights generated from a source.",
        insights,
        [options.ONE_SOURCE],
        [OUT],
    ),
)
