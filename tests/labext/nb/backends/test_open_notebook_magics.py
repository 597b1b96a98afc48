"""The `%nb` commands for Open Notebook's own features, and their completion."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from labext_test_shell import assert_completions, opened
from open_notebook import Replay, serving

from labext import progress
from labext.errors import LabextError

pytestmark = pytest.mark.contract

Run = Callable[[str], Any]


@pytest.fixture(scope="module")
def replay() -> Iterator[Replay]:
    with serving() as server:
        yield server


@pytest.fixture(scope="module")
def shell(replay: Replay) -> Iterator[InteractiveShell]:
    """A shell that uses a notebook with one source on the simulated server."""
    with opened() as ip:
        ip.run_cell(f"%load_ext labext\n%nb connect {replay.base_url}").raise_error()
        ip.run_cell("%nb use Growth --create").raise_error()
        ip.run_cell("%%nb source --title 'Bench notes' --sync\nThe cell grows.").raise_error()
        yield ip


@pytest.fixture
def run(shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a cell; return its value."""
    monkeypatch.setattr(progress, "interval", lambda _: 0.0)

    def run_cell(cell: str) -> Any:
        done = shell.run_cell(cell)
        done.raise_error()
        return done.result

    return run_cell


@pytest.fixture
def error_of(shell: InteractiveShell) -> Callable[[str], str]:
    """Run a cell that fails; return the one-line error."""

    def run_cell(cell: str) -> str:
        error = shell.run_cell(cell).error_in_exec
        assert isinstance(error, LabextError), (cell, error)
        assert error.next_step.endswith((".", "?"))
        return str(error)

    return run_cell


