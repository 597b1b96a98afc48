"""Proofs: models, credentials, transformations, profiles and podcasts."""

from __future__ import annotations

from typing import Any

from labext.nb.records import (
    COUNTED,
    CREDENTIAL,
    DELETED_CREDENTIAL,
    DISCOVERED,
    EPISODE,
    EPISODE_PROFILE,
    JOB,
    MODEL,
    OUTPUT,
    PROVIDER,
    REGISTERED,
    RETRIED,
    SPEAKER_PROFILE,
    SUBMITTED,
    SYNCED,
    TESTED,
    TRANSFORMATION,
    WHOLE_EPISODE,
)
from open_notebook.facts import recordings
from open_notebook.proof import derived, proof
from open_notebook.proved_knowledge import MODEL_ID, NOTEBOOK_ID

CREDENTIAL_ID, DOOMED = "credential:zxmjl3b0xkd8arrpirk8", "credential:f2cf5nzlm4qcy2gmdxug"
TRANSFORMATION_ID = "transformation:crmosgrkryawdq7gtwom"
SOLO, BUSINESS, TECH = (
    "episode_profile:umd1xkd0jx5z63pc1es9",
    "episode_profile:wett8l13jgi0pneipe3g",
    "episode_profile:4sygcox2bzjokyax9qb6",
)
SOLO_SPEAKER, TECH_SPEAKERS = (
    "speaker_profile:ym0aj2nnzcrsdbczgpoa",
    "speaker_profile:apv0q0oqbc8ccqewyywj",
)
EPISODE_ID, FAILED_EPISODE = "episode:n5skkax1bon24v7t4bg5", "episode:s1t3t984kjwcdkvllvxr"
JOB_ID = "command:ogiwb3haf5iktdhipcsa"
TTS, STT, EMBEDDING = (
    "model:45rdtr2050cgjltw0vil",
    "model:pjo7u1qxci98mci6cvg8",
    "model:6zyfluza1efpcgffvcit",
)
PROVIDER_ID = "openai_compatible"


def _asked(name: str) -> Any:
    return recordings()[name].json


