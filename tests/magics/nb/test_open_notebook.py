"""Behaviour of Open Notebook that `%nb` explains or hides."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from labext_test_shell import SET_MODELS

from labext import config
from labext.errors import (
    ConflictError,
    InputError,
    JobFailedError,
    SetupError,
    TransferInterrupted,
    WatchInterrupted,
)
from labext.nb import polling

pytestmark = pytest.mark.contract


@pytest.fixture
def shell(unconnected_shell: InteractiveShell) -> InteractiveShell:
    return unconnected_shell


def test_backend_is_detected_and_can_be_chosen(open_notebook_server, run, refused):
    status = run("%nb status")["value"]
    assert list(status[["backend", "version", "database"]]) == ["open-notebook", "1.14.0", "online"]
    run(f"%nb connect {open_notebook_server.base_url} --backend open-notebook --save home")
    assert config.connection("nb", "home").options["backend"] == "open-notebook"
    run("%nb connect home")
    assert run("%nb status")["value"]["backend"] == "open-notebook"
    run("%nb connect home --backend contract")
    assert run("%nb status")["value"]["backend"] == "contract"
    assert config.connection("nb", "home").options["backend"] == "open-notebook"
    run("%nb connect home")
    assert run("%nb status")["value"]["backend"] == "open-notebook"
    refused("%nb connect home --backend klingon", InputError)


BAD = {
    "%nb podcast --name E --profile solo_expert": (SetupError, "--outline-model fake-chat"),
    f"{SET_MODELS}%nb podcast --name E --profile solo_expert --speakers solo_expert,tech_experts": (
        InputError,
        "--speakers PROFILE",
    ),
    "%nb profiles new p --speakers solo_expert,tech_experts": (InputError, "--speakers PROFILE"),
    "%nb models defaults --set podcast=fake-chat": (InputError, "%nb profiles edit"),
    "%nb models defaults --set summary=fake-chat": (InputError, "--set transformation=fake-chat"),
    "%nb models defaults --clear podcast": (InputError, "%nb profiles edit"),
    "%nb models defaults --clear chat": (InputError, "--set chat=NAME"),
    "%nb chat": (InputError, "%nb chat"),
}


def test_unsupported_operation_is_refused_before_any_work(open_notebook_server, refused):
    for line, (kind, step) in BAD.items():
        error = refused(line, kind)
        assert step in error.next_step, line
    assert not open_notebook_server.sent("POST", "/podcasts/generate")


def test_new_profiles_get_default_models_and_distinct_voices(open_notebook_server, run, refused):
    chat, voice = (
        open_notebook_server.state.defaults[f"default_{s}_model"]
        for s in ("chat", "text_to_speech")
    )
    for _ in range(2):  # the second time both are kept
        run("%%nb profiles new pair\n- {name: Alex}\n- {name: Robin, voice_id: nova}")
        run("%nb profiles new brief --speakers pair --segments 3")
    episode = next(
        e for e in open_notebook_server.state.episode_profiles.values() if e["name"] == "brief"
    )
    assert (episode["outline_llm"], episode["transcript_llm"]) == (chat, chat)
    pair = next(
        e for e in open_notebook_server.state.speaker_profiles.values() if e["name"] == "pair"
    )
    assert pair["voice_model"] == voice
    assert [speaker["voice_id"] for speaker in pair["speakers"]] == ["onyx", "nova"]
    open_notebook_server.state.models[str(voice)]["provider"] = "elevenlabs"
    assert "has no voice" in refused("%nb profiles new solo --speaker Ada").message


@pytest.mark.parametrize(("works", "state"), [(False, "no worker"), (True, "has stopped")])
def test_stalled_source_is_reported_and_the_watch_can_be_interrupted(
    open_notebook_server, refused, capsys, monkeypatch, sleep_by, works, state
):
    open_notebook_server.state.works, open_notebook_server.state.moves = works, False
    monkeypatch.setattr(polling, "_STALL_SECONDS", 0.2)
    left = iter(range(20))

    def sleep(seconds: float, sleep: Callable[[float], None] = time.sleep) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt
        sleep(seconds)

    sleep_by(sleep)
    error = refused("%nb add data/protocol.docx --wait", WatchInterrupted)
    (identifier,) = open_notebook_server.state.sources
    assert f"`%nb sources wait {identifier}` resumes" in error.next_step
    output_value = capsys.readouterr().out
    assert state in output_value
    assert "Interrupting stops only the watch" in output_value


def test_text_cell_shows_progress_and_handles_an_interrupt(
    open_notebook_server, interrupted, refused, capsys
):
    open_notebook_server.state.works = False
    error = refused("%%nb source --title Bench\nThe cell grows.", WatchInterrupted)
    assert "continues" in error.message
    assert "%nb sources wait" in error.next_step
    assert "Bench: In Queue" in capsys.readouterr().out
    (sent,) = open_notebook_server.sent("POST", "/sources/json")
    assert sent.body["async_processing"] is True


@pytest.mark.parametrize(
    ("line", "method", "expected"),
    [
        ("%%nb source --title Bench\nText.", "sources.Sources.add_text", "may still be processed"),
        ("%nb search arabinose", "search.SearchResource.search", "The search was interrupted."),
        ("%%nb chat\nAnd then?", "chat.Chat.execute", "shows whether the message was stored"),
        ("%nb ask 'And then?' --simple", "client.NotebookClient.ask", "Ask again."),
        (
            "%nb add data/paper.pdf --notebook Other --title 'A paper'",
            "sources.Sources.add_file",
            "`%nb add data/paper.pdf --notebook Other --title 'A paper'` continues",
        ),
        (
            "%nb add data/*.pdf refs.bib --topic x --wait",
            "sources.Sources.add",
            "`%nb add data/*.pdf refs.bib --topic x --wait` continues",
        ),
        (
            "%nb sources download protocol.docx --to out/",
            "sources.Sources.download",
            "`%nb sources download protocol.docx --to out/` continues",
        ),
    ],
)
def test_interrupted_request_is_one_line(
    open_notebook_server, run, refused, monkeypatch, tmp_path, line, method, expected
):
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    (tmp_path / "refs.bib").write_text("@book{one, title={Induction}, year={2001}}")
    run("%nb add data/protocol.docx\n%nb new Other\n%nb use Here")
    monkeypatch.setattr(f"labext.nb.{method}", interrupt)
    error = refused(line, WatchInterrupted | TransferInterrupted)
    assert expected in str(error)
    assert ("may still be processed" in error.message) is line.startswith(("%nb add", "%%nb so"))


def test_refused_files_are_named_after_the_others_are_added(
    open_notebook_server, refused, run, tmp_path
):
    for name in ("a.bin", "b.md", "c.html", "d.md"):
        (tmp_path / name).write_text(f"{name} is about arabinose.")
    error = refused("%nb add *.bin *.html *.md --wait", InputError)
    assert "2 of 4 were added" in error.message
    assert "a.bin" in error.message
    assert "c.html" in error.message
    assert "%%nb source --title TITLE" in error.next_step
    sources = run("%nb sources --order-by title:asc")
    assert list(sources["title"]) == ["b.md", "d.md"]
    assert set(sources["status"]) == {"completed"}
    error = refused("%nb add a.bin c.html --wait")
    assert "a.bin" in error.message
    assert "c.html" in error.message


def test_refused_files_are_named_too_if_another_source_fails(
    open_notebook_server, refused, tmp_path, capsys
):
    (tmp_path / "a.bin").write_text("binary")
    refused("%nb add a.bin http://127.0.0.1:9/none --wait", JobFailedError)
    assert "a.bin" in capsys.readouterr().out


def test_file_without_original_is_matched_by_name_only(open_notebook_server, printed, tmp_path):
    file = tmp_path / "plan.txt"
    for content in ("Vary arabinose.", "Vary arabinose, then glucose."):
        file.write_text(content)
        message = printed(f"%nb add {file}")
        open_notebook_server.state.files.clear()
    assert "already in Here; kept" in message
    assert "only its name was compared" in message
    assert len(open_notebook_server.sent("POST", "/sources")) == 1


def test_renamed_file_with_a_title_is_added_once(open_notebook_server, run, printed, tmp_path):
    (tmp_path / "plan.txt").write_text("Vary arabinose.")
    run("%nb use Elsewhere --create\n%nb add plan.txt --wait\n%nb use Here")
    for _ in range(3):
        message = printed("%nb add plan.txt --title 'The plan' --wait")
    assert "plan.txt is already in Here; kept" in message
    assert list(run("%nb sources")["file_name"]) == ["plan (1).txt"]
    (tmp_path / "plan.txt").write_text("Vary glucose.")
    assert len(run("%nb add plan.txt --wait")) == 1
    assert len(run("%nb sources")) == 2, "another file"


def test_context_size_is_shown_before_sending(open_notebook_server, run, capsys, monkeypatch):
    from labext_magics.core import output

    sent: list[tuple[str, int]] = []
    say = output.print_message

    def noted(text: str) -> None:
        sent.append((text, len(open_notebook_server.sent("POST", "/chat/execute"))))
        say(text)

    monkeypatch.setattr(output, "print_message", noted)
    run("%%nb note --title Plan\nVary the arabinose first.")
    run("%%nb chat\nWhat should I vary first?")
    (size,) = [status for status in sent if "tokens of sources and notes are sent" in status[0]]
    assert size[1] == 0
    (status,) = open_notebook_server.sent("POST", "/chat/execute")
    assert status.body["context"]["notes"]


def test_failed_episode_is_recreated_under_its_name(open_notebook_server, run, refused):
    run(SET_MODELS + "%nb profiles edit solo_expert --voice-model fail-tts")
    run("%%nb note --title Plan\nVary the arabinose first.")
    line = "%nb podcast --name 'Episode 1' --profile solo_expert"
    for _ in range(2):
        error = refused(line, JobFailedError)
        assert "Failed to generate speech" in error.message
        assert '`%nb episodes retry "Episode 1"`' in error.next_step
    assert len(open_notebook_server.sent("POST", "/podcasts/generate")) == 1
    run("%nb profiles edit solo_expert --voice-model fake-tts")
    assert run("%nb episodes retry 'Episode 1'")["job_status"].item() == "completed"
    assert list(run("%nb episodes")["name"]) == ["Episode 1"]
    assert run("%nb episodes --notebook Here").empty


@pytest.mark.parametrize(
    ("status", "printed_text", "step"),
    [("running", "running", "wait"), ("completed", "complete", "delete")],
)
def test_retry_of_a_successful_episode_has_a_next_step(
    open_notebook_server, run, refused, status, printed_text, step
):
    run(SET_MODELS)
    run("%%nb note --title Plan\nVary the arabinose first.")
    run("%nb podcast --name One --profile solo_expert")
    next(iter(open_notebook_server.state.episodes.values()))["job_status"] = status
    error = refused("%nb episodes retry One", ConflictError)
    assert f"it is {printed_text}." in error.message
    assert f"`%nb episodes {step} One" in error.next_step
    assert "`%nb episodes delete One --yes`" in error.next_step


@pytest.mark.parametrize(
    ("options", "briefing"),
    [
        ("", "Discuss the main points of the content."),
        ("--description 'an interview'", "an interview"),
        ("--briefing 'Be brief.'", ""),
    ],
)
def test_episode_gets_a_briefing_without_one_in_its_profile(
    open_notebook_server, run, options, briefing
):
    for profile in open_notebook_server.state.speaker_profiles.values():
        profile["voice_model"] = open_notebook_server.state.defaults["default_text_to_speech_model"]
    run(f"%nb profiles new short --speakers solo_expert --segments 3 {options}")
    run("%nb note --title Plan 'Vary the arabinose first.'")
    run("%nb podcast --name One --profile short")
    assert list(run("%nb episodes")["job_status"]) == ["completed"]
    (sent,) = open_notebook_server.sent("POST", "/podcasts/generate")
    assert sent.body.get("briefing_suffix", "") == briefing
