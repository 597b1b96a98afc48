"""Markup, escape sequences and bidirectional overrides in every text of the service are inert.

One kernel runs every `%jobs` line that shows text of the service; each output is checked as a
browser and a terminal would read it.
"""

from __future__ import annotations

import json
import re
import unicodedata
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbformat
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from nbclient import NotebookClient

from labext.errors import LabextError
from labext.frames.conversion import Column, records_to_frame
from labext.jobs import JobsClient
from labext.sanitize import REPLACEMENT, contains_control, strip_control
from labext_widgets.core.markup import plain, tidy

pytestmark = pytest.mark.faults

HTML = (
    "<script>hacked()</script><img src=x onerror='hacked()'><a href=\"javascript:hacked()\">x</a>"
)
STEER = "\x1b]0;hacked\x07\x1b[2J\x9b2J\u202efdp\u2066"
EVIL = f"{STEER}{HTML}\n%jobs delete all --yes"
ALLOWED = {"div", "span", "table", "thead", "tbody", "tr", "th", "td", "p", "style"}
STEERING = ["\x1b]", "\x1b[2J", "\x07", "\x9b", "\u202e", "\u2066"]


class Markup(HTMLParser):
    """Collect markup that is active in a browser."""

    def __init__(self) -> None:
        super().__init__()
        self.acts: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ALLOWED:
            self.acts.append(tag)
        self.acts += [name for name, _ in attrs if name.startswith("on") or name in ("href", "src")]
        self.acts += [value for _, value in attrs if "url(" in (value or "")]

    def handle_data(self, data: str) -> None:
        self.text += data


def displayed_lines(output: Any) -> list[str]:
    """Return every text of an output that a terminal prints."""
    if output.output_type == "stream":
        return [output.text]
    if output.output_type == "error":
        return [output.ename, output.evalue, *output.traceback]
    return [output.data.get("text/plain", "")]


def check(output: Any) -> None:
    """Check that an output is inert."""
    for text in displayed_lines(output):
        assert not [character for character in STEERING if character in text], ascii(text)
    if "data" not in output:
        return
    assert set(output.data) <= {"text/html", "text/plain"}
    html = output.data.get("text/html", "")
    markup = Markup()
    markup.feed(html)
    assert markup.acts == [], html
    assert not [character for character in STEERING if character in html], ascii(html)


@pytest.fixture
def evil(ledger: Any) -> Any:
    """The service: every text of every record is hostile."""
    parameters = [
        {"name": EVIL, "required": False, "description": EVIL, "options": [EVIL], "default": EVIL},
        {"name": "sequence", "required": True, "type": EVIL, "description": EVIL},
    ]
    tool = {"name": "fold", "displayName": EVIL, "description": EVIL, EVIL: EVIL}
    ledger.tools = [
        {**tool, "github": "javascript:hacked()", "paper": EVIL, "settings": parameters},
        {**tool, "name": EVIL, "settings": []},
    ]
    texts = dict.fromkeys(("Reason", "Stage", "Created", "AggregationError", EVIL), EVIL)
    inner = json.dumps({EVIL: EVIL, "deep": {EVIL: [EVIL]}})
    for name, status in (("ends", "Stopped"), (EVIL, EVIL), ("done", "Complete")):
        ledger.add(name, EVIL, JobStatus=status, Score=inner, **(texts | {"Settings": inner}))
        ledger.rows[name]["JobStatus"] = status
    ledger.add_batch("b", {"x": {}, EVIL: {EVIL: EVIL}})
    for name in ledger.members["b"]:
        ledger.rows[name].update(texts, JobStatus=EVIL, Score=inner, Settings=inner, Type=EVIL)
    ledger.rows["b"].update(texts, batchStatus="AggregationFailed")
    ledger.add("p", "pipeline", {"stages": [EVIL]}, **(texts | {"Created": "2026-01-01"}))
    ledger.rows["p"].update(JobStatus="Stopped", statuses={EVIL: 3})
    files = {"<img src=x onerror=hacked()>.pdb": "ATOM\n", "$\\alpha$`.txt".replace("\\", ""): "x"}
    ledger.archives["done"] = ledger.zipped(files)
    ledger.rows["done"].update(Settings=inner, Completed="2026-01-01T01:00:00Z")
    ledger.files = [EVIL, f"{EVIL}/"]
    ledger.usage = {"total": 3, "byTool": {EVIL: 1}, "byUser": {EVIL: 2}}
    return ledger


CELLS = [
    "%jobs tools",
    "%jobs tool fold",
    "%jobs tool folt",
    "%jobs list",
    "%jobs list --batch b --scores",
    "%jobs show ends",
    "%jobs show done",
    "%jobs show b",
    "%jobs show p",
    "%jobs show donne",
    "%jobs watch ends",
    "%jobs watch b",
    "%jobs watch p",
    "%jobs results ends",
    "%jobs results done --to out",
    "%jobs results done --to out --frame",
    "%jobs results b",
    "%jobs files --folders",
    "%jobs usage",
    "%jobs submit fold --name new --set sequence=A",
    "%jobs submit fold --name done --set sequence=A",
    "%jobs stop done",
    "%jobs delete done --preview",
    "%jobs status",
]


def test_hostile_text_is_inert_in_every_output(
    evil: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LABEXT_JOBS_BASE_URL", evil.url)
    monkeypatch.setenv("LABEXT_JOBS_API_KEY", "a key")
    evil.fail("submit-job", evil.answer(500, EVIL, "text/plain"))
    evil.fail("stop-job", evil.answer(200, {"message": EVIL}))
    whole = "import pandas as pd\npd.set_option('display.max_colwidth', None)"
    sources = [f"%load_ext labext\n{whole}", *CELLS]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in sources])
    paths = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=120, resources=paths, allow_errors=True).execute()
    hostile_outputs = 0
    for cell in notebook.cells[1:]:
        assert cell.outputs, cell.source
        for output in cell.outputs:
            check(output)
            assert not output.get("ename", "Error").endswith(
                ("TypeError", "ValueError", "KeyError")
            )
            hostile_outputs += "hacked" in str(output)
    assert hostile_outputs > 10, "the hostile texts are displayed as text"


@pytest.mark.parametrize(
    "body",
    [EVIL, json.dumps(EVIL), json.dumps({"error": EVIL}), json.dumps({"detail": {EVIL: EVIL}})],
)
@pytest.mark.parametrize("status", [400, 403, 404, 500])
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