MODELS = (
    proof("models", lambda d: d.models(), "models.list", fields=MODEL, holds={"type": "tts"}),
    proof(
        "models",
        lambda d: d.models("llm"),
        "models.list_type_language",
        fields=MODEL,
        holds={"type": "llm", "name": "badkey-chat"},
    ),
    proof(
        "new_model",
        lambda d: d.new_model("fake-tts", "tts", PROVIDER_ID, CREDENTIAL_ID),
        "models.create.fake-tts",
        fields=MODEL,
        holds={"type": "tts", "id": TTS},
    ),
    proof(
        "new_model",
        lambda d: d.new_model("fake-stt", "stt", PROVIDER_ID, CREDENTIAL_ID),
        "models.create.fake-stt",
        fields=MODEL,
        holds={"type": "stt", "id": STT},
    ),
    proof(
        "new_model",
        lambda d: d.new_model("nosearch-chat", "llm", PROVIDER_ID, None),
        "models.create.nosearch-chat",
        fields=MODEL,
        untold="credential",
        left="credential",
    ),
    proof(
        "delete_model",
        lambda d: d.delete_model("model:ytkf5y3obq848dgqn2z0"),
        "models.delete",
        result=None,
    ),
    *(
        proof(
            "test_model",
            lambda d, model=model: d.test_model(model),
            f"models.test.{name}",
            fields=TESTED,
            untold="details",
            holds={"success": good},
        )
        for name, model, good in (
            ("fake-chat", MODEL_ID, True),
            ("fake-embed", EMBEDDING, True),
            ("fake-stt", STT, True),
            ("fake-tts", TTS, True),
            ("limit-chat", "model:rvpfihowbm3ibqv9glxg", True),
            ("fail-chat", "model:d7xfh10sukzzjci3fg9k", False),
            ("badkey-chat", "model:bo6f8s5xhql4r326xye8", False),
        )
    ),
    proof(
        "defaults",
        lambda d: d.defaults(),
        "models.defaults_after_auto",
        result={
            "chat": "model:bo6f8s5xhql4r326xye8",
            "transformation": None,
            "embedding": EMBEDDING,
            "speech_to_text": None,
            "text_to_speech": None,
            "podcast": None,
            "summary": None,
        },
    ),
    # An empty word is no model either.
    proof(
        "defaults",
        lambda d: d.defaults(),
        "models.defaults_empty",
        result=dict.fromkeys(
            (
                "chat",
                "transformation",
                "embedding",
                "speech_to_text",
                "text_to_speech",
                "podcast",
                "summary",
            )
        ),
    ),
    proof(
        "set_defaults",
        lambda d: d.set_defaults({"chat": MODEL_ID, "text_to_speech": TTS, "speech_to_text": STT}),
        "models.defaults_put_partial",
        result={
            "chat": MODEL_ID,
            "transformation": None,
            "embedding": EMBEDDING,
            "speech_to_text": STT,
            "text_to_speech": TTS,
            "podcast": None,
            "summary": None,
        },
    ),
    proof(
        "set_defaults",
        lambda d: d.set_defaults({"text_to_speech": None}),
        "models.defaults_put_clear_optional",
    ),
    proof(
        "providers",
        lambda d: d.providers(),
        "models.providers",
        fields=PROVIDER,
        holds={"provider": PROVIDER_ID, "types": ["llm", "embedding", "stt", "tts"]},
    ),
    proof("providers", lambda d: d.providers(), "models.providers_empty", fields=PROVIDER),
    proof(
        "discover",
        lambda d: d.discover(PROVIDER_ID),
        "models.discover",
        fields=DISCOVERED,
        untold="description",
        holds={"name": "fake-chat", "model_type": "llm"},
    ),
    proof("discover", lambda d: d.discover("nope"), "models.discover_unknown", result=[]),
    proof(
        "sync",
        lambda d: d.sync(PROVIDER_ID),
        "models.sync_one",
        fields=SYNCED,
        untold="error",
        holds={"discovered": 14, "new": 6, "existing": 8},
    ),
    proof(
        "auto_assign",
        lambda d: d.auto_assign(),
        "models.auto_assign",
        result={
            "assigned": {"chat": "model:bo6f8s5xhql4r326xye8", "embedding": EMBEDDING},
            "skipped": [],
            "missing": [],
        },
    ),
    proof(
        "auto_assign",
        lambda d: d.auto_assign(),
        "models.auto_assign_again",
        result={"assigned": {}, "skipped": ["chat", "embedding"], "missing": []},
    ),
    proof(
        "count_models",
        lambda d: d.count_models(PROVIDER_ID),
        "models.count",
        fields=COUNTED,
        holds={"total": 10, "counts": {"llm": 6, "embedding": 1, "stt": 1, "tts": 2}},
    ),
    proof("count_models", lambda d: d.count_models("nope"), "models.count_unknown", fields=COUNTED),
    proof(
        "models_of",
        lambda d: d.models_of(PROVIDER_ID),
        "models.by_provider",
        fields=MODEL,
        holds={"type": "embedding"},
    ),
)

