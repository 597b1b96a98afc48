"""Whether two submissions are the same: type and settings, compared as canonical JSON.

The service stores what was submitted as a string of JSON, and may add fields of its own. Two
settings are the same when their JSON is, whatever the order of the keys; `37` and `37.0` are the
same number.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from labext.redaction import mask

INTERNAL = frozenset({"submit_method", "monomer_msa", "msa"})
"""Fields that the platform sets itself (job service contract, Settings rules 2)."""


def account(address: str, api_key: str | None) -> str:
    """Return what tells the accounts of one machine apart: 8 hexadecimal digits of a digest.

    They are too few to test a guess of the key on.
    """
    return hashlib.sha256(f"{address}\n{api_key or ''}".encode()).hexdigest()[:8]


def canonical(settings: Any) -> str:
    """Return settings as JSON that is equal where the settings are."""
    return json.dumps(_plain(settings), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(type: str, settings: Any) -> str:
    """Return 64 hexadecimal digits that are equal where type and settings are."""
    return hashlib.sha256(f"{type}\n{canonical(settings)}".encode("utf-8", "replace")).hexdigest()


def stored_settings(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the settings of a job row without the platform's own fields.

    None where the row has none that can be read.
    """
    settings = stored_record(row, "Settings")
    return None if settings is None else _own(settings)


def stored_record(row: Mapping[str, Any], field: str) -> dict[str, Any] | None:
    """Return a field of a job row that holds a JSON object; None where it can't be read."""
    value = row.get(field)
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return None
    return value if isinstance(value, dict) else None


def difference(type: str, settings: Mapping[str, Any], row: Mapping[str, Any]) -> str | None:
    """Say in a few words how a job row differs from what is to be submitted.

    Returns None where they are the same.
    """
    if row.get("Type") != type:
        return f"its type is {row.get('Type')}, not {type}"
    stored = stored_settings(row)
    if stored is None:
        return "its settings can't be read"
    return settings_difference(settings, stored)


def settings_difference(settings: Mapping[str, Any], stored: Mapping[str, Any]) -> str | None:
    """Say in a few words how stored settings differ from what is to be submitted.

    The platform's own fields don't count. Returns None where they are the same.
    """
    wanted, stored = _own(settings), _own(stored)
    unlike = sorted(
        name
        for name in stored.keys() | wanted.keys()
        if name not in stored
        or name not in wanted
        or canonical(stored[name]) != canonical(wanted[name])
    )
    if not unlike:
        return None
    return "; ".join(_unlike(name, stored, wanted) for name in unlike[:3]) + (
        f" and {len(unlike) - 3} more" if len(unlike) > 3 else ""
    )


def shortened(value: Any) -> str:
    """Return a value as JSON, masked, and cut where it is long."""
    text = mask(canonical(value))
    return text if len(text) <= 40 else f"{text[:39]}…"


def _own(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name not in INTERNAL}


def _unlike(name: str, stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    if name not in wanted:
        return f"it has {name}={shortened(stored[name])}"
    if name not in stored:
        return f"it has no {name}"
    return f"its {name} is {shortened(stored[name])}, not {shortened(wanted[name])}"


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
