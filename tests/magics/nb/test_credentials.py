"""`%nb credentials`: keys come from the environment or a prompt, never from the line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from labext_test_shell import RefusedLines, Run, check_refused
from openai_server import OpenAI

from labext import redaction
from labext.errors import (
    ConflictError,
    InputError,
    LabextError,
    NotFoundError,
    ServiceError,
    SetupError,
)
from labext.frames.views import frame_text
from labext_magics.core import sign_in
from labext_magics.core.secrets import refuse_name
from labext_magics.nb import credentials

pytestmark = pytest.mark.contract


VARIABLE = "LABEXT_NB_OPENAI_KEY"
KEY = "sk-proj-4f9b2c7d8e1a6035"


@pytest.fixture(autouse=True)
def without_prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable prompts, as when nbclient runs a notebook, and keys in the environment."""

    def ask(_prompt: str) -> str:
        raise sign_in.NonInteractiveError

    monkeypatch.setattr(sign_in, "prompt_secret", ask)
    monkeypatch.delenv(VARIABLE, raising=False)


@pytest.fixture
def lab(run: Run, provider: OpenAI, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAI]:
    """The server, with a credential called lab."""
    monkeypatch.setenv(VARIABLE, str(provider.key))
    run(f"%nb credentials new openai --name lab --base-url {provider.base_url}")
    yield provider
    run("%nb credentials delete lab --yes")


def test_credential_life_cycle(run, printed, refused, provider, monkeypatch):
    line = f"%nb credentials new openai --name bench --base-url {provider.base_url}"
    error = refused(line, SetupError)
    assert f"Set {VARIABLE}" in error.next_step
    monkeypatch.setenv(VARIABLE, str(provider.key))
    assert f"using the key in {VARIABLE}" in printed(line)
    monkeypatch.delenv(VARIABLE)
    output = printed(line)  # no prompt for a key
    assert "was kept" in output
    assert "`%nb credentials edit bench --new-key`" in output
    refused(f"{line}/other", ConflictError)

    credential = run("%nb credentials show bench")
    assert credential["provider"].item() == "openai"
    assert credential["has_api_key"].item()
    for frame in (credential, run("%nb credentials"), run("%nb credentials by-provider openai")):
        assert "bench" in set(frame["name"])
        assert str(provider.key) not in frame.to_string()
    assert "bench" not in set(run("%nb credentials --provider groq")["name"])
    assert "works (" in printed("%nb credentials test bench")
    status = run("%nb credentials status").set_index("provider")
    assert status.loc["openai", "source"] == "database"
    assert status.loc["openai", "configured"]

    run("%nb credentials edit bench --name shelf")
    assert "was kept" not in printed("%nb credentials edit shelf --no-key")
    assert not run("%nb credentials show shelf").iloc[0]["has_api_key"]
    run("%nb credentials edit shelf --no-base-url")
    assert "base_url" not in frame_text(run("%nb credentials show shelf"))
    assert "the credential shelf" in printed("%nb credentials delete shelf --preview")
    refused("%nb credentials delete shelf", InputError)
    assert "Deleted " in printed("%nb credentials delete shelf --yes")
    refused("%nb credentials show shelf", NotFoundError)


def test_models_of_a_credential_are_registered(run, printed, refused, lab):
    offered = run("%nb credentials discover lab")
    assert {"llm", "embedding"} <= set(offered["model_type"])
    named = "%nb credentials register lab --model alpha=llm --model beta=embedding"
    assert "Added 2 models" in printed(named)
    assert "No new models; kept 2 existing ones." in printed(named)
    models = run("%nb credentials register lab --all")
    assert "times in UTC" in frame_text(models)
    models = models.set_index("name")
    assert set(offered["name"]) | {"alpha", "beta"} == set(models.index)
    assert models.loc["beta", "type"] == "embedding"
    assert set(models["credential"]) == {"lab"}
    run("%nb models defaults --set chat=alpha")
    error = refused("%nb credentials delete lab --yes")
    run("%nb models defaults --set chat=extractive")
    assert "slot chat" in error.message
    count = len(models)
    assert f"with {count} models" in printed("%nb credentials delete lab --preview")


