"""Requests for episodes that are rejected before a job is created."""

from __future__ import annotations

import pytest
from starlette.exceptions import HTTPException

from labext.sandbox.nb.podcasts import inputs, router
from labext.sandbox.nb.podcasts.router import EpisodeOrder
from labext.sandbox.nb.providers import registry
from labext.sandbox.nb.speech import synthesis
from labext.sandbox.nb.tables import DefaultModel, Model, Note, Notebook

pytestmark = pytest.mark.contract


@pytest.fixture(scope="module")
def notebook(podcasts):
    return podcasts.filled_notebook()


@pytest.fixture
def order_error(podcasts):
    """Check that a request is rejected and creates no episode."""

    def check(status, notebook, profile="interview", *speakers):
        before = podcasts.call("GET", "podcasts/episodes")
        body = {"notebook_id": notebook, "episode_profile_id": profile}
        body["speaker_profile_ids"] = [*speakers]
        detail = podcasts.error(status, "POST", "podcasts/generate", body)
        assert podcasts.call("GET", "podcasts/episodes") == before
        return detail

    return check


def test_empty_notebook_is_refused(podcasts, order_error):
    assert "source" in order_error(400, podcasts.notebook())


def test_unknown_objects_are_404(podcasts, order_error, notebook):
    assert "notebook:none" in order_error(404, "notebook:none")
    assert "monologue" in order_error(404, notebook, "monologue")
    assert "nobody" in order_error(404, notebook, "interview", "host", "nobody")
    podcasts.error(404, "GET", "podcasts/jobs/command:none")
    for method, path in [("GET", ""), ("DELETE", ""), ("POST", "/retry"), ("GET", "/audio")]:
        podcasts.error(404, method, f"podcasts/episodes/episode:none{path}")


def test_invalid_casts_voices_and_languages_are_refused(podcasts, order_error, notebook):
    assert "no speakers" in order_error(400, notebook, podcasts.profile())
    five = ["host", "guest", "expert", "student", podcasts.speakers("Ada")]
    assert "at most 4" in order_error(400, notebook, "interview", *five)
    assert "Alex" in order_error(400, notebook, "interview", "host", podcasts.speakers("Alex"))
    unknown = podcasts.speakers("Ada", model="model:espeak-ng", voice="nobody's")
    assert "nobody's" in order_error(422, notebook, "lecture", unknown)
    french = podcasts.profile(language="French", speaker_profile_ids=["host"])
    assert "French" in order_error(422, notebook, french)  # the built-in model writes English


def test_empty_slot_is_422(order_error, notebook, empty_slot):
    with empty_slot("podcast"):
        assert "podcast" in order_error(422, notebook)
    with empty_slot("text_to_speech"):
        assert "text_to_speech" in order_error(422, notebook)


def test_too_few_voices_is_422(in_process, monkeypatch):
    monkeypatch.setattr(synthesis, "list_voices", lambda _site, _model: ["rms", "slt"])
    site = in_process()
    with site.database.write() as session:
        session.merge(Model(id="model:two", name="two", kind="tts", provider=registry.BUILT_IN))
        session.merge(DefaultModel(slot="text_to_speech", model_id="model:two"))
        session.add(Notebook(id="notebook:one", name="One"))
        session.flush()
        session.add(Note(id="note:one", notebook_id="notebook:one", content="A note.", kind="ai"))
    order = {"notebook_id": "notebook:one", "episode_profile_id": "interview"}
    router.order_episode(site, EpisodeOrder(**order))
    with pytest.raises(HTTPException, match="two has no voice left") as refusal:
        router.order_episode(
            site, EpisodeOrder(**order, speaker_profile_ids=["host", "guest", "expert"])
        )
    assert refusal.value.status_code == 422


def test_missing_speech_models_are_422_with_a_hint(in_process):
    with in_process().database.write() as session:
        for model in session.query(Model).filter(Model.kind == "tts"):
            session.delete(model)
        session.flush()
        profile = {"voice_model": None, "speakers": [{"name": "Ada", "voice_id": None}]}
        with pytest.raises(HTTPException, match=r"labext-jupyter\[speech\]") as refusal:
            inputs.requested_voices(session, [profile])
        assert refusal.value.status_code == 422
