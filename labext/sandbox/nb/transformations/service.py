"""Apply transformations to texts, for requests and for sources that are processed."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException

from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import settings
from labext.sandbox.nb.cancellation import CallCancelledError, CancelToken, cancel_after
from labext.sandbox.nb.providers import chat, registry
from labext.sandbox.nb.providers.usage import Monitor, Usage
from labext.sandbox.nb.tables import Model, Transformation
from labext.sandbox.nb.text import extractive

DEFAULT_INSTRUCTIONS = (
    "Answer from the text alone and invent nothing. Give only what is asked for, without an "
    "introduction and without comments of your own."
)

INSTRUCTIONS = "transformation_instructions"
"""The setting with the default prompt; an empty one removes it."""


def get_instructions(session: Session) -> str:
    """Return the default prompt; empty if it was removed."""
    instructions = settings.get_setting(session, INSTRUCTIONS)
    return DEFAULT_INSTRUCTIONS if instructions is None else instructions


SLOT = "transformation"
"""The default slot of the models that transform texts."""


def run_transformation(
    site: Site,
    model: Model,
    prompt: str,
    text: str,
    cancel_token: CancelToken | None = None,
    monitor: Monitor | None = None,
) -> str:
    """Return a model's output for a text, given the default prompt and this one."""
    with site.database.read() as session:
        instructions = get_instructions(session).strip()
    if registry.is_built_in(model):
        return extractive.quote_key_sentences(text, prompt)

    monitor = monitor or Monitor(Usage())

    def ask(prompt: str, text: str, *, observed: Monitor) -> str:
        system = [{"role": "system", "content": instructions}] if instructions else []
        message = {"role": "user", "content": f"{prompt}\n\n# The text\n\n{text}"}
        return chat.generate_reply(site, model, [*system, message], cancel_token, None, observed)

    ask_part = partial(ask, observed=Monitor(monitor.usage))
    return chat.ask_in_parts(site, ask_part, prompt, text, partial(ask, observed=monitor))


_RETRY_HINT = "Retry the source to create it."


def create_insights(
    site: Site, text: str, on_stage: Callable[[str], None], deadline: float
) -> tuple[list[tuple[str, str]], str | None]:
    """Return the outputs of the default transformations for a text, by title.

    A remark tells which ones failed; None if none did.
    """
    insights: list[tuple[str, str]] = []
    remarks: list[str] = []
    with site.database.read() as session:
        defaults = select(Transformation).where(Transformation.by_default)
        ordered = defaults.order_by(Transformation.created, Transformation.id)
        transformations = list(session.scalars(ordered))
    cancel_token = CancelToken()
    with cancel_after(cancel_token, deadline - time.monotonic()):
        for transformation in transformations:
            title = transformation.title
            on_stage(f"insight: {title}")
            try:
                with site.database.read() as session:
                    model = registry.select_model(session, SLOT, transformation.model_id)
                prompt = transformation.prompt
                insights.append(
                    (title, run_transformation(site, model, prompt, text, cancel_token))
                )
            except HTTPException as error:
                remarks.append(f"The insight {title} could not be created: {error.detail}")
            except CallCancelledError:
                remarks.append(
                    f"The insight {title} could not be created: its model took too long."
                )
    return insights, " ".join([*remarks, _RETRY_HINT]) if remarks else None
