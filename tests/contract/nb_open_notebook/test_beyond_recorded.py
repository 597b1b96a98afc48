"""What is beyond the contract: the requests are the recorded ones, their answers whole records."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from open_notebook.facts import recordings
from open_notebook.proof import Proof, check_made, check_sent, derived, proof
from open_notebook.scripted import Script, scripted
from open_notebook.unproved import BEYOND

from labext.errors import NotFoundError
from labext.nb.beyond.records import COMMAND, COMMAND_KIND, EMBEDDING
from labext.nb.dialects.open_notebook import OpenNotebook
from labext.nb.failures import LAST_WORDS, explainer
from labext.nb.records import INSIGHT, NOTE
from labext.nb.wire import Wire
from labext.transport import Rate, Transport

JOB = "command:dsy5pdfweln1b0r7cyd3"
SOURCE, NOTE_ID = "source:tyu15omdv02ep90uauvu", "note:rh4bk8rexnua5a5c6tt3"
INSIGHT_ID, SAVED = "source_insight:u1mguh73h7yiryv7yfmx", "note:2q27qrzw7ht93giaqlvg"
NOTEBOOK, TRANSFORMATION = "notebook:bbhcqmsnz94npnt7fspo", "transformation:crmosgrkryawdq7gtwom"
TIMES = "created_at updated_at"
SETTINGS, ACTIVE = recordings()["meta.settings"], recordings()["sources.list_with_active_or_failed"]

PROOFS = (
    proof("settings", lambda d: d.settings(), "meta.settings", result=SETTINGS.answer),
    proof(
        "command_kinds",
        lambda d: d.command_kinds(),
        "meta.registry_debug",
        fields=COMMAND_KIND,
        holds={"command": "embed_note", "app": "open_notebook"},
    ),
    proof(
        "commands",
        lambda d: d.commands(None, None, None),
        "commands.jobs_list",
        derived(ACTIVE.name, query={"limit": "100", "offset": "0"}),
        derived(
            "sources.list", query={"limit": "100", "offset": str(len(ACTIVE.answer))}, answer=[]
        ),
        fields=COMMAND,
        untold="result progress",
        holds={"status": "failed", "subject": "Processing...", "command": "process_source"},
    ),
    proof(
        "command",
        lambda d: d.command(JOB),
        "commands.job",
        fields=COMMAND,
        untold=f"error_message progress {TIMES}",
        holds={"status": "completed", "subject": SOURCE, "command": "run_transformation"},
    ),
    proof("cancel_command", lambda d: d.cancel_command(JOB), "commands.cancel", result=None),
    proof(
        "new_insight",
        lambda d: d.new_insight(SOURCE, TRANSFORMATION, None),
        "insights.create_202",
        result=JOB,
    ),
    proof(
        "insight",
        lambda d: d.insight(INSIGHT_ID),
        "insights.get",
        fields=INSIGHT,
        holds={"source_id": SOURCE, "insight_type": "Shorten it"},
    ),
    proof(
        "save_insight",
        lambda d: d.save_insight(INSIGHT_ID, NOTEBOOK),
        "insights.save_as_note",
        derived(
            "notes.put",
            asks=f"PUT /api/notes/{SAVED}",
            json={"note_type": "ai"},
            answer={**recordings()["insights.save_as_note"].answer, "note_type": "ai"},
        ),
        fields=NOTE,
        holds={"note_type": "ai", "notebook_id": NOTEBOOK},
    ),
    proof(
        "embed",
        lambda d: d.embed(NOTE_ID, "note"),
        "models.defaults_after_auto",
        "embed.note_async",
        fields=EMBEDDING,
        holds={"item_id": NOTE_ID, "job_id": "command:o7e7tbpj7ivazvtlk7yo"},
    ),
    proof(
        "embed",
        lambda d: d.embed(SOURCE, "source"),
        "models.defaults_after_auto",
        "embed.source_sync",
        fields=EMBEDDING,
        schema="async_processing",  # without it too it is a command that does it
        holds={"item_type": "source"},
    ),
)


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
    proof: Proof, script: Script, wire: Wire
) -> None:
    script.plays(proof.recordings)
    result = wire.run(proof.does(OpenNotebook()))
    check_sent(proof, script.heard)
    check_made(proof, result)


def test_a_command_that_is_not_there_is_not_found(script: Script, wire: Wire) -> None:
    script.plays([recordings()["commands.job_missing"]])
    with pytest.raises(NotFoundError) as caught:
        wire.run(OpenNotebook().command("command:nope"))
    assert "`%nb commands`" in caught.value.next_step


def test_every_recording_of_it_is_used() -> None:
    used = {name for each in PROOFS for name in each.names}
    assert used | {"commands.job_missing"} >= BEYOND
