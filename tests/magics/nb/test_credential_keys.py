"""Keys of credentials: refused on lines, taken from the environment or a prompt."""

from __future__ import annotations

from typing import Any

import pytest

from labext import redaction
from labext.errors import InputError, SetupError
from labext_magics.core import secrets, sign_in
from labext_magics.nb import credentials

KEY = "sk-proj-4f9b2c7d8e1a6035"


@pytest.mark.parametrize("name", ["lab", "openai-lab-2026-main", "Our server, 2nd floor", "x" * 40])
def test_ordinary_name_is_accepted(name: str) -> None:
    secrets.refuse_name(name, "nb", "credentials")


@pytest.mark.parametrize("name", [KEY, "gsk0pQ4f9b2c7d8e1a6035ABCDEF", "0123456789abcdef01234567"])
def test_key_is_refused_as_a_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_known", set())
    with pytest.raises(InputError) as caught:
        secrets.refuse_name(name, "nb", "credentials")
    assert name not in str(caught.value)


def unseen(answer: str, shown_prompts: list[str]) -> Any:
    def ask(prompt: str) -> str:
        shown_prompts.append(prompt)
        return answer

    return ask


def nobody(_prompt: str) -> str:
    raise sign_in.NonInteractiveError


def test_environment_key_is_used_and_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_known", set())
    monkeypatch.setattr(sign_in, "prompt_secret", nobody)
    monkeypatch.setenv("LABEXT_NB_OPENAI_COMPATIBLE_KEY", "a key of ours")
    for provider in ("openai_compatible", "openai-compatible"):
        key = credentials.key_for(provider)
        assert key.value == "a key of ours"
        assert key.origin == ", using the key in LABEXT_NB_OPENAI_COMPATIBLE_KEY"
        assert "a key" not in repr(key)
    assert redaction.mask("it is a key of ours") == f"it is {redaction.MASK}"


def test_prompted_key_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_known", set())
    monkeypatch.delenv("LABEXT_NB_OPENAI_KEY", raising=False)
    prompts: list[str] = []
    monkeypatch.setattr(sign_in, "prompt_secret", unseen("typed by hand", prompts))
    assert credentials.key_for("openai").value == "typed by hand"
    assert prompts == ["Key of openai: "]
    assert redaction.mask("typed by hand") == redaction.MASK


def test_no_key_prompt_where_none_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OLLAMA", "OPENAI_COMPATIBLE", "OPENAI"):
        monkeypatch.delenv(f"LABEXT_NB_{name}_KEY", raising=False)
    prompts: list[str] = []
    monkeypatch.setattr(sign_in, "prompt_secret", unseen("", prompts))
    assert credentials.key_for("ollama").value is None
    assert prompts == []
    assert credentials.key_for("openai_compatible").value is None
    assert prompts == ["Key of openai_compatible (leave empty if none is needed): "]
    for provider in ("openai", "ollama"):
        with pytest.raises(SetupError, match="No key was entered"):
            credentials.key_for(provider, required=True)