CREDENTIALS = (
    proof(
        "credentials",
        lambda d: d.credentials(),
        "credentials.list",
        fields=CREDENTIAL,
        untold="decryption_error",
        holds={"created_at": "2026-11-20T13:22:06.587Z"},
    ),
    proof(
        "credentials",
        lambda d: d.credentials(PROVIDER_ID),
        "credentials.list_by_query",
        fields=CREDENTIAL,
        untold="decryption_error",
    ),
    proof(
        "credentials",
        lambda d: d.credentials(),
        "credentials.list_no_encryption_key",
        fields=CREDENTIAL,
        untold="base_url",
        holds={
            "decryption_error": "Failed to decrypt API key. The encryption key may have changed."
        },
    ),
    proof(
        "credentials_of",
        lambda d: d.credentials_of(PROVIDER_ID),
        "credentials.by_provider",
        fields=CREDENTIAL,
        untold="decryption_error",
    ),
    proof(
        "credential",
        lambda d: d.credential(CREDENTIAL_ID),
        "credentials.get",
        fields=CREDENTIAL,
        untold="decryption_error",
    ),
    proof(
        "new_credential",
        lambda d: d.new_credential(_asked("credentials.create")),
        "credentials.create",
        fields=CREDENTIAL,
        untold="decryption_error",
        holds={"has_api_key": True, "name": "Local fake"},
    ),
    proof(
        "change_credential",
        lambda d: d.change_credential(CREDENTIAL_ID, {"name": "Local fake 2"}),
        "credentials.put",
        fields=CREDENTIAL,
        untold="decryption_error",
        left="modalities",
        holds={"name": "Local fake 2"},
    ),
    proof(
        "delete_credential",
        lambda d: d.delete_credential(DOOMED),
        "credentials.delete",
        fields=DELETED_CREDENTIAL,
        holds={"deleted_models": 0},
    ),
    *(
        proof(
            "test_credential",
            lambda d, one=one: d.test_credential(one),
            name,
            fields={"provider": "category", **TESTED},
            untold="details",
            holds={"success": good},
        )
        for name, one, good in (
            ("credentials.test", CREDENTIAL_ID, True),
            ("credentials.test_openai_offline", DOOMED, False),
        )
    ),
    proof(
        "discover_with",
        lambda d: d.discover_with(CREDENTIAL_ID),
        "credentials.discover",
        fields=DISCOVERED,
        untold="model_type description",
        holds={"name": "fake-chat"},
    ),
    proof(
        "discover_with",
        lambda d: d.discover_with(DOOMED),
        "credentials.discover_openai_offline",
        result=[],
    ),
    proof(
        "register_models",
        lambda d: d.register_models(
            CREDENTIAL_ID, [("fake-chat", "llm"), ("fake-embed", "embedding")]
        ),
        "credentials.get",
        "credentials.register_models",
        fields=REGISTERED,
        holds={"created": 2, "existing": 0},
    ),
    proof(
        "register_models",
        lambda d: d.register_models(CREDENTIAL_ID, [("fake-chat", "llm")]),
        "credentials.get",
        "credentials.register_models_again",
        fields=REGISTERED,
        holds={"created": 0, "existing": 1},
    ),
    proof("credential_status", lambda d: d.credential_status(), "credentials.status"),
    proof("credential_status", lambda d: d.credential_status(), "credentials.status_empty"),
    proof(
        "credential_status",
        lambda d: d.credential_status(),
        "credentials.status_no_encryption_key",
    ),
    proof(
        "environment_status",
        lambda d: d.environment_status(),
        "credentials.env_status",
        result=recordings()["credentials.env_status"].answer,
    ),
)

TRANSFORMATIONS = (
    proof(
        "transformations",
        lambda d: d.transformations(),
        "transformations.list",
        fields=TRANSFORMATION,
        untold="model_id",
    ),
    proof(
        "transformation",
        lambda d: d.transformation(TRANSFORMATION_ID),
        "transformations.get",
        fields=TRANSFORMATION,
        untold="model_id",
        holds={"title": "Shorten", "created_at": "2026-11-20T13:30:43.462Z"},
    ),
    proof(
        "new_transformation",
        lambda d: d.new_transformation(_asked("transformations.create")),
        "transformations.create",
        fields=TRANSFORMATION,
        untold="model_id",
    ),
    # That server wants a title and a description too.
    proof(
        "new_transformation",
        lambda d: d.new_transformation({"name": "shorten", "prompt": "Shorten this."}),
        "transformations.create",
        left="apply_default",
        other="title description",
    ),
    proof(
        "change_transformation",
        lambda d: d.change_transformation(TRANSFORMATION_ID, {"title": "Shorten it"}),
        "transformations.put",
        fields=TRANSFORMATION,
        untold="model_id",
        holds={"title": "Shorten it"},
    ),
    proof(
        "delete_transformation",
        lambda d: d.delete_transformation(TRANSFORMATION_ID),
        "transformations.delete",
        result=None,
    ),
    proof(
        "transform",
        lambda d: d.transform(TRANSFORMATION_ID, "Long text here.", MODEL_ID),
        "transformations.execute",
        fields=OUTPUT,
        holds={"output": "Fake answer (fake-chat) to: 'Long text here.'. "},
    ),
    proof(
        "transform",
        lambda d: d.transform(TRANSFORMATION_ID, "Long text here.", None),
        "transformations.execute_no_model",
        fields=OUTPUT,
        untold="model_id",
    ),
    proof("default_prompt", lambda d: d.default_prompt(), "transformations.default_prompt_get"),
    proof(
        "set_default_prompt",
        lambda d: d.set_default_prompt("Be brief."),
        "transformations.default_prompt_put",
        result="Be brief.",
    ),
)

