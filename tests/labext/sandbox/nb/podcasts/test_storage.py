"""Profiles, and the stored parts of an episode, complete or missing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nb_service import new_name
from starlette.exceptions import HTTPException

from labext.sandbox.core.queue import Task, TaskOutcome
from labext.sandbox.nb import files, limits
from labext.sandbox.nb.podcasts import inputs, router, tasks
from labext.sandbox.nb.podcasts.recording import SILENCE_AFTER
from labext.sandbox.nb.podcasts.script import Segment, SpokenTurn
from labext.sandbox.nb.podcasts.tasks import result_audio, write_result
from labext.sandbox.nb.tables import (
    COMPLETED,
    FAILED,
    NEW,
    RUNNING,
    Episode,
    Note,
    Notebook,
    NotebookSource,
    Source,
)

pytestmark = pytest.mark.contract


@pytest.fixture(scope="module")
def site(in_process):
    return in_process()


@pytest.fixture
def add(site):
    """Add an episode and return its identifier."""

    def make(status, **more):
        identifier = f"episode:{new_name()}"
        fixed = {"name": "One", "job_id": "command:1", "profile": {}, "speakers": []}
        with site.database.write() as session:
            session.add(Episode(id=identifier, status=status, **fixed, **more))
        return identifier

    return make


def episode(site, identifier):
    with site.database.read() as session:
        return session.get_one(Episode, identifier)


@pytest.fixture
def work(site, add):
    """The folder of an episode's task with its result, and the episode."""
    running = add(RUNNING)
    key = tasks.PODCAST.key(running)
    task = Task(kind=tasks.PODCAST.name, key=key, payload={"episode": running})
    folder = tasks.PODCAST.kind(site).work(task)
    folder.mkdir()
    result_audio(folder).write_bytes(b"sound")
    spoken_turns = [SpokenTurn("Ada", "Hello.", 0.3, 1.5)]
    write_result(folder, [Segment("All", "of it", "short")], spoken_turns)
    return folder, task, running


def end(site, task, ending):
    with site.database.write() as session:
        tasks.PODCAST.kind(site).on_end(session, task, ending)


def test_audio_of_a_task_is_synced_to_the_disk(is_synced, work):
    folder, _task, _running = work
    assert is_synced(result_audio(folder))


def test_completed_task_stores_the_audio(site, work, is_synced):
    folder, task, running = work
    end(site, task, TaskOutcome("done"))
    assert is_synced(files.audio_path(site, running).parent)
    created = episode(site, running)
    assert (created.status, created.duration, created.size) == (COMPLETED, 1.5 + SILENCE_AFTER, 5)
    assert files.audio_path(site, running).read_bytes() == b"sound"
    assert not folder.exists()


def test_full_disk_keeps_the_audio_for_the_next_try(site, work):
    _folder, task, running = work

    def end_on_a_full_disk():
        with site.database.write() as session:
            tasks.PODCAST.kind(site).on_end(session, task, TaskOutcome("done"))
            raise OSError("The disk is full.")

    with pytest.raises(OSError, match="full"):
        end_on_a_full_disk()
    assert episode(site, running).status == RUNNING
    end(site, task, TaskOutcome("done"))
    assert episode(site, running).status == COMPLETED
    assert files.audio_path(site, running).read_bytes() == b"sound"


@pytest.mark.parametrize("left", [None, b"", b"soun"])
def test_episode_with_incomplete_audio_fails(site, work, left):
    folder, task, running = work
    result_audio(folder).unlink()
    if left is not None:
        result_audio(folder).write_bytes(left)
    end(site, task, TaskOutcome("done"))
    created = episode(site, running)
    assert (created.status, created.duration) == (FAILED, None)
    assert "retry" in created.reason


@pytest.mark.parametrize(
    ("ending", "expected"),
    [
        (TaskOutcome("stopped", "The time limit of 5 seconds was reached."), "podcast_seconds"),
        (
            TaskOutcome("stopped", "The memory limit of 2 GiB was reached.", over="memory"),
            "limit of 2 GiB was reached. Retry it with fewer segments, or allow more: "
            "`labext sandbox nb limits set podcast_memory VALUE`.",
        ),
        (TaskOutcome("failed", "The tool's process ended with signal 9 (SIGKILL)."), "retry"),
        (TaskOutcome("failed", "The voices are hoarse."), "The voices are hoarse."),
    ],
)
def test_failed_episode_has_a_helpful_reason(site, work, ending, expected):
    folder, task, running = work
    end(site, task, ending)
    created = episode(site, running)
    assert created.status == FAILED
    assert expected in created.reason
    assert not files.audio_path(site, running).exists()
    assert not folder.exists()


def test_episode_without_notebook_cannot_be_retried(site, add):
    failed = add(FAILED)
    with pytest.raises(HTTPException, match="deleted") as refusal:
        router.retry_episode(site, failed)
    assert refusal.value.status_code == 400


