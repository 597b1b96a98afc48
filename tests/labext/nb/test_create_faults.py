"""Lost responses and secrets in requests that create or change records and models."""

from __future__ import annotations

import json
import logging
import socket
import threading
import traceback
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from labext.errors import (
    BusyError,
    InputError,
    NotFoundError,
    OutcomeUnknownError,
    ServiceError,
    SetupError,
    SignInError,
    UnreachableError,
)
from labext.nb import NotebookClient

pytestmark = pytest.mark.faults


KEY = "sk-abcdefghijklmnop1234"
SOURCE = {"id": "source:1", "title": "t", "status": "new"}

CREATE: dict[str, Callable[[NotebookClient], Any]] = {
    "notebook": lambda nb: nb.notebooks.create("A"),
    "note": lambda nb: nb.notes.create("text", notebook="notebook:1"),
    "text": lambda nb: nb.sources.add_text("text"),
    "page": lambda nb: nb.sources.add_url("https://example.org"),
    "session": lambda nb: nb.chat.create("notebook:1"),
    "message": lambda nb: nb.chat.execute("chat_session:1", "Why?"),
    "transformation": lambda nb: nb.transformations.create("A", "Do it."),
    "run": lambda nb: nb.transformations.execute("transformation:1", "text"),
    "credential": lambda nb: nb.credentials.create("openai", "lab", KEY),
    "register": lambda nb: nb.credentials.register_models("credential:1", [("a", "llm")]),
    "sync": lambda nb: nb.models.sync("openai"),
    "auto-assign": lambda nb: nb.models.auto_assign(),
    "copy": lambda nb: nb.episode_profiles.duplicate("episode_profile:1"),
}
NEXT_STEPS = {"run": "run it again", "register": "Repeat it", "sync": "Repeat it"}
"""Next steps after a lost response; by default, the list of the created objects."""


@pytest.mark.parametrize("action", CREATE)
@pytest.mark.parametrize("response", [None, (b"", 204), ([], 201)])
def test_lost_or_unusable_response_has_an_unknown_outcome_and_is_not_retried(
    faulty, client_of, action, response
):
    server = faulty(faulty.answer(*response) if response else faulty.silence)
    with pytest.raises(OutcomeUnknownError) as caught:
        CREATE[action](client_of(server))
    assert server.count == 1
    assert "may or may not have been done" in caught.value.message
    assert NEXT_STEPS.get(action, "`nb.") in caught.value.next_step


def test_lost_response_to_an_upload_has_an_unknown_outcome(faulty, client_of, tmp_path):
    path = tmp_path / "paper.pdf"
    path.write_bytes(b"%PDF" * 1000)
    server = faulty(faulty.silence)
    with pytest.raises(OutcomeUnknownError, match=r"nb\.sources\.list"):
        client_of(server).sources.add_file(path)
    assert server.count == 1


@pytest.mark.parametrize("action", ["note", "message"])
def test_provider_error_is_final(faulty, client_of, action):
    server = faulty(faulty.answer({"detail": f"The provider answered 429, key {KEY}."}, 502))
    with pytest.raises(ServiceError, match="The provider answered 429") as caught:
        CREATE[action](client_of(server))
    assert type(caught.value) is ServiceError  # and not that the outcome is unknown
    assert KEY not in str(caught.value)
    assert server.count == 1


def test_link_and_delete_are_retried(faulty, client_of):
    server = faulty(faulty.silence, faulty.answer({"message": "linked"}))
    client_of(server).notebooks.link("notebook:1", "source:1")
    assert server.count == 2
    deleted = faulty(faulty.silence, faulty.answer({"detail": "There is no notebook."}, 404))
    assert client_of(deleted).notebooks.delete("notebook:1")["deleted_notes"] is None
    missing = faulty(faulty.answer({"detail": "There is no notebook notebook:1."}, 404))
    with pytest.raises(NotFoundError, match="There is no notebook"):
        client_of(missing).notebooks.delete("notebook:1")


