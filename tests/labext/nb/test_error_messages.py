"""Each error status of the notebook service becomes a typed error with a next step."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.actions import Action
from labext.errors import (
    BusyError,
    ConflictError,
    InputError,
    LabextError,
    NotFoundError,
    ServiceError,
    SetupError,
    SignInError,
    render_next_step,
)
from labext.http import ErrorResponse
from labext.nb.backends.contract import notebooks, podcasts, search
from labext.nb.error_messages import explain_message, make_error_mapper


def error_response(
    status: int, text: str = "No.", op: Any = notebooks.CREATE_NOTE, **more: Any
) -> ErrorResponse:
    return ErrorResponse(status, op.method, op.path, text, op, **({"from_service": True} | more))


def explain(failure: ErrorResponse, *, has_password: bool = True) -> LabextError:
    error = make_error_mapper(has_password=has_password)(failure)
    assert error is not None
    assert error.message
    assert error.next_step.endswith((".", "…"))
    return error


@pytest.mark.parametrize(
    ("status", "text", "kind", "expected"),
    [
        (400, "note_type is human or ai", InputError, "note_type is human or ai."),
        (404, "There is no note note:9.", NotFoundError, "nb.notes.list()"),
        (409, "It is taken.", ConflictError, "taken"),
        (413, "At most 10 MiB.", InputError, "administrator of the service for a larger limit."),
        (415, "A .xyz.", InputError, "PDF, DOCX"),
        (422, "There is no embedding model.", SetupError, "ask the administrator"),
        (422, "body.query: Field required", InputError, "Field required"),
        (429, "Slow down.", BusyError, "rate limit"),
        (502, "The provider answered 401. Wait a little.", ServiceError, "401. Wait a little."),
        (500, "Failed to do it.", ServiceError, "Failed to do it. Check it, `nb.status()`"),
    ],
)
def test_status_determines_the_error_type(status, text, kind, expected):
    error = explain(error_response(status, text))
    assert type(error) is kind
    assert expected in str(error)


def test_next_step_of_the_service_for_a_large_request_is_kept():
    error = explain(error_response(413, "It is long. Shorten it, or allow more: `limits set`."))
    assert type(error) is InputError
    assert error.message.endswith("too large for the notebook service: It is long.")
    assert error.next_step == "Shorten it, or allow more: `limits set`."


def test_next_step_of_the_service_for_used_up_credit_is_kept():
    step = "Waiting doesn't help: add credit there, or choose another model."
    assert explain(error_response(502, f"It answered 429. {step}")).next_step == step


def test_missing_and_wrong_password_differ():
    with_one = explain(error_response(401, "The password is wrong."))
    without = explain(error_response(401, ""), has_password=False)
    assert type(with_one) is type(without) is SignInError
    assert "does not accept the password" in with_one.message
    assert "requires a password" in without.message
    for error in (with_one, without):
        assert 'save_secret("nb"' in error.next_step
        assert "LABEXT_NB_PASSWORD" in error.next_step


@pytest.mark.parametrize(
    ("text", "op", "list_of"),
    [
        ("", notebooks.GET_SOURCE, "nb.sources.list()"),
        ("", search.SEND_MESSAGE, "nb.chat.sessions()"),
        ("There is no model model:9.", search.ASK, "nb.models.list()"),
        ("There is no podcast job command:9.", podcasts.GET_PODCAST_JOB, "nb.podcasts.episodes()"),
    ],
)
def test_not_found_suggests_the_list(text, op, list_of):
    assert list_of in explain(error_response(404, text, op)).next_step


@pytest.mark.parametrize(
    ("status", "from_service"), [(403, True), (503, True), (504, True), (502, False)]
)
def test_other_statuses_use_the_general_mapping(status, from_service):
    failure = error_response(status, "Bad gateway", from_service=from_service)
    assert make_error_mapper(has_password=True)(failure) is None


GENERATE = "generate an episode"
RUN = "run a transformation"


@pytest.mark.parametrize(
    ("text", "operation", "step"),
    [
        ("The notebook is empty. Add a source.", GENERATE, 'nb.sources.add("FILE")'),
        ("There is no content to talk about.", GENERATE, 'nb.sources.add("FILE")'),
        ("No model is set for podcast.", GENERATE, '"podcast": "NAME"'),
        ("There is no text-to-speech model.", GENERATE, '"text_to_speech": "NAME"'),
        ("5 speakers are too many, at most 4.", GENERATE, 'speakers="host,guest"'),
        ("More speakers than the voices that there are.", GENERATE, 'speakers="host,guest"'),
        (
            "Model deepseek-chat is in the slot podcast.",
            "delete a model",
            "nb.models.set_defaults(",
        ),
        (
            "It is the default for speech to text.",
            "delete a credential",
            '"speech_to_text": "NAME"',
        ),
        ("No model configured for default for type=summary.", RUN, '"summary": "NAME"'),
        ("There is no model.", RUN, '"transformation": "NAME"'),
        ("Its server can't be reached.", "list a provider's models", 'base_url="URL"'),
        ("Its server can't be reached.", "test a credential", 'base_url="URL"'),
        ("The encryption key has changed.", "test a credential", "api_key="),
        ("The key can't be decrypted.", GENERATE, "api_key="),
    ],
)
def test_known_cause_has_its_next_step(text, operation, step):
    explanation = explain_message(text, operation, "Correct the input.")
    next_step = render_next_step(explanation.next_step, explanation.action)
    assert explanation.message == text.removesuffix(" Add a source.")
    assert step in next_step
    assert "`nb." in next_step
    assert next_step.endswith(".")


@pytest.mark.parametrize(
    ("text", "operation"),
    [
        ("The model espeak-ng has no voice left for Ada. Take fewer speakers.", GENERATE),
        ("The sources of the notebook Model mice are being processed. Wait for them.", GENERATE),
        ("The speaker profile Empty model has nobody. Give it a speaker.", GENERATE),
        ("The model writes in English alone. Choose another model for the episode.", GENERATE),
        ("The PDF can't be decrypted. Save it without a password.", "add a source"),
        ("Keys can't be stored: no encryption is set up. Set its secret.", "store a credential"),
        ("It answered “Slow down. Please ask later.”. Wait 9 seconds.", "ask a question"),
    ],
)
def test_ambiguous_error_text_keeps_the_server_hint(text, operation):
    message, hint = text.rsplit(". ", 1)
    assert explain_message(text, operation, "Else.") == (f"{message}.", hint, None)


def test_command_in_the_server_hint_is_kept():
    hint = "Set the slot: `models set podcast gpt`."
    assert explain_message(f"No model is set. {hint}", GENERATE, "Else.") == (
        "No model is set.",
        hint,
        None,
    )
    hint = "Install it: pip install 'labext-jupyter[speech]'."
    assert explain_message(f"No model can speak. {hint}", GENERATE, "Else.")[1] == hint


def test_action_of_the_response_precedes_known_causes():
    action = Action.set_model("podcast")
    explanation = explain_message(
        "No model is set. Set one.", GENERATE, "Else.", server_action=action
    )
    assert explanation == ("No model is set.", f"Set one: {action}.", action)
    explanation = explain_message("No model is set.", GENERATE, "Else.", server_action=action)
    assert render_next_step(*explanation[1:]) == f"Run {action}."


@given(st.text(), st.sampled_from([GENERATE, RUN, "delete a model", "get a note"]))
def test_any_text_keeps_its_start_and_has_a_next_step(text, operation):
    explanation = explain_message(text, operation, "Else.")
    assert explanation.next_step
    assert text.strip().startswith(explanation.message)
