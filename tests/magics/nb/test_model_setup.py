"""`%nb models setup` on a real service: models of an Anthropic server in the default slots."""

from __future__ import annotations

from collections.abc import Iterator

import model_servers
import pytest
from labext_test_shell import Printed, Refused, Run
from model_servers import ModelServer

from labext.nb.models import preferred_model

pytestmark = pytest.mark.contract

KEY = "correct-horse-battery-staple"
SLOTS = ("chat", "transformation", "podcast", "summary")


@pytest.fixture
def claude(run: Run, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A server with a credential called claude."""
    before = run("%nb models defaults").set_index("slot")["model"].to_dict()
    monkeypatch.setenv("LABEXT_NB_ANTHROPIC_KEY", KEY)
    with model_servers.serving("anthropic") as server:
        run(f"%nb credentials new anthropic --name claude --base-url {server.base_url}")
        yield server
    run("%nb models defaults " + " ".join(f"--set {slot}={before[slot]}" for slot in SLOTS))
    run("%nb credentials delete claude --yes")


def test_setup_fills_the_slots_of_built_in_models(
    run: Run, printed: Printed, claude: ModelServer
) -> None:
    embedding = run("%nb models defaults").set_index("slot").loc["embedding", "model"]
    message = printed("%nb models setup claude")
    assert "Added 2 models of the credential claude of anthropic." in message
    assert "Set the slots chat, transformation, podcast, summary to talker-1." in message
    frame = run("%nb models defaults").set_index("slot")
    assert set(frame.loc[list(SLOTS), "model"]) == {"talker-1"}
    assert frame.loc["embedding", "model"] == embedding
    again = printed("%nb models setup claude")
    assert "No new models" in again
    assert "2 already existed" in again
    assert "Set the slot" not in again
    assert {headers["x-api-key"] for _, headers, _ in claude.requests} == {KEY}
    assert KEY not in message + again


def test_setup_reports_a_refused_key(refused: Refused, claude: ModelServer) -> None:
    page = {"type": "error", "error": {"message": "invalid x-api-key"}}
    claude.rejection = (401, page)
    error = refused("%nb models setup claude")
    assert "invalid x-api-key" in error.message
    assert "`%nb credentials edit claude --new-key`" in str(error)
    claude.rejection = None


def test_option_of_a_credential_is_stored(run: Run, refused: Refused, claude: ModelServer) -> None:
    run("%nb credentials edit claude --option num_ctx=16384 --option project=lab")
    frame = run("%nb credentials show claude")
    assert frame.iloc[0]["options"] == {"num_ctx": 16384, "project": "lab"}
    assert "no option" in refused("%nb credentials edit claude --option numctx=1").message
    assert "not a number" in refused("%nb credentials edit claude --option num_ctx=x").message


@pytest.mark.parametrize(
    ("names", "type", "expected"),
    [
        (["claude-opus-4-1", "claude-sonnet-4-5", "claude-3-5-sonnet-20241022"], "llm", 1),
        (["gpt-3.5-turbo", "gpt-4o", "gpt-4o-mini-audio-preview", "gpt-4o-mini"], "llm", 3),
        (["gemini-2.5-flash-lite", "gemini-2.0-flash", "gemini-2.5-flash"], "llm", 2),
        (["text-embedding-3-large", "text-embedding-3-small"], "embedding", 1),
        (["tts-1-hd", "tts-1"], "tts", 1),
        (["anything"], "stt", 0),
    ],
)
def test_preferred_model_is_general_and_recent(names: list[str], type: str, expected: int) -> None:
    assert preferred_model(names, type) == names[expected]
