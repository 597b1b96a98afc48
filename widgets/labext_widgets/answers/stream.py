"""An answer drawn as it comes."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from labext.errors import LabextError, ServiceError, WatchInterrupted
from labext_widgets.answers.surfaces import Surface, surface_for
from labext_widgets.answers.told import Told
from labext_widgets.answers.view import AnswerView
from labext_widgets.front import front_end, this_run

if TYPE_CHECKING:
    from labext.nb.answers import AskEvent


def answer(events: Iterator[AskEvent], *, question: str) -> AnswerView:
    """Draw an answer as it comes, and return it once it is whole.

    Args:
        events: of `labext.nb.answers`, the last with the answer.
        question: what was asked.

    Raises:
        LabextError: what ended the events. What had come stays, marked as broken off.
        ServiceError: they ended without an answer.
        WatchInterrupted: the kernel was interrupted.
    """
    surface = surface_for(front_end())
    told = Told(question)
    try:
        surface.show(told)
        for event in events:
            told = told.and_then(event)
            if told.answer is not None:
                break
            surface.show(told)
        else:
            raise ServiceError("The answer ended before it was complete.", "Ask again.")
    except KeyboardInterrupt:
        _broken(surface, told, "it was interrupted.")
        raise WatchInterrupted("The answer was interrupted.", "Ask again for all of it.") from None
    except BaseException as error:
        _broken(surface, told, error.what if isinstance(error, LabextError) else str(error))
        raise
    finally:
        if isinstance(events, Generator):
            events.close()
    surface.finish(told)
    return AnswerView(told, drawn_in=this_run())


def _broken(surface: Surface, told: Told, why: str) -> None:
    surface.finish(replace(told, broken=why or "the stream ended."))
