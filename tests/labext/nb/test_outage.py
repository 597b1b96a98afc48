"""A watch survives an unreachable service for a bounded time, counted from the last response."""

from __future__ import annotations

import pytest
from fake_clock import Clock

from labext.errors import UnreachableError
from labext.nb.polling import MAX_OUTAGE_SECONDS, Outage

ERROR = UnreachableError("No notebook service answers.", "Start it.")


def test_a_failed_look_is_tolerated_until_patience_has_run_out():
    clock = Clock()
    silence = Outage(clock)
    silence.record_failure(ERROR)
    assert "No notebook service answers." in silence.message
    clock.now += MAX_OUTAGE_SECONDS - 1
    silence.record_failure(ERROR)
    clock.now += 1
    with pytest.raises(UnreachableError):
        silence.record_failure(ERROR)


def test_patience_starts_again_after_a_response():
    clock = Clock()
    silence = Outage(clock)
    silence.record_failure(ERROR)
    clock.now += MAX_OUTAGE_SECONDS - 1
    silence.record_success()
    assert not silence.message
    clock.now += 2
    silence.record_failure(ERROR)
    clock.now += MAX_OUTAGE_SECONDS - 1
    silence.record_failure(ERROR)
    clock.now += 1
    with pytest.raises(UnreachableError):
        silence.record_failure(ERROR)