def test_unreachable_server_and_wrong_key_are_reported(printed, refused, lab, monkeypatch):
    lab.key = "sk-new-0a1b2c3d4e5f6a7b"
    error = refused("%nb credentials test lab", ServiceError)
    assert "does not work" in error.message
    assert "--new-key" in error.next_step
    monkeypatch.setenv(VARIABLE, lab.key)
    assert f"using the key in {VARIABLE}" in printed("%nb credentials edit lab --new-key")
    assert "works" in printed("%nb credentials test lab")
    error = refused("%nb credentials edit lab --base-url http://127.0.0.1:1/v1", InputError)
    assert "--new-key" in error.next_step
    printed("%nb credentials edit lab --base-url http://127.0.0.1:1/v1 --new-key")
    error = refused("%nb credentials test lab", ServiceError)
    assert "127.0.0.1:1" in error.message
    assert "--base-url" in error.next_step
    refused("%nb credentials discover lab", LabextError)


LINES: RefusedLines = [
    ("%nb credentials new opnai --name x", InputError, 'did you mean "openai"'),
    ("%nb credentials new openai --name KEY", InputError, "a key-like string"),
    ("%nb credentials new openai --name x KEY", InputError, "it was not used"),
    ("%nb credentials new openai --name x --key KEY", InputError, "LABEXT_NB_<PROVIDER>_KEY"),
    ("%nb models new x --type llm --provider openai --token KEY", InputError, "<PROVIDER>_KEY"),
    ("%nb credentials new openai --name x --base-url https://u:KEY@h/v1", InputError, "not used"),
    ("%nb credentials new openai --name x --base-url ftp://h/v1", InputError, "http"),
    ("%nb credentials new openai --name x --base-url http://169.254.169.254/", InputError, ""),
    ("%nb credentials new openai_compatible --name x", InputError, "Add it: `--base-url"),
    ("%nb credentials edit lab", InputError, "`--name`, `--base-url`, `--option`, `--new-key` or"),
    ("%nb credentials edit lab --new-key --no-key", InputError, "Keep one of them"),
    ("%nb credentials edit lab --new-key KEY", InputError, "it was not used"),
    ("%nb credentials show lbb", NotFoundError, 'did you mean "lab"'),
    ("%nb credentials register lab", InputError, "There is no model to add"),
    ("%nb credentials register lab --model x=lm", InputError, 'did you mean "llm"'),
]


def test_wrong_lines_do_nothing(run, refused, lab):
    before = run("%nb credentials")
    lines = [(line.replace("KEY", KEY), *error) for line, *error in LINES]
    assert "4f9b2c7d" not in check_refused(refused, lines)
    assert run("%nb credentials").equals(before)


@pytest.mark.parametrize("name", ["lab", "openai-lab-2026-main", "Our server, 2nd floor", "x" * 40])
def test_ordinary_name_is_accepted(name: str) -> None:
    refuse_name(name, "nb", "credentials")


@pytest.mark.parametrize("name", [KEY, "gsk0pQ4f9b2c7d8e1a6035ABCDEF", "0123456789abcdef01234567"])
def test_key_is_refused_as_a_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_known", set())
    with pytest.raises(InputError) as caught:
        refuse_name(name, "nb", "credentials")
    assert name not in str(caught.value)


def test_environment_key_is_used_and_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_known", set())
    monkeypatch.setenv("LABEXT_NB_OPENAI_COMPATIBLE_KEY", "a key of ours")
    for provider in ("openai_compatible", "openai-compatible"):
        key = credentials.key_for(provider)
        assert key.value == "a key of ours"
        assert key.origin == ", using the key in LABEXT_NB_OPENAI_COMPATIBLE_KEY"
        assert "a key" not in repr(key)
    assert redaction.mask("it is a key of ours") == f"it is {redaction.MASK}"


def unseen(answer: str, shown_prompts: list[str]) -> Any:
    def ask(prompt: str) -> str:
        shown_prompts.append(prompt)
        return answer

    return ask


def test_prompted_key_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_known", set())
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
