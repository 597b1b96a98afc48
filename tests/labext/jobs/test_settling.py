"""A submission with a lost response is resolved by its name or has an unknown outcome."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from labext.errors import (
    AccessError,
    ConflictError,
    LabextError,
    OutcomeUnknownError,
    ServiceError,
    UnreachableError,
)
from labext.jobs.submission import send_once

ROW = {"JobName": "f1"}
LOST = OutcomeUnknownError("The answer was lost.", "Look.")
FAILED = ServiceError("The service failed.", "Wait.")
AWAY = UnreachableError("Nobody answers.", "Start it.")
TAKEN = ConflictError("f1 is taken.", "Choose another.")
REFUSED = AccessError("Too many requests.", "Wait.")


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("labext.jobs.submission._BACKOFF", 0.0)


class Script:
    """Runs actions in order, and counts the calls."""

    def __init__(self, *steps: Any) -> None:
        self.steps = list(steps)
        self.count = 0

    def __call__(self) -> Any:
        self.count += 1
        step = self.steps.pop(0)
        if isinstance(step, LabextError):
            raise step
        return step


def submit(send: Callable[[], Any], look: Callable[[], Any]) -> Any:
    return send_once("f1", send, look, "1 job of fold")


@pytest.mark.parametrize(
    ("sent", "looked_up", "expected"),
    [
        (["done"], [], ("done", None, True)),
        ([LOST], [ROW], ("", ROW, True)),
        ([FAILED], [ROW], ("", ROW, True)),
        ([LOST, "done"], [None], ("done", None, True)),
        ([LOST, TAKEN], [None, ROW], ("", ROW, True)),
        ([LOST, FAILED, "done"], [None, None], ("done", None, True)),
        ([TAKEN], [ROW], ("", ROW, False)),
    ],
)
def test_submission_is_found_or_sent_again(
    sent: list[Any], looked_up: list[Any], expected: tuple[Any, ...]
) -> None:
    send, look = Script(*sent), Script(*looked_up)
    assert submit(send, look) == expected
    assert (send.steps, look.steps) == ([], [])


@pytest.mark.parametrize(
    ("sent", "looked_up"),
    [
        ([LOST], [AWAY]),
        ([LOST], [REFUSED]),
        ([LOST, AWAY], [None]),
        ([FAILED, AWAY], [None]),
        ([LOST, LOST, LOST], [None, None, None]),
        ([TAKEN], [AWAY]),
    ],
)
def test_unresolved_submission_has_unknown_outcome(sent: list[Any], looked_up: list[Any]) -> None:
    send, look = Script(*sent), Script(*looked_up)
    with pytest.raises(OutcomeUnknownError) as raised:
        submit(send, look)
    assert (send.steps, look.steps) == ([], [])
    assert "f1 (1 job of fold)" in raised.value.message
    assert "creates no duplicate" in raised.value.next_step


@pytest.mark.parametrize(
    ("sent", "looked_up", "kind"),
    [
        ([AWAY], [], UnreachableError),
        ([REFUSED], [], AccessError),
        ([TAKEN], [None], ConflictError),
        ([TAKEN], [TAKEN], ConflictError),
        ([LOST], [TAKEN], ConflictError),
        ([FAILED, FAILED, FAILED], [None, None, None], ServiceError),
    ],
)
def test_failed_submission_is_not_of_unknown_outcome(
    sent: list[Any], looked_up: list[Any], kind: type[LabextError]
) -> None:
    send, look = Script(*sent), Script(*looked_up)
    with pytest.raises(kind) as raised:
        submit(send, look)
    assert not isinstance(raised.value, OutcomeUnknownError)
    assert (send.steps, look.steps) == ([], [])
