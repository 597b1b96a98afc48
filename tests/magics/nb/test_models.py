"""`%nb models` and `%nb models setup` with model servers on loopback."""

from __future__ import annotations

from collections.abc import Iterator

import model_servers
import pytest
from labext_test_shell import RefusedLines, Run, check_refused
from model_servers import ModelServer
from openai_server import OpenAI, respond_with

from labext.errors import ConflictError, InputError, LabextError, NotFoundError, ServiceError
from labext.frames.views import frame_text
from labext.nb.models import preferred_model

pytestmark = pytest.mark.contract


@pytest.fixture
def lab(run: Run, provider: OpenAI, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAI]:
    """The server, with a credential called lab and one model of it called helper."""
    monkeypatch.setenv("LABEXT_NB_OPENAI_COMPATIBLE_KEY", str(provider.key))
    run(f"%nb credentials new openai_compatible --name lab --base-url {provider.base_url}")
    run("%nb models new helper --type llm --provider openai-compatible --credential lab")
    yield provider
    slots = " ".join(f"--set {name}=extractive" for name in ("chat", "transformation", "summary"))
    run(f"%nb models defaults {slots}\n%nb credentials delete lab --yes")


def slots_of(run: Run, model: str) -> str:
    return str(run("%nb models").set_index("name").loc[model, "slots"])


def test_models_are_listed_with_their_slots(run):
    models = run("%nb models").set_index("name")
    assert "chat" in models.loc["extractive", "slots"].split(", ")
    assert "extractive" in frame_text(run("%nb models --type llm"))
    assert set(run("%nb models --type embedding")["type"]) == {"embedding"}
    providers = run("%nb models providers").set_index("provider")
    assert providers.loc["built-in", "available"]
    counted = run("%nb models count built-in").set_index("type")["models"]
    assert counted["all"] == len(run("%nb models by-provider built-in"))


def test_model_without_credential_has_a_missing_value(run, lab):
    credentials = run("%nb models").set_index("name")["credential"]
    assert credentials["helper"] == "lab"
    assert credentials.isna()["extractive"]


def test_defaults_are_set_once_without_repeated_messages(run, printed, lab):
    frame = run("%nb models defaults")
    assert len(frame) == 7
    assert frame.set_index("slot").loc["chat", "model"] == "extractive"
    line = "%nb models defaults --set chat=helper --set summary=openai_compatible/helper"
    assert "Set the slots chat, summary to helper." in printed(line)
    assert "Set the slot" not in printed(line)
    assert slots_of(run, "helper") == "chat, summary"
    assert "Cleared the slot chat." in printed("%nb models defaults --clear chat")
    assigned = printed("%nb models auto-assign")
    assert "Set the slot chat to " in assigned
    assert "every slot already has a model" in printed("%nb models auto-assign").lower()


def test_model_of_the_line_precedes_the_slot(run, lab):
    run("%nb models defaults --set chat=helper --set transformation=helper")
    run('%nb use "Slots" --create\n%nb note "Glucose lowers cyclic AMP." --title Sugar')
    run("%nb chat 'And then?' --model extractive")
    run('%nb transform "Key findings" --note Sugar --model extractive')
    assert not lab.chats()
    run("%nb chat 'What does glucose do?'")
    assert lab.chats()
    run("%nb delete Slots --yes")


def test_results_before_a_failure_are_shown(run, refused, lab, capsys):
    run('%nb use "Half" --create\n%nb note "Glucose." --title One\n%nb note "Salt." --title Two')
    lab.faults = [None, respond_with(401, {"error": {"message": "The account is closed."}})]
    lab.replies = lambda _: "The first is made."
    capsys.readouterr()
    error = refused("%nb transform Summary --note One --note Two --model helper --save Kept")
    assert "The account is closed" in error.message
    assert "The first is made." in capsys.readouterr().out
    assert "Kept: One" in set(run("%nb notes")["title"])
    run("%nb delete Half --yes")


def test_model_is_created_once_and_deleted_when_unused(run, printed, refused, lab):
    line = "%nb models new helper --type llm --provider openai_compatible --credential lab"
    assert "was kept" in printed(line)
    assert "Added the model" in printed(line.replace("helper", "second"))
    run("%nb models defaults --set chat=second")
    for cell in ("%nb models delete second helper --yes", "%nb credentials delete lab --yes"):
        error = refused(cell, ConflictError)
        assert "second is the default of slot chat" in error.message
        assert "`%nb models defaults --set chat=MODEL`" in error.next_step
    assert {"second", "helper"} <= set(run("%nb models")["name"])
    run("%nb models defaults --set chat=extractive")
    assert "Nothing was changed" in printed("%nb models delete second --preview")
    refused("%nb models delete second", InputError)
    assert "Deleted " in printed("%nb models delete second --yes")
    refused("%nb models show second", InputError)
    refused("%nb models test second", NotFoundError)


def test_credential_test_reports_duration_or_raises(run, printed, refused, lab):
    output = printed("%nb models test helper")
    assert "The model helper of openai_compatible works (" in output
    assert " s)" in output
    assert lab.chats()[-1].body["model"] == "helper"
    lab.key = "sk-another-0123456789abcdef"
    error = refused("%nb models test helper", ServiceError)
    assert "does not work" in error.message
    assert "`%nb credentials edit lab --new-key`" in error.next_step
    lab.faults = [respond_with(404, {"error": {"message": "The model was not found."}})]
    step = refused("%nb models test helper").next_step
    assert step == "See the models that it has: `%nb credentials discover lab`."
    lab.faults = [respond_with(500, {"error": {"message": "It is broken."}})]
    assert "`%nb credentials test lab`" in refused("%nb models test helper").next_step
    run("%nb credentials edit lab --base-url http://127.0.0.1:1/v1 --no-key")
    step = refused("%nb models test helper").next_step
    assert step.endswith("check its address: `%nb credentials edit lab --base-url URL`.")


