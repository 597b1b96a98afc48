"""What a model has made of a text: drawn in a notebook, printed in a terminal."""

from __future__ import annotations

from typing import Any

import pytest

from labext_widgets.answers import GeneratedText, GeneratedTexts, generated_text
from labext_widgets.core.front_end import FrontEnd


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What a notebook is shown: HTML and plain text."""
    found: list[tuple[str, str]] = []
    monkeypatch.setattr(generated_text, "front_end", lambda: FrontEnd.EXECUTED)
    monkeypatch.setattr(
        generated_text, "display_html", lambda html, text: found.append((html, text))
    )
    return found


def test_markdown_is_drawn_below_the_title_and_the_model_named(shown: list[Any]) -> None:
    made = GeneratedText(
        "- **Glucose** is 2 $ a gram\n- `LacI` binds", "Key findings: Leak", "helper"
    )
    made._ipython_display_()
    [(html, text)] = shown
    assert "<li><strong>Glucose</strong> is 2 $ a gram</li>" in html
    assert "mathjax_ignore" in html
    assert html.index("Key findings: Leak") < html.index("Glucose")
    assert "Made by helper." in html
    assert text == "Key findings: Leak\n\n- **Glucose** is 2 $ a gram\n- `LacI` binds"
    assert repr(made) == '<GeneratedText "Key findings: Leak">'


def test_no_word_of_a_model_becomes_markup_or_steers(shown: list[Any]) -> None:
    hostile = "<script>alert(1)</script>\x1b[31m<img src=x onerror=y>"
    GeneratedText(hostile, hostile, hostile)._ipython_display_()
    [(html, text)] = shown
    assert "<script" not in html
    assert "<img" not in html
    assert "\x1b" not in html + text


def test_several_are_shown_in_their_order_and_are_one_text(shown: list[Any]) -> None:
    made = GeneratedTexts([GeneratedText("One.", "A"), GeneratedText("Two.", "B")])
    made._ipython_display_()
    assert [text for _, text in shown] == ["A\n\nOne.", "B\n\nTwo."]
    assert made.text == "## A\n\nOne.\n\n## B\n\nTwo."


def test_a_terminal_prints_the_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(generated_text, "front_end", lambda: FrontEnd.TERMINAL)
    GeneratedTexts([GeneratedText("One.", "A"), GeneratedText("", "B")])._ipython_display_()
    assert capsys.readouterr().out == "A\n\nOne.\n\nB\n\nThe text is empty.\n"
