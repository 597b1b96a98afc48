"""`%nb transform` and `%nb transformations`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from labext import messages
from labext.errors import ConflictError, InputError, LabextError, NotReadyError
from labext_magics.core import output, value_types
from labext_magics.core.dispatch import Call
from labext_magics.core.grammar import Command, Parameter
from labext_magics.core.line import quote
from labext_magics.core.options import OUT, PREVIEW, YES
from labext_magics.nb import options, scope

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from labext.nb.records import Record
    from labext_magics.core.session import NotebookInUse
    from labext_widgets.answers import GeneratedText, GeneratedTexts


def _existing_ai_note(notes: Sequence[Record], title: str, target: NotebookInUse) -> Record | None:
    """Return the note with a title, or None; raise ConflictError if it is not a single AI note."""
    matches = [note for note in notes if note["title"] == title]
    if len(matches) > 1 or any(note["note_type"] != "ai" for note in matches):
        subject = f"{len(matches)} notes" if len(matches) > 1 else "a note written by a human"
        raise ConflictError(
            f"{target.name} already has {subject} with the title {messages.quote_value(title)}.",
            "Use another title.",
        )
    return matches[0] if matches else None


def _save_note(call: Call, target: NotebookInUse, title: str, text: str) -> None:
    """Create or replace the AI note with a title; an identical note is kept."""
    label = f"the note {messages.quote_value(title)}"
    with scope.creation_lock(call, "note", target.id, title):
        existing = _existing_ai_note(list(call.nb.notes.iter(target.id)), title, target)
        if existing is None:
            call.nb.notes.create(text, title=title, note_type="ai", notebook=target.id)
            message = f"Added {label} to {target.name}."
        elif (existing["content"] or "").strip() == text.strip():
            message = f"{target.name} already has {label}; it was kept."
        else:
            call.nb.notes.update(existing["id"], content=text)
            message = f"Replaced the text of {label} in {target.name}."
    output.print_message(message)


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
) -> GeneratedText | GeneratedTexts:
    """Return the output of a transformation for a text, or for each source and note.

    All sources and notes are checked before the first request to the model.
    """
    from labext.nb.records import parse_usage
    from labext_widgets.answers import Draft, GeneratedText, GeneratedTexts

    texts = _texts(call, text, sources, notes, notebook)
    record = call.nb.transformations.get(transformation)
    requested_model = scope.resolve_model(call, model)
    target = None
    titles: list[str] = []
    if save is not None:
        target = scope.notebook_of(call, notebook)
        titles = [save] if len(texts) == 1 else [f"{save}: {subject}" for subject, _ in texts]
        saved = list(call.nb.notes.iter(target.id))
        for title in titles:
            _existing_ai_note(saved, title, target)
    results = GeneratedTexts()
    model_names = {item["id"]: item["name"] for item in call.nb.models.iter()}
    name = str(record["title"] or record["name"])
    for n, (subject, content) in enumerate(texts):
        title = f"{name}: {subject}" if subject else name
        draft = Draft(title)
        failed = subject if len(texts) > 1 else ""
        with (
            _show_partial_results(results, failed),
            scope.interrupted_as_error("Run this cell again."),
        ):
            try:
                response = call.nb.transformations.execute(
                    record["id"], content, requested_model, draft.add
                )
            except BaseException:
                draft.interrupt()
                raise
        model_id = response["model_id"]
        usage = str(parse_usage(response["usage"]) or "")
        used_model = model_names.get(model_id, model_id)
        results.append(GeneratedText(response["output"], title, used_model, usage))
        draft.finish(results[-1])
        if target is not None:
            _save_note(call, target, titles[n], results[-1].text)
    return results[0] if len(results) == 1 else results


def _texts(
    call: Call, text: str | None, sources: list[str], notes: list[str], notebook: str | None
) -> list[tuple[str, str]]:
    """Return the names and texts to transform."""
    if not sources and not notes and not text and not call.text:
        raise InputError(
            "There is nothing to transform.",
            "Select a source or a note (`--source TITLE`, `--note TITLE`), or write a text below "
            "`%%nb transform TRANSFORMATION`.",
        )
    if not sources and not notes:
        return [("", scope.text_of(call, text, "transformation", "%nb transform"))]
    if text or call.text:
        raise InputError(
            "The line has both a text, and sources or notes.",
            "Keep one of them; quote a transformation's name that contains spaces, and repeat "
            "`--source` or `--note` for each title.",
        )
    nb, target = call.nb, call.session.notebook
    if notebook is not None:
        target = scope.find_notebook(call, notebook)
    notebook_id = None if target is None else target.id
    records = [
        *(nb.sources.get(nb.sources.find(title, notebook_id)) for title in sources),
        *(nb.notes.get(nb.notes.find(title, notebook_id)) for title in notes),
    ]
    return _unique_names(
        [
            _title_and_text(record)
            for record in {record["id"]: record for record in records}.values()
        ]
    )


def _title_and_text(record: Record) -> tuple[str, str]:
    """Return the title and the text of a source or a note.

    Raises:
        InputError: the text is empty, or the processing of the source failed.
        NotReadyError: the source has not been processed yet.
    """
    label, is_source = scope.source_title(record), "full_text" in record
    text = record["full_text"] if is_source else record["content"]
    if text and text.strip():
        return label, str(text)
    if not is_source or record["status"] == "completed":
        raise InputError(f"{label} has no text.", "Omit it.")
    if record["status"] in ("failed", "canceled"):
        raise InputError(
            f"{label} has no text because its processing failed.",
            f"`%nb sources show {quote(label)}` shows the reason.",
        )
    raise NotReadyError(
        f"{label} has no text yet: it is still being processed.",
        f"`%nb sources wait {quote(label)}` waits for it.",
    )


def _unique_names(texts: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Append a number to repeated names."""
    counts: Counter[str] = Counter()
    unique = []
    for name, text in texts:
        counts[name] += 1
        unique.append((name if counts[name] == 1 else f"{name} ({counts[name]})", text))
    return unique


