"""Fixtures of the widget tests: recorded placeholders, displays and a fake clock."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from widget_fakes import FakeClock, FakePlaceholder

from labext_widgets.core.front_end import FrontEnd

Displayed = list[tuple[str, str]]
SetFrontEnd = Callable[..., None]
RecordDisplays = Callable[..., Displayed]


@pytest.fixture
def placeholders(monkeypatch: pytest.MonkeyPatch) -> list[FakePlaceholder]:
    """Every placeholder that is created, in order."""
    from labext_widgets.core import placeholder

    created: list[FakePlaceholder] = []

    def create(*args: Any, **options: Any) -> FakePlaceholder:
        created.append(FakePlaceholder(*args, **options))
        return created[-1]

    monkeypatch.setattr(placeholder, "Placeholder", create)
    return created


@pytest.fixture
def set_front_end(monkeypatch: pytest.MonkeyPatch) -> SetFrontEnd:
    """Let modules find a front end: `set_front_end(FrontEnd.TERMINAL, player)`."""

    def set_kind(kind: FrontEnd, *modules: ModuleType) -> None:
        for module in modules:
            monkeypatch.setattr(module, "front_end", lambda: kind)

    return set_kind


@pytest.fixture
def record_displays(monkeypatch: pytest.MonkeyPatch) -> RecordDisplays:
    """Return the list of HTML and text that a module displays."""

    def record(module: ModuleType) -> Displayed:
        displayed: Displayed = []
        monkeypatch.setattr(
            module, "display_html", lambda html, text, name=None: displayed.append((html, text))
        )
        return displayed

    return record


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()
