"""ID tokens with a made-up signature."""

from __future__ import annotations

import base64
import json
from typing import Any


def fake_id_token(**claims: Any) -> str:
    """Return a token of ada@lab.example with these claims."""
    parts = [{"alg": "RS256"}, {"email": "ada@lab.example", **claims}]
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode() for part in parts]
    return ".".join([*(part.rstrip("=") for part in encoded), "c2lnbmF0dXJl"])
