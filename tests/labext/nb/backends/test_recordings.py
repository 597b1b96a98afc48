"""What the backend sends to Open Notebook is what was recorded, and its answers are understood."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
from open_notebook.facts import recordings
from open_notebook.proof import Proof, check_made, check_sent
from open_notebook.proved import PROOFS
from open_notebook.unproved import NEVER_ASKED, UNRECORDED, UNUSED

from labext.nb.backends import RecordParser, Request, RequestExecutor
from labext.nb.backends.open_notebook import OpenNotebookBackend
from labext.nb.records import MessageContext

pytestmark = pytest.mark.contract


@pytest.mark.parametrize("proof", PROOFS, ids=str)
def test_the_request_is_the_recorded_one_and_its_answer_a_whole_record(
    proof, script, wire, tmp_path, monkeypatch
):
    if proof.method == "add_file":
        monkeypatch.chdir(tmp_path)
        folder = tmp_path / "FOLDER"
        folder.mkdir()
        (folder / str(proof.recordings[-1].files["file"][0])).write_text("text")
    script.plays(proof.recordings)
    result = outcome(proof, wire, tmp_path)
    check_sent(proof, script.heard)
    check_made(proof, result)


def outcome(proof: Proof, wire: RequestExecutor, folder: Path) -> Any:
    """What comes of a call: a record; of a file the size, of a stream its request's events."""
    steps = proof.does(OpenNotebookBackend())
    asked = steps if isinstance(steps, Request) else wire.run(steps)
    if not isinstance(asked, Request):
        return asked
    if proof.recordings[-1].events:
        return [OpenNotebookBackend().parse_event(each, "?") for each in wire.events(asked, 10)]
    return wire.download(asked, folder / "file").stat().st_size


def test_no_recording_is_unaccounted_for():
    used = {name for proof in PROOFS for name in proof.names}
    refusals = {told.name for told in recordings().values() if told.status >= 400}
    streams = {name for name in recordings() if name.startswith("search.ask_sse")}
    assert used | refusals | streams | set(UNUSED) == set(recordings())
    assert not set(UNUSED) & (used | streams)
    assert set(NEVER_ASKED) <= refusals


def test_every_method_is_proved_or_said_to_be_unrecorded():
    proved = {proof.method for proof in PROOFS}
    methods = {
        name
        for name, _ in inspect.getmembers(OpenNotebookBackend, inspect.isfunction)
        if not name.startswith(("_", "parse_")) and name not in vars(RecordParser)
    }
    assert proved | set(UNRECORDED) == methods
    assert not proved & set(UNRECORDED)


@pytest.mark.parametrize("given", [True, False])
def test_the_cited_marks_are_those_that_were_given(given):
    """A reply marks what it was given; a model makes up identifiers too."""
    told = recordings()["chat.execute"]
    context = told.json["context"] if given else {}
    steps = OpenNotebookBackend().execute("chat_session:x", "?", MessageContext(context), None)
    next(steps)
    with pytest.raises(StopIteration) as ended:
        steps.send(told.answer)
    cited = [each.id for each in ended.value.value.citations]
    marked = ["note:rh4bk8rexnua5a5c6tt3", "source:iv8t6jwqw9lo4amjyr0f"]
    assert cited == ([*marked, "source:tyu15omdv02ep90uauvu"] if context else [])
