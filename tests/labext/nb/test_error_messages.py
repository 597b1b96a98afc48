"""Every refusal of the contract is one typed error with a next step (contract, Errors)."""

from __future__ import annotations

from typing import Any

import pytest

from labext.errors import (
    BusyError,
    ConflictError,
    InputError,
    LabextError,
    NotFoundError,
    ServiceError,
    SetupError,
    SignInError,
)
from labext.http import ErrorResponse
from labext.nb.backends.contract import chat, notebooks, search
from labext.nb.error_messages import make_error_mapper


def failed(
    status: int, words: str = "No.", op: Any = notebooks.CREATE_NOTE, **more: Any
) -> ErrorResponse:
    return ErrorResponse(status, op.method, op.path, words, op, **({"from_service": True} | more))


def explained(failure: ErrorResponse, *, has_password: bool = True) -> LabextError:
    error = make_error_mapper(has_password=has_password)(failure)
    assert error is not None
    assert error.message
    assert error.next_step.endswith((".", "…"))
    return error


@pytest.mark.parametrize(
    ("status", "words", "kind", "said"),
    [
        (400, "note_type is human or ai", InputError, "note_type is human or ai."),
        (404, "There is no note note:9.", NotFoundError, "nb.notes.list()"),
        (409, "It is taken.", ConflictError, "taken"),
        (413, "At most 10 MiB.", InputError, "larger"),
        (415, "A .xyz.", InputError, "PDF, DOCX"),
        (422, "There is no embedding model.", SetupError, "labext sandbox nb models"),
        (422, "body.query: Field required", InputError, "Field required"),
        (429, "Slow down.", BusyError, "rate limit"),
        (502, "The provider answered 401.", ServiceError, "answered 401"),
    ],
)
def test_each_status_has_its_error(status, words, kind, said):
    error = explained(failed(status, words))
    assert type(error) is kind
    assert said in str(error)


@pytest.mark.parametrize("status", [422, 502])
def test_a_next_step_that_the_service_tells_is_the_only_one(status):
    error = explained(failed(status, "The model m answered 429. Wait a little, then try again."))
    assert error.message.endswith("The model m answered 429.")
    assert error.next_step == "Wait a little, then try again."


def test_the_password_is_asked_for_or_refused():
    with_one = explained(failed(401, "The password is wrong."))
    without = explained(failed(401, ""), has_password=False)
    assert type(with_one) is type(without) is SignInError
    assert "does not accept the password" in with_one.message
    assert "requires a password" in without.message
    for error in (with_one, without):
        assert 'save_secret("nb"' in error.next_step
        assert "LABEXT_NB_PASSWORD" in error.next_step


@pytest.mark.parametrize(
    ("op", "list_of"),
    [
        (notebooks.GET_SOURCE, "nb.sources.list()"),
        (chat.SEND_MESSAGE, "nb.chat.sessions()"),
        (notebooks.GET_NOTE, "nb.notes.list()"),
    ],
)
def test_what_is_not_there_is_looked_for_in_its_list(op, list_of):
    assert list_of in explained(failed(404, "", op)).next_step


def test_a_model_that_is_not_there_is_no_session():
    error = explained(failed(404, "There is no model model:9.", search.ASK))
    assert "model" in error.next_step


def test_a_fault_of_the_service_itself_leads_to_its_status():
    error = explained(failed(500, "Failed to do it."))
    assert "Failed to do it." in error.message
    assert "`nb.status()`" in error.next_step


@pytest.mark.parametrize("status", [403, 503, 504])
def test_others_are_left_to_the_general_reading(status):
    assert make_error_mapper(has_password=True)(failed(status)) is None


def test_a_gateway_is_no_provider():
    assert (
        make_error_mapper(has_password=True)(failed(502, "Bad gateway", from_service=False)) is None
    )
