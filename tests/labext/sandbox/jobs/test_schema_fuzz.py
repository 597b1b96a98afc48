"""Valid and invalid requests generated from OpenAPI descriptions, sent to a running service.

No response is a 500; status, content type and body match the description; invalid requests are
refused, and so are requests without a key. Whether a valid request succeeds is not checked, since
that depends on existing objects.
"""

from __future__ import annotations

import copy
import json
from importlib.resources import files
from pathlib import Path

import pytest
import schemathesis
import yaml
from hypothesis import HealthCheck, settings
from schemathesis.checks import load_all_checks
from schemathesis.specs.openapi.checks import positive_data_acceptance

pytestmark = pytest.mark.contract

load_all_checks()
FUZZ = settings(max_examples=25, suppress_health_check=list(HealthCheck))
JOB, BATCH = "fuzzed_job", "fuzzed_batch"
CUT = {"sequence": "AAGAATTCAAAAGCTTAA", "enzymes": ["EcoRI", "HindIII"]}


def core():
    """Return the description of the service, extended by identifiers of existing objects."""
    description = json.loads((files("labext.sandbox.jobs") / "openapi.json").read_text())
    schemas = description["components"]["schemas"]
    schemas["Known"] = or_one_of({"type": "string"}, JOB, BATCH, f"{BATCH}-a")
    schemas["Settings"] = or_one_of(schemas["Settings"], CUT)
    for order in ("JobOrder", "BatchOfArrays"):
        properties = schemas[order]["properties"]
        properties["type"] = or_one_of(properties["type"], "digest", "peptide_build")
    known = {"$ref": "#/components/schemas/Known"}
    schemas["ResultOrder"]["properties"]["jobName"] = known
    for parameter in description["paths"]["/jobs"]["get"]["parameters"]:
        if parameter["name"] in ("jobName", "batch"):
            parameter["schema"] = known
    return description


def others():
    """Return the description of the other operations."""
    description = yaml.safe_load((Path(__file__).parent / "others.openapi.yaml").read_text())
    for kind, named in core()["components"].items():
        description["components"][kind] = named | description["components"].get(kind, {})
    return copy.deepcopy(description)  # aliases are one object


def or_one_of(schema, *values):
    (kind,) = {"object" if isinstance(value, dict) else "string" for value in values}
    return {"anyOf": [schema, {"type": kind, "enum": list(values)}]}


def loaded(description):
    schema = schemathesis.openapi.from_dict(description)
    schema.config.generation.update(with_security_parameters=False)
    return schema


CORE, OTHERS = loaded(core()), loaded(others())


@pytest.fixture(scope="module")
def ask(box, api):
    """Return a function that sends a generated request and checks the response."""
    body = {"jobName": JOB, "type": "digest", "settings": CUT}
    batch = {"batchName": BATCH, "type": "digest", "jobNames": ["a"], "settings": [CUT]}
    for path, content in (("submit-job", body), ("submit-batch", batch)):
        assert api.post(path, content).status_code == 200
    for name in (JOB, BATCH):
        api.ended(name)

    def send(case):
        case.call_and_validate(
            base_url=box.jobs.base_url.rstrip("/"),
            headers={"x-api-key": box.jobs.api_key},
            timeout=60,
            excluded_checks=[positive_data_acceptance],
        )

    return send


@CORE.parametrize()
@FUZZ
def test_core_operations_match_their_description(case, ask):
    ask(case)


@OTHERS.parametrize()
@FUZZ
def test_other_operations_match_their_description(case, ask):
    ask(case)
