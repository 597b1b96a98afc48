"""A server that plays recordings, and the client's wire to it, which tries nothing twice."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from open_notebook.scripted import Script, scripted

from labext.nb.failures import LAST_WORDS, explainer
from labext.nb.wire import Wire
from labext.transport import Rate, Transport


@pytest.fixture(scope="module")
def script() -> Iterator[Script]:
    with scripted() as server:
        yield server


@pytest.fixture(scope="module")
def wire(script: Script) -> Iterator[Wire]:
    transport = Transport(
        script.base_url,
        auth=None,
        rate=Rate(None),
        explain=explainer(has_password=False),
        last_words=LAST_WORDS,
        attempts=1,
        service="notebook service",
    )
    with transport:
        yield Wire(transport)
