"""Client methods for the settings of the service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labext import messages
from labext.actions import Action
from labext.errors import InputError
from labext.nb.records import SETTING_CHOICES
from labext.nb.resource import NO_CHANGES_STEP, Resource

_BOOLEAN_WORDS = {"true": True, "yes": True, "false": False, "no": False}


class Settings(Resource):
    """`nb.settings`: settings of the service for processing sources."""

    def get(self) -> dict[str, Any]:
        """Return the settings by name; values are strings, booleans and lists of strings."""
        return self._run(self._backend.settings())

    def names(self) -> list[str]:
        """Return the names of the settings."""
        return [*self.get()]

    def update(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Change settings; return the current values of all settings.

        Args:
            changes: new values by name. A boolean may be given as `yes` or `no`, a list as a
                comma-separated string (`en,de`).

        Raises:
            InputError: there are no changes, a setting does not exist, or a value is invalid.
        """
        if not changes:
            raise InputError("No changes to the settings were given.", NO_CHANGES_STEP)
        current = self.get()
        requested = {}
        for name, value in changes.items():
            key = name.strip().replace("-", "_")
            if key not in current:
                near = messages.did_you_mean(key, [*current])
                message = f"There is no setting {messages.quote_value(name)}{near}."
                raise InputError(message, action=Action.list_settings())
            requested[key] = value
        values = {
            name: _convert_value(name, value, current[name]) for name, value in requested.items()
        }
        return self._run(self._backend.set_settings(values))


def _convert_value(name: str, value: Any, now: Any) -> Any:
    """Convert a value to the type of the setting's current value."""
    if value is None:
        return None
    if isinstance(now, bool):
        value = _BOOLEAN_WORDS.get(value.casefold(), value) if isinstance(value, str) else value
        if not isinstance(value, bool):
            raise _invalid_value(name, value, "yes or no")
        return value
    if isinstance(now, list):
        return _parse_list(name, value)
    choices = SETTING_CHOICES.get(name, ())
    if choices and isinstance(value, bool):
        value = "yes" if value else "no"
    if not isinstance(value, str) or not value.strip() or (choices and value not in choices):
        raise _invalid_value(name, value, " or ".join(choices) if choices else "text")
    return value


def _parse_list(name: str, value: Any) -> list[str]:
    parsed = value.split(",") if isinstance(value, str) else value
    if not isinstance(parsed, list | tuple) or not all(isinstance(item, str) for item in parsed):
        raise _invalid_value(name, value, "comma-separated values")
    items = [item.strip() for item in parsed if item.strip()]
    if not items:
        raise _invalid_value(name, value, "at least one value")
    return items


def _invalid_value(name: str, value: Any, expected: str) -> InputError:
    return InputError(
        f"The setting {name} can't be {messages.quote_value(str(value))}.", f"It takes {expected}."
    )