def test_sandbox_computes_vectors_without_a_command(run, printed):
    run("%nb use Unembedded --create")
    run("%nb models defaults --clear embedding")
    output = printed("%%nb source --title Text --wait\nArabinose induces the promoter.")
    assert "No embedding model is set" in output
    assert "`%nb models defaults --set embedding=all-MiniLM-L6-v2`" in output
    assert "`%nb sources embed" not in output
    run("%nb models defaults --set embedding=all-MiniLM-L6-v2")
    run("%nb delete Unembedded --yes --delete-sources")


def test_provider_models_are_adopted(run, printed, lab):
    offered = run("%nb models discover openai_compatible")
    assert not offered.empty
    assert "new" in printed("%nb models sync openai_compatible")
    assert "Added 0 models" in printed("%nb models sync openai-compatible")
    models = run("%nb models by-provider openai_compatible")
    assert set(offered["name"]) <= set(models["name"])
    assert set(models["credential"]) == {"lab"}
    assert "openai_compatible" in set(run("%nb models sync")["provider"])


LINES: RefusedLines = [
    ("%nb models defaults --set chta=helper", InputError, 'did you mean "chat"'),
    ("%nb models defaults --set chat=helpr", NotFoundError, 'did you mean "helper"'),
    ("%nb models defaults --set chat=helper --clear chat", InputError, "Keep one of them"),
    ("%nb models defaults --set chat=helper --set chat=extractive", InputError, "set twice"),
    ("%nb models defaults --set chat=all-MiniLM-L6-v2", InputError, "`%nb models --type llm`"),
    ("%nb models new x --type llm --provider opnai", InputError, 'did you mean "openai"'),
    ("%nb models new x --type llm --provider openai --credential lba", NotFoundError, "lab"),
    ("%nb models delete model:nosuch --preview", NotFoundError, "no model model:nosuch"),
    ("%nb models count nowhere", InputError, "`%nb models providers` lists them"),
    ("%nb models discover groq", LabextError, "credential"),
]


def test_wrong_lines_do_nothing(run, refused, lab):
    before = run("%nb models defaults")
    check_refused(refused, LINES)
    assert run("%nb models defaults").equals(before)


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


def test_setup_fills_the_slots_of_built_in_models(run, printed, claude):
    embedding = run("%nb models defaults").set_index("slot").loc["embedding", "model"]
    names = ("talker-1", "text-embedding-1", "moderation-1")  # of which one is of no use
    claude.rejection = (200, {"data": [{"id": name} for name in names]})
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


def test_setup_reports_a_refused_key(refused, claude):
    page = {"type": "error", "error": {"message": "invalid x-api-key"}}
    claude.rejection = (401, page)
    error = refused("%nb models setup claude")
    assert "invalid x-api-key" in error.message
    assert "`%nb credentials edit claude --new-key`" in str(error)
    claude.rejection = None


def test_option_of_a_credential_is_stored(run, refused, claude):
    run("%nb credentials edit claude --option num_ctx=16384 --option project=lab")
    frame = run("%nb credentials show claude")
    assert frame.iloc[0]["options"] == {"num_ctx": 16384, "project": "lab"}
    assert "no option" in refused("%nb credentials edit claude --option numctx=1").message
    for value in ("x", "-1", "0", "1.5", "9" * 5000, "{True}"):
        line = f"%nb credentials edit claude --option num_ctx={value}"
        assert "not a number from 1" in refused(line).message
    run("%nb credentials edit claude --option num_ctx={2**13}")
    assert run("%nb credentials show claude").iloc[0]["options"]["num_ctx"] == 8192


def test_empty_option_of_a_credential_clears_it(run, claude):
    run("%nb credentials edit claude --option project=lab --option modalities=llm,tts")
    run("%nb credentials edit claude --option num_ctx=16384")
    run("%nb credentials edit claude --option project= --option modalities= --option num_ctx=")
    assert not run("%nb credentials show claude").iloc[0]["options"]


def test_empty_option_of_a_new_credential_is_ignored(run, refused):
    line = "%nb credentials new ollama --name empty-option --option num_ctx= --option project="
    assert not run(line).iloc[0]["options"]


@pytest.mark.parametrize(
    ("names", "type", "expected"),
    [
        (["claude-opus-4-1", "claude-sonnet-4-5", "claude-3-5-sonnet-20241022"], "llm", 1),
        (["gpt-3.5-turbo", "gpt-4o", "gpt-4o-mini-audio-preview", "gpt-4o-mini"], "llm", 3),
        (["gemini-2.5-flash-lite", "gemini-2.0-flash", "gemini-2.5-flash"], "llm", 2),
        (["text-embedding-3-large", "text-embedding-3-small"], "embedding", 1),
        (["claude-sonnet-4-20250514", "claude-sonnet-4-5-20250929"], "llm", 1),
        (["gpt-5-mini-2025-08-07", "gpt-4o-mini-2024-07-18", "gpt-5-mini"], "llm", 2),
        (["mistral-medium-2312", "mistral-medium-2505"], "llm", 1),
        (["tts-1-hd", "tts-1"], "tts", 1),
        (["anything"], "stt", 0),
    ],
)
def test_preferred_model_is_general_and_recent(names, type, expected):
    assert preferred_model(names, type) == names[expected]
