"""The `%nb` commands for Open Notebook's own features, and their completion."""

from __future__ import annotations

import pytest
from IPython.core.interactiveshell import InteractiveShell
from labext_test_shell import assert_completions
from open_notebook import Replay

pytestmark = pytest.mark.contract


@pytest.fixture
def shell(unconnected_shell: InteractiveShell) -> InteractiveShell:
    return unconnected_shell


@pytest.fixture(autouse=True)
def replay(open_notebook_server: Replay, run) -> Replay:
    """The simulated server, with a source in the notebook in use."""
    run("%%nb source --title 'Bench notes' --sync\nThe cell grows.")
    return open_notebook_server


def test_settings(run, refused, capsys):
    before = run("%nb settings")
    assert list(before.columns) == ["setting", "value"]
    after = run("%nb settings --set docling_ocr=no --set youtube_preferred_languages=en,de")
    assert "Set docling_ocr to no, youtube_preferred_languages to en,de." in capsys.readouterr().out
    assert dict(after.to_numpy())["youtube_preferred_languages"] == "en,de"
    run("%nb settings --set docling_ocr={False}")
    assert "already have these values" in capsys.readouterr().out
    assert "set twice" in str(refused("%nb settings --set docling_ocr=no --set docling_ocr=yes"))


def test_insights(run, refused, capsys):
    created = run('%nb insights new "Simple Summary" --source "Bench notes"')
    assert list(created["insight_type"]) == ["Simple Summary"]
    insights = run("%nb insights")
    assert set(created["id"]) <= set(insights["id"])
    assert list(run("%nb insights --source 'Bench notes'")["id"]) == list(insights["id"])
    assert "Keep one of them" in str(refused("%nb insights --all --notebook Here"))
    insight = run('%nb insights show "simple summary" --source "Bench notes"')
    assert insight.title == "Simple Summary of Bench notes"
    assert insight.text == created["content"].iloc[0]

    note = run('%nb insights save "Simple Summary"')
    assert list(note["title"]) == ["Simple Summary from source Bench notes"]
    again = run('%nb insights save "Simple Summary"')
    assert list(again["id"]) == list(note["id"])
    assert "already has the note" in capsys.readouterr().out

    assert "the insight Simple Summary of Bench notes" in str(
        refused('%nb insights delete "Simple Summary"')
    )
    run('%nb insights delete "Simple Summary" --preview')
    run('%nb insights delete "Simple Summary" --yes')
    assert "There is no insight" in str(refused('%nb insights show "Simple Summary"'))
    assert "needs --source" in str(refused("%nb insights new 'Simple Summary'"))


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


def test_commands(run, refused, replay, capsys):
    rows = run("%nb commands --status completed --limit 5")
    assert "process_source" in set(rows["command"])
    assert "embed_note" in set(run("%nb commands kinds")["command"])
    assert "has no input" in str(refused("%nb commands run embed_note"))
    replay.state.works = False
    try:
        job = run("%nb commands run embed_note --set note_id=note:1")["job_id"].iloc[0]
        assert "This would cancel" in str(refused(f"%nb commands cancel {job}"))
        assert list(run(f"%nb commands cancel {job} --yes")["status"]) == ["new"]
    finally:
        replay.state.works = True
    assert f"`%nb commands wait {job}` watches it" in capsys.readouterr().out
    assert list(run(f"%nb commands wait {job}")["status"]) == ["completed"]
    assert list(run(f"%nb commands show {job}")["command"]) == ["embed_note"]


def test_source_chat_is_continued(run, refused, replay, capsys):
    run("%%nb sources chat 'Bench notes'\nWhich strain?")
    assert 'Started the chat "Which strain?".' in capsys.readouterr().out
    run("%nb sources chat 'Bench notes' 'And then?' --model fake-chat")
    about = " --source 'Bench notes'"
    assert list(run("%nb source-chats" + about)["message_count"]) == [4]
    run("%nb sources chat 'Bench notes' 'Again?' --new")
    run("%nb sources chat 'Bench notes' 'Back?' --session 'Which strain?'")
    assert len(run("%nb source-chats show 'Which strain?'" + about)) == 6
    assert "Keep one of them" in str(refused("%nb sources chat 'Bench notes' x --new --session y"))
    assert "has no text" in str(refused("%nb sources chat 'Bench notes'"))
    assert "The line has no change" in str(refused("%nb source-chats edit 'Again?'" + about))
    run("%nb source-chats edit 'Again?' --title Second" + about)
    assert "the chat" in str(refused("%nb source-chats delete Second" + about)).casefold()
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
