"""Shorter intervals of the protocol of a cluster, in about the same proportions.

Tests that wait for the end of a lease use them, in their own process and in those that they start.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import pytest

VARIABLE = "LABEXT_SHORT_INTERVALS"
SECONDS = {"LEASE_SECONDS": 4.0, "DOUBT_SECONDS": 2.0, "POLL_SECONDS": 1.0}


def use(patch: pytest.MonkeyPatch) -> None:
    """Use them in this process, and in workers and services that it starts."""
    patch.setenv(VARIABLE, "1")
    _set(patch.setattr)


def use_if_requested() -> None:
    """Use them in a worker or service."""
    if VARIABLE in os.environ:
        _set(setattr)


def use_in_host() -> None:
    """Use them in a host, which does not get the variable of this module from its environment."""
    _set(setattr)


def _set(change: Callable[[object, str, object], None]) -> None:
    for name, module in [*sys.modules.items()]:
        if name.startswith("labext.sandbox.core.executors.cluster."):
            for constant in SECONDS.keys() & vars(module).keys():
                change(module, constant, SECONDS[constant])
