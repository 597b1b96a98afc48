"""What is refused before there is a job, in one sentence that says what to do."""

from __future__ import annotations

import pytest
from starlette.exceptions import HTTPException

from labext.sandbox.nb.podcasts import inputs, router
from labext.sandbox.nb.podcasts.schemas import EpisodeOrder
from labext.sandbox.nb.providers import registry
from labext.sandbox.nb.speech import engine
from labext.sandbox.nb.tables import DefaultModel, Model, Note, Notebook

pytestmark = pytest.mark.contract


@pytest.fixture(scope="module")
def notebook(podcasts):
    return podcasts.notebook()


@pytest.fixture
def refused(podcasts):
    """Refuse an order: no episode is left of it."""

    def check(status, notebook, profile="interview", *speakers):
        before = podcasts.told("GET", "podcasts/episodes")
        body = {
            "notebook_id": notebook,
            "episode_profile_id": profile,
            "speaker_profile_ids": [*speakers],
        }
        sentence = podcasts.refused(status, "POST", "podcasts/generate", body)
        assert podcasts.told("GET", "podcasts/episodes") == before
        return sentence

    return check


def test_an_empty_notebook(podcasts, refused):
    assert "source" in refused(400, podcasts.api.notebook())


def test_what_is_not_there(podcasts, refused, notebook):
    assert "notebook:none" in refused(404, "notebook:none")
    assert "monologue" in refused(404, notebook, "monologue")
    assert "nobody" in refused(404, notebook, "interview", "host", "nobody")
    podcasts.refused(404, "GET", "podcasts/jobs/command:none")
    for method, path in [("GET", ""), ("DELETE", ""), ("POST", "/retry"), ("GET", "/audio")]:
        podcasts.refused(404, method, f"podcasts/episodes/episode:none{path}")


def test_who_can_not_speak(podcasts, refused, notebook):
    assert "Nobody" in refused(400, notebook, podcasts.profile())
    five = ["host", "guest", "expert", "student", podcasts.speakers("Ada")]
    assert "at most 4" in refused(400, notebook, "interview", *five)
    assert "Alex" in refused(400, notebook, "interview", "host", podcasts.speakers("Alex"))


def test_a_slot_without_a_model(refused, notebook, empty_slot):
    with empty_slot("podcast"):
        assert "podcast" in refused(422, notebook)
    with empty_slot("text_to_speech"):
        assert "text_to_speech" in refused(422, notebook)


def test_a_voice_that_is_not_there(podcasts, refused, notebook):
    speakers = podcasts.speakers("Ada", model="model:espeak-ng", voice="nobody's")
    assert "nobody's" in refused(422, notebook, "lecture", speakers)


def test_a_language_that_the_built_in_model_can_not_write(podcasts, refused, notebook):
    profile = podcasts.profile(language="French", speaker_profile_ids=["host"])
    assert "French" in refused(422, notebook, profile)


def test_more_speakers_than_voices(in_process, monkeypatch):
    monkeypatch.setattr(engine, "list_voices", lambda _site, _model: ["rms", "slt"])
    site = in_process()
    with site.database.write() as session:
        session.merge(Model(id="model:two", name="two", kind="tts", provider=registry.BUILT_IN))
        session.merge(DefaultModel(slot="text_to_speech", model_id="model:two"))
        session.add(Notebook(id="notebook:one", name="One"))
        session.flush()
        session.add(Note(id="note:one", notebook_id="notebook:one", content="A note.", kind="ai"))
    order = {"notebook_id": "notebook:one", "episode_profile_id": "interview"}
    router.post_order(site, EpisodeOrder(**order))
    with pytest.raises(HTTPException, match="two has no voice left") as refusal:
        router.post_order(
            site, EpisodeOrder(**order, speaker_profile_ids=["host", "guest", "expert"])
        )
    assert refusal.value.status_code == 422


def test_nothing_that_speaks_is_installed(in_process):
    with in_process().database.write() as session:
        for model in session.query(Model).filter(Model.kind == "tts"):
            session.delete(model)
        session.flush()
        profile = {"voice_model": None, "speakers": [{"name": "Ada", "voice_id": None}]}
        with pytest.raises(HTTPException, match=r"labext-jupyter\[speech\]") as refusal:
            inputs.requested_voices(session, [profile])
        assert refusal.value.status_code == 422
