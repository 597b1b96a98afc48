"""The Open Notebook backend sends the recorded requests and parses the recorded responses."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
from open_notebook.facts import recordings
from open_notebook.proof import Proof, check_result, check_sent
from open_notebook.proved import PROOFS
from open_notebook.unproved import NEVER_REQUESTED, UNRECORDED, UNUSED

from labext.nb.backends import RecordParser, Request, RequestExecutor
from labext.nb.backends.open_notebook import OpenNotebookBackend
from labext.nb.records import MessageContext

pytestmark = pytest.mark.contract


@pytest.mark.parametrize("proof", PROOFS, ids=str)
def test_request_equals_the_recorded_one(proof, script, wire, tmp_path, monkeypatch):
    if proof.method == "add_file":
        monkeypatch.chdir(tmp_path)
        folder = tmp_path / "FOLDER"
        folder.mkdir()
        (folder / str(proof.recordings[-1].files["file"][0])).write_text("text")
    script.load(proof.recordings)
    result = outcome(proof, wire, tmp_path)
    check_sent(proof, script.received)
    check_result(proof, result)


def outcome(proof: Proof, wire: RequestExecutor, folder: Path) -> Any:
    """Return the result of a call: a record, the size of a file, or the request's events."""
    steps = proof.call(OpenNotebookBackend())
    request = steps if isinstance(steps, Request) else wire.run(steps)
    if not isinstance(request, Request):
        return request
    if proof.recordings[-1].events:
        return [OpenNotebookBackend().parse_event(event, "?") for event in wire.events(request, 10)]
    return wire.download(request, folder / "file").stat().st_size


def test_every_recording_is_used():
    used = {name for proof in PROOFS for name in proof.names}
    rejections = {recording.name for recording in recordings().values() if recording.status >= 400}
    streams = {name for name in recordings() if name.startswith("search.ask_sse")}
    assert used | rejections | streams | set(UNUSED) == set(recordings())
    assert not set(UNUSED) & (used | streams)
    assert set(NEVER_REQUESTED) <= rejections


def test_every_method_has_a_proof_or_is_listed_as_unrecorded():
    proved = {proof.method for proof in PROOFS}
    methods = {
        name
        for name, _ in inspect.getmembers(OpenNotebookBackend, inspect.isfunction)
        if not name.startswith(("_", "parse_")) and name not in vars(RecordParser)
    }
    assert proved | set(UNRECORDED) == methods
    assert not proved & set(UNRECORDED)


@pytest.mark.parametrize("in_context", [True, False])
def test_citations_are_limited_to_the_context(in_context):
    """A reply marks identifiers of its context; models invent identifiers too."""
    recording = recordings()["chat.execute"]
    context = recording.json["context"] if in_context else {}
    steps = OpenNotebookBackend().execute("chat_session:x", "?", MessageContext(context), None)
    next(steps)
    with pytest.raises(StopIteration) as ended:
        steps.send(recording.answer)
    cited = [citation.id for citation in ended.value.value.citations]
    marked = ["note:rh4bk8rexnua5a5c6tt3", "source:iv8t6jwqw9lo4amjyr0f"]
    assert cited == ([*marked, "source:tyu15omdv02ep90uauvu"] if context else [])
