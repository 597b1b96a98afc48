"""Run transformations on texts, and create the insights of new sources."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import Timer
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException

from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import limits, settings
from labext.sandbox.nb.cancellation import CallCancelledError, CancelToken
from labext.sandbox.nb.crud import load
from labext.sandbox.nb.providers import chat, registry
from labext.sandbox.nb.providers.usage import Monitor, Usage
from labext.sandbox.nb.tables import Model, Setting, Transformation
from labext.sandbox.nb.text import extractive
from labext.sandbox.nb.transformations.schemas import ExecuteRequest

DEFAULT_INSTRUCTIONS = (
    "Answer from the text alone and invent nothing. Give only what is asked for, without an "
    "introduction and without comments of your own."
)

_SETTING_NAME = "transformation_instructions"


def get_instructions(session: Session) -> str:
    """Return the default prompt; empty if it was removed."""
    instructions = settings.get_setting(session, _SETTING_NAME)
    return DEFAULT_INSTRUCTIONS if instructions is None else instructions


def set_instructions(session: Session, text: str) -> None:
    """Set the default prompt; an empty one removes it."""
    session.merge(Setting(name=_SETTING_NAME, value=text))


SLOT = "transformation"


def execute_transformation(
    site: Site, request: ExecuteRequest, cancel_token: CancelToken, monitor: Monitor
) -> dict[str, Any]:
    """Run a transformation on a text and return the response.

    The monitor receives the words of the output as they arrive.

    Raises:
        HTTPException: 404 if the transformation or model does not exist; 422 if no suitable model
            is set; 413 if the text is too long; 502 if the model's server failed.
        CallCancelledError: if the call was cancelled.
    """
    with site.database.read() as session:
        limits.check_text_size(session, request.input_text)
        transformation = load(session, Transformation, request.transformation_id)
        model = registry.select_model(session, SLOT, request.model_id or transformation.model_id)
    output = run_transformation(
        site, model, transformation.prompt, request.input_text, cancel_token, monitor
    )
    return {
        "output": output,
        "transformation_id": transformation.id,
        "model_id": model.id,
        "usage": monitor.usage.record(),
    }


def run_transformation(
    site: Site,
    model: Model,
    prompt: str,
    text: str,
    cancel_token: CancelToken | None = None,
    monitor: Monitor | None = None,
) -> str:
    """Return a model's output for a text, given the default prompt and this one.

    Raises:
        HTTPException: 502, 422 and 413 as `execute_transformation`.
        CallCancelledError: if the call was cancelled.
    """
    with site.database.read() as session:
        instructions, limits = get_instructions(session).strip(), chat.part_limits(session)
    if registry.is_built_in(model):
        return extractive.quote_key_sentences(text, prompt)

    monitor = monitor or Monitor(Usage())

    def ask(prompt: str, text: str, *, observed: Monitor) -> str:
        system = [{"role": "system", "content": instructions}] if instructions else []
        message = {"role": "user", "content": f"{prompt}\n\n# The text\n\n{text}"}
        return chat.generate_reply(site, model, [*system, message], cancel_token, None, observed)

    ask_part = partial(ask, observed=Monitor(monitor.usage))
    return chat.ask_in_parts(ask_part, prompt, text, limits, partial(ask, observed=monitor))


_RETRY_HINT = "Retry the source to create it."


def create_insights(
    site: Site, text: str, on_stage: Callable[[str], None], deadline: float
) -> tuple[list[tuple[str, str]], str | None]:
    """Return the outputs of the default transformations for a text, by title.

    Returns:
        The insights, and a remark on those that failed, or None.
    """
    insights: list[tuple[str, str]] = []
    remarks: list[str] = []
    with _cancel_at(deadline) as cancel_token:
        for transformation in _default_transformations(site):
            on_stage(f"insight: {transformation.title}")
            try:
                insights.append(
                    (
                        transformation.title,
                        _create_insight(site, transformation, text, cancel_token),
                    )
                )
            except HTTPException as error:
                remarks.append(
                    f"The insight {transformation.title} could not be created: {error.detail}"
                )
            except CallCancelledError:
                remarks.append(
                    f"The insight {transformation.title} could not be created: its model took too "
                    "long."
                )
    return insights, " ".join([*remarks, _RETRY_HINT]) if remarks else None


def _default_transformations(site: Site) -> list[Transformation]:
    defaults = select(Transformation).where(Transformation.by_default)
    ordered = defaults.order_by(Transformation.created, Transformation.id)
    with site.database.read() as session:
        return list(session.scalars(ordered))


def _create_insight(
    site: Site, transformation: Transformation, text: str, cancel_token: CancelToken
) -> str:
    with site.database.read() as session:
        model = registry.select_model(session, SLOT, transformation.model_id)
    return run_transformation(site, model, transformation.prompt, text, cancel_token)


@contextmanager
def _cancel_at(deadline: float) -> Iterator[CancelToken]:
    """Yield a token that is cancelled at a time."""
    cancel_token = CancelToken()
    timer = Timer(max(0.0, deadline - time.monotonic()), cancel_token.cancel)
    timer.daemon = True
    timer.start()
    try:
        yield cancel_token
    finally:
        timer.cancel()
