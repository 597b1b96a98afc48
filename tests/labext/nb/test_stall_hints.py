"""Each refusal that a user brings about has one line, and the %nb line that mends it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.actions import Action
from labext.errors import render_next_step
from labext.nb.error_messages import explain_message

GENERATE = "generate an episode"
RUN = "run a transformation"


@pytest.mark.parametrize(
    ("words", "doing", "step"),
    [
        ("The notebook is empty.", GENERATE, 'nb.sources.add("FILE")'),
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
def test_a_known_cause_leads_to_its_line(words, doing, step):
    found = explain_message(words, doing, "Correct the input.")
    next_step = render_next_step(found.next_step, found.action)
    assert found.message == words
    assert step in next_step
    assert "`nb." in next_step
    assert next_step.endswith(".")


@pytest.mark.parametrize(
    ("words", "doing"),
    [
        ("The model espeak-ng has no voice left for Ada. Take fewer speakers.", GENERATE),
        ("The sources of the notebook Model mice are being processed. Wait for them.", GENERATE),
        ("The speaker profile Empty model has nobody. Give it a speaker.", GENERATE),
        ("The model writes in English alone. Choose another model for the episode.", GENERATE),
        ("The PDF can't be decrypted. Save it without a password.", "add a source"),
        ("Keys can't be stored: no encryption is set up. Set its secret.", "store a credential"),
    ],
)
def test_what_only_sounds_like_a_cause_keeps_the_services_own_step(words, doing):
    what, own = words.split(". ")
    assert explain_message(words, doing, "Else.") == (f"{what}.", own, None)


def test_the_services_own_line_comes_first():
    own = "Set the slot: `models set podcast gpt`."
    assert explain_message(f"No model is set. {own}", GENERATE, "Else.") == (
        "No model is set.",
        own,
        None,
    )
    own = "Install it: pip install 'labext-jupyter[speech]'."
    assert explain_message(f"No model can speak. {own}", GENERATE, "Else.")[1] == own


def test_an_action_of_the_service_comes_first():
    action = Action.set_model("podcast")
    found = explain_message("No model is set. Set one.", GENERATE, "Else.", sent=action)
    assert found == ("No model is set.", f"Set one: {action}.", action)
    found = explain_message("No model is set.", GENERATE, "Else.", sent=action)
    assert render_next_step(*found[1:]) == f"Run {action}."


def test_a_line_comes_before_the_services_words_and_those_before_none():
    found = explain_message("The notebook is empty. Add a source.", GENERATE, "Else.")
    assert (found.message, found.action) == ("The notebook is empty.", Action.add_source())
    assert explain_message("The moon is full. Wait a week.", GENERATE, "Else.") == (
        "The moon is full.",
        "Wait a week.",
        None,
    )
    assert explain_message("The moon is full.", GENERATE, "Else.") == (
        "The moon is full.",
        "Else.",
        None,
    )


@given(st.text(), st.sampled_from([GENERATE, RUN, "delete a model", "get a note"]))
def test_no_words_are_lost_and_there_is_always_a_step(words, doing):
    found = explain_message(words, doing, "Else.")
    assert found.next_step
    assert words.strip().startswith(found.message)
