"""A new Open Notebook server: the lines of each hint work, from no model to a complete podcast."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from IPython.core.interactiveshell import InteractiveShell
from open_notebook import Replay, serving

from labext.errors import InputError, LabextError, SetupError

pytestmark = pytest.mark.contract


WORKING = {"fake-chat", "slow-chat", "limit-chat", "junk-chat", "fake-embed", "fake-tts"}
FAILING = {"fail-chat", "badkey-chat"}


@pytest.fixture
def shell(unconnected_shell: InteractiveShell) -> InteractiveShell:
    return unconnected_shell


@pytest.fixture
def server(shell: InteractiveShell) -> Iterator[Replay]:
    with serving(fresh=True) as replay:
        shell.run_cell(f"%nb connect {replay.base_url}\n%nb use Here --create").raise_error()
        yield replay
        assert not replay.faults


def lines(hint: str) -> list[str]:
    """Return the `%nb` lines of a hint, with the provider of this machine."""
    commands = re.findall(r"`(%nb [^`]+)`", hint)
    local = [command for command in commands if "new ollama" in command]
    return local or [command for command in commands if "models --type" not in command]


@pytest.fixture
def reached(shell: InteractiveShell) -> Callable[[str], list[str]]:
    """Run a cell, following its hints until it succeeds; return the lines that were followed."""

    def run(cell: str) -> list[str]:
        followed: list[str] = []
        for _ in range(8):
            error = shell.run_cell(cell).error_in_exec
            if error is None:
                return followed
            assert isinstance(error, LabextError), error
            hinted = lines(error.next_step)
            assert hinted, str(error)
            for line in hinted:
                assert line not in followed, f"{line} is hinted again"
                shell.run_cell(line).raise_error()
                followed.append(line)
        raise AssertionError(followed)

    return run


def test_hints_lead_from_no_model_to_a_podcast(server, reached, run, tmp_path):
    (tmp_path / "plan.md").write_text("Vary the arabinose first.")
    assert not reached("%nb add plan.md --wait")
    assert reached("%%nb chat\nWhat should I vary?") == [
        "%nb credentials new ollama --name ollama --base-url http://localhost:11434",
        "%nb credentials register ollama --all",
        "%nb models defaults --set chat=fake-chat",
    ]
    assert not reached("%nb ask 'What about arabinose?'")
    assert reached("%nb ask 'What about arabinose?' --all") == [
        "%nb models defaults --set embedding=fake-embed"
    ]
    assert not reached("%nb sources embed plan.md")
    followed = reached("%nb podcast --name One --profile solo_expert")
    assert followed == [
        "%nb profiles edit solo_expert --outline-model fake-chat --transcript-model fake-chat",
        *(
            f"%nb profiles edit {profile_name} --voice-model fake-tts"
            for profile_name in ("business_panel", "solo_expert", "tech_experts")
        ),
    ]
    assert list(run("%nb episodes")["job_status"]) == ["completed"]


def test_hints_lead_from_no_model_to_an_answer(server, reached):
    followed = reached("%nb ask 'What about arabinose?' --all")
    assert followed[-2:] == [
        "%nb models defaults --set chat=fake-chat",
        "%nb models defaults --set embedding=fake-embed",
    ]


def test_add_without_embedding_model_warns(server, printed, tmp_path):
    (tmp_path / "plan.md").write_text("Vary the arabinose first.")
    output = printed("%nb add plan.md --wait")
    assert "No embedding model is set" in output
    assert "`%nb credentials new ollama" in output
    assert "`%nb sources embed plan.md`" in output
    run_lines = printed("%nb credentials new ollama --name o\n%nb credentials register o --all")
    assert "`%nb models setup o`" in run_lines
    assert "`%nb models auto-assign`" in run_lines
    printed("%nb models auto-assign")
    assert "No embedding model" not in printed("%nb add plan.md --wait")


def test_register_all_probes_and_names_models_of_unknown_type(server, run, printed):
    run("%nb credentials new ollama --name o")
    output = printed("%nb credentials register o --all")
    offered = set(run("%nb credentials discover o")["name"])
    models = run("%nb models").set_index("name")
    assert set(models.index) >= WORKING
    assert not FAILING & set(models.index), "the model that failed its test is missing"
    assert all(name in output for name in offered)
    assert "fail-chat (OpenAI-compatible endpoint error" in output
    assert "--model fail-chat=llm`" in output or "--model badkey-chat=llm`" in output
    types = models["type"]
    expected = {"fake-chat": "llm", "fake-embed": "embedding", "fake-tts": "tts", "fake-stt": "stt"}
    assert {name: types[name] for name in expected} == expected
    assert "fail-chat (" not in printed("%nb credentials register o --all --model fail-chat=llm")
    assert run("%nb models").set_index("name").loc["fail-chat", "type"] == "llm"
    deleted = len(server.sent("DELETE", "/models"))
    assert "Added " not in printed("%nb credentials register o --all")
    assert len(server.sent("DELETE", "/models")) == deleted


def test_credential_without_models_is_an_error(server, run, refused, monkeypatch):
    monkeypatch.setenv("LABEXT_NB_OPENAI_KEY", "sk-test-4f9b2c7d8e1a6035")
    run("%nb credentials new openai --name far")
    error = refused("%nb credentials register far --all", InputError)
    assert "has no model" in error.message


def test_auto_assign_names_empty_slots_with_reasons(server, run, printed):
    printed("%nb credentials new ollama --name o")
    run("%nb credentials register o --model fake-chat=llm --model fake-embed=embedding")
    output = printed("%nb models auto-assign")
    assert "Set the slot chat to " in output
    assert "does not fill the slot transformation automatically" in output
    assert "`%nb models defaults --set transformation=fake-chat`" in output
    assert (
        "The slots speech_to_text, text_to_speech remain empty. There is no model of type" in output
    )
    assert "podcast" not in output
    run("%nb models new fake-tts --type tts --provider ollama --credential o")
    assert "--set text_to_speech=fake-tts`" in printed("%nb models auto-assign")


def test_unsupported_slots_are_not_listed(server, run):
    assert set(run("%nb models defaults")["slot"]) == {
        "chat",
        "transformation",
        "embedding",
        "speech_to_text",
        "text_to_speech",
    }


def test_podcast_without_voice_model_hints_at_one(server, run, refused):
    run("%nb credentials new ollama --name o")
    run("%nb credentials register o --model fake-chat=llm")
    run("%nb profiles edit solo_expert --outline-model fake-chat --transcript-model fake-chat")
    error = refused("%nb podcast --name One --profile solo_expert", SetupError)
    assert "There is no model of type tts" in error.next_step
