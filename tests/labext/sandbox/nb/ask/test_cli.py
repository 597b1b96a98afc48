"""`labext sandbox nb models`: models of servers, their keys, and what they are used for."""

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


def test_a_model_from_its_addition_to_its_removal(
    run: Any, api: Any, provider: Any, kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY, "the-wrong-key-of-mine")
    said = run.said("models", "add", "talker", "--base-url", f"{provider.base_url}/")
    assert "models default SLOT talker" in said
    assert run.said("models", "default", "chat", "talker") == "The model for chat is talker.\n"
    listed = run.said("models", "list")
    assert provider.base_url in listed
    assert "extractive" in listed
    assert "the-wrong-key" not in said + listed

    refusal = api.refused(502, "POST", "search/ask/simple", {"question": WHY})
    assert "give it another" in refusal
    monkeypatch.setenv(KEY, kit.KEY)
    run.said("models", "key", "talker")
    assert api.simple(WHY)["model"] == "talker"

    assert "default for chat" in run.refused("models", "remove", "talker", "--yes")
    run.said("models", "default", "chat", "none")
    api.refused(422, "POST", "search/ask/simple", {"question": WHY})
    run.said("models", "default", "chat", "extractive")
    assert "--yes" in run.refused("models", "remove", "talker")
    run.said("models", "remove", "talker", "--yes")
    assert provider.base_url not in run.said("models", "list")


def test_models_of_one_address_share_its_key(
    run: Any, api: Any, provider: Any, kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.said("models", "add", "one", "--base-url", provider.base_url, "--no-key")
    monkeypatch.setenv(KEY, kit.KEY)
    run.said("models", "add", "two", "--base-url", provider.base_url)
    run.said("models", "default", "chat", "one")
    assert api.simple(WHY)["model"] == "one"
    run.said("models", "key", "two", "--no-key")
    api.refused(502, "POST", "search/ask/simple", {"question": WHY})
    run.said("models", "default", "chat", "extractive")
    run.said("models", "remove", "one", "--yes")
    assert provider.base_url in run.said("models", "list")
    run.said("models", "remove", "two", "--yes")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["add", "extractive", "--base-url", "ftp://nowhere"], "address"),
        (["add", "x", "--base-url", "http://user:pass@host/v1"], "password"),
        (["add", " ", "--base-url", "http://127.0.0.1:1/v1"], "name of a model"),
        (["key", "extractive"], "needs no key"),
        (["key", "nobody"], "no model"),
        (["default", "chat", "nobody"], "no model"),
        (["default", "chat", "wordllama"], "type embedding"),
        (["default", "chatt", "extractive"], "Did you mean chat?"),
        (["remove", "wordllama", "--yes"], "is built in"),
    ],
)
def test_what_can_not_be_is_one_line_and_a_next_step(
    run: Any, words: list[str], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY, "a-key-of-mine")
    assert told in run.refused("models", *words)


def test_the_same_model_twice_is_refused(run: Any, served: Any, provider: Any) -> None:
    served.add("talker")
    said = run.refused("models", "add", "talker", "--base-url", provider.base_url, "--no-key")
    assert "already" in said


def test_two_models_of_one_name_are_both_listed(run: Any, served: Any) -> None:
    one, two = served.add("twin"), served.add("twin", "embedding")
    said = run.refused("models", "default", "chat", "twin")
    assert one in said
    assert two in said
    run.said("models", "default", "chat", one)
    run.said("models", "default", "chat", "extractive")


def test_a_key_is_asked_for_unseen_or_the_environment_has_it(
    run: Any, provider: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("add", "talker", "--base-url", provider.base_url)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert KEY in run.refused("models", *words)

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("getpass.getpass", lambda _prompt: "a key with blanks")
    assert "a key with blanks" not in run.refused("models", *words)
    monkeypatch.setattr("getpass.getpass", lambda _prompt: "a-key-of-mine")
    assert "a-key-of-mine" not in run.said("models", *words)
    run.said("models", "remove", "talker", "--yes")


def test_the_command_knows_the_types_of_models() -> None:
    assert set(nb.MODEL_TYPES) == set(registry.MODEL_TYPES)
