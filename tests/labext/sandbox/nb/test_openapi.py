"""`/openapi.json` is valid and complete; requests generated from it are answered."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nb_service import PASSWORD
from schemathesis.checks import load_all_checks
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from labext.sandbox.nb.app import service

pytestmark = pytest.mark.contract

CONTRACT = {
    "notebooks": """GET /notebooks · POST /notebooks · GET /notebooks/{notebook_id}
        PUT /notebooks/{notebook_id} · DELETE /notebooks/{notebook_id}
        GET /notebooks/{notebook_id}/delete-preview
        POST /notebooks/{notebook_id}/sources/{source_id}
        DELETE /notebooks/{notebook_id}/sources/{source_id}""",
    "sources": """GET /sources · POST /sources · POST /sources/json · GET /sources/{source_id}
        GET /sources/{source_id}/status · PUT /sources/{source_id} · DELETE /sources/{source_id}
        GET /sources/{source_id}/download · HEAD /sources/{source_id}/download
        POST /sources/{source_id}/retry · GET /sources/{source_id}/insights""",
    "notes": """GET /notes · POST /notes · GET /notes/{note_id} · PUT /notes/{note_id}
        DELETE /notes/{note_id}""",
    "chat": """GET /chat/sessions · POST /chat/sessions · GET /chat/sessions/{session_id}
        PUT /chat/sessions/{session_id} · DELETE /chat/sessions/{session_id}
        POST /chat/execute · POST /chat/context""",
    "search": "POST /search · POST /search/ask · POST /search/ask/simple",
    "models": """GET /models · POST /models · DELETE /models/{model_id}
        POST /models/{model_id}/test · GET /models/defaults · PUT /models/defaults
        GET /models/providers · GET /models/discover/{provider} · POST /models/sync/{provider}
        POST /models/sync · POST /models/auto-assign · GET /models/count/{provider}
        GET /models/by-provider/{provider}""",
    "credentials": """GET /credentials/status · GET /credentials/env-status · GET /credentials
        GET /credentials/by-provider/{provider} · POST /credentials
        GET /credentials/{credential_id} · PUT /credentials/{credential_id}
        DELETE /credentials/{credential_id} · POST /credentials/{credential_id}/test
        POST /credentials/{credential_id}/discover
        POST /credentials/{credential_id}/register-models""",
    "podcasts": """POST /podcasts/generate · GET /podcasts/jobs/{job_id} · GET /podcasts/episodes
        GET /podcasts/episodes/{episode_id} · GET /podcasts/episodes/{episode_id}/audio
        HEAD /podcasts/episodes/{episode_id}/audio
        POST /podcasts/episodes/{episode_id}/retry · DELETE /podcasts/episodes/{episode_id}""",
    "profiles": " ".join(
        f"""GET /{kind} · POST /{kind} · GET /{kind}/{{profile}} · PUT /{kind}/{{profile}}
        DELETE /{kind}/{{profile}} · POST /{kind}/{{profile}}/duplicate"""
        for kind in ("speaker-profiles", "episode-profiles")
    ),
}
OPEN = {"GET /", "GET /health", "GET /api/auth/status", "GET /api/config"}


def by_name(text: str) -> set[str]:
    words = text.replace("·", " ").split()
    return {f"{method} /api{path}" for method, path in zip(words[::2], words[1::2], strict=True)}


@pytest.fixture(scope="module")
def described(api) -> dict[str, Any]:
    response = api.get(f"{api.root}/openapi.json")
    assert response.headers["Content-Type"] == "application/json"
    return response.json()


@pytest.fixture(scope="module")
def operations(described) -> dict[str, Any]:
    return {
        f"{method.upper()} {path}": operation
        for path, item in described["paths"].items()
        for method, operation in item.items()
    }


def test_description_is_valid_openapi(described) -> None:
    from openapi_spec_validator import OpenAPIV31SpecValidator

    OpenAPIV31SpecValidator(described).validate()


@pytest.mark.parametrize("tag", CONTRACT)
def test_operations_match_the_contract(operations, tag) -> None:
    existing = {name for name, operation in operations.items() if operation["tags"] == [tag]}
    assert existing == by_name(CONTRACT[tag])


def test_operations_have_unique_summaries_and_ids(operations) -> None:
    summaries = [operation["summary"] for operation in operations.values()]
    assert all(summaries)
    assert len({*summaries}) == len(summaries)
    assert len({operation["operationId"] for operation in operations.values()}) == len(summaries)


def test_only_public_routes_have_no_security(described, operations) -> None:
    (scheme,) = described["components"]["securitySchemes"]
    assert described["components"]["securitySchemes"][scheme]["scheme"] == "bearer"
    asking = {name for name, operation in operations.items() if operation.get("security")}
    assert {*operations} - asking == OPEN


def test_operations_describe_bodies_and_responses(operations) -> None:
    for name, operation in operations.items():
        answers = operation["responses"]
        assert answers["200"].get("content") or name.startswith("HEAD"), name
        if name not in OPEN:
            assert {*answers} >= {"400", "401", "404", "422", "429", "500", "502"}, name
        if name.startswith("PUT"):
            assert operation["requestBody"]["content"]["application/json"]["schema"], name


def test_query_parameters_match_the_contract(operations) -> None:
    def query(name: str) -> set[str]:
        result = operations[name].get("parameters", [])
        return {parameter["name"] for parameter in result if parameter["in"] == "query"}

    assert query("GET /api/notebooks") == {"archived", "order_by"}
    assert query("DELETE /api/notebooks/{notebook_id}") == {"delete_sources"}
    assert query("GET /api/sources") == {"notebook_id", "limit", "offset", "order_by"}
    assert query("GET /api/notes") == query("GET /api/chat/sessions") == {"notebook_id"}


load_all_checks()
FUZZ = settings(max_examples=4, suppress_health_check=list(HealthCheck))
UNCHECKED = [positive_data_acceptance, negative_data_rejection]


@pytest.fixture(scope="module")
def schema(in_process: Any) -> Any:
    app = service.apps(in_process())["nb"]
    return schemathesis.openapi.from_asgi("/openapi.json", app)


@pytest.mark.parametrize(
    "operation", sorted(by_name(CONTRACT["notebooks"]) | by_name(CONTRACT["notes"]))
)
def test_operation_conforms_to_its_description(schema: Any, operation: str) -> None:
    method, path = operation.split()
    created = schema[path][method].as_strategy
    headers = {"Authorization": f"Bearer {PASSWORD}"}

    @given(case=st.one_of(*(created(generation_mode=mode) for mode in GenerationMode)))
    @FUZZ
    def ask(case: Any) -> None:
        case.call_and_validate(headers=headers, excluded_checks=UNCHECKED)

    ask()
