"""Episodes: made and heard, failed and retried, deleted while they are made."""

from __future__ import annotations

import io
import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

pytestmark = pytest.mark.contract


@pytest.fixture(scope="module")
def ordered(podcasts):
    """The answer to an order of a short episode by espeak-ng, which is completed by now."""
    pair = podcasts.speakers("Ada", "Ben", model="model:espeak-ng")
    order = podcasts.order(podcasts.notebook(), podcasts.profile(), pair, episode_name="One")
    assert podcasts.until(order["job_id"])["status"] == "completed"
    return order


@pytest.fixture
def audio(podcasts, ordered):
    """Ask for the sound of it."""

    def ask(method="GET", **headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        path = f"podcasts/episodes/{ordered['episode_id']}/audio"
        return podcasts.api.ask(method, path, headers=named)

    return ask


@pytest.fixture
def spoken_by(podcasts, model_of):
    """A speaker profile of the provider's model."""
    tones = model_of("tts-1", "tts")
    return lambda *names: podcasts.speakers(*names, model=tones)


def test_an_episode_is_spoken(podcasts, kit, ordered, audio):
    import soundfile

    assert (ordered["status"], ordered["episode_name"]) == ("submitted", "One")
    made = podcasts.episode(ordered["episode_id"])
    assert (made["job_id"], made["job_status"]) == (ordered["job_id"], "completed")
    turns = made["transcript"]["transcript"]
    assert {turn["speaker"] for turn in turns} == {"Ada", "Ben"}
    assert "promoter" in " ".join(turn["dialogue"] for turn in turns)
    times = [moment for turn in turns for moment in (turn["start"], turn["end"])]
    assert times == sorted(times)
    assert made["duration"] > times[-1]
    assert len(made["outline"]["segments"]) == 1

    response = audio()
    assert response.headers["Content-Type"] == "audio/mpeg"
    assert len(response.content) == made["audio_bytes"]
    with soundfile.SoundFile(io.BytesIO(response.content)) as sound:
        assert sound.format == "MP3"
        assert sound.frames / sound.samplerate == pytest.approx(made["duration"], abs=0.01)
    assert podcasts.api.root + made["audio_url"] == response.url


def test_a_job_tells_what_it_has_made(podcasts, ordered):
    job, made = podcasts.job(ordered["job_id"]), podcasts.episode(ordered["episode_id"])
    result = job["result"]
    assert (result["episode_id"], result["audio_file_path"]) == (made["id"], made["audio_file"])
    assert (result["transcript"], result["outline"]) == (made["transcript"], made["outline"])
    assert result["processing_time"] > 0
    assert (job["progress"], job["error_message"], job["stage"]) == (None, None, "")
    (listed,) = (e for e in podcasts.told("GET", "podcasts/episodes") if e["id"] == made["id"])
    assert listed == {k: v for k, v in made.items() if k not in ("outline", "transcript")}


def test_any_part_of_the_sound_is_there(audio):
    whole = audio()
    tag, size = whole.headers["ETag"], len(whole.content)
    for asked, part in [
        ("0-99", slice(0, 100)),
        ("500-", slice(500, None)),
        ("-7", slice(-7, None)),
    ]:
        response = audio(Range=f"bytes={asked}")
        assert (response.status_code, response.content) == (206, whole.content[part])
    assert audio(Range="lines=0-1").content == whole.content
    assert audio(Range="bytes=0-9", If_Range=tag).status_code == 206
    assert audio(Range="bytes=0-9", If_Range='"another"').content == whole.content
    head = audio("HEAD")
    assert (head.status_code, head.content, head.headers["ETag"]) == (200, b"", tag)
    assert int(head.headers["Content-Length"]) == size


@pytest.mark.parametrize(
    ("asked", "status"), [("5087608000-", 416), ("-0", 416), ("5-2", 400), ("a-b", 400), ("", 400)]
)
def test_a_part_that_can_not_be_is_refused_as_all_else_is(audio, asked, status):
    size = int(audio("HEAD").headers["Content-Length"])
    response = audio(Range=f"bytes={asked}")
    assert (response.status_code, [*response.json()]) == (status, ["detail"])
    assert response.headers.get("Content-Range") == (f"bytes */{size}" if status == 416 else None)


def test_one_to_four_speak_by_voices_of_their_own(podcasts, provider, spoken_by):
    """Four orders under one name, which are four episodes."""
    notebook, profile = podcasts.notebook(), podcasts.profile()
    people = ["Ada"], ["Ada"], ["Ada", "Ben", "Cleo"], ["Ada", "Ben", "Cleo", "Dov"]
    orders = [
        podcasts.order(notebook, profile, spoken_by(*names), episode_name="Twin")
        for names in people
    ]
    assert len({order["episode_id"] for order in orders}) == len(people)
    for names, order in zip(people, orders, strict=True):
        assert podcasts.until(order["job_id"])["status"] == "completed"
        made = podcasts.episode(order["episode_id"])
        assert made["name"] == "Twin"
        assert {turn["speaker"] for turn in made["transcript"]["transcript"]} == {*names}
    assert len({asked.body["voice"] for asked in provider.speeches()}) == 4


def test_a_failed_episode_has_its_reason_and_is_retried_once(podcasts, kit, provider, spoken_by):
    trouble = kit.says(500, {"error": {"message": "The voices are hoarse."}})
    provider.troubles += [trouble] * 4
    notebook, profile = podcasts.notebook(), podcasts.profile(default_briefing="Be short.")
    before = podcasts.files()
    ordered = podcasts.order(notebook, profile, spoken_by("Ada"), briefing_suffix="And kind.")
    failed = podcasts.until(ordered["job_id"])
    assert failed["status"] == "failed"
    assert "hoarse" in failed["error_message"]
    path = f"podcasts/episodes/{ordered['episode_id']}"
    assert "hoarse" in podcasts.refused(404, "GET", f"{path}/audio")
    made = podcasts.told("GET", path)
    assert (made["error_message"], made["briefing"]) == (
        failed["error_message"],
        "Be short.\n\nAnd kind.",
    )
    half = ("outline", "transcript", "duration", "audio_file", "audio_url", "audio_bytes")
    assert [made[name] for name in half] == [None] * len(half)
    assert podcasts.files() == before

    provider.troubles.clear()
    podcasts.told("PUT", f"episode-profiles/{profile}", {"description": "Mended."})
    with ThreadPoolExecutor(4) as pool:
        answers = [*pool.map(lambda _: podcasts.api.post(f"{path}/retry"), range(4))]
    assert sorted(each.status_code for each in answers) == [200, 400, 400, 400]
    (again,) = (each.json() for each in answers if each.ok)
    assert again["episode_id"] == ordered["episode_id"]
    assert podcasts.until(again["job_id"])["status"] == "completed"
    podcasts.refused(404, "GET", f"podcasts/jobs/{ordered['job_id']}")
    made = podcasts.told("GET", path)
    assert (made["error_message"], made["job_id"]) == (None, again["job_id"])
    assert (made["episode_profile"]["description"], made["briefing"]) == (
        "Mended.",
        "Be short.\n\nAnd kind.",
    )
    assert "completed" in podcasts.refused(400, "POST", f"{path}/retry")


def test_models_write_what_is_said(podcasts, kit, provider, model_of, spoken_by):
    said = [("Ada", "What about glucose?"), ("Ben", "It represses the promoter.")]

    def reply(body):
        if body["model"] == "planner":
            parts = [
                {"name": f"Part {n}", "description": "Of it.", "size": "short"} for n in (1, 2)
            ]
            return json.dumps({"segments": parts})
        lines = [{"speaker": who, "dialogue": text} for who, text in said]
        return json.dumps({"transcript": lines})

    provider.replies = reply
    profile = podcasts.profile(
        num_segments=2,
        outline_llm=model_of("planner", "llm"),
        transcript_llm=model_of("writer", "llm"),
        default_briefing="For gardeners.",
        max_tokens=900,
    )
    order = (podcasts.notebook(), profile, spoken_by("Ada", "Ben"))

    provider.troubles += [None, None, kit.says(500, {"error": {"message": "Out of ink."}})]
    ordered = podcasts.order(*order, briefing_suffix="In rhymes.")
    failed = podcasts.until(ordered["job_id"])  # with one part of two written
    assert "Out of ink." in failed["error_message"]
    assert not provider.speeches()
    provider.asked.clear()

    path = f"podcasts/episodes/{ordered['episode_id']}"
    again = podcasts.told("POST", f"{path}/retry")
    assert podcasts.until(again["job_id"])["status"] == "completed"
    made = podcasts.told("GET", path)
    assert [each["name"] for each in made["outline"]["segments"]] == ["Part 1", "Part 2"]
    turns = made["transcript"]["transcript"]
    assert [(turn["speaker"], turn["dialogue"]) for turn in turns] == said * 2
    spoken = sorted(asked.body["input"] for asked in provider.speeches())
    assert spoken == sorted(text for _who, text in said * 2)
    assert [asked.body["model"] for asked in provider.chats()] == ["planner", "writer", "writer"]
    for asked in provider.chats():
        assert "For gardeners." in asked.text
        assert "In rhymes." in asked.text
        assert asked.body["max_tokens"] == 900
        assert kit.TEXT in asked.text
    keys = {asked.headers["authorization"] for asked in provider.asked}
    assert keys == {f"Bearer {kit.KEY}"}


def test_an_episode_goes_while_it_is_made(podcasts, provider, spoken_by):
    held = provider.held()
    provider.troubles.append(held)
    before = podcasts.files()
    ordered = podcasts.order(podcasts.notebook(), podcasts.profile(), spoken_by("Ada"))
    path = f"podcasts/episodes/{ordered['episode_id']}"
    assert held.entered.wait(30)
    deadline = time.monotonic() + 30
    while (job := podcasts.job(ordered["job_id"]))["progress"]["stage"] != "speech":
        assert time.monotonic() < deadline, job
        time.sleep(0.03)
    total = job["progress"]["total"]
    assert (job["status"], job["stage"]) == ("running", f"speech, 0 of {total}")
    assert job["stage"] in podcasts.refused(404, "GET", f"{path}/audio")
    assert "running" in podcasts.refused(400, "POST", f"{path}/retry")
    assert podcasts.told("DELETE", path)["episode_id"] == ordered["episode_id"]
    assert provider.left.wait(30)
    podcasts.refused(404, "GET", path)
    podcasts.refused(404, "GET", f"podcasts/jobs/{ordered['job_id']}")
    assert podcasts.files() == before


def test_an_episode_outlives_its_notebook(podcasts, ordered, audio):
    made = podcasts.episode(ordered["episode_id"])
    podcasts.told("DELETE", f"notebooks/{made['notebook_id']}")
    assert podcasts.episode(made["id"]) == made | {"notebook_id": None}
    assert audio().ok
    podcasts.told("DELETE", f"podcasts/episodes/{made['id']}")
    assert audio().status_code == 404
    assert made["id"].removeprefix("episode:") + ".mp3" not in podcasts.files()
