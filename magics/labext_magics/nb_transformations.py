"""`%nb transformations`: the prompts by which models make something of a text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labext.errors import ConflictError, InputError
from labext_magics import kinds, nb_default_prompt, nb_options, nb_scope, output
from labext_magics.dispatch import Call
from labext_magics.grammar import Command, Parameter
from labext_magics.line import quote
from labext_magics.options import OUT, PREVIEW, YES

if TYPE_CHECKING:
    import pandas as pd

    from labext.nb.records import Record


def list_(call: Call) -> pd.DataFrame:
    """Return a row for each transformation."""
    return _shown(call, call.nb.transformations.list())


def show(call: Call, *, transformation: str) -> pd.DataFrame:
    """Return one transformation with its whole prompt."""
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
    """Make a transformation; the same again is kept.

    Raises:
        ConflictError: there is another one of this name.
    """
    text = nb_scope.text_of(call, prompt, "prompt", "%nb transformations new NAME")
    by = nb_scope.model(call, model)
    given = {"title": title, "description": description, "model": by}
    there = [each for each in call.nb.transformations.iter() if each["name"] == name]
    for record in there:
        if _is(record, text, given, apply_default):
            output.say(f"The transformation {name} is there already, and was kept.")
            return _row(call, record)
    if there:
        raise ConflictError(
            f"There is a transformation {name} already, which is another one.",
            f"`%nb transformations edit {quote(name)} …` changes it; or take another name.",
        )
    record = call.nb.transformations.create(
        name, text, title=title, description=description, apply_default=apply_default, model=by
    )
    also = "; it is made of every new source" if record["apply_default"] else ""
    output.say(f"The transformation {record['name']} is new{also}.")
    return _row(call, record)


def edit(
    call: Call,
    *,
    transformation: str,
    name: str | None,
    prompt: str | None,
    title: str | None,
    description: str | None,
    apply_default: bool | None,
    model: str | None,
    no_model: bool,
) -> pd.DataFrame:
    """Change a transformation; the cell's body is its new prompt."""
    if model is not None and no_model:
        raise InputError("`--model` and `--no-model` are both there.", "Keep one of the two.")
    text = prompt
    if (call.body or "").strip():
        text = nb_scope.text_of(call, prompt, "prompt", "%nb transformations edit NAME")
    given = {
        "name": name,
        "prompt": text,
        "title": title,
        "description": description,
        "apply_default": apply_default,
        "model": "" if no_model else model,
    }
    changes = nb_scope.changes(given, "%nb transformations edit")
    record = call.nb.transformations.update(transformation, **changes)
    output.say(f"The transformation {record['name']} is changed.")
    return _row(call, record)


def delete(call: Call, *, transformations: list[str], yes: bool, preview: bool) -> None:
    """Delete transformations, once all of them are known to be there."""
    records = [call.nb.transformations.get(each) for each in dict.fromkeys(transformations)]
    would_go = [f"the transformation {record['name']}" for record in records]
    if not output.confirmed("delete", would_go, yes=yes, preview=preview):
        return
    for record in records:
        call.nb.transformations.delete(record["id"])
        output.say(f"The transformation {record['name']} is deleted.")


def _is(there: Record, prompt: str, given: dict[str, Any], apply_default: bool) -> bool:
    """Say whether a transformation is what a line asks for."""
    has = {"title": there["title"], "description": there["description"], "model": there["model_id"]}
    return (
        (there["prompt"] or "").strip() == prompt.strip()
        and bool(there["apply_default"]) == apply_default
        and all(value is None or has[name] == value for name, value in given.items())
    )


def _row(call: Call, record: Record) -> pd.DataFrame:
    from labext.nb.modelviews import transformations

    return _shown(call, transformations([record]))


def _shown(call: Call, frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame of transformations with the name of the model that each has of its own."""
    names: dict[str, str] = {}
    if frame["model_id"].notna().any():
        names = {each["id"]: each["name"] for each in call.nb.models.iter()}
    frame["model_id"] = [names.get(each, each) for each in frame["model_id"]]
    frame.columns = frame.columns.str.replace("model_id", "model")
    return frame


_PROMPT = Parameter("prompt", kinds.text(), "what the model is told to make of a text")
_MODEL = Parameter("model", kinds.MODEL, "the model that makes it, not that of the slot")

COMMANDS = (
    Command("transformations", "List the transformations.", list_, options=[OUT]),
    Command(
        "transformations show",
        "Show a transformation with its prompt.",
        show,
        [nb_options.ONE_TRANSFORMATION],
        [OUT],
    ),
    Command(
        "transformations new",
        "Make a transformation.",
        new,
        [Parameter("NAME", kinds.text("NAME"), "what it is called", required=True)],
        [
            _PROMPT,
            nb_options.TITLE,
            nb_options.DESCRIPTION,
            Parameter("apply-default", None, "make it of every new source, as its insight"),
            _MODEL,
            OUT,
        ],
        body="the prompt.",
        details="The same transformation again is kept.",
        examples=[
            '%nb transformations new "Methods" --prompt "List every reagent with its '
            'concentration." --apply-default'
        ],
    ),
    Command(
        "transformations edit",
        "Change a transformation.",
        edit,
        [nb_options.ONE_TRANSFORMATION],
        [
            Parameter("name", kinds.text("NAME"), "its new name"),
            _PROMPT,
            nb_options.TITLE,
            nb_options.DESCRIPTION,
            Parameter("apply-default", kinds.YES_NO, "whether it is made of every new source"),
            _MODEL,
            Parameter("no-model", None, "the model of the slot again"),
            OUT,
        ],
        body="its new prompt.",
    ),
    Command(
        "transformations delete",
        "Delete transformations.",
        delete,
        [nb_options.SOME_TRANSFORMATIONS],
        [YES, PREVIEW],
    ),
    *nb_default_prompt.COMMANDS,
)
