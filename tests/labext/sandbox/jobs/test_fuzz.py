"""Generated bodies, queries, names and requests have a documented status."""

from __future__ import annotations

import copy
import json
import string
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote

import pytest
import schemathesis
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.checks import load_all_checks
from schemathesis.specs.openapi.checks import positive_data_acceptance

pytestmark = pytest.mark.contract


KNOWN = {200, 400, 401, 403, 404, 429}
FUZZ = settings(
    max_examples=10,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

BODIES = [
    *("submit-job", "validate-job", "submit-batch", "submit-pipeline", "run-pipeline", "result"),
    *("stop-job", "cancelJob", "cancelBatch", "getPresignedUploadUrl", "delete-job"),
]


def check(response):
    assert response.status_code in KNOWN, (response.status_code, response.text)
    if response.status_code != 200:
        body = response.json()
        assert set(body) == {"error"}
        assert body["error"].strip()


@pytest.mark.parametrize("path", BODIES)
@FUZZ
@given(content=st.binary(max_size=200))
def test_any_bytes_as_a_body(api, path, content):
    method = "DELETE" if path == "delete-job" else "POST"
    check(api.session.request(method, api.base + path, data=content, timeout=60))


@FUZZ
@given(
    name=st.text(alphabet=string.printable, max_size=40),
    query=st.text(alphabet=string.printable.replace("#", ""), max_size=40),
)
def test_any_name_of_a_file(api, name, query):
    check(api.session.put(f"{api.base}upload/{quote(name, safe='/%')}", data=b"", timeout=60))
    check(api.session.delete(f"{api.base}delete-file?filePath={quote(query)}", timeout=60))


@FUZZ
@given(path=st.text(alphabet=string.printable.replace("#", ""), max_size=40), query=st.text())
def test_any_presigned_address(api, path, query):
    origin = api.base.removesuffix("/api/")
    encodable = query.encode("utf-8", "replace")
    query = f"signature={quote(encodable)}&expires=9"
    for method, prefix in (("GET", "download"), ("PUT", "store"), ("HEAD", "store")):
        address = f"{origin}/{prefix}/{quote(path, safe='/')}?{query}"
        assert api.session.request(method, address, timeout=30).status_code == 403


load_all_checks()
SCHEMA_FUZZ = settings(max_examples=10, suppress_health_check=list(HealthCheck))
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
@SCHEMA_FUZZ
def test_core_operations_match_their_description(case, ask):
    ask(case)


@OTHERS.parametrize()
@SCHEMA_FUZZ
def test_other_operations_match_their_description(case, ask):
    ask(case)
