"""A reason is red where something has failed, and not where it only stands still."""

from __future__ import annotations

from dataclasses import replace

import pytest

from labext.progress import Outcome, Progress
from labext_widgets.progress import static_view

AWAY = Progress("folds", "batch", "Running", {"Running": 2}, 2, reason="No answer now.")


@pytest.mark.parametrize("outcome", [None, Outcome.STOPPED])
def test_what_has_not_failed_is_not_red(outcome: Outcome | None) -> None:
    assert "jp-error-color1" not in static_view.render_html(replace(AWAY, outcome=outcome))


def test_what_has_failed_is_red() -> None:
    assert "jp-error-color1" in static_view.render_html(replace(AWAY, outcome=Outcome.FAILED))
