"""A server that plays recordings, and a request executor without retries."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from open_notebook.scripted import Script, scripted

from labext.http import HttpClient, Rate
from labext.nb.backends import RequestExecutor
from labext.nb.error_messages import FINAL_STATUSES, make_error_mapper


@pytest.fixture(scope="module")
def script() -> Iterator[Script]:
    with scripted() as server:
        yield server


@pytest.fixture(scope="module")
def wire(script: Script) -> Iterator[RequestExecutor]:
    transport = HttpClient(
        script.base_url,
        auth=None,
        rate=Rate(None),
        map_error=make_error_mapper(has_password=False),
        final_statuses=FINAL_STATUSES,
        attempts=1,
        service="notebook service",
    )
    with transport:
        yield RequestExecutor(transport)
