"""Hostile requests are refused or stored unchanged, and the service keeps running."""

from __future__ import annotations

import gzip
import io
import json
import zipfile

import pytest
import requests

pytestmark = pytest.mark.contract

CUT = '{"sequence": "AAGAATTCAA", "enzymes": "EcoRI"}'


@pytest.fixture(scope="module", autouse=True)
def alive(api):
    """Check after the tests that the service responds normally."""
    yield
    assert api.get("jobs", limit=1).status_code == 200


TEXTS = (r"\ud800", r"a\udfffb", r"a\u0000b", "<b>a</b>", r"a\nb", "a\u202eb")
"""Halves of a surrogate pair, NUL, HTML, a line break, and a change of direction."""
FIELDS = [
    ("submit-job", "jobName", {"type": "digest", "settings": {}}),
    ("submit-job", "type", {"jobName": "a", "settings": {}}),
    ("submit-job", "projectTag", {"jobName": "a", "type": "digest", "settings": {}}),
    ("submit-batch", "batchName", {"type": "digest", "jobNames": ["a"], "settings": [{}]}),
    ("stop-job", "jobName", {}),
    ("cancelJob", "jobName", {}),
    ("cancelBatch", "batchName", {}),
    ("result", "jobName", {}),
    ("result", "jobEmail", {"jobName": "a"}),
]


@pytest.mark.parametrize(("path", "field", "more"), FIELDS, ids=lambda value: str(value)[:12])
def test_malicious_text_in_a_field_is_refused_in_one_line(api, kit, path, field, more):
    for text in TEXTS:
        body = json.dumps({**more, field: "$TEXT"}, ensure_ascii=False).replace("$TEXT", text)
        answer = api.session.post(api.base + path, data=body.encode(), timeout=30)
        assert answer.headers["Content-Type"] == "application/json"
        message = kit.error_message(answer, answer.status_code)
        assert answer.status_code in (400, 403, 404), text
        assert message.isprintable(), text


@pytest.mark.parametrize(
    "number", ["NaN", "Infinity", "-Infinity", "1e400", "-1e999", "1" * 400, "0x10", "1_000", "+1"]
)
def test_invalid_number_is_refused(api, kit, number):
    name = kit.name()
    settings = f'{{"sequence": "ACGU", "temperature": {number}}}'
    body = f'{{"jobName": "{name}", "type": "rna_fold", "settings": {settings}}}'
    kit.error_message(api.session.post(api.base + "submit-job", data=body, timeout=30))
    limit = (
        f'{{"batchName": "{name}", "type": "digest", "jobNames": ["a"], "settings": [{CUT}], '
        f'"weightedHoursBudget": {number}}}'
    )
    kit.error_message(api.session.post(api.base + "submit-batch", data=limit, timeout=30))
    assert api.get("jobs", jobName=name).status_code == 404


def test_last_value_of_a_repeated_field_is_used(api, kit):
    first, last = kit.name(), kit.name()
    body = f'{{"jobName": "{first}", "jobName": "{last}", "type": "digest", "settings": {CUT}}}'
    answer = api.session.post(api.base + "submit-job", data=body, timeout=30)
    assert answer.text == f"{last} submitted to queue."
    assert api.get("jobs", jobName=first).status_code == 404


@pytest.mark.parametrize("levels", [300, 100_000])
@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_deep_nesting_is_refused(api, kit, levels, opening):
    closing = {"[": "]", '{"a":': "}"}[opening]
    deep = opening * levels + "1" + closing * levels
    body = f'{{"jobName": "{kit.name()}", "type": "digest", "settings": {{"sequence": {deep}}}}}'
    kit.error_message(api.session.post(api.base + "submit-job", data=body, timeout=30))


def test_compressed_body_is_not_decompressed(api, kit):
    content = gzip.compress(b"[" + b"0," * 100_000 + b"0]")
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    answer = api.session.post(api.base + "submit-job", data=content, headers=headers, timeout=30)
    assert "JSON" in kit.error_message(answer)


QUERIES = ["jobName", "batch", "startKey", "jobEmail", "limit", "organization", "includeSubjobs"]


@pytest.mark.parametrize("field", QUERIES)
def test_malicious_query_value_is_refused(api, kit, field):
    for value in ("%00", "%ff%fe", "%ED%A0%80", "%", "%zz", "'%20OR%201=1", "9" * 999):
        address = f"{api.base}jobs?{field}={value}"
        prepared = requests.Request("GET", address, headers=api.session.headers).prepare()
        prepared.url = address  # not normalized
        answer = api.session.send(prepared, timeout=30)
        assert answer.status_code in (400, 403, 404), value
        kit.error_message(answer, answer.status_code)


def test_archive_instead_of_an_input_stops_the_job(api, kit):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.pdb", kit.ONE_RESIDUE)
    too_large = gzip.compress(b"ATOM  " * 4_000_000, compresslevel=1)
    for content, reason in ((packed.getvalue(), "is not a text file"), (too_large, "20 MB")):
        name = f"{kit.name()}.pdb"
        assert api.upload(name, content).status_code == 200
        row = api.ended(api.submit("normal_modes", {"pdbFile": name}))
        assert row["JobStatus"] == "Stopped"
        assert reason in row["Reason"]


