"""Proofs: credentials."""

from __future__ import annotations

from labext.nb.records import (
    CREDENTIAL,
    CREDENTIAL_DELETION,
    DISCOVERED_MODEL,
    MODEL_REGISTRATION,
    TEST_RESULT,
)
from open_notebook.facts import recordings, request_body
from open_notebook.proof import proof
from open_notebook.proved.ids import CREDENTIAL_ID, DOOMED_CREDENTIAL, PROVIDER_ID

CREDENTIALS = (
    proof(
        "credentials",
        lambda d: d.credentials(),
        "credentials.list",
        fields=CREDENTIAL,
        missing="decryption_error",
        values={"created_at": "2026-11-20T13:22:06.587Z"},
    ),
    proof(
        "credentials",
        lambda d: d.credentials(PROVIDER_ID),
        "credentials.list_by_query",
        fields=CREDENTIAL,
        missing="decryption_error",
    ),
    proof(
        "credentials",
        lambda d: d.credentials(),
        "credentials.list_no_encryption_key",
        fields=CREDENTIAL,
        missing="base_url",
        values={
            "decryption_error": "Failed to decrypt API key. The encryption key may have changed."
        },
    ),
    proof(
        "credentials_of",
        lambda d: d.credentials_of(PROVIDER_ID),
        "credentials.by_provider",
        fields=CREDENTIAL,
        missing="decryption_error",
    ),
    proof(
        "credential",
        lambda d: d.credential(CREDENTIAL_ID),
        "credentials.get",
        fields=CREDENTIAL,
        missing="decryption_error",
    ),
    proof(
        "new_credential",
        lambda d: d.new_credential(request_body("credentials.create")),
        "credentials.create",
        fields=CREDENTIAL,
        missing="decryption_error",
        values={"has_api_key": True, "name": "Local fake"},
    ),
    proof(
        "change_credential",
        lambda d: d.change_credential(CREDENTIAL_ID, {"name": "Local fake 2"}),
        "credentials.put",
        fields=CREDENTIAL,
        missing="decryption_error",
        omitted="modalities",
        values={"name": "Local fake 2"},
    ),
    proof(
        "delete_credential",
        lambda d: d.delete_credential(DOOMED_CREDENTIAL),
        "credentials.delete",
        fields=CREDENTIAL_DELETION,
        values={"deleted_models": 0},
    ),
    *(
        proof(
            "test_credential",
            lambda d, one=identifier: d.test_credential(one),
            name,
            fields={"provider": "category", **TEST_RESULT},
            missing="details",
            values={"success": good},
        )
        for name, identifier, good in (
            ("credentials.test", CREDENTIAL_ID, True),
            ("credentials.test_openai_offline", DOOMED_CREDENTIAL, False),
        )
    ),
    proof(
        "discover_with",
        lambda d: d.discover_with(CREDENTIAL_ID),
        "credentials.discover",
        fields=DISCOVERED_MODEL,
        missing="model_type description",
        values={"name": "fake-chat"},
    ),
    proof(
        "discover_with",
        lambda d: d.discover_with(DOOMED_CREDENTIAL),
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
        fields=MODEL_REGISTRATION,
        values={"created": 2, "existing": 0},
    ),
    proof(
        "register_models",
        lambda d: d.register_models(CREDENTIAL_ID, [("fake-chat", "llm")]),
        "credentials.get",
        "credentials.register_models_again",
        fields=MODEL_REGISTRATION,
        values={"created": 0, "existing": 1},
    ),
    proof("credential_status", lambda d: d.credential_status(), "credentials.status"),
    proof("credential_status", lambda d: d.credential_status(), "credentials.status_empty"),
    proof(
        "credential_status", lambda d: d.credential_status(), "credentials.status_no_encryption_key"
    ),
    proof(
        "environment_status",
        lambda d: d.environment_status(),
        "credentials.env_status",
        result=recordings()["credentials.env_status"].answer,
    ),
)