_UNTIMED = "created_at updated_at"
_SOLO = _asked("episode_profiles.put.solo_expert")

PROFILES = (
    proof(
        "episode_profiles",
        lambda d: d.episode_profiles(),
        "episode_profiles.list",
        fields=EPISODE_PROFILE,
        untold=f"outline_llm transcript_llm language max_tokens {_UNTIMED}",
        holds={"speaker_profile_ids": ["speaker_profile:i9k4208ntfbf6c0k4f1a"]},
    ),
    proof(
        "episode_profile",
        lambda d: d.episode_profile(SOLO),
        "episode_profiles.list",
        fields=EPISODE_PROFILE,
        untold=f"outline_llm transcript_llm language max_tokens {_UNTIMED}",
        holds={"name": "solo_expert", "num_segments": 4},
    ),
    proof(
        "new_episode_profile",
        lambda d: d.new_episode_profile(
            {
                "name": "short",
                "description": "",
                "speaker_profile_ids": [SOLO_SPEAKER],
                "outline_llm": MODEL_ID,
                "transcript_llm": MODEL_ID,
                "default_briefing": "Be brief",
                "num_segments": 3,
            }
        ),
        "speaker_profiles.list",
        "episode_profiles.create",
        fields=EPISODE_PROFILE,
        untold=f"language max_tokens {_UNTIMED}",
        holds={"speaker_profile_ids": [SOLO_SPEAKER], "num_segments": 3},
    ),
    # Whatever is not sent would be lost: the rest is what was there.
    proof(
        "change_episode_profile",
        lambda d: d.change_episode_profile(
            SOLO, {"outline_llm": MODEL_ID, "transcript_llm": MODEL_ID, "num_segments": 3}
        ),
        "episode_profiles.list",
        "speaker_profiles.list",
        "episode_profiles.put.solo_expert",
        fields=EPISODE_PROFILE,
        untold=f"language max_tokens {_UNTIMED}",
        holds={"num_segments": 3, "outline_llm": MODEL_ID},
        schema="max_tokens",
        other="speaker_config",
    ),
    proof(
        "delete_episode_profile",
        lambda d: d.delete_episode_profile("episode_profile:ab9pn8ezevq039edo40u"),
        "episode_profiles.delete",
        result=None,
    ),
    proof(
        "copy_episode_profile",
        lambda d: d.copy_episode_profile(BUSINESS),
        "episode_profiles.duplicate",
        fields=EPISODE_PROFILE,
        untold=f"language max_tokens {_UNTIMED}",
        holds={"name": "business_analysis - Copy"},
    ),
    proof(
        "speaker_profiles",
        lambda d: d.speaker_profiles(),
        "speaker_profiles.list",
        fields=SPEAKER_PROFILE,
        untold=f"voice_model {_UNTIMED}",
    ),
    proof(
        "speaker_profile",
        lambda d: d.speaker_profile(SOLO_SPEAKER),
        "speaker_profiles.list",
        fields=SPEAKER_PROFILE,
        untold=f"voice_model {_UNTIMED}",
        holds={"name": "solo_expert"},
    ),
    proof(
        "change_speaker_profile",
        lambda d: d.change_speaker_profile(TECH_SPEAKERS, {"voice_model": TTS}),
        "speaker_profiles.list",
        "speaker_profiles.put.tech_experts",
        fields=SPEAKER_PROFILE,
        untold=_UNTIMED,
        holds={"voice_model": TTS},
    ),
)


def _with_models() -> tuple[Any, Any]:
    """The profiles as they are once they have models."""
    solo = recordings()["episode_profiles.put.solo_expert"].answer
    speaker = recordings()["speaker_profiles.put.solo_expert"].answer
    return (
        derived("episode_profiles.list", answer=[solo]),
        derived("speaker_profiles.list", answer=[speaker]),
    )


_EPISODE = "notebook_id job_id stage progress duration audio_bytes updated_at"

