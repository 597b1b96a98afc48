"""Proofs: models, credentials and transformations."""

from __future__ import annotations

from unittest.mock import call

from open_notebook.facts import recordings, request_body
from open_notebook.proof import proof
from open_notebook.proved.ids import (
    CREDENTIAL_ID,
    DOOMED_CREDENTIAL,
    EMBEDDING,
    MODEL_ID,
    PROVIDER_ID,
    STT,
    TRANSFORMATION_ID,
    TTS,
)

PROOFS = (
    proof(call.models(), "models.list", values={"type": "tts"}),
    proof(
        call.models("llm"),
        "models.list_type_language",
        values={"type": "llm", "name": "badkey-chat"},
    ),
    proof(
        call.new_model("fake-tts", "tts", PROVIDER_ID, CREDENTIAL_ID),
        "models.create.fake-tts",
        values={"type": "tts", "id": TTS},
    ),
    proof(
        call.new_model("nosearch-chat", "llm", PROVIDER_ID, None),
        "models.create.nosearch-chat",
        missing="credential",
        omitted="credential",
    ),
    proof(call.delete_model("model:ytkf5y3obq848dgqn2z0"), "models.delete", result=None),
    proof(
        call.test_model(MODEL_ID),
        "models.test.fake-chat",
        missing="details",
        values={"success": True},
    ),
    proof(
        call.test_model("model:d7xfh10sukzzjci3fg9k"),
        "models.test.fail-chat",
        missing="details",
        values={"success": False},
    ),
    proof(
        call.defaults(),
        "models.defaults_after_auto",
        result={
            "chat": "model:bo6f8s5xhql4r326xye8",
            "transformation": None,
            "embedding": EMBEDDING,
            "speech_to_text": None,
            "text_to_speech": None,
        },
    ),
    # An empty string also means no model.
    proof(
        call.defaults(),
        "models.defaults_empty",
        result=dict.fromkeys(
            ("chat", "transformation", "embedding", "speech_to_text", "text_to_speech")
        ),
    ),
    proof(
        call.set_defaults({"chat": MODEL_ID, "text_to_speech": TTS, "speech_to_text": STT}),
        "models.defaults_put_partial",
        result={
            "chat": MODEL_ID,
            "transformation": None,
            "embedding": EMBEDDING,
            "speech_to_text": STT,
            "text_to_speech": TTS,
        },
    ),
    proof(call.set_defaults({"text_to_speech": None}), "models.defaults_put_clear_optional"),
    proof(
        call.providers(),
        "models.providers",
        values={"provider": PROVIDER_ID, "types": ["llm", "embedding", "stt", "tts"]},
    ),
    proof(
        call.discover(PROVIDER_ID),
        "models.discover",
        missing="description",
        values={"name": "fake-chat", "model_type": "llm"},
    ),
    proof(
        call.sync(PROVIDER_ID),
        "models.sync_one",
        missing="error",
        values={"discovered": 14, "new": 6, "existing": 8},
    ),
    proof(
        call.auto_assign(),
        "models.auto_assign",
        result={
            "assigned": {"chat": "model:bo6f8s5xhql4r326xye8", "embedding": EMBEDDING},
            "skipped": [],
            "missing": [],
        },
    ),
    proof(
        call.auto_assign(),
        "models.auto_assign_again",
        result={"assigned": {}, "skipped": ["chat", "embedding"], "missing": []},
    ),
    proof(
        call.count_models(PROVIDER_ID),
        "models.count",
        values={"total": 10, "counts": {"llm": 6, "embedding": 1, "stt": 1, "tts": 2}},
    ),
    proof(call.models_of(PROVIDER_ID), "models.by_provider", values={"type": "embedding"}),
    proof(
        call.credentials(),
        "credentials.list",
        missing="decryption_error",
        values={"created_at": "2026-11-20T13:22:06.587Z"},
    ),
    proof(call.credentials(PROVIDER_ID), "credentials.list_by_query", missing="decryption_error"),
    proof(
        call.credentials(),
        "credentials.list_no_encryption_key",
        missing="base_url",
        values={
            "decryption_error": "Failed to decrypt API key. The encryption key may have changed."
        },
    ),
    proof(call.credentials_of(PROVIDER_ID), "credentials.by_provider", missing="decryption_error"),
    proof(call.credential(CREDENTIAL_ID), "credentials.get", missing="decryption_error"),
    proof(
        call.new_credential(request_body("credentials.create")),
        "credentials.create",
        missing="decryption_error",
        values={"has_api_key": True, "name": "Local fake"},
    ),
    proof(
        call.change_credential(CREDENTIAL_ID, {"name": "Local fake 2"}),
        "credentials.put",
        missing="decryption_error",
        omitted="modalities",
        values={"name": "Local fake 2"},
    ),
    proof(
        call.delete_credential(DOOMED_CREDENTIAL),
        "credentials.delete",
        values={"deleted_models": 0},
    ),
    proof(
        call.test_credential(CREDENTIAL_ID),
        "credentials.test",
        missing="details",
        values={"success": True},
    ),
    proof(
        call.discover_with(CREDENTIAL_ID),
        "credentials.discover",
        missing="model_type description",
        values={"name": "fake-chat"},
    ),
    proof(call.discover_with(DOOMED_CREDENTIAL), "credentials.discover_openai_offline", result=[]),
    proof(
        call.register_models(CREDENTIAL_ID, [("fake-chat", "llm"), ("fake-embed", "embedding")]),
        "credentials.get",
        "credentials.register_models",
        values={"created": 2, "existing": 0},
    ),
    proof(
        call.register_models(CREDENTIAL_ID, [("fake-chat", "llm")]),
        "credentials.get",
        "credentials.register_models_again",
        values={"created": 0, "existing": 1},
    ),
    proof(call.credential_status(), "credentials.status"),
    proof(
        call.environment_status(),
        "credentials.env_status",
        result=recordings()["credentials.env_status"].answer,
    ),
    proof(call.transformations(), "transformations.list", missing="model_id"),
    proof(
        call.transformation(TRANSFORMATION_ID),
        "transformations.get",
        missing="model_id",
        values={"title": "Shorten", "created_at": "2026-11-20T13:30:43.462Z"},
    ),
    proof(
        call.new_transformation(request_body("transformations.create")),
        "transformations.create",
        missing="model_id",
    ),
    # That server also requires a title and a description.
    proof(
        call.new_transformation({"name": "shorten", "prompt": "Shorten this."}),
        "transformations.create",
        missing="model_id",
        omitted="apply_default",
        differing="title description",
    ),
    proof(
        call.change_transformation(TRANSFORMATION_ID, {"title": "Shorten it"}),
        "transformations.put",
        missing="model_id",
        values={"title": "Shorten it"},
    ),
    proof(call.delete_transformation(TRANSFORMATION_ID), "transformations.delete", result=None),
    proof(
        call.transform(TRANSFORMATION_ID, "Long text here.", MODEL_ID),
        "transformations.execute",
        missing="usage",
        values={"output": "Fake answer (fake-chat) to: 'Long text here.'. "},
    ),
    proof(
        call.transform(TRANSFORMATION_ID, "Long text here.", None),
        "transformations.execute_no_model",
        missing="model_id usage",
    ),
    proof(call.default_prompt(), "transformations.default_prompt_get"),
    proof(
        call.set_default_prompt("Be brief."),
        "transformations.default_prompt_put",
        result="Be brief.",
    ),
)
