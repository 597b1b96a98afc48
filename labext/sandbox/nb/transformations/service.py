"""Store transformations, run them on texts, and create the insights of new sources."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException

from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import errors, settings, tables
from labext.sandbox.nb.cancellation import CallCancelledError, CancelToken
from labext.sandbox.nb.dependencies import format_time
from labext.sandbox.nb.providers import chat, registry
from labext.sandbox.nb.tables import Model, Setting, Transformation
from labext.sandbox.nb.text import extractive
from labext.sandbox.nb.transformations.schemas import (
    ExecuteRequest,
    NewTransformation,
    TransformationUpdate,
)

DEFAULT_INSTRUCTIONS = (
    "Answer from the text alone and invent nothing. Give only what is asked for, without an "
    "introduction and without comments of your own."
)

_SETTING_NAME = "transformation_instructions"


def get_instructions(session: Session) -> str:
    """The default prompt; empty where it was taken away."""
    found = settings.get_setting(session, _SETTING_NAME)
    return DEFAULT_INSTRUCTIONS if found is None else found


def set_instructions(session: Session, text: str) -> None:
    """Set the default prompt; an empty one takes it away."""
    session.merge(Setting(name=_SETTING_NAME, value=text))


def list_transformations(site: Site) -> list[dict[str, Any]]:
    """The records of all transformations, by their names."""
    ordered = select(Transformation).order_by(func.lower(Transformation.name), Transformation.id)
    with site.database.read() as session:
        return [_to_record(each) for each in session.scalars(ordered)]


def get_transformation(site: Site, identifier: str) -> dict[str, Any]:
    """A transformation's record.

    Raises:
        HTTPException: 404.
    """
    with site.database.read() as session:
        return _to_record(load_transformation(session, identifier))


def create_transformation(site: Site, wanted: NewTransformation) -> dict[str, Any]:
    """Make a transformation; its record.

    Raises:
        HTTPException: 404, there is no such model; 422, it is not of type `llm`; 413, a text is too
            long.
    """
    now = time.time()
    made = Transformation(
        id=tables.new_identifier("transformation"),
        name=wanted.name,
        title=wanted.title or wanted.name,
        description=wanted.description or "",
        prompt=wanted.prompt,
        by_default=wanted.apply_default,
        model_id=wanted.model_id,
        created=now,
        updated=now,
    )
    with site.database.write() as session:
        _check_transformation(session, made)
        session.add(made)
    return _to_record(made)


def update_transformation(
    site: Site, identifier: str, wanted: TransformationUpdate
) -> dict[str, Any]:
    """Change what is given of a transformation; its record.

    Raises:
        HTTPException: 404, there is no such transformation or model; 422 and 413 as `make`.
    """
    given = wanted.model_dump(exclude_none=True)
    if "model_id" in wanted.model_fields_set:
        given["model_id"] = wanted.model_id  # null means something: the slot's
    if "apply_default" in given:
        given["by_default"] = given.pop("apply_default")
    with site.database.write() as session:
        there = load_transformation(session, identifier)
        for name, value in given.items():
            setattr(there, name, value)
        if given:
            there.updated = time.time()
        with session.no_autoflush:
            _check_transformation(session, there)
    return _to_record(there)


def delete_transformation(site: Site, identifier: str) -> str:
    """Delete a transformation, whose insights stay; its name.

    Raises:
        HTTPException: 404.
    """
    with site.database.write() as session:
        there = load_transformation(session, identifier)
        session.delete(there)
    return there.name


def load_transformation(session: Session, identifier: str) -> Transformation:
    """A transformation.

    Raises:
        HTTPException: 404.
    """
    there = session.get(Transformation, identifier)
    if there is None:
        raise errors.not_found("transformation", identifier)
    return there


def _check_transformation(session: Session, wanted: Transformation) -> None:
    settings.check_text_size(session, wanted.description, wanted.prompt)
    if wanted.model_id is not None:
        registry.get_model(session, wanted.model_id, registry.LLM)


def _to_record(there: Transformation) -> dict[str, Any]:
    return {
        "id": there.id,
        "name": there.name,
        "title": there.title,
        "description": there.description,
        "prompt": there.prompt,
        "apply_default": there.by_default,
        "model_id": there.model_id,
        "created_at": format_time(there.created),
        "updated_at": format_time(there.updated),
    }


SLOT = "transformation"


def execute_transformation(
    site: Site, wanted: ExecuteRequest, cancel_token: CancelToken
) -> dict[str, Any]:
    """Run a transformation on a text: the answer of the operation.

    Raises:
        HTTPException: 404, there is no such transformation or model; 422, there is no model for it,
            or it can't do what is asked; 413, the text is too long; 502, the model's server failed.
        CallCancelledError: if the call was cancelled.
    """
    with site.database.read() as session:
        settings.check_text_size(session, wanted.input_text)
        there = load_transformation(session, wanted.transformation_id)
        model = registry.select_model(session, SLOT, wanted.model_id or there.model_id)
    output = run_transformation(site, model, there.prompt, wanted.input_text, cancel_token)
    return {"output": output, "transformation_id": there.id, "model_id": model.id}


def run_transformation(
    site: Site, model: Model, prompt: str, text: str, cancel_token: CancelToken | None = None
) -> str:
    """What a model makes of a text: by the default prompt, then by this one.

    Args:
        site: the service's site.
        model: of type `llm`.
        prompt: the transformation's.
        text: what it is run on.
        cancel_token: cancels the call.

    Raises:
        HTTPException: 502, 422 and 413 as `executed`.
        CallCancelledError: if the call was cancelled.
    """
    with site.database.read() as session:
        before, terms = get_instructions(session).strip(), chat.part_limits(session)
    if registry.is_built_in(model):
        return extractive.quote_key_sentences(text, prompt)

    def ask(prompt: str, text: str) -> str:
        system = [{"role": "system", "content": before}] if before else []
        asked = {"role": "user", "content": f"{prompt}\n\n# The text\n\n{text}"}
        return chat.generate_reply(site, model, [*system, asked], cancel_token)

    return chat.ask_in_parts(ask, prompt, text, terms)


_RETRY_HINT = "Retry the source to have it made."


def create_insights(
    site: Site, text: str, tell: Callable[[str], None], until: float
) -> tuple[list[tuple[str, str]], str | None]:
    """What the transformations of every source make of a text, by their titles.

    Args:
        site: the service's.
        text: the source's.
        tell: takes what is being done.
        until: when it must be over, by `time.monotonic`.

    Returns:
        The insights, and what could not be made and why; None where all could.
    """
    found: list[tuple[str, str]] = []
    remarks: list[str] = []
    with _cancel_at(until) as line:
        for each in _default_transformations(site):
            tell(f"insight: {each.title}")
            try:
                found.append((each.title, _create_insight(site, each, text, line)))
            except HTTPException as error:
                remarks.append(f"The insight {each.title} could not be made: {error.detail}")
            except CallCancelledError:
                remarks.append(
                    f"The insight {each.title} could not be made: its model took too long."
                )
    return found, " ".join([*remarks, _RETRY_HINT]) if remarks else None


def _default_transformations(site: Site) -> list[Transformation]:
    wanted = select(Transformation).where(Transformation.by_default)
    ordered = wanted.order_by(Transformation.created, Transformation.id)
    with site.database.read() as session:
        return list(session.scalars(ordered))


def _create_insight(site: Site, each: Transformation, text: str, cancel_token: CancelToken) -> str:
    with site.database.read() as session:
        model = registry.select_model(session, SLOT, each.model_id)
    return run_transformation(site, model, each.prompt, text, cancel_token)


@contextmanager
def _cancel_at(until: float) -> Iterator[CancelToken]:
    """A line that is hung up at a time."""
    line = CancelToken()
    timer = Timer(max(0.0, until - time.monotonic()), line.cancel)
    timer.daemon = True
    timer.start()
    try:
        yield line
    finally:
        timer.cancel()
