"""Answers that are read as they come."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from labext.errors import InputError, ServiceError, UnreachableError
from labext.nb.answers import Answer, AskEvent, Final
from labext.nb.dialects.contract import Contract
from labext.nb.scope import Question
from labext.nb.wire import Wire


def checked(question: Question) -> Question:
    """Return a question that can be asked.

    Raises:
        InputError: it is empty, or there is nothing to answer it from.
    """
    if not question.text.strip():
        raise InputError("The question is empty.", "Ask something.")
    if question.scope.is_empty:
        raise InputError(
            "There is nothing to answer from: no source and no note is left to look at.",
            "Add sources or notes first, or look at more of them.",
        )
    return question


def events(wire: Wire, dialect: Contract, question: Question, idle: float) -> Iterator[AskEvent]:
    """Yield the events of an answer up to its final one, with which it ends.

    A server may keep the stream open after that (real services, section nb): nothing more is read.

    Raises:
        ServiceError: the answer failed, or the stream ended without a final one.
        UnreachableError: it was cut off, or nothing came for `idle` seconds.
    """
    request = wire.run(dialect.ask_stream(question))
    if isinstance(request, Answer):
        yield Final(request)
        return
    try:
        with closing(wire.events(request, idle)) as stream:
            for told in stream:
                event = dialect.heard(told, question.text)
                if event is not None:
                    yield event
                if isinstance(event, Final):
                    return
    except UnreachableError as error:
        raise UnreachableError(
            f"The answer was cut off: {error.what}",
            "Ask again; look at the service if it stays.",
            method=error.method,
            path=error.path,
        ) from None
    raise ServiceError(
        "The answer ended before it was whole: the notebook service closed the stream without its"
        " end.",
        "Ask again; look at the service if it stays.",
    )
