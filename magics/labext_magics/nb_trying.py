"""A model or a credential that is tried: how long it took, or why it does not work."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from labext import wording
from labext.errors import ServiceError
from labext_magics import nb_scope, output

if TYPE_CHECKING:
    from labext.nb.records import Record


def tried(called: str, test: Callable[[], Record], step: Callable[[], str]) -> None:
    """Try something, and say how long it took.

    Args:
        called: what is tried: `the model gpt-4o of openai`.
        test: has the service try it.
        step: gives a line to go on with, where the service tells none.

    Raises:
        ServiceError: it does not work.
    """
    from labext.nb.advice import parted

    begun = time.monotonic()
    with nb_scope.reply_awaited("Run this line again."):
        told = test()
    took = time.monotonic() - begun
    called, said = wording.sentence(called), str(told["message"] or "")
    if told["success"]:
        output.say(f"{called} works ({took:.2f} s). {said}".rstrip())
        return
    why, own = parted(said or "the service does not say why", "")
    next_step = own if "`%nb " in own else f"{own} {step()}"
    raise ServiceError(f"{called} does not work: {why.rstrip('.')}.", next_step)
