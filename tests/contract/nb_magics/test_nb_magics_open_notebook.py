"""Open Notebook's manners: what a user of `%nb` is told of them, and is spared."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from labext import config
from labext.errors import InputError, JobFailedError, LabextError, SetupError, WatchInterrupted
from labext.nb import stillness

sys.path.insert(0, str(Path(__file__).parents[2]))  # tests/
from open_notebook import Replay, serving

Run = Callable[[str], Any]
Said = Callable[[str], str]
Refused = Callable[[str], LabextError]

MODELS = """
%nb profiles edit solo_expert --outline-model fake-chat --transcript-model fake-chat
%nb profiles edit solo_expert --voice-model fake-tts
"""


@pytest.fixture
def server(shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch) -> Iterator[Replay]:
    """Open Notebook with a notebook in use; nothing that it would ignore may be sent to it."""
    monkeypatch.setattr("labext.progress.interval", lambda _: 0.05)
    monkeypatch.setattr("labext.nb.watching.interval", lambda _: 0.05)
    with serving() as replay:
        shell.run_cell(f"%nb connect {replay.base_url}\n%nb use Here --create").raise_error()
        yield replay
        assert not replay.faults


def test_the_kind_of_server_is_told_and_can_be_said(
    server: Replay, run: Run, refused: Refused
) -> None:
    told = run("%nb status")["value"]
    assert list(told[["kind of server", "version", "database"]]) == [
        "Open Notebook",
        "1.14.0",
        "online",
    ]
    run(f"%nb connect {server.base_url} --dialect open-notebook --save home")
    assert config.connection("nb", "home").options["dialect"] == "open-notebook"
    run("%nb connect home")
    assert run("%nb status")["value"]["kind of server"] == "Open Notebook"
    run("%nb connect home --dialect contract")
    assert run("%nb status")["value"]["kind of server"] == "contract"
    assert config.connection("nb", "home").options["dialect"] == "open-notebook"
    run("%nb connect home")
    assert run("%nb status")["value"]["kind of server"] == "Open Notebook"
    assert isinstance(refused("%nb connect home --dialect klingon"), InputError)


BAD = {
    "%nb podcast --name E --profile solo_expert": (SetupError, "--outline-model NAME"),
    f"{MODELS}%nb podcast --name E --profile solo_expert --speakers solo_expert,tech_experts": (
        InputError,
        "--speakers PROFILE",
    ),
    "%nb profiles new p --speaker Ada": (InputError, "voice"),
    "%nb profiles new p --speakers solo_expert,tech_experts": (InputError, "--speakers PROFILE"),
    "%nb models defaults --set podcast=fake-chat": (InputError, "%nb profiles edit"),
    "%nb models defaults --set summary=fake-chat": (InputError, "--set transformation=NAME"),
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


@pytest.mark.parametrize(("works", "state"), [(False, "no worker"), (True, "was killed")])
def test_a_source_that_hangs_is_said_to_and_the_watch_can_be_left(
    server: Replay,
    refused: Refused,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    works: bool,
    state: str,
) -> None:
    server.state.works, server.state.moves = works, False
    for name in ("_UNTAKEN", "_SOURCE"):
        monkeypatch.setattr(stillness, name, getattr(stillness, name)._replace(seconds=0.2))
    left = iter(range(20))

    def sleep(seconds: float, sleep: Callable[[float], None] = time.sleep) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt
        sleep(seconds)

    monkeypatch.setattr("labext.nb.watching.watch.__kwdefaults__", {**_kept(), "sleep": sleep})
    error = refused("%nb add data/page.html --wait")
    assert isinstance(error, WatchInterrupted)
    assert "%nb sources wait" in error.next_step
    told = capsys.readouterr().out
    assert state in told
    assert "Interrupting ends the watching only" in told


def _kept() -> dict[str, Any]:
    from labext.nb import watching

    return dict(watching.watch.__kwdefaults__ or {})


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
    assert "in Here already, and kept" in told
    assert "known by its name alone" in told
    assert len(server.sent("POST", "/sources")) == 1


def test_a_file_that_the_server_renamed_under_a_title_of_its_own_is_added_once(
    server: Replay, run: Run, said: Said, tmp_path: Path
) -> None:
    (tmp_path / "plan.txt").write_text("Vary arabinose.")
    run("%nb use Elsewhere --create\n%nb add plan.txt --wait\n%nb use Here")
    for _ in range(3):
        told = said("%nb add plan.txt --title 'The plan' --wait")
    assert "plan.txt is in Here already, and kept" in told
    assert list(run("%nb sources")["file_name"]) == ["plan (1).txt"]
    (tmp_path / "plan.txt").write_text("Vary glucose.")
    assert len(run("%nb add plan.txt --wait")) == 1
    assert len(run("%nb sources")) == 2, "another file"


def test_how_large_the_context_is_is_said_before_it_is_sent(
    server: Replay, run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from labext_magics import output

    sent: list[tuple[str, int]] = []
    say = output.say

    def noted(text: str) -> None:
        sent.append((text, len(server.sent("POST", "/chat/execute"))))
        say(text)

    monkeypatch.setattr(output, "say", noted)
    run("%%nb note --title Plan\nVary the arabinose first.")
    run("%%nb chat\nWhat should I vary first?")
    (size,) = [each for each in sent if "tokens of sources and notes go with" in each[0]]
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
        assert "Failed to generate speech" in error.what
        assert '`%nb episodes retry "Episode 1"`' in error.next_step
    assert len(server.sent("POST", "/podcasts/generate")) == 1
    run("%nb profiles edit solo_expert --voice-model fake-tts")
    assert run("%nb episodes retry 'Episode 1'")["job_status"].item() == "completed"
    assert list(run("%nb episodes")["name"]) == ["Episode 1"]
    assert run("%nb episodes --notebook Here").empty
