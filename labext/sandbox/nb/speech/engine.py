"""What a model of type `tts` says, wherever it runs."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from labext.extras import install_line
from labext.sandbox.nb import faults
from labext.sandbox.nb.models import registry
from labext.sandbox.nb.models.line import Line
from labext.sandbox.nb.speech.samples import Sound
from labext.sandbox.nb.store import Model
from labext.sandbox.service import Site

ENGINES = {"espeak-ng": "espeak", "flite": "flite"}
"""The built-in models by name, and the module of each: it has `voices()` and `say(voice, text)`."""

_PACKAGES = ("soundfile",)


def voices(site: Site, model: Model) -> list[str]:  # noqa: ARG001 - a server's list may come of it
    """The voices of a model, those first that differ most; none where any name goes.

    Raises:
        HTTPException: 422, what it needs is not installed.
    """
    need(*_PACKAGES)
    return _engine(model).voices() if registry.is_built_in(model) else []


def say(site: Site, model: Model, voice: str, text: str, line: Line | None = None) -> Sound:
    """A text as a voice says it.

    Only in the process of a task: an engine may have but one voice at a time.

    Args:
        site: has the key of the model's server.
        model: of type `tts`.
        voice: one of `voices`, or what the model's server calls one.
        text: as it is to be read out (`wording`); it is no markup.
        line: to the model's server; may be hung up while it waits.

    Returns:
        what is heard, perhaps nothing.

    Raises:
        HTTPException: 422, what it needs is not installed, or it has no such voice; 502, its server
            failed.
        HungUp: nobody waits any more.
    """
    if registry.is_built_in(model):
        sound: Sound = _engine(model).say(voice, text)
        return sound
    from labext.sandbox.nb.speech import remote

    return remote.say(site, model, voice, text, line)


def at_once(model: Model) -> int:
    """How many texts it says best at a time."""
    return int(_engine(model).AT_ONCE) if registry.is_built_in(model) else 2


def need(*packages: str) -> None:
    """See that packages of the extra are installed.

    Raises:
        HTTPException: 422, one is not.
    """
    if any(find_spec(each) is None for each in packages):
        raise faults.unconfigured(
            "Speech needs packages that are not installed here: "
            f"run `{install_line('speech')}`, then try again."
        )


def _engine(model: Model) -> ModuleType:
    module = ENGINES.get(model.name)
    if module is None:
        raise faults.unconfigured(
            f"The model {model.name} does not speak. Set the default slot text_to_speech to one "
            "that does: `labext sandbox nb models default text_to_speech NAME`."
        )
    return import_module(f"labext.sandbox.nb.speech.{module}")
