"""The client against the local notebook service: transformations, models, credentials, podcasts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from openai_server import OpenAI, serving

from labext.errors import (
    InputError,
    JobFailedError,
    NotFoundError,
    NotReadyError,
    ServiceError,
    SetupError,
)
from labext.frames.views import frame_text
from labext.nb import NotebookClient, records
from labext.progress import Outcome
from labext.sandbox import Sandbox

pytestmark = pytest.mark.contract

KEY = "sk-labext-contract-4711"
PAPER = """Glucose is added to the uninduced culture because it represses the araBAD promoter.
Arabinose induces expression of the gene. The plasmid is pBAD30. Cells grew at 37 degrees."""


@pytest.fixture(scope="module")
def provider() -> Iterator[OpenAI]:
    with serving() as server:
        server.key = KEY
        yield server


@pytest.fixture(scope="module")
def nb(box: Sandbox) -> Iterator[NotebookClient]:
    with NotebookClient(box.nb.base_url, box.nb.password) as client:
        client.notebooks.create("Bench")
        client.sources.add_text(PAPER, "Bench", title="Paper", process_async=False)
        yield client


@pytest.fixture(scope="module")
def lab(nb: NotebookClient, provider: OpenAI) -> str:
    """A credential of the provider with the correct key."""
    nb.credentials.create("openai_compatible", "lab", KEY, provider.base_url)
    return "lab"


@pytest.fixture(scope="module")
def language_model(nb: NotebookClient, lab: str) -> str:
    """A language model of the provider."""
    nb.models.create("talker", "llm", "openai_compatible", lab)
    return "openai_compatible/talker"


@pytest.fixture(scope="module")
def voice(nb: NotebookClient, lab: str) -> str:
    """A voice model of the provider, in its slot: nothing needs to be installed."""
    nb.credentials.register_models(lab, [("tts-1", "tts")])
    nb.models.set_defaults({"text_to_speech": "openai_compatible/tts-1"})
    return "tts-1"


@pytest.fixture(scope="module")
def episode(nb: NotebookClient, voice: str) -> str:
    sent = nb.podcasts.generate("Bench", "interview", ["host", "guest"], "Episode 1")
    assert list(sent) == list(records.EPISODE_SUBMISSION)
    snapshots = list(nb.podcasts.watch("Episode 1"))
    assert snapshots[-1].outcome is Outcome.COMPLETE, snapshots[-1].reason
    assert {snapshot.subject for snapshot in snapshots} == {"Episode 1"}
    job = nb.podcasts.job(sent["job_id"])
    assert list(job) == list(records.JOB)
    assert job["result"]["episode_id"] == sent["episode_id"]
    assert nb.podcasts.wait(sent["job_id"], 10)["id"] == sent["episode_id"]
    return "Episode 1"


class TestTransformations:
    def test_lifecycle(self, nb):
        created = nb.transformations.create("Methods", "List every reagent.", description="d")
        assert list(created) == list(records.TRANSFORMATION)
        assert (created["title"], created["apply_default"], created["model_id"]) == (
            "Methods",
            False,
            None,
        )
        assert nb.transformations.get("methods") == created
        changed = nb.transformations.update("Methods", title="Reagents", apply_default=True)
        assert (changed["id"], changed["prompt"]) == (created["id"], "List every reagent.")
        assert nb.transformations.find("reagents") == created["id"]
        frame = nb.transformations.list()
        assert set(frame.columns) == set(records.TRANSFORMATION)
        assert {"Key findings", "Methods"} <= set(nb.transformations.names())
        assert "Methods" in frame_text(frame)
        nb.transformations.delete("Methods")
        with pytest.raises(NotFoundError, match=r"nb\.transformations\.list"):
            nb.transformations.get("Methods")

    def test_transformation_uses_the_model_and_default_prompt(self, nb, provider, language_model):
        own = nb.transformations.execute("Key findings", PAPER)
        assert list(own) == list(records.OUTPUT)
        assert own["output"]
        before = nb.transformations.default_prompt()
        try:
            assert nb.transformations.set_default_prompt("Be brief.") == "Be brief."
            assert nb.transformations.default_prompt() == "Be brief."
            other = nb.transformations.execute("Key findings", PAPER, language_model)
            assert other["model_id"] == nb.models.find(language_model)
            request = provider.requests[-1]
            assert request.headers["authorization"] == f"Bearer {KEY}"
            assert "Be brief." in request.text
            assert "araBAD" in request.text
        finally:
            nb.transformations.set_default_prompt(before)

    def test_missing_model_suggests_setting_one(self, nb):
        before = nb.models.defaults()["transformation"]
        nb.models.set_defaults({"transformation": None})
        try:
            with pytest.raises(SetupError) as caught:
                nb.transformations.execute("Key findings", PAPER)
            assert 'nb.models.set_defaults({"transformation"' in caught.value.next_step
        finally:
            nb.models.set_defaults({"transformation": before["id"] if before else None})


class TestModels:
    def test_lifecycle(self, nb, lab):
        created = nb.models.create("tts-1", "tts", "openai_compatible", lab)
        assert list(created) == list(records.MODEL)
        assert created["credential"] == nb.credentials.find(lab)
        with pytest.raises(InputError, match="already"):
            nb.models.create("tts-1", "tts", "openai_compatible", lab)
        assert "tts-1" in nb.models.names("tts")
        assert "tts-1" not in nb.models.names("llm")
        assert set(nb.models.list().columns) == set(records.MODEL)
        assert nb.models.find("openai_compatible/tts-1") == created["id"]
        counted = nb.models.count("openai_compatible")
        assert counted["counts"]["tts"] == 1
        assert created["id"] in set(nb.models.by_provider("openai_compatible")["id"])
        nb.models.delete("tts-1")
        with pytest.raises(NotFoundError, match=r"nb\.models\.list"):
            nb.models.find("tts-1")

    def test_model_in_a_slot_cannot_be_deleted(self, nb, language_model):
        before = nb.models.defaults()
        assert list(before) == list(records.SLOTS)
        after = nb.models.set_defaults({"summary": language_model})
        try:
            assert after["summary"] is not None
            assert after["summary"]["name"] == "talker"
            assert {slot: model for slot, model in after.items() if slot != "summary"} == {
                slot: model for slot, model in before.items() if slot != "summary"
            }
            with pytest.raises(InputError, match="summary") as caught:
                nb.models.delete(language_model)
            assert "nb.models.set_defaults(" in caught.value.next_step
        finally:
            cleared = nb.models.set_defaults({"summary": None})
        assert cleared["summary"] is None
        assigned = nb.models.auto_assign()
        assert "summary" in assigned["assigned"]
        assert "chat" in assigned["skipped"]

    def test_model_test_reports_a_wrong_key(self, nb, provider, language_model):
        assert nb.models.test(language_model)["success"] is True
        provider.key = "another"
        try:
            result = nb.models.test(language_model)
        finally:
            provider.key = KEY
        assert result["success"] is False
        assert result["message"]
        assert KEY not in repr(result)

    def test_providers_and_their_models(self, nb, language_model):
        providers = nb.models.providers()
        assert set(providers.columns) == set(records.PROVIDER)
        by_name = providers.set_index("provider")["available"]
        assert bool(by_name["openai_compatible"])
        assert not bool(by_name["groq"])
        offered = nb.models.discover("openai_compatible")
        assert {"talker", "tts-1"} <= set(offered["name"])
        (synced,) = nb.models.sync("openai_compatible").to_dict("records")
        assert synced["discovered"] == synced["new"] + synced["existing"]
        all_results = nb.models.sync()
        assert "openai_compatible" in set(all_results["provider"])
        assert set(all_results.columns) == set(records.SYNC_RESULT)
        with pytest.raises(InputError, match="no provider"):
            nb.models.discover("nobody")


class TestCredentials:
    def test_lifecycle(self, nb, provider):
        created = nb.credentials.create("openai_compatible", "home", KEY, provider.base_url)
        assert list(created) == list(records.CREDENTIAL)
        assert (created["has_api_key"], created["decryption_error"]) == (True, None)
        assert KEY not in repr(nb.credentials.get("home")) + repr(nb.credentials.list())
        assert nb.credentials.test("home")["success"] is True
        offered = nb.credentials.discover("home")
        assert "talker" in set(offered["name"])
        registered = nb.credentials.register_models("home", [("talker", "llm"), ("tts-1", "tts")])
        assert registered == {"created": 2, "existing": 0}
        again = nb.credentials.register_models("home", [("talker", "llm")])
        assert again == {"created": 0, "existing": 1}
        assert nb.credentials.get("home")["model_count"] == 2
        assert nb.credentials.update("home", name="house", api_key="")["has_api_key"] is False
        assert "house" in nb.credentials.names("openai_compatible")
        assert created["id"] in set(nb.credentials.by_provider("openai_compatible")["id"])
        assert nb.credentials.delete("house") == {"id": created["id"], "deleted_models": 2}
        with pytest.raises(NotFoundError, match=r"nb\.credentials\.list"):
            nb.credentials.get("house")

    def test_credential_status(self, nb, lab):
        frame = nb.credentials.status()
        assert set(frame.columns) == set(records.CREDENTIAL_STATUS)
        source = frame.set_index("provider")["source"]
        assert (source["openai_compatible"], source["groq"]) == ("database", "none")
        assert frame.attrs["encryption_configured"] is True
        assert nb.credentials.env_status()["groq"] is False

    def test_invalid_credentials(self, nb):
        with pytest.raises(InputError, match="no provider"):
            nb.credentials.create("nobody", "x", KEY)
        with pytest.raises(InputError, match="link-local"):
            nb.credentials.create("ollama", "x", base_url="http://169.254.169.254/")
        nb.credentials.create("openai_compatible", "gone", KEY, "http://127.0.0.1:9/v1")
        try:
            assert nb.credentials.test("gone")["success"] is False
            with pytest.raises(ServiceError, match=r"127\.0\.0\.1:9") as caught:
                nb.credentials.discover("gone")
            assert caught.value.next_step
        finally:
            nb.credentials.delete("gone")


class TestProfiles:
    def test_episode_profile_lifecycle(self, nb):
        assert "interview" in nb.episode_profiles.names()
        created = nb.episode_profiles.create(
            "short",
            ["host", "guest"],
            description="d",
            num_segments=2,
            default_briefing="Be short.",
        )
        assert list(created) == list(records.EPISODE_PROFILE)
        assert created["speaker_profile_ids"] == [
            nb.speaker_profiles.find("host"),
            nb.speaker_profiles.find("guest"),
        ]
        assert nb.episode_profiles.get("short") == created
        with pytest.raises(InputError):
            nb.episode_profiles.create("short")
        changed = nb.episode_profiles.update("short", num_segments=3, speakers="expert")
        assert (changed["num_segments"], changed["default_briefing"]) == (3, "Be short.")
        copy = nb.episode_profiles.duplicate("short")
        assert (copy["name"] != "short", copy["num_segments"]) == (True, 3)
        assert {"short", copy["name"]} <= set(nb.episode_profiles.list()["name"])
        nb.episode_profiles.delete("short")
        nb.episode_profiles.delete(copy["id"])
        with pytest.raises(NotFoundError, match=r"nb\.episode_profiles\.list"):
            nb.episode_profiles.get("short")

    def test_speaker_profile_lifecycle(self, nb):
        ada = {"name": "Ada", "backstory": "A biologist."}
        created = nb.speaker_profiles.create("ada", ada)
        assert list(created) == list(records.SPEAKER_PROFILE)
        assert created["speakers"] == [dict.fromkeys(records.SPEAKER) | {"personality": ""} | ada]
        with pytest.raises(InputError):
            nb.speaker_profiles.create("many", [{"name": f"S{n}"} for n in range(5)])
        changed = nb.speaker_profiles.update("ada", description="d")
        assert (changed["description"], changed["speakers"]) == ("d", created["speakers"])
        copy = nb.speaker_profiles.duplicate("ada")
        assert copy["speakers"] == created["speakers"]
        assert {"host", "ada", copy["name"]} <= set(nb.speaker_profiles.list()["name"])
        nb.speaker_profiles.delete("ada")
        nb.speaker_profiles.delete(copy["id"])
        with pytest.raises(NotFoundError, match=r"nb\.episode_profiles\.list"):
            nb.speaker_profiles.find("ada")


class TestPodcasts:
    def test_transcript_and_audio(self, nb, episode, tmp_path):
        record = nb.podcasts.episode(episode)
        assert list(record) == list(records.EPISODE_DETAIL)
        lines = record["transcript"]["transcript"]
        assert len({line["speaker"] for line in lines}) == 2
        assert all(line["start"] < line["end"] <= record["duration"] for line in lines)
        assert record["outline"]["segments"]
        written = nb.podcasts.audio(episode, tmp_path)
        assert written == tmp_path / "Episode 1.mp3"
        sound = nb.podcasts.sound(episode)
        assert written.read_bytes() == sound
        assert len(sound) == record["audio_bytes"]
        frame = nb.podcasts.episodes()
        assert set(frame.columns) == set(records.EPISODE)
        assert "Episode 1" in frame_text(frame)
        assert episode in nb.podcasts.names()

    def test_completed_episode_cannot_be_retried(self, nb, episode):
        with pytest.raises(InputError, match="failed"):
            nb.podcasts.retry(episode)

    def test_failed_episode_can_be_retried(self, nb, provider, episode):
        provider.key = "another"
        try:
            nb.podcasts.generate("Bench", "interview", None, "Episode 2")
            with pytest.raises(JobFailedError) as caught:
                nb.podcasts.wait("Episode 2", 30)
            assert 'nb.podcasts.retry("Episode 2")' in caught.value.next_step
            with pytest.raises(JobFailedError):
                nb.podcasts.sound("Episode 2")
        finally:
            provider.key = KEY
        before = nb.podcasts.episode("Episode 2")
        again = nb.podcasts.retry("Episode 2")
        assert again["job_id"] != before["job_id"]
        assert nb.podcasts.wait("Episode 2", 30)["id"] == before["id"]
        nb.podcasts.delete("Episode 2")
        with pytest.raises(NotFoundError, match=r"nb\.podcasts\.episodes"):
            nb.podcasts.episode("Episode 2")

    def test_invalid_episode_requests(self, nb, voice):
        nb.notebooks.create("Empty")
        with pytest.raises(InputError) as caught:
            nb.podcasts.generate("Empty", "interview", name="x")
        assert "`nb.sources.add(" in caught.value.next_step
        with pytest.raises(NotFoundError, match=r"nb\.episode_profiles\.list"):
            nb.podcasts.generate("Bench", "nothing")
        with pytest.raises(NotFoundError, match=r"nb\.episode_profiles\.list"):
            nb.podcasts.generate("Bench", "interview", ["nobody"])
        crowd = nb.speaker_profiles.create("crowd", [{"name": f"S{n}"} for n in range(4)])
        with pytest.raises(InputError, match="speakers"):
            nb.podcasts.generate("Bench", "interview", ["host", crowd["id"]])
        slot = nb.models.defaults()["podcast"]
        nb.models.set_defaults({"podcast": None})
        try:
            with pytest.raises(SetupError) as missing:
                nb.podcasts.generate("Bench", "interview", name="x")
            assert 'nb.models.set_defaults({"podcast"' in missing.value.next_step
        finally:
            nb.models.set_defaults({"podcast": slot["id"] if slot else None})
        assert "x" not in nb.podcasts.names()

    def test_wait_timeout(self, nb, voice):
        nb.podcasts.generate("Bench", "interview", name="Episode 3")
        with pytest.raises(NotReadyError, match="unchanged for"):
            nb.podcasts.wait("Episode 3", 0)
        nb.podcasts.delete("Episode 3")
