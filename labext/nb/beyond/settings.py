"""The client's methods for the service's settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from labext import wording
from labext.errors import InputError
from labext.nb.beyond.records import WORDS
from labext.nb.group import UNCHANGED, Group

_TRUTH = {"true": True, "yes": True, "false": False, "no": False}


class Settings(Group):
    """`nb.settings`: how the service reads what is added to it."""

    def get(self) -> dict[str, Any]:
        """Return the settings, by the service's names: texts, truth values and lists of texts."""
        return self._wire.run(self._dialect.settings())

    def names(self) -> Sequence[str]:
        """Return the names of the settings."""
        return [*self.get()]

    def update(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Change settings; return all of them as they are now.

        Args:
            changes: a name and its value each. A text does for a truth value (`yes`, `no`) and for
                a list (`en,de`) too.

        Raises:
            InputError: nothing is to be changed, the service has no such setting, or a value does
                not fit.
        """
        if not changes:
            raise InputError("No setting is to be changed.", UNCHANGED)
        now = self.get()
        named = {_named(name, now): value for name, value in changes.items()}
        wanted = {name: _fitting(name, value, now[name]) for name, value in named.items()}
        return self._wire.run(self._dialect.set_settings(wanted))


def _named(name: str, now: Mapping[str, Any]) -> str:
    known = name.strip().replace("-", "_")
    if known in now:
        return known
    near = wording.did_you_mean(known, [*now])
    raise InputError(
        f"There is no setting {wording.shown(name)}{near}.", "`%nb settings` lists them."
    )


def _fitting(name: str, value: Any, now: Any) -> Any:
    """Return a value in the form that the setting has now."""
    if value is None:
        return None
    if isinstance(now, bool):
        return _truth(name, value)
    if isinstance(now, list):
        return _several(name, value)
    words = WORDS.get(name, ())
    if words and isinstance(value, bool):
        value = "yes" if value else "no"
    if not isinstance(value, str) or not value.strip() or (words and value not in words):
        raise _unfit(name, value, " or ".join(words) if words else "a text")
    return value


def _truth(name: str, value: Any) -> bool:
    found = _TRUTH.get(value.casefold()) if isinstance(value, str) else value
    if not isinstance(found, bool):
        raise _unfit(name, value, "yes or no")
    return found


def _several(name: str, value: Any) -> list[str]:
    found = value.split(",") if isinstance(value, str) else value
    if not isinstance(found, list | tuple) or not all(isinstance(each, str) for each in found):
        raise _unfit(name, value, "texts with commas between them")
    kept = [each.strip() for each in found if each.strip()]
    if not kept:
        raise _unfit(name, value, "one text or more")
    return kept


def _unfit(name: str, value: Any, expected: str) -> InputError:
    return InputError(
        f"The setting {name} can't be {wording.shown(str(value))}.", f"It takes {expected}."
    )
