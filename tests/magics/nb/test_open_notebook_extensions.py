"""The `%nb` commands for Open Notebook's own features, and their completion."""

from __future__ import annotations

from typing import Any

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


def bodies(replay: Replay, method: str, path: str) -> list[Any]:
    return [request.body for request in replay.sent(method, path)]


def test_settings(run, refused, capsys):
    before = run("%nb settings")
    assert list(before.columns) == ["setting", "value"]
    after = run("%nb settings --set docling_ocr=no --set youtube_preferred_languages=en,de")
    assert "Set docling_ocr to no, youtube_preferred_languages to en,de." in capsys.readouterr().out
    assert dict(after.to_numpy())["youtube_preferred_languages"] == "en,de"
    run("%nb settings --set docling_ocr={False}")
    assert "already have these values" in capsys.readouterr().out
    assert "set twice" in str(refused("%nb settings --set docling_ocr=no --set docling_ocr=yes"))


def test_insights(run, refused, replay, shell, capsys):
    created = run('%nb insights new "Simple Summary" --source "Bench notes"')
    assert list(created["insight_type"]) == ["Simple Summary"]
    run("%%nb source --title 'Other notes' --sync\nThe cell divides.")
    other = run('%nb insights new "Simple Summary" --source "Other notes" --model fake-chat')
    source_ids = [insights["source_id"].item() for insights in (created, other)]
    paths = [f"/sources/{source_id}/insights" for source_id in source_ids]
    (plain,), (with_model,) = (bodies(replay, "POST", path) for path in paths)
    models = run("%nb models").set_index("name")
    assert with_model == plain | {"model_id": models.loc["fake-chat", "id"]}
    identifiers = [created["id"].item(), other["id"].item()]  # their type is not informative
    show = "%nb insights show"
    lines = [f"{show} {identifier}" for identifier in identifiers]
    assert_completions(shell, f"{show} source_insight", *lines)
    run(f"%nb insights delete {identifiers[1]} --yes")
    insights = run("%nb insights")
    assert set(created["id"]) <= set(insights["id"])
    of_source = insights[insights["source_id"] == created["source_id"].item()]
    assert list(run("%nb insights --source 'Bench notes'")["id"]) == list(of_source["id"])
    assert "Keep one of them" in str(refused("%nb insights --all --notebook Here"))
    insight = run('%nb insights show "simple summary" --source "Bench notes"')
    assert insight.title == "Simple Summary of Bench notes"
    assert insight.text == created["content"].iloc[0]

    note = run('%nb insights save "Simple Summary"')
    assert list(note["title"]) == ["Simple Summary from source Bench notes"]
    assert list(note["note_type"]) == ["ai"]  # which the server does not state
    assert list(note["content"]) == list(created["content"])
    again = run('%nb insights save "Simple Summary"')
    assert list(again["id"]) == list(note["id"])
    assert "already has the note" in capsys.readouterr().out

    assert "the insight Simple Summary of Bench notes" in str(
        refused('%nb insights delete "Simple Summary"')
    )
    run('%nb insights delete "Simple Summary" --preview')
    run('%nb insights delete "Simple Summary" --yes')
    assert "There is no insight" in str(refused('%nb insights show "Simple Summary"'))
    assert refused(f"%nb insights show {identifiers[0]}").next_step == "See `%nb insights --all`."
    assert "needs --source" in str(refused("%nb insights new 'Simple Summary'"))


def test_insight_that_a_source_has_is_kept(run, replay, capsys):
    line = '%nb insights new "Simple Summary" --source "Bench notes"'
    created, again = run(line), run(line)
    assert list(again["id"]) == list(created["id"])
    offered = f"`%nb insights delete {created['id'].item()} --yes`"
    assert f"already exists and was kept; to generate it again, first run {offered}." in (
        capsys.readouterr().out
    )
    run(offered.strip("`"))
    assert list(run(line)["id"]) != list(created["id"])
    assert len(bodies(replay, "POST", f"/sources/{created['source_id'].item()}/insights")) == 2