def test_control_characters_of_a_file_do_not_reach_the_reason(api, kit):
    name = f"{kit.name()}.fasta"
    assert api.upload(name, b">a\x07\x1b[2J\nAC1\n").status_code == 200
    row = api.ended(api.submit("msa_tree", {"sequences": name}))
    assert row["JobStatus"] == "Stopped"
    assert row["Reason"].startswith("sequences, a\ufffd\ufffd[2J: invalid DNA base '1' at 3")


def test_missing_file_is_named_without_control_characters(api, kit):
    body = {"jobName": kit.name(), "type": "msa_tree", "settings": {"sequences": "a\0b/c"}}
    response = api.session.post(api.base + "submit-job", json=body, timeout=30)
    message = "The following files have not been uploaded: a\ufffdb/c."
    assert (response.status_code, response.json()) == (400, {"error": message})


@pytest.mark.parametrize(
    ("method", "path", "content"),
    [
        ("DELETE", "delete-file", {"params": {"filePath": "a\0b"}}),
        ("DELETE", "delete-file", {"params": {"folder": "a\0b"}}),
        ("GET", "jobs", {"params": {"jobName": "a\0b"}}),
        ("GET", "jobs", {"params": {"jobEmail": "a\0b"}}),
        ("GET", "job-log", {"params": {"name": "a", "email": "a\0b"}}),
        ("POST", "result", {"json": {"jobName": "a", "jobEmail": "a\0b"}}),
        (
            "POST",
            "run-pipeline",
            {"json": {"jobName": "nul", "pipelineName": "a\0b", "initialInputs": ["GA"]}},
        ),
    ],
)
def test_name_with_a_nul_character_is_404(teacher, method, path, content):
    response = teacher.session.request(method, teacher.base + path, timeout=30, **content)
    assert response.status_code == 404


def test_chunked_body_is_accepted(api, kit):
    name = kit.name()
    body = json.dumps({"jobName": name, "type": "digest", "settings": kit.cut()}).encode()
    pieces = (body[place : place + 7] for place in range(0, len(body), 7))
    answer = api.session.post(api.base + "submit-job", data=pieces, timeout=30)
    assert answer.text == f"{name} submitted to queue."


POST = "POST /api/submit-job HTTP/1.1\nHost: $HOST\nx-api-key: $KEY\n"
WRONG = {
    "two lengths": POST + "Content-Length: 2\nContent-Length: 3\n",
    "a negative length": POST + "Content-Length: -2\n",
    "an unknown coding": POST + "Transfer-Encoding: gzip\n",
    "no chunk": POST + "Transfer-Encoding: chunked\n",
    "a foreign host": "GET /api/files HTTP/1.1\nHost: evil.example\nx-api-key: $KEY\n",
    "two hosts": "GET /api/files HTTP/1.1\nHost: $HOST\nHost: evil.example\nx-api-key: $KEY\n",
    "no host": "GET /api/files HTTP/1.1\nx-api-key: $KEY\n",
    "a host in disguise": "GET /api/files HTTP/1.1\nHost: 127.0.0.1@evil.example\n",
    "a folded foreign host": "GET /api/files HTTP/1.1\nHost: evil.example\n $HOST\n",
    "a header too long": f"GET /api/files HTTP/1.1\nHost: $HOST\nx: {'a' * 200_000}\n",
    "an address too long": f"GET /api/files?folder={'a' * 200_000} HTTP/1.1\nHost: $HOST\n",
    "no protocol": "GET /api/files\nHost: $HOST\n",
}


@pytest.mark.parametrize("head", WRONG.values(), ids=WRONG)
def test_malformed_request_is_refused(box, kit, head):
    assert kit.send_raw(box, head, b"{}\r\n\r\n") in (400, 414, 431)


def test_folded_header_adds_no_header(box, kit):
    """RFC 9112, 5.2, allows refusal or unfolding, but the line must not become another header."""
    head = "GET /api/files HTTP/1.1\nHost: $HOST\nx-api-key: wrong\nx: y\n x-api-key: $KEY\n"
    assert kit.send_raw(box, head) in (400, 401)


KEYS = ["", " ", "x" * 5000, "\xe4\xff", "$KEY, $KEY", "$KEY$KEY", "Bearer $KEY"]


@pytest.mark.parametrize("key", KEYS)
def test_malformed_key_is_refused(box, kit, key):
    assert kit.send_raw(box, f"GET /api/files HTTP/1.1\nHost: $HOST\nx-api-key: {key}\n") == 401


def test_override_and_forwarding_headers_are_ignored(box, api, kit):
    tricks = {
        "X-HTTP-Method-Override": "DELETE",
        "X-Forwarded-Host": "evil.example",
        "X-Forwarded-Proto": "https",
        "X-Original-URL": "/api/delete-job",
        "Forwarded": "host=evil.example",
    }
    name = api.submit("digest", kit.cut())
    api.ended(name)
    answer = api.session.post(
        api.base + "result", json={"jobName": name}, headers=tricks, timeout=30
    )
    assert answer.text.startswith(api.base.removesuffix("api/"))
    assert api.row(name)["JobStatus"] == "Complete"
