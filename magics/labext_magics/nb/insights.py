"""`%nb insights`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labext import messages
from labext_magics.core import output, value_types
from labext_magics.core.dispatch import Call
from labext_magics.core.grammar import Command, Parameter
from labext_magics.core.options import OUT, PREVIEW, YES
from labext_magics.nb import commands, options, processing, scope

if TYPE_CHECKING:
    import pandas as pd

    from labext.nb.records import Record
    from labext_widgets.answers import GeneratedText


def list_(
    call: Call, *, sources: list[str], notebook: str | None, all_notebooks: bool
) -> pd.DataFrame:
    """Return one row per insight of the notebook in use, another or all notebooks, or sources."""
    from labext_widgets.answers.documents import INSIGHTS

    if sources:
        within = None if notebook is None else scope.find_notebook(call, notebook).id
        if within is None:
            sources = [scope.resolve_id(call, "source", title) for title in sources]
        return INSIGHTS.show(call.nb.insights.list(within, sources))
    target = scope.notebook_or_all(call, notebook, all_notebooks)
    return INSIGHTS.show(call.nb.insights.list(None if target is None else target.id))


def show(call: Call, *, insight: str, source: str | None) -> GeneratedText:
    """Return one insight as rendered text."""
    from labext_widgets.answers import GeneratedText

    record = _record(call, insight, source)
    return GeneratedText(str(record["content"] or ""), _insight_label(call, record))


def new(call: Call, *, transformation: str, sources: list[str], model: str | None) -> pd.DataFrame:
    """Generate insights from sources, show the progress, and return their rows.

    The insight that a source already has of this transformation is kept.
    """
    from labext.nb.views import insight_frame
    from labext_widgets.answers.documents import INSIGHTS

    identifiers = [scope.resolve_id(call, "source", title) for title in dict.fromkeys(sources)]
    model_id = scope.resolve_model(call, model)
    processing.wait_for_text(
        call, None, identifiers, option=None, outcome="no insight was generated"
    )
    template = call.nb.transformations.get(transformation)
    return INSIGHTS.show(
        insight_frame(
            _create_insight(call, source, template, model_id)
            for source in dict.fromkeys(identifiers)
        )
    )


def _create_insight(call: Call, source: str, transformation: Record, model: str | None) -> Record:
    title = str(transformation["title"])
    with scope.creation_lock(call, "insight", source, title):
        for existing in call.nb.insights.iter(sources=[source]):
            if existing["insight_type"] == title:
                output.print_message(
                    f"{_insight_label(call, existing)} already exists and was kept; to generate it "
                    f"again, first run `%nb insights delete {existing['id']} --yes`."
                )
                return existing
        started = call.nb.insights.start(source, transformation["id"], model)
        again = f"%nb commands wait {started.job}"
        commands.watch_snapshots(call.nb.insights.watch(started), again)
        return call.nb.insights.wait(started)


def save(call: Call, *, insight: str, source: str | None, notebook: str | None) -> pd.DataFrame:
    """Copy an insight to a notebook as a note; an identical note is kept."""
    from labext.nb.views import note_frame

    target = scope.notebook_of(call, notebook)
    record = _record(call, insight, source)
    with scope.creation_lock(call, "note", target.id, str(record["id"])):
        for note in call.nb.notes.iter(target.id):
            if (note["content"] or "").strip() == (record["content"] or "").strip():
                output.print_message(
                    f"{target.name} already has the note {messages.quote_value(_title(note))} with "
                    "this text."
                )
                return note_frame([note])
        note = call.nb.insights.save(record["id"], target.id)
    output.print_message(f"Saved the note {messages.quote_value(_title(note))} to {target.name}.")
    return note_frame([note])


def delete(
    call: Call, *, insights: list[str], source: str | None, yes: bool, preview: bool
) -> None:
    """Delete insights after checking that all of them exist."""
    records = [
        _record(call, insight, source, to_delete=True) for insight in dict.fromkeys(insights)
    ]
    labels = {
        record["id"]: f"the insight {_insight_label(call, record, with_notebooks=True)}"
        for record in records
    }
    output.delete_each(labels, call.nb.insights.delete, yes=yes, preview=preview)


def _record(call: Call, insight: str, source: str | None, *, to_delete: bool = False) -> Record:
    """Return an insight of a source or of the notebook in use, by type or ID."""
    source_id = (
        None if source is None else scope.resolve_id(call, "source", source, to_delete=to_delete)
    )
    current = call.session.notebook
    if to_delete and source_id is None and current is None:
        scope.check_identifier("insight", insight)
    identifier = call.nb.insights.find(insight, source_id, None if current is None else current.id)
    return call.nb.insights.get(identifier)


def _insight_label(call: Call, record: Record, *, with_notebooks: bool = False) -> str:
    """Return an insight's type and the title of its source, optionally with its notebooks."""
    source = call.nb.sources.get(record["source_id"])
    notebooks = source["notebooks"] or () if with_notebooks else ()
    suffix = scope.notebook_names_suffix(call, notebooks)
    return f"{record['insight_type']} of {scope.source_title(source)}{suffix}"


def _title(note: Record) -> str:
    return str(note["title"] or note["id"])


_INSIGHT = value_types.text_type("INSIGHT", "insights")
_HELP = "an insight, by its type or id"
_ONE = Parameter("INSIGHT", _INSIGHT, _HELP, required=True)
_SOME = Parameter("INSIGHT", _INSIGHT, _HELP, required=True, many=True, dest="insights")
_OF_SOURCES = Parameter("source", value_types.SOURCE, "of this source")

COMMANDS = (
    Command(
        "insights",
        "List the insights generated from sources.",
        list_,
        options=[options.SOURCES, options.IN_NOTEBOOK, options.ALL, OUT],
    ),
    Command("insights show", "Show an insight.", show, [_ONE], [_OF_SOURCES, OUT]),
    Command(
        "insights new",
        "Generate an insight from sources with a transformation.",
        new,
        [
            Parameter(
                "NAME",
                value_types.TRANSFORMATION,
                "a transformation, by its name or id",
                required=True,
                dest="transformation",
            )
        ],
        [
            Parameter(
                "source",
                value_types.SOURCE,
                "from this source",
                required=True,
                many=True,
                dest="sources",
            ),
            Parameter("model", value_types.MODEL, "the model to use"),
            OUT,
        ],
        details="Waits for the result. `%nb transform` generates the same text without storing "
        "an insight.",
        examples=['%nb insights new "Key findings" --source "Bench notes"'],
    ),
    Command(
        "insights save",
        "Copy an insight to a notebook as a note.",
        save,
        [_ONE],
        [_OF_SOURCES, options.INTO_NOTEBOOK, OUT],
    ),
    Command("insights delete", "Delete insights.", delete, [_SOME], [_OF_SOURCES, YES, PREVIEW]),
)
