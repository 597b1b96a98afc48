"""`labext sandbox nb models`: models of servers, their keys and their slots."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest

from labext.cli import nb
from labext.sandbox.nb.providers import registry

pytestmark = pytest.mark.contract

WHY = "Why is glucose added to the uninduced culture?"
KEY = "LABEXT_NB_MODEL_KEY"


@pytest.fixture
def run(command: Callable[[str], Any]) -> Any:
    return command("nb")


def test_model_add_use_and_remove(run, api, provider, kit, monkeypatch):
    monkeypatch.setenv(KEY, "the-wrong-key-of-mine")
    message = run.output("models", "add", "talker", "--base-url", f"{provider.base_url}/")
    assert "models default SLOT talker" in message
    assert run.output("models", "default", "chat", "talker") == "The model for chat is talker.\n"
    listing = run.output("models", "list")
    assert provider.base_url in listing
    assert "extractive" in listing
    assert "the-wrong-key" not in message + listing

    refusal = api.error(502, "POST", "search/ask/simple", {"question": WHY})
    assert "give it another" in refusal
    monkeypatch.setenv(KEY, kit.KEY)
    run.output("models", "key", "talker")
    assert api.simple(WHY)["model"] == "talker"

    assert "default for chat" in run.error("models", "remove", "talker", "--yes")
    run.output("models", "default", "chat", "none")
    api.error(422, "POST", "search/ask/simple", {"question": WHY})
    run.output("models", "default", "chat", "extractive")
    assert "--yes" in run.error("models", "remove", "talker")
    run.output("models", "remove", "talker", "--yes")
    assert provider.base_url not in run.output("models", "list")


def test_models_with_the_same_address_share_a_key(run, api, provider, kit, monkeypatch):
    run.output("models", "add", "one", "--base-url", provider.base_url, "--no-key")
    monkeypatch.setenv(KEY, kit.KEY)
    run.output("models", "add", "two", "--base-url", provider.base_url)
    run.output("models", "default", "chat", "one")
    assert api.simple(WHY)["model"] == "one"
    run.output("models", "key", "two", "--no-key")
    api.error(502, "POST", "search/ask/simple", {"question": WHY})
    run.output("models", "default", "chat", "extractive")
    run.output("models", "remove", "one", "--yes")
    assert provider.base_url in run.output("models", "list")
    run.output("models", "remove", "two", "--yes")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["add", "extractive", "--base-url", "ftp://nowhere"], "address"),
        (["add", "x", "--base-url", "http://user:pass@host/v1"], "password"),
        (["add", " ", "--base-url", "http://127.0.0.1:1/v1"], "name of a model"),
        (["key", "extractive"], "needs no key"),
        (["key", "nobody"], "no model"),
        (["default", "chat", "nobody"], "no model"),
        (["default", "chat", "all-MiniLM-L6-v2"], "type embedding"),
        (["default", "chatt", "extractive"], "Did you mean chat?"),
        (["remove", "all-MiniLM-L6-v2", "--yes"], "is built in"),
    ],
)
def test_invalid_model_command_is_refused_with_a_hint(run, words, expected, monkeypatch):
    monkeypatch.setenv(KEY, "a-key-of-mine")
    assert expected in run.error("models", *words)


def test_duplicate_model_is_refused(run, served, provider):
    served.add("talker")
    message = run.error("models", "add", "talker", "--base-url", provider.base_url, "--no-key")
    assert "already" in message


def test_ambiguous_model_name_lists_both_ids(run, served):
    first_id, two = served.add("twin"), served.add("twin", "embedding")
    message = run.error("models", "default", "chat", "twin")
    assert first_id in message
    assert two in message
    run.output("models", "default", "chat", first_id)
    run.output("models", "default", "chat", "extractive")


def test_key_is_prompted_without_echo_or_read_from_environment(run, provider, monkeypatch):
    words = ("add", "talker", "--base-url", provider.base_url)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert KEY in run.error("models", *words)

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("getpass.getpass", lambda _prompt: "a key with blanks")
    assert "a key with blanks" not in run.error("models", *words)
    monkeypatch.setattr("getpass.getpass", lambda _prompt: "a-key-of-mine")
    assert "a-key-of-mine" not in run.output("models", *words)
    run.output("models", "remove", "talker", "--yes")


def test_cli_model_types_match_the_registry():
    assert set(nb.MODEL_TYPES) == set(registry.MODEL_TYPES)
