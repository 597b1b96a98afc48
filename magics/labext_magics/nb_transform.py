"""`%nb transform`: what a model makes of sources, notes or a text by a transformation's prompt."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

from labext.errors import InputError, LabextError, NotReadyError
from labext_magics import kinds, nb_options, nb_saving, nb_scope
from labext_magics.dispatch import Call
from labext_magics.grammar import Command, Parameter
from labext_magics.line import quote
from labext_magics.options import OUT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labext.nb.records import Record
    from labext_widgets.answers import Written, WrittenTexts

_FAILED = ("failed", "canceled")


def transform(
    call: Call,
    *,
    transformation: str,
    text: str | None,
    sources: list[str],
    notes: list[str],
    model: str | None,
    save: str | None,
    notebook: str | None,
) -> Written | WrittenTexts:
    """Return what a model makes of a text, or of each source and note that is named.

    All of them are looked at before the model is asked.

    Raises:
        InputError: there is no text, or there are two kinds of it.
        NotReadyError: a source has not been read yet.
        ConflictError: `save` is the title of what a human has written.
    """
    from labext_widgets.answers import Written, WrittenTexts

    texts = _texts(call, text, sources, notes, notebook)
    chosen = call.nb.transformations.get(transformation)
    by = nb_scope.model(call, model)
    notes_to_be = None
    if save is not None:
        into = nb_scope.notebook_of(call, notebook)
        titles = [save] if len(texts) == 1 else [f"{save}: {subject}" for subject, _ in texts]
        notes_to_be = nb_saving.AiNotes(call, into, titles)
    made, models = WrittenTexts(), {each["id"]: each["name"] for each in call.nb.models.iter()}
    name = str(chosen["title"] or chosen["name"])
    for n, (subject, each) in enumerate(texts):
        with _kept(made), nb_scope.reply_awaited("Run this cell again."):
            done = call.nb.transformations.execute(chosen["id"], each, by)
        title = f"{name}: {subject}" if subject else name
        model_id = done["model_id"]
        made.append(Written(done["output"], title, models.get(model_id, model_id)))
        if notes_to_be is not None:
            notes_to_be.write(n, made[-1].text)
    return made[0] if len(made) == 1 else made


def _texts(
    call: Call, text: str | None, sources: list[str], notes: list[str], notebook: str | None
) -> list[tuple[str, str]]:
    """Return what is to be transformed, each with what it is called."""
    if not sources and not notes and not text and not (call.body or "").strip():
        raise InputError(
            "There is nothing to transform.",
            "Name a source or a note (`--source TITLE`, `--note TITLE`), or write a text below "
            "`%%nb transform TRANSFORMATION`.",
        )
    if not sources and not notes:
        return [("", nb_scope.text_of(call, text, "transformation", "%nb transform"))]
    if text or (call.body or "").strip():
        raise InputError(
            "There is a text, and sources or notes are named too.",
            "Keep one of the two; a transformation's name that has blanks goes in quotes.",
        )
    nb, within = call.nb, call.session.notebook
    if notebook is not None:
        within = nb_scope.found(call, notebook)
    near = None if within is None else within.id
    found = [
        *(nb.sources.get(nb.sources.find(each, near)) for each in sources),
        *(nb.notes.get(nb.notes.find(each, near)) for each in notes),
    ]
    return _apart([_read(each) for each in {each["id"]: each for each in found}.values()])


def _read(record: Record) -> tuple[str, str]:
    """Return what a source or a note is called, and its text."""
    called, is_source = nb_scope.title(record), "full_text" in record
    text = record["full_text"] if is_source else record["content"]
    if text and text.strip():
        return called, str(text)
    if not is_source or record["status"] == "completed":
        raise InputError(f"{called} has no text.", "Leave it out.")
    if record["status"] in _FAILED:
        raise InputError(
            f"{called} has no text: it could not be read.",
            f"`%nb sources show {quote(called)}` tells why.",
        )
    raise NotReadyError(
        f"{called} has no text yet: it is still being processed.",
        f"`%nb sources wait {quote(called)}` waits for it.",
    )


def _apart(texts: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the texts with a number behind a name that one before has already."""
    seen: Counter[str] = Counter()
    apart = []
    for name, text in texts:
        seen[name] += 1
        apart.append((name if seen[name] == 1 else f"{name} ({seen[name]})", text))
    return apart


@contextmanager
def _kept(made: WrittenTexts) -> Iterator[None]:
    """Show what is made already where the next one fails: it took its time."""
    try:
        yield
    except LabextError:
        made._ipython_display_()
        raise


SHORTCUTS = (
    Command(
        "transform",
        "Have a model make something of sources, notes or a text.",
        transform,
        [
            nb_options.ONE_TRANSFORMATION,
            Parameter("TEXT", kinds.text(), "the text, if it doesn't stand below the line"),
        ],
        [
            Parameter("source", kinds.SOURCE, "make it of this source", many=True, dest="sources"),
            Parameter("note", kinds.NOTE, "make it of this note", many=True, dest="notes"),
            Parameter("model", kinds.MODEL, "the model that makes it"),
            Parameter("save", kinds.text("TITLE"), "keep it as a note of this title"),
            Parameter("notebook", kinds.NOTEBOOK, "of and into this notebook, not the one in use"),
            OUT,
        ],
        body="the text.",
        details="Of several sources or notes it makes one text each. The model is the "
        "transformation's own, else the one in the slot `transformation`. A note that a model has "
        "written under the same title is written anew.",
        examples=['%nb transform "Key findings" --source "Bench notes" --save "Findings"'],
    ),
)
