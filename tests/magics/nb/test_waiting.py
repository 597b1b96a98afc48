"""Lines that need the text of sources wait for those that are still being processed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from labext_test_shell import SET_MODELS, Run
from open_notebook import Replay

from labext import NotebookClient
from labext.errors import WatchInterrupted
from labext.sandbox import Sandbox
from labext.sandbox.nb.administration import open_administration
from labext.sandbox.nb.tables import NEW, NotebookSource, Source

pytestmark = pytest.mark.contract


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
def server(open_notebook_server: Replay, shell: InteractiveShell) -> Replay:
    """A simulated Open Notebook server with an unprocessed source in the notebook in use."""
    shell.run_cell("%%nb note --title Plan\nVary arabinose.").raise_error()
    open_notebook_server.state.works = False
    shell.run_cell("%nb add data/protocol.docx").raise_error()
    return open_notebook_server


def sent(server: Replay) -> list[str]:
    """Return the paths of requests to models."""
    paths = [request.path for request in server.requests if request.method == "POST"]
    return [path for path in paths if path.endswith(("/execute", "/ask", "/simple", "/messages"))]


@pytest.fixture
def worker_comes(server: Replay, sleep_by: Any) -> None:
    """The worker starts once a line waits; no request to a model may have been sent by then."""

    def sleep(seconds: float, sleep: Callable[[float], None] = time.sleep) -> None:
        assert not sent(server)
        server.state.works = True
        sleep(seconds)

    sleep_by(sleep)


@pytest.mark.parametrize("line", [*LINES[::2], LINES[-1]])
def test_question_waits_for_processing_sources(server, worker_comes, run, capsys, line):
    assert run(line) is not None
    output = capsys.readouterr().out
    assert "is still being processed: protocol.docx. Waiting" in output
    assert "`--no-wait`" in output
    assert "Complete" in output
    assert sent(server)
    run(line)
    assert "being processed" not in capsys.readouterr().out


def test_interrupted_wait_sends_no_question(server, interrupted, refused):
    for line in LINES:
        error = refused(line, WatchInterrupted)
        assert "the question was not sent" in error.message
        assert "`--no-wait`" in error.next_step
    for line, outcome in (
        ("podcast --name One --profile solo_expert", "the podcast was not started"),
        ("insights new 'Dense Summary' --source protocol.docx", "no insight was generated"),
    ):
        assert outcome in refused(f"%nb {line}", WatchInterrupted).message
    assert not sent(server)


def test_no_wait_names_the_sources_left_out(server, interrupted, printed):
    for line in LINES[:-1]:
        count = len(sent(server))
        output = printed(f"{line} --no-wait")
        assert "is still being processed, so not included: protocol.docx." in output
        assert len(sent(server)) > count, line


def test_search_names_sources_not_searched(server, interrupted, printed):
    assert f"{PENDING}, so not included: protocol.docx." in printed("%nb search arabinose")
    assert "being processed" not in printed("%nb search arabinose --no-sources")


def test_excluded_sources_are_not_awaited(server, interrupted, run, printed):
    run("%%nb source --title Ready --async\nArabinose induces.")
    next(reversed(server.state.sources.values()))["status"] = "completed"
    for verb, option in product(("ask", "chat"), ("--note Plan", "--no-sources", "--source Ready")):
        assert "being processed" not in printed(f"%nb {verb} 'Arabinose?' {option}")


def test_failed_source_is_named_and_the_others_are_used(server, run, printed):
    run("%nb add http://127.0.0.1:9/none")
    server.state.works = True
    output = printed("%nb ask 'Arabinose?'")
    assert "http://127.0.0.1:9/none is not included because its processing failed: Could" in output
    assert output.count("Could") == 1
    assert sent(server)


def test_source_stalled_for_an_hour_is_not_awaited(server, interrupted, printed):
    (source,) = server.state.sources.values()
    for minutes, waits in ((70, False), (50, True)):
        then = datetime.now(UTC) - timedelta(minutes=minutes)
        source.update(status="running", updated=then.isoformat(sep=" "))
        if waits:
            with pytest.raises(WatchInterrupted):
                printed("%nb ask 'Arabinose?'")
        else:
            assert f"{PENDING}, so not included" in printed("%nb ask 'Arabinose?'")


def test_podcast_waits_or_names_the_sources_left_out(server, worker_comes, run, capsys):
    run(f"{SET_MODELS}%nb podcast --name One --profile solo_expert")
    output = capsys.readouterr().out
    assert f"{PENDING}: protocol.docx. Waiting" in output
    assert "`--background`" in output
    assert server.state.sources.popitem()[1]["status"] == "completed"


def test_insight_waits_for_its_source(server, worker_comes, run, capsys):
    insight = run("%nb insights new 'Dense Summary' --source protocol.docx")
    assert list(insight["insight_type"]) == ["Dense Summary"]
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
def test_sandbox_claims_no_absence_while_processing(unread, run, printed, verb):
    run("%%nb note --title Plan\nVary the arabinose first.")
    answer = run(f"%nb {verb} 'Who won the football world cup?' --no-wait")
    assert "processed matches well enough; 1 source is still being processed" in answer.text
    assert f"{PENDING}, so not included: Unread." in printed(f"%nb {verb} 'Why?' --no-wait")


def test_sandbox_answers_a_question_right_after_adding(run, tmp_path):
    (tmp_path / "freezer.md").write_text("# Freezer\n\nDana keeps the strains in freezer 7.")
    run("%nb use Asked --create\n%nb add freezer.md")
    answer = run("%nb ask 'Who keeps the strains?'")
    assert "Dana" in answer.text
    assert answer.citations
    run("%nb delete Asked --yes --delete-sources")


@pytest.fixture
def vectors_come(server: Replay, run: Run, sleep_by: Any) -> None:
    """The source is processed; its vectors are computed once a line waits."""
    server.state.works, server.state.vectors = True, False
    for _ in range(2):
        run("%nb sources status protocol.docx")

    def sleep(seconds: float, sleep: Callable[[float], None] = time.sleep) -> None:
        assert not sent(server)
        server.state.vectors = True
        sleep(seconds)

    sleep_by(sleep)


def test_vector_question_waits_for_embeddings(server, vectors_come, run, capsys):
    assert run("%nb ask 'What about arabinose?' --all") is not None
    output = capsys.readouterr().out
    assert "1 source is still being processed: protocol.docx. Waiting" in output
    assert "Complete" in output


def test_vector_search_names_sources_without_embeddings(server, vectors_come, printed):
    assert f"{PENDING}, so not included" in printed("%nb search arabinose --type vector")
    assert f"{PENDING}, so not included" in printed("%nb search arabinose")
    assert "being processed" not in printed("%nb search arabinose --type text")
    server.state.vectors = True
    assert "being processed" not in printed("%nb search arabinose --type vector")


def test_add_waits_for_embeddings(server, vectors_come, run, tmp_path):
    (tmp_path / "plan.md").write_text("Vary the arabinose first.")
    assert list(run("%nb add plan.md --wait")["passages"]) == [1]


def test_embeddings_are_not_awaited_without_a_model(server, vectors_come, run, tmp_path):
    server.state.defaults["default_embedding_model"] = None
    (tmp_path / "plan.md").write_text("Vary the arabinose first.")
    assert list(run("%nb add plan.md --wait")["passages"]) == [0]


def test_long_missing_embeddings_are_not_awaited(server, vectors_come, printed):
    (source,) = server.state.sources.values()
    source["updated"] = str(datetime.now(UTC) - timedelta(minutes=2))
    assert "being processed" not in printed("%nb search arabinose --type vector")


def test_source_deleted_while_it_is_watched_has_no_row(server, sleep_by, run, capsys):
    server.state.works = False
    with NotebookClient(server.base_url) as client:
        (source,) = client.sources.iter("Here")

        def sleep(_seconds: float) -> None:
            if not list(client.sources.iter("Here")):
                return
            client.sources.delete(source["id"])

        sleep_by(sleep)
        assert run("%nb sources wait").empty
    assert "protocol.docx: Deleted: It was deleted." in capsys.readouterr().out
