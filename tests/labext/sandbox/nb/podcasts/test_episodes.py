"""Episodes: generated and played, failed and retried, deleted during the generation."""

from __future__ import annotations

import io
import json
from concurrent.futures import ThreadPoolExecutor

import openai_server
import pytest
from openai_server import tone
from waiting import wait_until

pytestmark = pytest.mark.contract


@pytest.fixture(scope="module")
def ordered(podcasts):
    """The response to the request for a short episode by espeak-ng, which is now complete."""
    pair = podcasts.speakers("Ada", "Ben", model="model:espeak-ng")
    notebook = podcasts.filled_notebook("Arabinose opens the promoter. Glucose closes it again.")
    order = podcasts.order(notebook, podcasts.profile(), pair, episode_name="One")
    assert podcasts.until(order["job_id"])["status"] == "completed"
    return order


@pytest.fixture
def audio(podcasts, ordered):
    """Request its audio."""

    def ask(method="GET", **headers):
        by_name = {name.replace("_", "-"): value for name, value in headers.items()}
        path = f"podcasts/episodes/{ordered['episode_id']}/audio"
        return podcasts.request(method, path, headers=by_name)

    return ask


@pytest.fixture
def spoken_by(podcasts, model_of):
    """A speaker profile with the provider's model."""
    tones = model_of("tts-1", "tts")
    return lambda *names: podcasts.speakers(*names, model=tones)


def test_episode_is_recorded_as_mp3(podcasts, ordered, audio):
    import soundfile

    assert (ordered["status"], ordered["episode_name"]) == ("submitted", "One")
    created = podcasts.episode(ordered["episode_id"])
    assert (created["job_id"], created["job_status"]) == (ordered["job_id"], "completed")
    turns = created["transcript"]["transcript"]
    assert {turn["speaker"] for turn in turns} == {"Ada", "Ben"}
    assert "promoter" in " ".join(turn["dialogue"] for turn in turns)
    times = [moment for turn in turns for moment in (turn["start"], turn["end"])]
    assert times == sorted(times)
    assert created["duration"] > times[-1]
    assert len(created["outline"]["segments"]) == 1

    response = audio()
    assert response.headers["Content-Type"] == "audio/mpeg"
    assert len(response.content) == created["audio_bytes"]
    with soundfile.SoundFile(io.BytesIO(response.content)) as sound:
        assert sound.format == "MP3"
        assert sound.frames / sound.samplerate == pytest.approx(created["duration"], abs=0.01)
    assert podcasts.root + created["audio_url"] == response.url


def test_completed_job_has_the_result(podcasts, ordered):
    job, created = podcasts.job(ordered["job_id"]), podcasts.episode(ordered["episode_id"])
    result = job["result"]
    assert result["episode_id"] == created["id"]
    assert result["audio_file_path"] == created["audio_file"]
    assert (result["transcript"], result["outline"]) == (created["transcript"], created["outline"])
    assert result["processing_time"] > 0
    assert (job["progress"], job["error_message"], job["stage"]) == (None, None, "")
    (episode,) = (e for e in podcasts.call("GET", "podcasts/episodes") if e["id"] == created["id"])
    assert episode == {k: v for k, v in created.items() if k not in ("outline", "transcript")}


def test_audio_supports_range_requests(audio):
    full = audio()
    tag, size = full.headers["ETag"], len(full.content)
    for byte_range, part in [
        ("0-99", slice(0, 100)),
        ("500-", slice(500, None)),
        ("-7", slice(-7, None)),
    ]:
        response = audio(Range=f"bytes={byte_range}")
        assert (response.status_code, response.content) == (206, full.content[part])
    assert audio(Range="lines=0-1").content == full.content
    assert audio(Range="bytes=0-9", If_Range=tag).status_code == 206
    assert audio(Range="bytes=0-9", If_Range='"another"').content == full.content
    head = audio("HEAD")
    assert (head.status_code, head.content, head.headers["ETag"]) == (200, b"", tag)
    assert int(head.headers["Content-Length"]) == size


@pytest.mark.parametrize(
    ("byte_range", "status"),
    [("5087608000-", 416), ("-0", 416), ("5-2", 400), ("a-b", 400), ("", 400)],
)
def test_invalid_range_is_refused(audio, byte_range, status):
    size = int(audio("HEAD").headers["Content-Length"])
    response = audio(Range=f"bytes={byte_range}")
    assert (response.status_code, [*response.json()]) == (status, ["detail"])
    assert response.headers.get("Content-Range") == (f"bytes */{size}" if status == 416 else None)