@contextmanager
def _show_partial_results(results: GeneratedTexts, subject: str) -> Iterator[None]:
    """Display the available results if a later text fails, and name its subject."""
    try:
        yield
    except LabextError as error:
        results._ipython_display_()
        raise (error.about(subject) if subject else error) from None


SHORTCUTS = (
    Command(
        "transform",
        "Transform sources, notes or a text with a model.",
        transform,
        [
            options.ONE_TRANSFORMATION,
            Parameter("TEXT", value_types.prose(), "the text, if not in the cell body"),
        ],
        [
            Parameter(
                "source", value_types.SOURCE, "transform this source", many=True, dest="sources"
            ),
            Parameter("note", value_types.NOTE, "transform this note", many=True, dest="notes"),
            Parameter("model", value_types.MODEL, "the model to use"),
            Parameter(
                "save", value_types.text_type("TITLE"), "save the result as a note with this title"
            ),
            Parameter(
                "notebook",
                value_types.NOTEBOOK,
                "use this notebook for input and notes, instead of the one in use",
            ),
            OUT,
        ],
        body="the text.",
        details="Each source or note is transformed separately. The default model is the "
        "transformation's model, or the model of the slot `transformation`. With `--save`, an "
        "earlier note by a model with the same title is replaced.",
        examples=['%nb transform "Key findings" --source "Bench notes" --save "Findings"'],
    ),
)


def default_prompt(call: Call, *, text: str | None, clear: bool) -> GeneratedText | None:
    """Return the text that precedes all prompts, after setting or clearing it if requested."""
    from labext_widgets.answers import GeneratedText

    prompt = text
    if call.text:
        prompt = scope.text_of(call, text, "prompt", "%nb transformations prompt")
    if prompt is not None and clear:
        raise InputError("A text and `--clear` exclude each other.", "Keep one of them.")
    current = call.nb.transformations.default_prompt()
    prompt = "" if clear else prompt
    if prompt is not None and prompt != current.strip():
        current = call.nb.transformations.set_default_prompt(prompt)
        output.print_message(
            "Changed the default prompt." if prompt else "Cleared the default prompt."
        )
    return GeneratedText(current, "Default prompt") if current.strip() else None


def list_(call: Call) -> pd.DataFrame:
    """Return one row per transformation."""
    return _with_model_names(call, call.nb.transformations.list())


def show(call: Call, *, transformation: str) -> pd.DataFrame:
    """Return one transformation with its full prompt."""
    return _row(call, call.nb.transformations.get(transformation))


def new(
    call: Call,
    *,
    name: str,
    prompt: str | None,
    title: str | None,
    description: str | None,
    apply_default: bool,
    model: str | None,
) -> pd.DataFrame:
    """Create a transformation; an identical transformation is kept."""
    text = scope.text_of(call, prompt, "prompt", "%nb transformations new NAME", "--prompt")
    model_id = scope.resolve_model(call, model)
    expected = {"title": title, "description": description, "model": model_id}
    with scope.creation_lock(call, "transformation", name):
        matches = [other for other in call.nb.transformations.iter() if other["name"] == name]
        for record in matches:
            if _is_unchanged(record, text, expected, apply_default):
                output.print_message(f"The transformation {name} already exists and was kept.")
                return _row(call, record)
        if matches:
            raise ConflictError(
                f"Another transformation {name} already exists.",
                f"`%nb transformations edit {quote(name)} …` changes it; or use another name.",
            )
        record = call.nb.transformations.create(
            name,
            text,
            title=title,
            description=description,
            apply_default=apply_default,
            model=model_id,
        )
    suffix = "; it is applied to every new source" if record["apply_default"] else ""
    output.print_message(f"Created the transformation {record['name']}{suffix}.")
    return _row(call, record)