def test_task_has_the_configured_time_limit(site, add):
    waiting = add(NEW)
    with site.database.write() as session:
        limits.LIMITS.change(session, "podcast_seconds", 77)
        tasks.PODCAST.queue(session, site, session.get_one(Episode, waiting))
        session.flush()
        assert site.queue.find(session, tasks.PODCAST.key(waiting)).max_seconds == 77


def test_only_audio_without_an_episode_is_an_orphan(site, add):
    stored = [add(state, size=1) for state in (COMPLETED, RUNNING, FAILED)]
    for item in (*stored, "episode:gone"):
        files.audio_path(site, item).write_bytes(b"s")
    files.prepare_episodes(site)
    assert files.orphaned_files(site) == {files.audio_path(site, "episode:gone")}
    assert all(files.audio_path(site, item).exists() for item in (*stored, "episode:gone"))


def test_only_drafts_of_incomplete_episodes_outlive_a_start(site, add):
    completed, running, failed = (add(state, size=1) for state in (COMPLETED, RUNNING, FAILED))
    files.audio_path(site, completed).write_bytes(b"s")
    for item in (completed, running, failed, "episode:gone"):
        files.draft_folder(site, item).mkdir(parents=True)
    files.prepare_episodes(site)
    kept = {files.draft_folder(site, item) for item in (running, failed)}
    assert {*(site.folder / "drafts").iterdir()} == kept


def test_draft_is_removed_with_its_episode(site, add):
    failed = add(FAILED)
    files.draft_folder(site, failed).mkdir(parents=True)
    router.delete_episode(site, failed)
    assert not files.draft_folder(site, failed).exists()


def test_lost_audio_fails_the_episode_but_keeps_its_transcript(site, add):
    full, lost = add(COMPLETED, size=1), add(COMPLETED, size=1)
    with site.database.write() as session:
        session.get_one(Episode, lost).transcript = [{"text": "Hello."}]
    files.audio_path(site, full).write_bytes(b"s")
    files.prepare_episodes(site)
    assert [episode(site, item).status for item in (full, lost)] == [COMPLETED, FAILED]
    assert "no longer" in episode(site, lost).reason
    assert router.get_episode(site, lost)["transcript"] == {"transcript": [{"text": "Hello."}]}


def test_material_is_completed_sources_and_notes(site, monkeypatch):
    book = "notebook:material"
    with site.database.write() as session:
        session.add_all([Notebook(id=book, name="Book"), Notebook(id="notebook:other", name="O")])
        for n, (status, text) in enumerate([(COMPLETED, "a" * 30), (FAILED, "x"), (RUNNING, "y")]):
            source = f"source:{n}"
            fields = {"title": f"S{n}", "full_text": text, "status": status}
            session.add(Source(id=source, kind="text", **fields))
            session.flush()
            session.add(NotebookSource(notebook_id=book, source_id=source))
        for n, (where, text) in enumerate([(book, "note"), ("notebook:other", "elsewhere")]):
            session.add(Note(id=f"note:{n}", notebook_id=where, content=text, kind="human"))
    with site.database.read() as session:
        full = inputs.gather_material(session, book)
        monkeypatch.setattr(inputs, "MAX_CHARACTERS", 20)
        cut = inputs.gather_material(session, book)
    assert full.notebook == "Book"
    assert [(text.title, text.text) for text in full.texts] == [("S0", "a" * 30), ("", "note")]
    assert [text.text for text in cut.texts] == ["a" * 16, "note"]


def test_unprocessed_sources_are_refused(site):
    with site.database.write() as session:
        session.add(Notebook(id="notebook:early", name="Early"))
        session.add(Source(id="source:early", kind="text", status=RUNNING, full_text="x"))
        session.flush()
        session.add(NotebookSource(notebook_id="notebook:early", source_id="source:early"))
        session.flush()
        with pytest.raises(HTTPException, match="still being processed"):
            inputs.check_material(session, "notebook:early")


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=30), st.integers(1, 20_000))
def test_fair_share_uses_the_whole_limit(lengths, maximum):
    item = inputs.fair_share(lengths, maximum)
    cut = [min(length, item) for length in lengths]
    assert sum(cut) <= maximum
    if sum(lengths) <= maximum:
        assert cut == lengths
    else:
        # One more character per truncated item would exceed the maximum.
        assert sum(min(length, item + 1) for length in lengths) > maximum


KINDS = {
    "speaker-profiles": {"speakers": [{"name": "Ada"}]},
    "episode-profiles": {"default_briefing": "Short."},
}


