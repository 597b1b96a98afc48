"""Valid and invalid requests generated from the served description, in one process.

No answer is a 500; its status and its type are among those described, its body is as described,
and nothing is told without the password. Whether a right request is taken also depends on what is
there, and unknown names are ignored, so that neither is checked.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.checks import load_all_checks
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from labext.sandbox.nb.app import service

pytestmark = pytest.mark.contract

load_all_checks()
FUZZ = settings(max_examples=12, suppress_health_check=list(HealthCheck))
UNCHECKED = [positive_data_acceptance, negative_data_rejection]
OPERATIONS = """GET /api/notebooks · POST /api/notebooks · GET /api/notebooks/{notebook_id}
    PUT /api/notebooks/{notebook_id} · DELETE /api/notebooks/{notebook_id}
    GET /api/notebooks/{notebook_id}/delete-preview
    POST /api/notebooks/{notebook_id}/sources/{source_id}
    DELETE /api/notebooks/{notebook_id}/sources/{source_id}
    GET /api/notes · POST /api/notes · GET /api/notes/{note_id} · PUT /api/notes/{note_id}
    DELETE /api/notes/{note_id}"""


@pytest.fixture(scope="module")
def schema(in_process: Any) -> Any:
    app = service.apps(in_process())["nb"]
    return schemathesis.openapi.from_asgi("/openapi.json", app)


@pytest.mark.parametrize("operation", re.split(r" · |\n +", OPERATIONS))
def test_operation_conforms_to_its_description(schema: Any, kit: Any, operation: str) -> None:
    method, path = operation.split()
    created = schema[path][method].as_strategy
    headers = {"Authorization": f"Bearer {kit.PASSWORD}"}

    @given(case=st.one_of(*(created(generation_mode=mode) for mode in GenerationMode)))
    @FUZZ
    def ask(case: Any) -> None:
        case.call_and_validate(headers=headers, excluded_checks=UNCHECKED)

    ask()
