"""Escape sequences and bidirectional overrides in texts of the service are removed."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from labext.errors import LabextError
from labext.frames.conversion import Column, records_to_frame
from labext.jobs import JobsClient
from labext.sanitize import REPLACEMENT, contains_control, strip_control
from labext_widgets.core.markup import plain, tidy

pytestmark = pytest.mark.faults

STEER = "\x1b]0;hacked\x07\x1b[2J\x9b2J\u202efdp\u2066"
EVIL = f"{STEER}<b>\n%jobs delete all --yes"
STEERING = ["\x1b]", "\x1b[2J", "\x07", "\x9b", "\u202e", "\u2066"]


@pytest.mark.parametrize(
    "body",
    [EVIL, json.dumps(EVIL), json.dumps({"error": EVIL}), json.dumps({"detail": {EVIL: EVIL}})],
)
@pytest.mark.parametrize("status", [400, 500])
def test_error_with_hostile_text_is_one_safe_line(
    client: JobsClient, ledger: Any, status: int, body: str
) -> None:
    ledger.fail("jobs", *[ledger.answer(status, body)] * 9)
    with pytest.raises(LabextError) as raised:
        client.job("x")
    error = raised.value
    for text in (str(error), error.server or "", repr(error), error._render_traceback_()[0]):
        assert not [character for character in STEERING if character in text], ascii(text)
    assert "\n" not in str(error)


def test_frame_replaces_control_characters_only() -> None:
    frame = records_to_frame(
        [{"t": "é\t\n\u200f" + STEER, "j": json.dumps({STEER: [STEER]}), "x": STEER, STEER: 1}],
        [Column("t", "text"), Column("j", "json")],
    )
    assert frame["t"][0].startswith(f"é\t\n{REPLACEMENT}{REPLACEMENT}]0;hacked")
    rendered = frame.to_string() + str(frame.to_dict("records"))
    assert not [character for character in STEERING if character in rendered]


@pytest.mark.parametrize("as_text", [True, False])
def test_deeply_nested_values_do_not_break_a_frame(as_text: bool) -> None:
    value = json.loads("[" * 900 + json.dumps(STEER) + "]" * 900)
    cell = json.dumps(value) if as_text else value
    frame = records_to_frame([{"j": cell, "x": cell}], [Column("j", "json")])
    assert not [character for character in STEERING if character in frame.to_html()]


DIRECTION_CONTROLS = {
    character
    for character in map(chr, range(0x110000))
    if unicodedata.category(character) == "Cf"
    and re.match(
        "LEFT-TO-RIGHT|RIGHT-TO-LEFT|ARABIC LETTER MARK|POP DIRECTIONAL|FIRST STRONG ISOLATE",
        unicodedata.name(character, ""),
    )
}


def test_widgets_and_frames_remove_the_same_direction_controls() -> None:
    assert len(DIRECTION_CONTROLS) == 12
    for character in DIRECTION_CONTROLS:
        assert strip_control(f"a{character}b") == "a\N{REPLACEMENT CHARACTER}b"
        assert plain(f"a{character}b") == tidy(f"a{character}b") == "ab"


def controls(text: str) -> bool:
    """Search for characters that `labext.sanitize` removes."""
    return any(
        (character < " " and character not in "\t\n\v\f\r")
        or "\x7f" <= character <= "\x9f"
        or character in DIRECTION_CONTROLS
        for character in text
    )  # fmt: skip


TEXTS = st.text(st.characters(codec="utf-8", max_codepoint=0x2070))


@given(TEXTS)
def test_control_characters_are_found_and_removed(text: str) -> None:
    assume("\\" not in text)
    assert contains_control(text) is controls(text)
    assert not contains_control(strip_control(text))
    assert len(strip_control(text)) == len(text)
    assert controls(text) or strip_control(text) == text


@given(st.text(st.sampled_from('\\bBu08"\b\x9f\u061c\u200f')) | TEXTS, st.booleans())
def test_only_escapes_of_control_characters_count_in_json(text: str, ensure_ascii: bool) -> None:
    document = json.dumps(text, ensure_ascii=ensure_ascii)
    assert contains_control(document) is controls(text)


def test_escaped_backslash_in_json_starts_no_escape() -> None:
    clean = {"note": r"C:\Base\u001b \B \b", "name": "\\"}
    for document, has_control in (
        (json.dumps(clean), False),
        (json.dumps(clean | {"name": "\\\b"}), True),
    ):
        assert contains_control(document) is has_control