def test_seeded_profiles_exist(podcasts):
    speakers = {item["name"]: item for item in podcasts.call("GET", "speaker-profiles")}
    assert {"host", "guest", "expert", "student"} <= {*speakers}
    assert all(person["voice_id"] is None for person in speakers["host"]["speakers"])
    episodes = {item["name"]: item for item in podcasts.call("GET", "episode-profiles")}
    assert {"interview", "lecture", "panel"} <= {*episodes}
    cast = [speakers[name]["id"] for name in ("host", "guest")]
    assert episodes["interview"]["speaker_profile_ids"] == cast


@pytest.mark.parametrize("path", KINDS)
def test_profile_is_found_by_name_and_identifier(podcasts, path):
    body = {"name": new_name(), "description": "One.", **KINDS[path]}
    created = podcasts.call("POST", path, body)
    kind = path.removesuffix("-profiles").replace("episode", "episode_profile")
    assert created["id"].startswith(f"{kind}:")
    for by_name in (created["name"], created["id"]):
        assert podcasts.call("GET", f"{path}/{by_name}") == created
    assert created in podcasts.call("GET", path)
    changed = podcasts.call("PUT", f"{path}/{created['id']}", {"description": "Two."})
    assert changed == created | {"description": "Two.", "updated_at": changed["updated_at"]}
    assert changed["updated_at"] > created["updated_at"]
    assert podcasts.call("PUT", f"{path}/{created['id']}", {}) == changed
    podcasts.call("DELETE", f"{path}/{created['id']}")
    assert created["name"] in podcasts.error(404, "GET", f"{path}/{created['name']}")


@pytest.mark.parametrize("path", KINDS)
def test_profile_names_are_unique_and_copies_numbered(podcasts, path):
    bodies = [{"name": new_name(), **KINDS[path]} for _ in range(2)]
    first, second = (podcasts.call("POST", path, body) for body in bodies)
    assert "already" in podcasts.error(400, "POST", path, bodies[0])
    rename = {"name": first["name"]}
    assert "already" in podcasts.error(400, "PUT", f"{path}/{second['id']}", rename)
    copies = [podcasts.call("POST", f"{path}/{first['id']}/duplicate") for _ in range(2)]
    assert [copy["name"].removeprefix(first["name"]) for copy in copies] == [" - Copy", " - Copy 2"]
    for copy in copies:
        own = {key: copy[key] for key in ("id", "name", "created_at", "updated_at")}
        assert copy == first | own


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("speaker-profiles", {"speakers": []}, 400),
        ("speaker-profiles", {"speakers": [{"name": n} for n in "abcde"]}, 400),
        ("speaker-profiles", {"speakers": [{"name": "Ada"}, {"name": "ada"}]}, 400),
        ("speaker-profiles", {"speakers": [{"name": "Ada"}], "name": "a/b"}, 400),
        ("speaker-profiles", {"speakers": [{"name": "Ada"}], "voice_model": "model:no"}, 404),
        ("speaker-profiles", {"speakers": [{"name": "A"}], "voice_model": "model:extractive"}, 422),
        ("episode-profiles", {"num_segments": 0}, 400),
        ("episode-profiles", {"num_segments": 21}, 400),
        ("episode-profiles", {"max_tokens": 0}, 400),
        ("episode-profiles", {"speaker_profile_ids": ["nobody-there"]}, 404),
        ("episode-profiles", {"speaker_profile_ids": ["host", "host"]}, 400),
        ("episode-profiles", {"outline_llm": "model:all-minilm-l6-v2"}, 422),
    ],
)
def test_invalid_profile_is_refused(podcasts, path, body, status):
    podcasts.error(status, "POST", path, {"name": new_name()} | body)


def test_null_clears_optional_fields(podcasts):
    created = podcasts.profile(
        language="French", max_tokens=100, outline_llm="model:extractive", default_briefing="Short."
    )
    body = dict.fromkeys(("language", "max_tokens", "outline_llm", "default_briefing", "name"))
    changed = podcasts.call("PUT", f"episode-profiles/{created}", body)
    used_fields = ("language", "max_tokens", "outline_llm")
    assert [changed[name] for name in used_fields] == [None, None, None]
    assert changed["default_briefing"] == "Short."


def test_speaker_profile_in_use_cannot_be_deleted(podcasts):
    speakers = podcasts.speakers("Ada")
    profile = podcasts.profile(speaker_profile_ids=[speakers])
    refusal = podcasts.error(400, "DELETE", f"speaker-profiles/{speakers}")
    assert podcasts.call("GET", f"episode-profiles/{profile}")["name"] in refusal
    podcasts.call("PUT", f"episode-profiles/{profile}", {"speaker_profile_ids": []})
    podcasts.call("DELETE", f"speaker-profiles/{speakers}")


def test_deleting_a_voice_model_clears_it_in_profiles(podcasts, admin, provider):
    model = admin.add_model("gone", "tts", provider.base_url, None)["id"]
    speakers = podcasts.speakers("Ada", model=model)
    admin.remove_model(model, yes=True)
    assert podcasts.call("GET", f"speaker-profiles/{speakers}")["voice_model"] is None
