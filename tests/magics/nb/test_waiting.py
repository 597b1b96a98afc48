"""Lines that need the text of sources wait for those that are still being processed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from open_notebook import Replay, serving

from labext.errors import LabextError, WatchInterrupted
from labext.sandbox import Sandbox
from labext.sandbox.nb.administration import open_administration
from labext.sandbox.nb.tables import NEW, NotebookSource, Source

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
PENDING = "1 source of Here is still being processed"
SENT = ("/chat/execute", "/search/ask", "/search/ask/simple", "/podcasts/generate")

LINES = (
    "%nb ask 'What about arabinose?'",
    "%nb ask 'What about arabinose?' --simple",
    "%nb ask 'What about arabinose?' --all",
    "%nb ask 'What about arabinose?' --source protocol.docx",
    "%nb chat 'What about arabinose?'",
    "%nb sources chat protocol.docx 'What about arabinose?'",
)


@pytest.fixture
def server(shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch) -> Iterator[Replay]:
    """Open Notebook, and in the notebook in use a source that its worker has not begun yet."""
    monkeypatch.setattr("labext.progress.interval", lambda _: 0.05)
    monkeypatch.setattr("labext.nb.polling.interval", lambda _: 0.05)
    with serving() as replay:
        shell.run_cell(f"%nb connect {replay.base_url}\n%nb use Here --create").raise_error()
        shell.run_cell("%%nb note --title Plan\nVary arabinose.").raise_error()
        replay.state.works = False
        shell.run_cell("%nb add data/protocol.docx").raise_error()
        yield replay
        assert not replay.faults


def sent(server: Replay) -> list[str]:
    """What was asked of models."""
    posts = [each.path for each in server.asked if each.method == "POST"]
    return [each for each in posts if each.endswith(("/execute", "/ask", "/simple", "/messages"))]


@pytest.fixture
def worker_comes(server: Replay, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker begins once somebody waits; nothing may have been asked by then."""

    def sleep(seconds: float, sleep: Callable[[float], None] = time.sleep) -> None:
        assert not sent(server)
        server.state.works = True
        sleep(seconds)

    _sleep_by(monkeypatch, sleep)


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits interrupts it."""

    def sleep(_: float) -> None:
        raise KeyboardInterrupt

    _sleep_by(monkeypatch, sleep)


def _sleep_by(monkeypatch: pytest.MonkeyPatch, sleep: Callable[[float], None]) -> None:
    from labext.nb import polling

    defaults = {**(polling.watch_sources.__kwdefaults__ or {}), "sleep": sleep}
    monkeypatch.setattr("labext.nb.polling.watch_sources.__kwdefaults__", defaults)


@pytest.mark.parametrize("line", LINES)
def test_a_question_waits_for_sources_that_are_processed(
    server: Replay, worker_comes: None, run: Run, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    assert run(line) is not None
    told = capsys.readouterr().out
    assert "is still being processed: protocol.docx. Waiting" in told
    assert "`--no-wait`" in told
    assert "Complete" in told
    assert sent(server)
    run(line)
    assert "being processed" not in capsys.readouterr().out


@pytest.mark.parametrize("line", LINES)
def test_an_interrupted_wait_asks_nothing(
    server: Replay, interrupted: None, refused: Refused, line: str
) -> None:
    error = refused(line)
    assert isinstance(error, WatchInterrupted)
    assert "the question was not sent" in error.message
    assert "`--no-wait`" in error.next_step
    assert not sent(server)


@pytest.mark.parametrize("line", LINES[:-1])
def test_without_waiting_the_sources_left_out_are_named(
    server: Replay, interrupted: None, said: Said, line: str
) -> None:
    told = said(f"{line} --no-wait")
    assert "is still being processed, so not included: protocol.docx." in told
    assert sent(server)


def test_a_search_says_which_sources_it_has_not_looked_at(
    server: Replay, interrupted: None, said: Said
) -> None:
    assert f"{PENDING}, so not included: protocol.docx." in said("%nb search arabinose")
    assert "being processed" not in said("%nb search arabinose --no-sources")


@pytest.mark.parametrize("more", ["--note Plan", "--no-sources", "--source Ready"])
@pytest.mark.parametrize("line", ["%nb ask 'Arabinose?'", "%nb chat 'Arabinose?'"])
def test_what_the_line_leaves_out_is_not_waited_for(
    server: Replay, interrupted: None, run: Run, said: Said, line: str, more: str
) -> None:
    run("%%nb source --title Ready --async\nArabinose induces.")
    next(reversed(server.state.sources.values()))["status"] = "completed"
    assert "being processed" not in said(f"{line} {more}")


def test_a_source_that_fails_meanwhile_is_named_and_the_rest_is_asked(
    server: Replay, run: Run, said: Said
) -> None:
    run("%nb add http://127.0.0.1:9/none")
    server.state.works = True
    told = said("%nb ask 'Arabinose?'")
    assert "http://127.0.0.1:9/none could not be processed, so it is not included: Could" in told
    assert sent(server)


def test_a_source_that_has_not_changed_for_an_hour_is_not_waited_for(
    server: Replay, interrupted: None, said: Said
) -> None:
    (source,) = server.state.sources.values()
    for minutes, waits in ((70, False), (50, True)):
        then = datetime.now(UTC) - timedelta(minutes=minutes)
        source.update(status="running", updated=then.isoformat(sep=" "))
        if waits:
            with pytest.raises(WatchInterrupted):
                said("%nb ask 'Arabinose?'")
        else:
            assert f"{PENDING}, so not included" in said("%nb ask 'Arabinose?'")


def test_a_podcast_waits_and_in_the_background_says_what_is_left_out(
    server: Replay, worker_comes: None, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    run(f"{MODELS}%nb podcast --name One --profile solo_expert")
    told = capsys.readouterr().out
    assert f"{PENDING}: protocol.docx. Waiting" in told
    assert "`--background`" in told
    assert server.state.sources.popitem()[1]["status"] == "completed"


def test_an_insight_waits_for_its_source(
    server: Replay, worker_comes: None, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    made = run("%nb insights new 'Dense Summary' --source protocol.docx")
    assert list(made["insight_type"]) == ["Dense Summary"]
    assert "is still being processed: protocol.docx. Waiting." in capsys.readouterr().out


@pytest.fixture
def unread(nb_box: Sandbox, run: Run) -> Iterator[None]:
    """On the sandbox, a notebook in use with a source that is never processed."""
    notebook = run("%nb new Here")["id"].item()
    with open_administration(nb_box.data_dir) as admin:
        with admin.database.write() as session:
            session.add(Source(id="source:unread", kind="text", title="Unread", status=NEW))
            session.flush()
            session.add(NotebookSource(notebook_id=notebook, source_id="source:unread"))
        yield
        with admin.database.write() as session:
            session.delete(session.get(Source, "source:unread"))
    run("%nb delete Here --yes --delete-sources")


@pytest.mark.parametrize("verb", ["ask", "chat"])
def test_on_the_sandbox_absence_is_not_claimed_while_a_source_is_processed(
    unread: None, run: Run, said: Said, verb: str
) -> None:
    run("%%nb note --title Plan\nVary the arabinose first.")
    answer = run(f"%nb {verb} 'Who won the football world cup?' --no-wait")
    assert "processed matches well enough; 1 source is still being processed" in answer.text
    assert f"{PENDING}, so not included: Unread." in said(f"%nb {verb} 'Why?' --no-wait")


def test_on_the_sandbox_a_question_right_after_adding_is_answered(run: Run, tmp_path: Path) -> None:
    (tmp_path / "freezer.md").write_text("# Freezer\n\nDana keeps the strains in freezer 7.")
    run("%nb use Asked --create\n%nb add freezer.md")
    answer = run("%nb ask 'Who keeps the strains?'")
    assert "Dana" in answer.text
    assert answer.citations
    run("%nb delete Asked --yes --delete-sources")


@pytest.fixture
def vectors_come(server: Replay, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The source is processed; its vectors are there once somebody waits."""
    server.state.works, server.state.vectors = True, False
    for _ in range(2):
        run("%nb sources status protocol.docx")

    def sleep(seconds: float, sleep: Callable[[float], None] = time.sleep) -> None:
        assert not sent(server)
        server.state.vectors = True
        sleep(seconds)

    _sleep_by(monkeypatch, sleep)


