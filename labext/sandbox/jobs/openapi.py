"""The OpenAPI 3.0 description of the eight core operations, written by hand in `openapi.json`.

Source: job service contract, What the service does: exactly these eight are described. It is given
out as it stands, to anybody: it holds nothing of this service but where its routes begin.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def description() -> bytes:
    """The description, JSON in UTF-8."""
    return (files("labext.sandbox.jobs") / "openapi.json").read_bytes()