def test_up_to_four_speakers_have_distinct_voices(podcasts, ordered, provider, spoken_by):
    """The second episode with its name."""
    four = spoken_by("Ada", "Ben", "Cleo", "Dov")
    notebook, profile = podcasts.filled_notebook(), podcasts.profile()
    order = podcasts.order(notebook, profile, four, episode_name="One")
    assert order["episode_id"] != ordered["episode_id"]
    assert podcasts.until(order["job_id"])["status"] == "completed"
    created = podcasts.episode(order["episode_id"])
    assert created["name"] == "One"
    speakers = {turn["speaker"] for turn in created["transcript"]["transcript"]}
    assert speakers == {"Ada", "Ben", "Cleo", "Dov"}
    assert len({request.body["voice"] for request in provider.speeches()}) == 4


def test_failed_episode_has_a_reason_and_is_retried_once(podcasts, provider, spoken_by):
    fault = openai_server.respond_with(500, {"error": {"message": "The voices are hoarse."}})
    provider.faults += [fault] * 4
    notebook, profile = podcasts.filled_notebook(), podcasts.profile(default_briefing="Be short.")
    before = podcasts.files()
    ordered = podcasts.order(notebook, profile, spoken_by("Ada"), briefing_suffix="And kind.")
    failed = podcasts.until(ordered["job_id"])
    assert failed["status"] == "failed"
    assert "hoarse" in failed["error_message"]
    path = f"podcasts/episodes/{ordered['episode_id']}"
    assert "hoarse" in podcasts.error(404, "GET", f"{path}/audio")
    created = podcasts.call("GET", path)
    assert created["error_message"] == failed["error_message"]
    assert created["briefing"] == "Be short.\n\nAnd kind."
    half = ("outline", "transcript", "duration", "audio_file", "audio_url", "audio_bytes")
    assert [created[name] for name in half] == [None] * len(half)
    assert podcasts.files() == before

    provider.faults.clear()
    podcasts.call("PUT", f"episode-profiles/{profile}", {"description": "Mended."})
    with ThreadPoolExecutor(4) as pool:
        answers = [*pool.map(lambda _: podcasts.post(f"{path}/retry"), range(4))]
    assert sorted(answer.status_code for answer in answers) == [200, 400, 400, 400]
    (again,) = (answer.json() for answer in answers if answer.ok)
    assert again["episode_id"] == ordered["episode_id"]
    assert podcasts.until(again["job_id"])["status"] == "completed"
    podcasts.error(404, "GET", f"podcasts/jobs/{ordered['job_id']}")
    created = podcasts.call("GET", path)
    assert (created["error_message"], created["job_id"]) == (None, again["job_id"])
    assert created["episode_profile"]["description"] == "Mended."
    assert created["briefing"] == "Be short.\n\nAnd kind."
    assert "completed" in podcasts.error(400, "POST", f"{path}/retry")


def test_language_models_write_outline_and_transcript(podcasts, key, provider, model_of, spoken_by):
    message = [("Ada", "What about glucose?"), ("Ben", "It represses the promoter.")]

    def reply(body):
        if body["model"] == "planner":
            parts = [
                {"name": f"Part {n}", "description": "Of it.", "size": "short"} for n in (1, 2)
            ]
            return json.dumps({"segments": parts})
        lines = [{"speaker": who, "dialogue": text} for who, text in message]
        return json.dumps({"transcript": lines})

    provider.replies = reply
    profile = podcasts.profile(
        num_segments=2,
        outline_llm=model_of("planner", "llm"),
        transcript_llm=model_of("writer", "llm"),
        default_briefing="For gardeners.",
        max_tokens=900,
    )
    order = (podcasts.filled_notebook(), profile, spoken_by("Ada", "Ben"))

    failure = openai_server.respond_with(500, {"error": {"message": "Out of ink."}})
    provider.faults += [None, None, failure]
    ordered = podcasts.order(*order, briefing_suffix="In rhymes.")
    failed = podcasts.until(ordered["job_id"])  # after one of two parts was written
    assert "Out of ink." in failed["error_message"]
    assert not provider.speeches()
    provider.requests.clear()

    provider.faults.append(openai_server.too_many("0"))  # waited for, then tried again
    path = f"podcasts/episodes/{ordered['episode_id']}"
    again = podcasts.call("POST", f"{path}/retry")
    assert podcasts.until(again["job_id"])["status"] == "completed"
    created = podcasts.call("GET", path)
    assert [segment["name"] for segment in created["outline"]["segments"]] == ["Part 1", "Part 2"]
    turns = created["transcript"]["transcript"]
    assert [(turn["speaker"], turn["dialogue"]) for turn in turns] == message * 2
    spoken_texts = sorted(request.body["input"] for request in provider.speeches())
    assert spoken_texts == sorted(text for _who, text in message * 2)
    models = [request.body["model"] for request in provider.chats()]
    assert models == ["planner", "planner", "writer", "writer"]
    for request in provider.chats():
        assert "For gardeners." in request.text
        assert "In rhymes." in request.text
        assert request.body["max_tokens"] == 900
        assert podcasts.TEXT in request.text
    keys = {request.headers["authorization"] for request in provider.requests}
    assert keys == {f"Bearer {key}"}