def test_vectors(run, refused, replay, capsys):
    source = run('%nb sources embed "Bench notes"')
    assert list(source["title"]) == ["Bench notes"]
    run("%nb note Warm --title Plan\n%nb note Cold --title Next\n%nb notes embed Plan Plan Next")
    assert "Computed the vectors of Plan, Next." in capsys.readouterr().out
    items = [*source["id"], *run("%nb notes").set_index("title").loc[["Plan", "Next"], "id"]]
    assert bodies(replay, "POST", "/embed") == [
        {"item_id": item, "item_type": item.partition(":")[0], "async_processing": True}
        for item in items
    ]
    done = run("%nb embeddings rebuild --mode all --no-insights")
    assert bodies(replay, "POST", "/embeddings/rebuild") == [
        {"mode": "all", "include_sources": True, "include_notes": True, "include_insights": False}
    ]
    assert list(done["status"]) == ["completed"]
    assert list(done["processed"]) == [3]
    started = run("%nb embeddings rebuild --background")
    assert started["completed_at"].isna().all()
    job = started["job_id"].iloc[0]
    assert f"`%nb embeddings status {job}` shows the progress" in capsys.readouterr().out
    assert list(run(f"%nb embeddings status {job}")["job_id"]) == [job]
    excluded = "--no-sources --no-notes --no-insights"
    assert "all excluded" in str(refused(f"%nb embeddings rebuild {excluded}"))


def test_commands(run, refused, replay, capsys):
    rows = run("%nb commands --status completed --limit 5")
    assert rows[["command", "subject"]].iloc[0].tolist() == ["process_source", "Bench notes"]
    assert run("%nb commands --status failed").empty
    assert run("%nb commands --command embed_note").empty
    assert "embed_note" in set(run("%nb commands kinds")["command"])
    assert "has no input" in str(refused("%nb commands run embed_note"))
    for line in ("embed_not", "embed_not --set note_id=note:1"):
        assert "did you mean" in str(refused(f"%nb commands run {line}"))
    assert "not the identifier of a command" in str(refused("%nb commands show source:1"))
    replay.state.works = False
    try:
        job = run("%nb commands run embed_note --set note_id=note:1")["job_id"].iloc[0]
        assert bodies(replay, "POST", "/commands/jobs") == [
            {"command": "embed_note", "app": "open_notebook", "input": {"note_id": "note:1"}}
        ]
        assert "This would cancel" in str(refused(f"%nb commands cancel {job}"))
        assert list(run(f"%nb commands cancel {job} --yes")["status"]) == ["new"]
    finally:
        replay.state.works = True
    assert f"`%nb commands wait {job}` watches it" in capsys.readouterr().out
    assert list(run(f"%nb commands wait {job}")["status"]) == ["completed"]
    assert list(run(f"%nb commands show {job}")["command"]) == ["embed_note"]
    assert "has ended already" in str(refused(f"%nb commands cancel {job} --yes"))
    assert len(replay.sent("DELETE", f"/commands/jobs/{job}")) == 1


def test_source_chat_is_continued(run, refused, replay, capsys):
    run("%%nb sources chat 'Bench notes'\nWhich strain?")
    assert 'Started the chat "Which strain?".' in capsys.readouterr().out
    reply = run("%nb sources chat 'Bench notes' 'And then?' --model fake-chat")
    assert "'And then?'" in reply.text  # preceded by the previous reply again
    about = " --source 'Bench notes'"
    chats = run("%nb source-chats" + about)
    assert list(chats["message_count"]) == [4]
    source, chat = chats[["source_id", "id"]].iloc[0]
    assert [(cited.id, cited.title) for cited in reply.citations] == [(source, "Bench notes")]
    first, second = bodies(replay, "POST", f"/sources/{source}/chat/sessions/{chat}/messages")
    assert first == {"message": "Which strain?"}
    assert second.keys() == {"message", "model_override"}
    error = refused("%nb sources chat 'Bench notes' x --model fail-chat")
    assert "The reply failed: The AI provider is temporarily" in error.message
    run("%nb sources chat 'Bench notes' 'Again?' --new")
    run("%nb sources chat 'Bench notes' 'Back?' --session 'Which strain?'")
    assert len(run("%nb source-chats show 'Which strain?'" + about)) == 6
    assert "Keep one of them" in str(refused("%nb sources chat 'Bench notes' x --new --session y"))
    assert "has no text" in str(refused("%nb sources chat 'Bench notes'"))
    assert "The line has no change" in str(refused("%nb source-chats edit 'Again?'" + about))
    assert list(run("%nb source-chats edit 'Again?' --title Second" + about)["title"]) == ["Second"]
    assert "no source chat" in str(refused("%nb source-chats show 'Again?'" + about))
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
