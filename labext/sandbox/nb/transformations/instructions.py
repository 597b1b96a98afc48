"""The default prompt: what every model is told before a transformation's own prompt."""

from __future__ import annotations

from sqlalchemy.orm import Session

from labext.sandbox.nb import settings
from labext.sandbox.nb.store import Setting

SEEDED = (
    "Answer from the text alone and invent nothing. Give only what is asked for, without an "
    "introduction and without comments of your own."
)

_NAME = "transformation_instructions"


def instructions(session: Session) -> str:
    """The default prompt; empty where it was taken away."""
    found = settings.value(session, _NAME)
    return SEEDED if found is None else found


def change(session: Session, text: str) -> None:
    """Set the default prompt; an empty one takes it away."""
    session.merge(Setting(name=_NAME, value=text))
