"""What the dialect sends to Open Notebook is what was recorded, and its answers are understood."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from open_notebook.proof import Proof, check_made, check_sent
from open_notebook.proved_knowledge import KNOWLEDGE
from open_notebook.proved_making import MAKING
from open_notebook.scripted import Script, scripted

from labext.nb.dialects import Request
from labext.nb.dialects.open_notebook import OpenNotebook
from labext.nb.failures import LAST_WORDS, explainer
from labext.nb.wire import Wire
from labext.transport import Rate, Transport

PROOFS = (*KNOWLEDGE, *MAKING)


@pytest.fixture(scope="module")
def script() -> Iterator[Script]:
    with scripted() as server:
        yield server


@pytest.fixture(scope="module")
def wire(script: Script) -> Iterator[Wire]:
    transport = Transport(
        script.base_url,
        auth=None,
        rate=Rate(None),
        explain=explainer(has_password=False),
        last_words=LAST_WORDS,
        attempts=1,
        service="notebook service",
    )
    with transport:
        yield Wire(transport)


@pytest.mark.parametrize("proof", PROOFS, ids=str)
def test_the_request_is_the_recorded_one_and_its_answer_a_whole_record(
    proof: Proof, script: Script, wire: Wire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if proof.method == "add_file":
        monkeypatch.chdir(tmp_path)
        folder = tmp_path / "FOLDER"
        folder.mkdir()
        (folder / str(proof.recordings[-1].files["file"][0])).write_text("text")
    script.plays(proof.recordings)
    result = outcome(proof, wire, tmp_path)
    check_sent(proof, script.heard)
    check_made(proof, result)


def outcome(proof: Proof, wire: Wire, folder: Path) -> Any:
    """What comes of a call: a record; of a file the size, of a stream its request's events."""
    steps = proof.does(OpenNotebook())
    asked = steps if isinstance(steps, Request) else wire.run(steps)
    if not isinstance(asked, Request):
        return asked
    if proof.recordings[-1].events:
        return [OpenNotebook().heard(each, "?") for each in wire.events(asked, 10)]
    return wire.download(asked, folder / "file").stat().st_size