def test_retry_requests_no_finished_script_or_speech_again(podcasts, provider, model_of, spoken_by):
    dialogue = [("Ada", "Glucose?"), ("Ben", "Yes."), ("Ada", "Really?"), ("Ben", "It does.")]
    turns = [{"speaker": who, "dialogue": text} for who, text in dialogue]
    script = json.dumps({"segments": [{"name": "All"}], "transcript": turns})
    provider.replies = lambda _body: script
    provider.sound = lambda body: b"" if body["input"] == "It does." else tone("nova", "Hm.")
    model = model_of("writer", "llm")
    profile = podcasts.profile(outline_llm=model, transcript_llm=model)
    order = podcasts.order(podcasts.filled_notebook(), profile, spoken_by("Ada", "Ben"))
    failed = podcasts.until(order["job_id"])
    assert "sent an empty reply. Try again" in failed["error_message"]
    assert podcasts.drafts() == {order["episode_id"].partition(":")[2]}

    provider.replies = lambda _body: "Sorry, I can't."
    provider.sound = lambda _body: tone("nova", "Hm.")
    path = f"podcasts/episodes/{order['episode_id']}"
    again = podcasts.call("POST", f"{path}/retry")
    assert podcasts.until(again["job_id"])["status"] == "completed"
    assert len(provider.chats()) == 2
    requested = sorted(request.body["input"] for request in provider.speeches())
    assert requested == sorted([text for _who, text in dialogue] + ["It does."])
    spoken = podcasts.call("GET", path)["transcript"]["transcript"]
    assert [(turn["speaker"], turn["dialogue"]) for turn in spoken] == dialogue
    wait_until(lambda: podcasts.drafts() == set(), 30)  # removed after the commit


def test_episode_can_be_deleted_while_running(podcasts, provider, spoken_by):
    hold = provider.held()
    provider.faults.append(hold)
    before = podcasts.files()
    ordered = podcasts.order(podcasts.filled_notebook(), podcasts.profile(), spoken_by("Ada"))
    path = f"podcasts/episodes/{ordered['episode_id']}"
    assert hold.entered.wait(30)
    wait_until(lambda: podcasts.job(ordered["job_id"])["progress"]["stage"] == "speech", 30)
    job = podcasts.job(ordered["job_id"])
    total = job["progress"]["total"]
    assert (job["status"], job["stage"]) == ("running", f"speech, 0 of {total}")
    assert job["stage"] in podcasts.error(404, "GET", f"{path}/audio")
    assert "running" in podcasts.error(400, "POST", f"{path}/retry")
    assert podcasts.call("DELETE", path)["episode_id"] == ordered["episode_id"]
    assert provider.client_left.wait(30)
    podcasts.error(404, "GET", path)
    podcasts.error(404, "GET", f"podcasts/jobs/{ordered['job_id']}")
    assert podcasts.files() == before


def test_episode_outlives_its_notebook(podcasts, ordered, audio):
    created = podcasts.episode(ordered["episode_id"])
    podcasts.call("DELETE", f"notebooks/{created['notebook_id']}")
    assert podcasts.episode(created["id"]) == created | {"notebook_id": None}
    assert audio().ok
    podcasts.call("DELETE", f"podcasts/episodes/{created['id']}")
    assert audio().status_code == 404
    assert created["id"].removeprefix("episode:") + ".mp3" not in podcasts.files()