PODCASTS = (
    proof(
        "generate",
        lambda d: d.generate(NOTEBOOK_ID, SOLO, [SOLO_SPEAKER], "Ep one", None),
        *_with_models(),
        "podcasts.generate",
        fields=SUBMITTED,
        untold="episode_id",
        holds={"job_id": JOB_ID, "status": "submitted"},
    ),
    proof(
        "generate",
        lambda d: d.generate(NOTEBOOK_ID, SOLO, None, "Ep one", "Mention yields."),
        *_with_models(),
        "podcasts.generate",
        fields=SUBMITTED,
        untold="episode_id",
        schema="briefing_suffix",
    ),
    *(
        proof(
            "podcast_job",
            lambda d, job=job: d.podcast_job(job),
            name,
            fields=JOB,
            untold=f"stage progress {_UNTIMED} {untold}",
            holds={"status": status},
        )
        for name, job, status, untold in (
            ("podcasts.job_running", JOB_ID, "running", "result error_message"),
            ("podcasts.job_completed", JOB_ID, "completed", "error_message"),
            ("podcasts.job_failed", "command:l7h1f4al8d4t6lonwqli", "failed", "result"),
            (
                "podcasts.job_after_retry",
                "command:1jxn441figqricvenm62",
                "completed",
                "error_message",
            ),
        )
    ),
    proof(
        "episodes",
        lambda d: d.episodes(),
        "podcasts.episodes",
        fields=EPISODE,
        untold=f"{_EPISODE} error_message",
        holds={"name": "Ep one", "job_status": "completed"},
    ),
    proof(
        "episodes",
        lambda d: d.episodes(),
        "podcasts.episodes_while_running",
        fields=EPISODE,
        untold=f"{_EPISODE} error_message audio_file audio_url",
        holds={"job_status": "running"},
    ),
    proof(
        "episodes",
        lambda d: d.episodes(),
        "podcasts.episodes_with_failed",
        fields=EPISODE,
        untold=f"{_EPISODE} audio_file audio_url",
        holds={
            "job_status": "failed",
            "error_message": "Failed to generate speech: OpenAI-compatible TTS endpoint error: "
            "fake internal server error",
        },
    ),
    proof("episodes", lambda d: d.episodes(), "podcasts.episodes_after_no_model", result=[]),
    proof(
        "episode",
        lambda d: d.episode(EPISODE_ID),
        "podcasts.episode",
        fields=WHOLE_EPISODE,
        untold=f"{_EPISODE} error_message",
        holds={"created_at": "2026-11-20T13:30:46.021Z"},
    ),
    proof(
        "episode",
        lambda d: d.episode(FAILED_EPISODE),
        "podcasts.episode_failed",
        fields=WHOLE_EPISODE,
        untold=f"{_EPISODE} audio_file audio_url outline transcript",
    ),
    proof("audio", lambda d: d.audio(EPISODE_ID), "podcasts.audio", result=91785),
    # No recording has a retry's answer: the schema's and the state after it tell of it.
    proof(
        "retry_episode",
        lambda d: d.retry_episode(FAILED_EPISODE),
        derived(
            "podcasts.retry_completed",
            asks=f"POST /api/podcasts/episodes/{FAILED_EPISODE}/retry",
            status=200,
            answer={"job_id": "command:1jxn441figqricvenm62", "message": "Retry submitted"},
        ),
        fields=RETRIED,
        untold="episode_id",
        holds={"job_id": "command:1jxn441figqricvenm62"},
    ),
    proof(
        "delete_episode",
        lambda d: d.delete_episode("episode:s360ttk9acyoxnrxoq4l"),
        "podcasts.delete",
        result=None,
    ),
)

STATUS = (
    proof(
        "status",
        lambda d: d.status(),
        "meta.config",
        "meta.auth_status",
        result={"version": "1.14.0", "database": "online", "password_needed": False},
    ),
    proof(
        "status",
        lambda d: d.status(),
        "auth.open_api_config",
        "auth.open_api_auth_status",
        result={"version": "1.14.0", "database": "online", "password_needed": True},
    ),
)

MAKING = (*MODELS, *CREDENTIALS, *TRANSFORMATIONS, *PROFILES, *PODCASTS, *STATUS)
