"""Clients of a scripted faulty server."""

from __future__ import annotations

from typing import Any

import pytest

from labext.http import HttpClient
from labext.http.auth import ApiKeyAuth


@pytest.fixture
def transport_to(clock: Any) -> Any:
    """Make clients of a server or an address, with a clock that does not wait."""
    clients: list[HttpClient] = []

    def make(server: Any, **options: Any) -> HttpClient:
        url = server if isinstance(server, str) else server.url
        settings: dict[str, Any] = {
            "auth": ApiKeyAuth("swordfish-0123"),
            "rate": None,
            "timeout": (1, 0.3),
            "service": "job service",
            "clock": clock,
            "sleep": clock.sleep,
        }
        transport = HttpClient(url, **(settings | options))
        clients.append(transport)
        return transport

    yield make
    for transport in clients:
        transport.close()