def test_slow_operations_have_no_read_timeout(faulty, client_of):
    def slow(body: Any) -> Any:
        def act(connection: socket.socket, request: Any) -> bool:
            threading.Event().wait(0.4)
            return bool(faulty.answer(body)(connection, request))

        return act

    server = faulty(slow(SOURCE), slow({"answer": "So."}), slow([]))
    client = client_of(server)
    transport = client._executor.http
    transport._options = replace(transport._options, timeout=(1, 0.2), attempts=1)
    assert client.sources.add_text("text", process_async=False)["id"] == "source:1"
    assert client.ask("Why?").text == "So."
    with pytest.raises(
        UnreachableError, match="the response timed out"
    ):  # a list is retried for a shorter time
        client.models.list()


@pytest.mark.parametrize(
    ("status", "error_type"), [(401, SignInError), (429, BusyError), (500, ServiceError)]
)
def test_secrets_in_server_messages_are_masked(faulty, client_of, status, error_type):
    message = f"{client_of.password} and api_key='{KEY}' and Bearer {KEY}"
    server = faulty(faulty.answer({"detail": message}, status, Retry_After="0"))
    client = client_of(server)
    with pytest.raises(error_type) as caught:
        client.notebooks.list()
    error = caught.value
    output = f"{error} {error!r} {error.server} {error._render_traceback_()} {client!r}"
    assert client_of.password not in output
    assert KEY not in output
    assert server.received[0].headers["authorization"] == f"Bearer {client_of.password}"


def test_no_password_sends_no_authorization(faulty, client_of):
    server = faulty(faulty.answer([]))
    assert len(client_of(server, None).notebooks.list()) == 0
    assert "authorization" not in server.received[0].headers


def test_update_without_changes_is_not_sent(faulty, client_of):
    server = faulty(faulty.silence)
    client = client_of(server)
    for change in (client.notebooks.update, client.notes.update, client.sources.update):
        with pytest.raises(InputError, match="No changes to the"):
            change("source:1")
    with pytest.raises(InputError, match="No changes to the session"):
        client.chat.update("chat_session:1")
    with pytest.raises(InputError, match="either a session or a notebook"):
        client.chat.context()
    assert server.count == 0


MODEL_KEY = "plain-words-are-a-key-too"
MODEL = {"id": "model:1", "name": "gpt", "provider": "openai", "type": "llm", "credential": None}


@pytest.mark.parametrize(
    ("call", "answer", "methods"),
    [
        (lambda nb: nb.sources.retry("source:1"), SOURCE | {"status": "running"}, ["POST", "GET"]),
        (lambda nb: nb.models.create("gpt", "llm", "openai"), [MODEL], ["POST", "GET"]),
        (lambda nb: nb.models.set_defaults({"chat": None}), {"chat": None}, ["PUT", "PUT"]),
    ],
    ids=["retry", "new model", "slots"],
)
def test_lost_response_is_resolved_by_another_request(faulty, client_of, call, answer, methods):
    server = faulty(faulty.silence, faulty.answer(answer))
    assert call(client_of(server))
    assert [request.method for request in server.received] == methods


@pytest.mark.parametrize(
    ("status", "kind"), [(400, InputError), (422, SetupError), (502, ServiceError)]
)
def test_echoed_key_is_masked_in_errors_and_logs(faulty, client_of, caplog, status, kind):
    server = faulty(faulty.answer({"detail": f"The provider refused api key {MODEL_KEY}."}, status))
    client = client_of(server)
    with caplog.at_level(logging.DEBUG), pytest.raises(kind) as caught:
        client.credentials.create("openai", "lab", MODEL_KEY)
    assert json.loads(server.received[0].body)["api_key"] == MODEL_KEY
    printed = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + caplog.text
    assert MODEL_KEY not in printed
    assert MODEL_KEY not in repr(client.credentials) + repr(client)


def test_echoed_key_is_masked_in_test_results(faulty, client_of):
    printed = {"provider": "openai", "success": False, "message": f"401: {MODEL_KEY} is no key."}
    server = faulty(faulty.answer({"id": "credential:1"}), faulty.answer(printed))
    client = client_of(server)
    client.credentials.create("openai", "lab", MODEL_KEY)
    tested = client.credentials.test("credential:1")
    assert tested == printed | {"message": "401: ••• is no key.", "details": None}