def edit(call: Call, *, transformation: str, no_model: bool, **fields: Any) -> pd.DataFrame:
    """Change a transformation; the cell body is the new prompt."""
    if fields["model"] is not None and no_model:
        raise InputError("`--model` and `--no-model` exclude each other.", "Keep one of them.")
    if no_model:
        fields["model"] = ""
    if call.text:
        line = "%nb transformations edit NAME"
        fields["prompt"] = scope.text_of(call, fields["prompt"], "prompt", line, "--prompt")
    changes = scope.require_changes(fields, "%nb transformations edit")
    record = call.nb.transformations.update(transformation, **changes)
    output.print_message(f"Changed the transformation {record['name']}.")
    return _row(call, record)


def delete(call: Call, *, transformations: list[str], yes: bool, preview: bool) -> None:
    """Delete transformations after checking that all of them exist."""
    records = [call.nb.transformations.get(name) for name in dict.fromkeys(transformations)]
    labels = {record["id"]: f"the transformation {record['name']}" for record in records}
    output.delete_each(labels, call.nb.transformations.delete, yes=yes, preview=preview)


def _is_unchanged(
    record: Record, prompt: str, expected: dict[str, Any], apply_default: bool
) -> bool:
    """Return True if a transformation matches the options of a line."""
    current = {
        "title": record["title"],
        "description": record["description"],
        "model": record["model_id"],
    }
    return (
        (record["prompt"] or "").strip() == prompt.strip()
        and bool(record["apply_default"]) == apply_default
        and all(value is None or current[name] == value for name, value in expected.items())
    )


def _row(call: Call, record: Record) -> pd.DataFrame:
    from labext.nb.views import transformation_frame

    return _with_model_names(call, transformation_frame([record]))


def _with_model_names(call: Call, frame: pd.DataFrame) -> pd.DataFrame:
    """Replace the column of model IDs by a column of model names."""
    from labext.frames.conversion import to_array

    names: dict[str, str] = {}
    if frame["model_id"].notna().any():
        names = {model["id"]: model["name"] for model in call.nb.models.iter()}
    models = [names.get(identifier, identifier) for identifier in frame["model_id"]]
    frame["model_id"] = to_array("text", models)
    frame.columns = frame.columns.str.replace("model_id", "model")
    return frame


_PROMPT = Parameter("prompt", value_types.text_type(), "the instructions for the model")
_MODEL = Parameter("model", value_types.MODEL, "the model; by default the slot's model")

COMMANDS = (
    Command("transformations", "List the transformations.", list_, options=[OUT]),
    Command(
        "transformations show",
        "Show a transformation with its prompt.",
        show,
        [options.ONE_TRANSFORMATION],
        [OUT],
    ),
    Command(
        "transformations new",
        "Create a transformation.",
        new,
        [
            Parameter(
                "NAME", value_types.text_type("NAME"), "the transformation's name", required=True
            )
        ],
        [
            _PROMPT,
            options.TITLE,
            options.DESCRIPTION,
            Parameter("apply-default", None, "apply it to every new source, as an insight"),
            _MODEL,
            OUT,
        ],
        body="the prompt.",
        details="An identical transformation is kept.",
        examples=[
            '%nb transformations new "Methods" --prompt "List every reagent with its '
            'concentration." --apply-default'
        ],
    ),
    Command(
        "transformations edit",
        "Change a transformation.",
        edit,
        [options.ONE_TRANSFORMATION],
        [
            Parameter("name", value_types.text_type("NAME"), "the new name"),
            _PROMPT,
            options.TITLE,
            options.DESCRIPTION,
            Parameter("apply-default", value_types.YES_NO, "apply it to every new source"),
            _MODEL,
            Parameter("no-model", None, "use the model of the default slot"),
            OUT,
        ],
        body="the new prompt.",
        examples=['%nb transformations edit "Methods" --description "Reagents of a text"'],
    ),
    Command(
        "transformations delete",
        "Delete transformations.",
        delete,
        [options.SOME_TRANSFORMATIONS],
        [YES, PREVIEW],
    ),
    Command(
        "transformations prompt",
        "Show or set the text that precedes the prompts of all transformations.",
        default_prompt,
        options=[
            Parameter("set", value_types.text_type(), "the new text", dest="text"),
            Parameter("clear", None, "remove the text"),
            OUT,
        ],
        body="the new text.",
    ),
)
