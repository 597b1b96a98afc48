"""An IPython shell as in a kernel, and its completions."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from IPython.core.completer import provisionalcompleter
from IPython.core.error import StdinNotImplementedError
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from labext.errors import LabextError

Run = Callable[[str], Any]
"""Runs a cell and returns its result."""
Printed = Callable[[str], str]
"""Runs a cell and returns its printed output."""
Refused = Callable[..., LabextError]
"""Runs a cell that is refused, with a kind of error if any, and returns the error."""
RefusedLines = Sequence[tuple[str, type[LabextError], str]]
"""Lines that are refused, with the type of the error and a part of its text."""
SET_MODELS = """
%nb profiles edit solo_expert --outline-model fake-chat --transcript-model fake-chat
%nb profiles edit solo_expert --voice-model fake-tts
%nb profiles edit tech_experts --voice-model fake-tts
%nb profiles edit business_panel --voice-model fake-tts
"""
"""Cell that sets the models of all podcast profiles of Open Notebook."""


@dataclass
class User:
    """A user with scripted answers that records the prompts.

    Attributes:
        answers: used in turn; with none left, standard input is unavailable.
        keeps: whether secrets may be stored in the keyring.
        hidden_prompts, visible_prompts: the prompts without and with an echo.
        offers: the number of questions whether to store secrets.
    """

    answers: list[str] = field(default_factory=list)
    keeps: bool = False
    hidden_prompts: list[str] = field(default_factory=list)
    visible_prompts: list[str] = field(default_factory=list)
    offers: int = 0

    def hide(self, prompt: str = "", stream: Any = None) -> str:
        self.hidden_prompts.append(prompt)
        return self._answer()

    def show(self, prompt: str = "") -> str:
        if prompt.endswith("[y/N] "):
            self.offers += 1
            return "y" if self.keeps else ""
        self.visible_prompts.append(prompt)
        return self._answer()

    def _answer(self) -> str:
        if not self.answers:
            raise StdinNotImplementedError
        return self.answers.pop(0)


_NO_COLLECTION = patch("gc.collect")
"""Keeps a shell from collecting garbage, which takes up to a second in a process of many tests."""


def check_refused(refused: Refused, lines: RefusedLines) -> str:
    """Check the errors of refused lines; return their texts."""
    errors = [(line, kind, part, refused(line)) for line, kind, part in lines]
    for line, kind, part, error in errors:
        assert isinstance(error, kind), (line, error)
        assert part in str(error), (line, str(error))
    return "\n".join(str(error) for *_, error in errors)


@contextmanager
def opened(**config: Any) -> Iterator[InteractiveShell]:
    """A shell without a history; at the end labext is unloaded and the exit hooks run."""
    ip = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}} | config))
    try:
        yield ip
    finally:
        if "jobs" in ip.magics_manager.magics["line"]:
            ip.run_line_magic("unload_ext", "labext")
        atexit.unregister(ip.atexit_operations)
        with _NO_COLLECTION:
            ip.atexit_operations()


@contextmanager
def loaded(ip: InteractiveShell, cell: str = "") -> Iterator[InteractiveShell]:
    """Load labext and run a cell; at the end labext is unloaded and the namespace is emptied."""
    ip.run_cell(f"%load_ext labext\n{cell}").raise_error()
    yield ip
    ip.run_line_magic("unload_ext", "labext")
    with _NO_COLLECTION:
        ip.reset()


def complete(shell: InteractiveShell, cell: str) -> list[str]:
    """Return the cell with each completion at its end.

    On a busy machine, a service may respond after the time for which a completion waits.
    """
    with provisionalcompleter(), patch("labext_magics.core.session.LOOKUP_TIMEOUT", 60.0):
        completions = list(shell.Completer.completions(cell, len(cell)))
    return [cell[: completion.start] + completion.text for completion in completions]


def assert_completions(shell: InteractiveShell, cell: str, *expected: str) -> None:
    """Check that the completions include these."""
    assert set(expected) <= set(complete(shell, cell))
