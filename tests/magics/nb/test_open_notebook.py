"""Open Notebook's manners: what a user of `%nb` is told of them, and is spared."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from open_notebook import Replay, serving

from labext import config
from labext.errors import (
    ConflictError,
    InputError,
    JobFailedError,
    LabextError,
    SetupError,
    WatchInterrupted,
)
from labext.nb import polling

pytestmark = pytest.mark.contract

Run = Callable[[str], Any]
Said = Callable[[str], str]
Refused = Callable[[str], LabextError]

MODELS = """
%nb profiles edit solo_expert --outline-model fake-chat --transcript-model fake-chat
%nb profiles edit solo_expert --voice-model fake-tts
%nb profiles edit tech_experts --voice-model fake-tts
%nb profiles edit business_panel --voice-model fake-tts
"""


@pytest.fixture
def server(shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch) -> Iterator[Replay]:
    """Open Notebook with a notebook in use; nothing that it would ignore may be sent to it."""
    monkeypatch.setattr("labext.progress.interval", lambda _: 0.05)
    monkeypatch.setattr("labext.nb.polling.interval", lambda _: 0.05)
    with serving() as replay:
        shell.run_cell(f"%nb connect {replay.base_url}\n%nb use Here --create").raise_error()
        yield replay
        assert not replay.faults


def test_the_kind_of_server_is_told_and_can_be_said(
    server: Replay, run: Run, refused: Refused
) -> None:
    told = run("%nb status")["value"]
    assert list(told[["backend", "version", "database"]]) == [
        "open-notebook",
        "1.14.0",
        "online",
    ]
    run(f"%nb connect {server.base_url} --backend open-notebook --save home")
    assert config.connection("nb", "home").options["backend"] == "open-notebook"
    run("%nb connect home")
    assert run("%nb status")["value"]["backend"] == "open-notebook"
    run("%nb connect home --backend contract")
    assert run("%nb status")["value"]["backend"] == "contract"
    assert config.connection("nb", "home").options["backend"] == "open-notebook"
    run("%nb connect home")
    assert run("%nb status")["value"]["backend"] == "open-notebook"
    assert isinstance(refused("%nb connect home --backend klingon"), InputError)


BAD = {
    "%nb podcast --name E --profile solo_expert": (SetupError, "--outline-model fake-chat"),
    f"{MODELS}%nb podcast --name E --profile solo_expert --speakers solo_expert,tech_experts": (
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


@pytest.mark.parametrize("line", BAD)
def test_what_it_can_not_do_is_said_before_anything_is_begun(
    server: Replay, refused: Refused, line: str
) -> None:
    kind, step = BAD[line]
    error = refused(line)
    assert isinstance(error, kind)
    assert step in error.next_step
    assert not server.sent("POST", "/podcasts/generate")


def test_new_profiles_get_the_models_of_the_slots_and_a_voice_each(
    server: Replay, run: Run, refused: Refused
) -> None:
    chat, voice = (server.state.defaults[f"default_{s}_model"] for s in ("chat", "text_to_speech"))
    for _ in range(2):  # the second time both are kept
        run("%%nb profiles new pair\n- {name: Alex}\n- {name: Robin, voice_id: nova}")
        run("%nb profiles new brief --speakers pair --segments 3")
    episode = next(e for e in server.state.episode_profiles.values() if e["name"] == "brief")
    assert (episode["outline_llm"], episode["transcript_llm"]) == (chat, chat)
    pair = next(e for e in server.state.speaker_profiles.values() if e["name"] == "pair")
    assert pair["voice_model"] == voice
    assert [each["voice_id"] for each in pair["speakers"]] == ["onyx", "nova"]
    server.state.models[str(voice)]["provider"] = "elevenlabs"
    assert "has no voice" in refused("%nb profiles new solo --speaker Ada").message


@pytest.mark.parametrize(("works", "state"), [(False, "no worker"), (True, "has stopped")])
def test_a_source_that_hangs_is_said_to_and_the_watch_can_be_left(
    server: Replay,
    refused: Refused,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    works: bool,
    state: str,
) -> None:
    server.state.works, server.state.moves = works, False
    monkeypatch.setattr(polling, "_STALL_SECONDS", 0.2)
    left = iter(range(20))

    def sleep(seconds: float, sleep: Callable[[float], None] = time.sleep) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt
        sleep(seconds)

    monkeypatch.setattr(
        "labext.nb.polling.watch_sources.__kwdefaults__", {**_kept(), "sleep": sleep}
    )
    error = refused("%nb add data/protocol.docx --wait")
    assert isinstance(error, WatchInterrupted)
    assert "%nb sources wait" in error.next_step
    told = capsys.readouterr().out
    assert state in told
    assert "Interrupting stops only the watch" in told


def _kept() -> dict[str, Any]:
    from labext.nb import polling

    return dict(polling.watch_sources.__kwdefaults__ or {})


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupt a watch of sources at its first pause."""

    def sleep(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(
        "labext.nb.polling.watch_sources.__kwdefaults__", {**_kept(), "sleep": sleep}
    )


def test_a_text_cell_shows_progress_and_an_interrupt_says_what_goes_on(
    server: Replay, interrupted: None, refused: Refused, capsys: pytest.CaptureFixture[str]
) -> None:
    server.state.works = False
    error = refused("%%nb source --title Bench\nThe cell grows.")
    assert isinstance(error, WatchInterrupted)
    assert "continues" in error.message
    assert "%nb sources wait" in error.next_step
    assert "Bench: In Queue" in capsys.readouterr().out
    (sent,) = server.sent("POST", "/sources/json")
    assert sent.body["async_processing"] is True


def test_an_interrupt_while_a_text_is_sent_is_one_line(
    server: Replay, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    def send(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("labext.nb.sources.Sources.add_text", send)
    error = refused("%%nb source --title Bench\nThe cell grows.")
    assert isinstance(error, WatchInterrupted)
    assert "may still be processed" in error.message


def test_an_interrupted_search_is_one_line(
    server: Replay, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    def send(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("labext.nb.search.SearchResource.search", send)
    assert refused("%nb search arabinose").message == "The search was interrupted."


def test_passages_are_missing_where_the_list_does_not_count_them(
    server: Replay, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "plan.txt").write_text("Vary arabinose.")
    added = run("%nb add plan.txt --wait")
    assert list(added["passages"]) == [1]
    assert run("%nb sources")["passages"].isna().all()
    assert list(run("%nb sources show plan.txt")["passages"]) == [1]


def test_a_source_that_is_not_read_yet_is_named_by_its_file_or_address(
    server: Replay, run: Run
) -> None:
    server.state.works = False
    url = "https://example.org/page"
    assert list(run(f"%nb add {url}")["title"]) == [url]
    server.state.sources.popitem()
    server.state.works = True
    run("%nb add data/protocol.docx --wait")
    (source,) = server.state.sources.values()
    source.update(title="Processing...", status="failed")
    assert list(run("%nb sources")["title"]) == ["protocol.docx"]


def test_refused_files_are_named_after_the_others_are_added_and_processed(
    server: Replay, refused: Refused, run: Run, tmp_path: Path
) -> None:
    for name in ("a.bin", "b.md", "c.html", "d.md"):
        (tmp_path / name).write_text(f"{name} is about arabinose.")
    error = refused("%nb add *.bin *.html *.md --wait")
    assert isinstance(error, InputError)
    assert "2 of 4 were added" in error.message
    assert "a.bin" in error.message
    assert "c.html" in error.message
    assert "%%nb source --title TITLE" in error.next_step
    sources = run("%nb sources --order-by title:asc")
    assert list(sources["title"]) == ["b.md", "d.md"]
    assert set(sources["status"]) == {"completed"}


def test_files_of_which_all_are_refused_are_named(
    server: Replay, refused: Refused, tmp_path: Path
) -> None:
    for name in ("a.bin", "c.html"):
        (tmp_path / name).write_text(f"{name} is about arabinose.")
    error = refused("%nb add a.bin c.html --wait")
    assert isinstance(error, InputError)
    assert "a.bin" in error.message
    assert "c.html" in error.message


def test_a_page_without_a_title_is_titled_by_its_address(server: Replay, run: Run) -> None:
    run("%nb add https://example.org/page --wait")
    (source,) = server.state.sources.values()
    source["title"] = "[no-title]"
    assert list(run("%nb sources")["title"]) == ["https://example.org/page"]


def test_refused_files_are_named_too_if_another_source_fails(
    server: Replay, refused: Refused, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.bin").write_text("binary")
    error = refused("%nb add a.bin http://127.0.0.1:9/none --wait")
    assert isinstance(error, JobFailedError)
    assert "a.bin" in capsys.readouterr().out


def test_many_files_at_once(server: Replay, run: Run, tmp_path: Path) -> None:
    for n in range(30):
        (tmp_path / f"{n:02}.md").write_text(f"File {n} is about arabinose.")
    added = run("%nb add *.md --wait")
    assert list(added["status"]) == ["completed"] * 30
    assert set(added["file_name"]) == {f"{n:02}.md" for n in range(30)}
    assert len(server.sent("POST", "/sources")) == 30


def test_a_file_whose_original_is_gone_is_said_to_be_known_by_its_name_alone(
    server: Replay, said: Said, tmp_path: Path
) -> None:
    file = tmp_path / "plan.txt"
    for content in ("Vary arabinose.", "Vary arabinose, then glucose."):
        file.write_text(content)
        told = said(f"%nb add {file}")
        server.state.files.clear()
    assert "already in Here; kept" in told
    assert "only its name was compared" in told
    assert len(server.sent("POST", "/sources")) == 1


def test_a_file_that_the_server_renamed_under_a_title_of_its_own_is_added_once(
    server: Replay, run: Run, said: Said, tmp_path: Path
) -> None:
    (tmp_path / "plan.txt").write_text("Vary arabinose.")
    run("%nb use Elsewhere --create\n%nb add plan.txt --wait\n%nb use Here")
    for _ in range(3):
        told = said("%nb add plan.txt --title 'The plan' --wait")
    assert "plan.txt is already in Here; kept" in told
    assert list(run("%nb sources")["file_name"]) == ["plan (1).txt"]
    (tmp_path / "plan.txt").write_text("Vary glucose.")
    assert len(run("%nb add plan.txt --wait")) == 1
    assert len(run("%nb sources")) == 2, "another file"


def test_how_large_the_context_is_is_said_before_it_is_sent(
    server: Replay, run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from labext_magics.core import output

    sent: list[tuple[str, int]] = []
    say = output.print_message

    def noted(text: str) -> None:
        sent.append((text, len(server.sent("POST", "/chat/execute"))))
        say(text)

    monkeypatch.setattr(output, "print_message", noted)
    run("%%nb note --title Plan\nVary the arabinose first.")
    run("%%nb chat\nWhat should I vary first?")
    (size,) = [each for each in sent if "tokens of sources and notes are sent" in each[0]]
    assert size[1] == 0
    (asked,) = server.sent("POST", "/chat/execute")
    assert asked.body["context"]["notes"]


def test_an_episode_that_fails_is_made_again_under_its_name(
    server: Replay, run: Run, refused: Refused
) -> None:
    run(MODELS + "%nb profiles edit solo_expert --voice-model fail-tts")
    run("%%nb note --title Plan\nVary the arabinose first.")
    line = "%nb podcast --name 'Episode 1' --profile solo_expert"
    for _ in range(2):
        error = refused(line)
        assert isinstance(error, JobFailedError)
        assert "Failed to generate speech" in error.message
        assert '`%nb episodes retry "Episode 1"`' in error.next_step
    assert len(server.sent("POST", "/podcasts/generate")) == 1
    run("%nb profiles edit solo_expert --voice-model fake-tts")
    assert run("%nb episodes retry 'Episode 1'")["job_status"].item() == "completed"
    assert list(run("%nb episodes")["name"]) == ["Episode 1"]
    assert run("%nb episodes --notebook Here").empty


@pytest.mark.parametrize(("status", "step"), [("running", "wait"), ("completed", "delete")])
def test_retrying_an_episode_that_has_not_failed_names_the_way_out(
    server: Replay, run: Run, refused: Refused, status: str, step: str
) -> None:
    run(MODELS)
    run("%%nb note --title Plan\nVary the arabinose first.")
    run("%nb podcast --name One --profile solo_expert")
    next(iter(server.state.episodes.values()))["job_status"] = status
    error = refused("%nb episodes retry One")
    assert isinstance(error, ConflictError)
    assert f"it is {status}" in error.message
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
def test_an_episode_has_a_briefing_also_if_its_profile_has_none(
    server: Replay, run: Run, options: str, briefing: str
) -> None:
    for profile in server.state.speaker_profiles.values():
        profile["voice_model"] = server.state.defaults["default_text_to_speech_model"]
    run(f"%nb profiles new short --speakers solo_expert --segments 3 {options}")
    run("%nb note --title Plan 'Vary the arabinose first.'")
    run("%nb podcast --name One --profile short")
    assert list(run("%nb episodes")["job_status"]) == ["completed"]
    (sent,) = server.sent("POST", "/podcasts/generate")
    assert sent.body.get("briefing_suffix", "") == briefing