def test_a_question_by_vectors_waits_until_they_are_computed(
    server: Replay, vectors_come: None, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("%nb ask 'What about arabinose?' --all") is not None
    told = capsys.readouterr().out
    assert "1 source is still being processed: protocol.docx. Waiting" in told
    assert "Complete" in told


def test_a_search_by_vectors_says_what_has_none_yet(
    server: Replay, vectors_come: None, said: Said
) -> None:
    assert f"{PENDING}, so not included" in said("%nb search arabinose --type vector")
    assert "being processed" not in said("%nb search arabinose")
    server.state.vectors = True
    assert "being processed" not in said("%nb search arabinose --type vector")


def test_added_sources_are_waited_for_until_their_vectors_are_computed(
    server: Replay, vectors_come: None, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "plan.md").write_text("Vary the arabinose first.")
    assert list(run("%nb add plan.md --wait")["passages"]) == [1]


def test_vectors_are_not_waited_for_without_an_embedding_model(
    server: Replay, vectors_come: None, run: Run, tmp_path: Path
) -> None:
    server.state.defaults["default_embedding_model"] = None
    (tmp_path / "plan.md").write_text("Vary the arabinose first.")
    assert list(run("%nb add plan.md --wait")["passages"]) == [0]


def test_vectors_that_are_missing_for_long_are_not_waited_for(
    server: Replay, vectors_come: None, said: Said
) -> None:
    (source,) = server.state.sources.values()
    source["updated"] = str(datetime.now(UTC) - timedelta(minutes=2))
    assert "being processed" not in said("%nb search arabinose --type vector")
