"""Proofs: models, their slots and providers."""

from __future__ import annotations

from labext.nb.records import (
    DISCOVERED_MODEL,
    MODEL,
    MODEL_COUNT,
    PROVIDER,
    SYNC_RESULT,
    TEST_RESULT,
)
from open_notebook.proof import proof
from open_notebook.proved.ids import CREDENTIAL_ID, EMBEDDING, MODEL_ID, PROVIDER_ID, STT, TTS

MODELS = (
    proof("models", lambda d: d.models(), "models.list", fields=MODEL, values={"type": "tts"}),
    proof(
        "models",
        lambda d: d.models("llm"),
        "models.list_type_language",
        fields=MODEL,
        values={"type": "llm", "name": "badkey-chat"},
    ),
    proof(
        "new_model",
        lambda d: d.new_model("fake-tts", "tts", PROVIDER_ID, CREDENTIAL_ID),
        "models.create.fake-tts",
        fields=MODEL,
        values={"type": "tts", "id": TTS},
    ),
    proof(
        "new_model",
        lambda d: d.new_model("fake-stt", "stt", PROVIDER_ID, CREDENTIAL_ID),
        "models.create.fake-stt",
        fields=MODEL,
        values={"type": "stt", "id": STT},
    ),
    proof(
        "new_model",
        lambda d: d.new_model("nosearch-chat", "llm", PROVIDER_ID, None),
        "models.create.nosearch-chat",
        fields=MODEL,
        missing="credential",
        omitted="credential",
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
            fields=TEST_RESULT,
            missing="details",
            values={"success": good},
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
        },
    ),
    # An empty string also means no model.
    proof(
        "defaults",
        lambda d: d.defaults(),
        "models.defaults_empty",
        result=dict.fromkeys(
            ("chat", "transformation", "embedding", "speech_to_text", "text_to_speech")
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
        values={"provider": PROVIDER_ID, "types": ["llm", "embedding", "stt", "tts"]},
    ),
    proof("providers", lambda d: d.providers(), "models.providers_empty", fields=PROVIDER),
    proof(
        "discover",
        lambda d: d.discover(PROVIDER_ID),
        "models.discover",
        fields=DISCOVERED_MODEL,
        missing="description",
        values={"name": "fake-chat", "model_type": "llm"},
    ),
    proof("discover", lambda d: d.discover("nope"), "models.discover_unknown", result=[]),
    proof(
        "sync",
        lambda d: d.sync(PROVIDER_ID),
        "models.sync_one",
        fields=SYNC_RESULT,
        missing="error",
        values={"discovered": 14, "new": 6, "existing": 8},
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
        fields=MODEL_COUNT,
        values={"total": 10, "counts": {"llm": 6, "embedding": 1, "stt": 1, "tts": 2}},
    ),
    proof(
        "count_models", lambda d: d.count_models("nope"), "models.count_unknown", fields=MODEL_COUNT
    ),
    proof(
        "models_of",
        lambda d: d.models_of(PROVIDER_ID),
        "models.by_provider",
        fields=MODEL,
        values={"type": "embedding"},
    ),
)
