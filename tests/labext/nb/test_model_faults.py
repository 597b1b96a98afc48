"""Models and credentials of a service that drops responses or echoes secrets."""

from __future__ import annotations

import json
import logging
import traceback

import pytest

from labext.errors import InputError, ServiceError, SetupError

pytestmark = pytest.mark.faults

KEY = "plain-words-are-a-key-too"
MODEL = {"id": "model:1", "name": "gpt", "provider": "openai", "type": "llm", "credential": None}


def test_lost_response_to_a_new_model_is_resolved_by_the_list(faulty, client_of):
    server = faulty(faulty.silence, faulty.answer([MODEL]))
    assert client_of(server).models.create("gpt", "llm", "openai")["id"] == "model:1"
    assert [request.method for request in server.received] == ["POST", "GET"]


def test_idempotent_change_is_retried(faulty, client_of):
    server = faulty(faulty.silence, faulty.answer({"chat": None}))
    assert client_of(server).models.set_defaults({"chat": None})["chat"] is None
    assert server.count == 2


@pytest.mark.parametrize(
    ("status", "kind"), [(400, InputError), (422, SetupError), (502, ServiceError)]
)
def test_echoed_key_is_masked_in_errors_and_logs(faulty, client_of, caplog, status, kind):
    server = faulty(faulty.answer({"detail": f"The provider refused api key {KEY}."}, status))
    client = client_of(server)
    with caplog.at_level(logging.DEBUG), pytest.raises(kind) as caught:
        client.credentials.create("openai", "lab", KEY)
    assert json.loads(server.received[0].body)["api_key"] == KEY
    printed = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + caplog.text
    assert KEY not in printed
    assert KEY not in repr(client.credentials) + repr(client)


def test_echoed_key_is_masked_in_test_results(faulty, client_of):
    printed = {"provider": "openai", "success": False, "message": f"401: {KEY} is no key."}
    server = faulty(faulty.answer({"id": "credential:1"}), faulty.answer(printed))
    client = client_of(server)
    client.credentials.create("openai", "lab", KEY)
    tested = client.credentials.test("credential:1")
    assert tested == printed | {"message": "401: ••• is no key.", "details": None}


@pytest.mark.parametrize(
    ("detail", "delete"),
    [
        ("gpt is the default for chat.", lambda nb: nb.models.delete("model:1")),
        (
            "One of its models is in the slot summary.",
            lambda nb: nb.credentials.delete("credential:1"),
        ),
    ],
)
def test_model_in_use_is_not_deleted(faulty, client_of, detail, delete):
    with pytest.raises(InputError) as caught:
        delete(client_of(faulty(faulty.answer({"detail": detail}, 400))))
    assert "`nb.models.set_defaults(" in caught.value.next_step