@pytest.fixture(autouse=True)
def without_fault(replay: Replay, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep the connection, and check that no ignored request was sent."""
    monkeypatch.setenv("LABEXT_NB_BASE_URL", replay.base_url)
    yield
    assert replay.faults == []


def test_settings(run, error_of, capsys):
    before = run("%nb settings")
    assert list(before.columns) == ["setting", "value"]
    after = run("%nb settings --set docling_ocr=no --set youtube_preferred_languages=en,de")
    assert "Set docling_ocr to no, youtube_preferred_languages to en,de." in capsys.readouterr().out
    assert dict(after.to_numpy())["youtube_preferred_languages"] == "en,de"
    run("%nb settings --set docling_ocr={False}")
    assert "already have these values" in capsys.readouterr().out
    assert "set twice" in error_of("%nb settings --set docling_ocr=no --set docling_ocr=yes")


def test_insights(run, error_of, capsys):
    created = run('%nb insights new "Simple Summary" --source "Bench notes"')
    assert list(created["insight_type"]) == ["Simple Summary"]
    insights = run("%nb insights")
    assert set(created["id"]) <= set(insights["id"])
    assert list(run("%nb insights --source 'Bench notes'")["id"]) == list(insights["id"])
    assert "Keep one of them" in error_of("%nb insights --all --notebook Growth")
    insight = run('%nb insights show "simple summary" --source "Bench notes"')
    assert insight.title == "Simple Summary of Bench notes"
    assert insight.text == created["content"].iloc[0]

    note = run('%nb insights save "Simple Summary"')
    assert list(note["title"]) == ["Simple Summary from source Bench notes"]
    again = run('%nb insights save "Simple Summary"')
    assert list(again["id"]) == list(note["id"])
    assert "already has the note" in capsys.readouterr().out

    assert "the insight Simple Summary of Bench notes" in error_of(
        '%nb insights delete "Simple Summary"'
    )
    run('%nb insights delete "Simple Summary" --preview')
    run('%nb insights delete "Simple Summary" --yes')
    assert "There is no insight" in error_of('%nb insights show "Simple Summary"')
    assert "needs --source" in error_of("%nb insights new 'Simple Summary'")


def test_vectors(run, capsys):
    assert list(run('%nb sources embed "Bench notes"')["title"]) == ["Bench notes"]
    run("%nb note Warm --title Plan\n%nb note Cold --title Next\n%nb notes embed Plan Plan Next")
    assert "Computed the vectors of Plan, Next." in capsys.readouterr().out
    done = run("%nb embeddings rebuild --mode all --no-insights")
    assert list(done["status"]) == ["completed"]
    started = run("%nb embeddings rebuild --background")
    job = started["job_id"].iloc[0]
    assert f"`%nb embeddings status {job}` shows the progress" in capsys.readouterr().out
    assert list(run(f"%nb embeddings status {job}")["job_id"]) == [job]


def test_commands(run, error_of, replay, capsys):
    rows = run("%nb commands --status completed --limit 5")
    assert "process_source" in set(rows["command"])
    assert "embed_note" in set(run("%nb commands kinds")["command"])
    assert "has no input" in error_of("%nb commands run embed_note")
    replay.state.works = False
    try:
        job = run("%nb commands run embed_note --set note_id=note:1")["job_id"].iloc[0]
        assert "This would cancel" in error_of(f"%nb commands cancel {job}")
        assert list(run(f"%nb commands cancel {job} --yes")["status"]) == ["new"]
    finally:
        replay.state.works = True
    assert f"`%nb commands wait {job}` watches it" in capsys.readouterr().out
    assert list(run(f"%nb commands wait {job}")["status"]) == ["completed"]
    assert list(run(f"%nb commands show {job}")["command"]) == ["embed_note"]


def test_source_chat_is_continued(run, error_of, replay, capsys):
    run("%%nb sources chat 'Bench notes'\nWhich strain?")
    assert 'Started the chat "Which strain?".' in capsys.readouterr().out
    run("%nb sources chat 'Bench notes' 'And then?' --model fake-chat")
    about = " --source 'Bench notes'"
    assert list(run("%nb source-chats" + about)["message_count"]) == [4]
    run("%nb sources chat 'Bench notes' 'Again?' --new")
    run("%nb sources chat 'Bench notes' 'Back?' --session 'Which strain?'")
    assert len(run("%nb source-chats show 'Which strain?'" + about)) == 6
    assert "Keep one of them" in error_of("%nb sources chat 'Bench notes' x --new --session y")
    assert "has no text" in error_of("%nb sources chat 'Bench notes'")
    assert "The line has no change" in error_of("%nb source-chats edit 'Again?'" + about)
    run("%nb source-chats edit 'Again?' --title Second" + about)
    assert "the chat" in error_of("%nb source-chats delete Second" + about).casefold()
    chats = run("%nb source-chats" + about).set_index("title")["id"]
    run(f"%nb source-chats delete Second {chats['Second']} 'Which strain?' --yes" + about)
    assert run("%nb source-chats" + about).empty
    run("%nb sources chat 'Bench notes' 'Anew?'")  # the deleted chat is not continued
    assert list(run("%nb source-chats" + about)["title"]) == ["Anew?"]


def test_completion_of_settings_insights_commands_and_chats(run, shell):
    run('%nb insights new "Simple Summary" --source "Bench notes"')
    run("%nb sources chat 'Bench notes' 'Tab?' --title Tabbed")

    assert_completions(shell, "%nb settings --set docling_o", "%nb settings --set docling_ocr=")
    assert_completions(
        shell, "%nb settings --set docling_ocr=", "%nb settings --set docling_ocr=yes"
    )
    assert_completions(
        shell,
        "%nb settings --set default_embedding_option=a",
        "%nb settings --set default_embedding_option=always",
    )
    assert_completions(shell, "%nb insights show Simple", '%nb insights show "Simple Summary"')
    assert_completions(shell, "%nb commands run process", "%nb commands run process_source")
    assert_completions(shell, "%nb commands --status comp", "%nb commands --status completed")
    assert_completions(
        shell,
        '%nb source-chats show --source "Bench notes" Tab',
        '%nb source-chats show --source "Bench notes" Tabbed',
    )
    job = run("%nb commands")["job_id"].iloc[0]
    assert_completions(shell, "%nb commands show command:", f"%nb commands show {job}")
