"""The password, limits, errors, and the state after a kill."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import json
import re
import socket
import threading
from typing import Any
from urllib.parse import urlsplit

import event_loops
import psutil
import pytest
import requests
from nb_service import PASSWORD, Api, Back, detail, new_name
from starlette.testclient import TestClient

from labext.sandbox.core.service_protocol import Options, Site
from labext.sandbox.nb import middleware, settings
from labext.sandbox.nb.app import service
from labext.sandbox.nb.middleware import PasswordVerifier, RequestGuard, hash_password
from labext.sandbox.nb.search.index import SearchIndex

pytestmark = pytest.mark.contract

OPEN = ["/", "/health", "/docs", "/openapi.json", "/redoc", "/api/auth/status", "/api/config"]
CLOSED = [
    ("GET", "/api/notebooks"),
    ("POST", "/api/sources"),
    ("GET", "/api/nope"),
    ("PATCH", "/api/notebooks"),
    ("GET", "/nope"),
    ("GET", "/docs/nope"),
    ("GET", "/docs/assetsnope"),
    ("GET", "/docs/assets/../../api/notebooks"),
    ("GET", "//api/notebooks"),
]


def bare(api: Any, method: str, path: str, **headers: str) -> requests.Response:
    """A request without the session's password."""
    return requests.request(method, api.root + path, headers=headers, timeout=60)


@pytest.mark.parametrize("path", OPEN)
@pytest.mark.parametrize("authorization", [None, "Bearer wrong"])
def test_public_routes_need_no_password(api, path, authorization) -> None:
    headers = {} if authorization is None else {"Authorization": authorization}
    assert bare(api, "GET", path, **headers).status_code == 200


@pytest.mark.parametrize(("method", "path"), CLOSED)
def test_other_routes_need_the_password(api, method, path) -> None:
    response = bare(api, method, path)
    assert "missing" in detail(response, 401)
    assert response.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize(
    "authorization",
    ["{0}", "Basic {0}", "Bearer ", "Bearer {0}x", "Bearer x{0}", "Bearer {0} {0}", ""],
)
def test_wrong_authorization_is_401(api, box, authorization) -> None:
    sent = authorization.format(box.nb.password)
    message = detail(bare(api, "GET", "/api/notebooks", Authorization=sent), 401)
    assert box.nb.password not in message


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_password_is_accepted_with_any_scheme_case(api, box, scheme) -> None:
    sent = f"{scheme} {box.nb.password}"
    assert bare(api, "GET", "/api/notebooks", Authorization=sent).status_code == 200


def raw(api: Any, request: bytes) -> tuple[int, Any]:
    """Return the response to raw bytes."""
    where = urlsplit(api.root)
    with socket.create_connection((where.hostname, where.port), timeout=60) as connection:
        connection.sendall(request)
        answer = b""
        while chunk := connection.recv(65536):
            answer += chunk
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body) if body else None


def test_duplicate_or_non_ascii_authorization_is_401(api, box) -> None:
    request = b"GET /api/notebooks HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    line = f"Authorization: Bearer {box.nb.password}\r\n".encode()
    for lines in (line * 2, b"Authorization: Bearer \xff\xfe\xc3\r\n"):
        status, body = raw(api, request + lines + b"\r\n")
        assert (status, set(body)) == (401, {"detail"})


def test_password_is_checked_before_the_body(api) -> None:
    detail(requests.post(f"{api.base}/notebooks", data=b"{broken", timeout=60), 401)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/nope", 404),
        ("GET", "/api/notebooks/", 404),
        ("PATCH", "/api/notebooks", 405),
        ("DELETE", "/api/notebooks", 405),
        ("POST", "/health", 405),
    ],
)
def test_unknown_paths_and_methods_are_404_and_405(api, method, path, status) -> None:
    detail(api.request(method, api.root + path), status)


JSON = {"Content-Type": "application/json"}
BROKEN = [b"", b'{"name": "\xff"}', b"[" * 100_000, b'{"name": "x"} x', b'{"name": NaN}', b"null"]


@pytest.mark.parametrize("body", BROKEN, ids=range(len(BROKEN)))
def test_body_must_be_a_json_object(api, body) -> None:
    detail(api.request("POST", "notebooks", data=body, headers=JSON))


def test_other_content_types_are_refused(api) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "image/png"):
        headers = {"Content-Type": kind}
        refused = api.request("POST", "notebooks", data=b'{"name": "x"}', headers=headers)
        assert "Content-Type: application/json" in detail(refused)


HOSTILE = [
    '"x\\udfffy"',
    '"a\\u0000b"',
    '"\\u001b[31mred"',
    '"a\\u2028b"',
    json.dumps("x" * (1 << 20)),
]


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_control_characters_in_names_are_refused(api, name) -> None:
    before = api.call("GET", "notebooks")

    def ask(method: str, path: str, body: str) -> requests.Response:
        return api.request(method, path, data=body.encode(), headers=JSON)

    detail(ask("POST", "notebooks", f'{{"name": {name}}}'))
    detail(ask("PUT", f"notebooks/{api.notebook()}", f'{{"name": {name}}}'))
    detail(ask("POST", "notes", f'{{"content": "x", "title": {name}}}'))
    detail(ask("POST", "notes", f'{{"content": "x", "notebook_id": {name}}}'))
    assert len(api.call("GET", "notebooks")) == len(before) + 1


@pytest.mark.parametrize("text", HOSTILE[:2], ids=range(2))
def test_invalid_characters_in_texts_are_refused(api, text) -> None:
    for path, field in [("notes", "content"), ("notebooks", "description")]:
        body = f'{{"name": "x", "{field}": {text}}}'
        detail(api.request("POST", path, data=body.encode(), headers=JSON))


@pytest.mark.parametrize("identifier", ["%00", "notebook:%1b", "%ff", "x" * 101, "%E2%80%A8"])
@pytest.mark.parametrize("group", ["notebooks", "notes"])
def test_invalid_identifier_is_refused(api, group, identifier) -> None:
    # %ff is decoded as the replacement character.
    status = 404 if identifier == "%ff" else 400
    for method, body in [("GET", None), ("PUT", {}), ("DELETE", None)]:
        detail(api.request(method, f"{group}/{identifier}", json=body), status)


def test_names_accept_emoji_and_all_scripts(api) -> None:
    for name in ("🧬 👩‍🔬", "β-lactamase", "实验 笔记", "מחקר"):
        notebook = api.notebook(name, description=name)
        assert api.call("GET", f"notebooks/{notebook}")["name"] == name


def test_body_over_the_limit_is_413(api, back) -> None:
    with back.limit("text_bytes", 1000):
        assert "1,001" in detail(api.post("notes", {"content": "x" * 1001}), 413)
        assert api.post("notes", {"content": "x" * 1000}).status_code == 200
        note = api.note()["id"]
        detail(api.put(f"notes/{note}", {"content": "ä" * 501}), 413)
        detail(api.post("notebooks", {"name": "x", "description": "x" * 1001}), 413)
        detail(api.post("notes", {"content": "x" * (2 << 20)}), 413)
    body = {"name": "x", "description": "x" * (2 << 20)}  # a note would be embedded
    assert api.post("notebooks", body).status_code == 200


def test_huge_declared_length_is_413(api, box) -> None:
    for path, kind in [
        ("notebooks", "application/json"),
        ("sources", "application/json"),
        ("sources", "multipart/form-data; boundary=x"),
    ]:
        request = (
            f"POST /api/{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            f"Authorization: Bearer {box.nb.password}\r\n"
            f"Content-Type: {kind}\r\nContent-Length: {1 << 50}\r\n\r\n"
        )
        status, body = raw(api, request.encode())
        assert (status, set(body)) == (413, {"detail"})


def test_chunked_body_over_the_limit_is_413(api, back) -> None:
    def pieces() -> Any:
        for _ in range(40):
            yield b" " * (1 << 16)

    with back.limit("text_bytes", 1000):
        detail(api.request("POST", "notebooks", data=pieces(), headers=JSON), 413)


def test_health_status_and_version(api) -> None:
    assert api.call("GET", f"{api.root}/health") == {"status": "healthy"}
    assert "running" in api.call("GET", f"{api.root}/")["message"]
    assert api.call("GET", "auth/status")["auth_enabled"] is True
    config = api.call("GET", "config")
    assert config["dbStatus"] == "online"
    assert re.match(r"\d+\.\d+", config["version"])


@pytest.mark.parametrize("path", ["/docs", "/redoc"])
def test_docs_pages_load_only_local_resources(api, path) -> None:
    page = bare(api, "GET", path)
    assert page.headers["Content-Type"].startswith("text/html")
    loaded = re.findall(r"""(?:src|href)=["']([^"']+)""", page.text)
    assert len(loaded) >= 2
    assert "/openapi.json" in page.text
    for address in loaded:
        assert address.startswith("/")
        assert bare(api, "GET", address).status_code == 200
    assert "'self'" in page.headers["Content-Security-Policy"]
    assert not re.search(r"https?://", page.headers["Content-Security-Policy"])


@pytest.fixture(scope="module")
def site(in_process: Any) -> Site:
    return in_process(rate="named")


def test_requests_and_password_guesses_are_rate_limited_separately(site) -> None:
    client = TestClient(service.apps(site)["nb"])

    def ask(password: str, path: str = "/api/notebooks") -> Any:
        return client.get(path, headers={"Authorization": f"Bearer {password}"})

    with Back(site.folder).limit("requests", 3):
        assert [ask("wrong").status_code for _ in range(4)] == [401, 401, 401, 429]
        answers = [ask(PASSWORD) for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        detail(answers[-1], 429)
        assert 1 <= int(answers[-1].headers["Retry-After"]) <= 10
        assert ask(PASSWORD, "/health").status_code == 200
    assert ask(PASSWORD).status_code == 200


@pytest.mark.parametrize("origin", ["https://example.org", "http://testserver.example.org", "null"])
def test_pages_of_other_websites_cannot_use_a_service_without_password(in_process, origin) -> None:
    site = in_process()
    client = TestClient(service.apps(site)["nb"])
    with site.database.write() as session:
        settings.set_setting(session, settings.PASSWORD, None)
    refused = client.post("/api/notebooks", json={"name": "A"}, headers={"Origin": origin})
    assert "other websites" in detail(refused, 403)
    headers = {"Origin": "http://testserver"}
    created = client.post("/api/notebooks", json={"name": "B"}, headers=headers).json()
    assert [notebook["id"] for notebook in client.get("/api/notebooks").json()] == [created["id"]]


def test_guesses_of_the_password_do_not_keep_others_waiting(site, monkeypatch) -> None:
    served: list[str] = []
    released = threading.Event()

    async def serve(scope: Any, _receive: Any, _send: Any) -> None:
        served.append(scope["path"])

    async def ignore(_message: Any) -> None:
        pass

    guard = RequestGuard(serve, site)

    def ask(path: str, password: str) -> Any:
        headers = [(b"authorization", f"Bearer {password}".encode())]
        scope = {"type": "http", "method": "GET", "path": path, "headers": headers}
        return guard(scope, None, ignore)

    def hash_slowly(_password: str, _salt: bytes) -> bytes:
        released.wait(20)
        return b""

    async def main() -> None:
        await ask("/first", PASSWORD)
        monkeypatch.setattr(middleware, "_scrypt", hash_slowly)
        guesses = [asyncio.create_task(ask("/guess", f"wrong{n}")) for n in range(100)]
        await asyncio.sleep(0.2)
        try:
            await asyncio.wait_for(ask("/second", PASSWORD), 10)
        finally:
            released.set()
            await asyncio.gather(*guesses)

    event_loops.run(main())
    assert served == ["/first", "/second"]


def test_rate_limit_can_be_switched_off(site) -> None:
    unlimited = dataclasses.replace(site, options=Options(rate="off"))
    client = TestClient(service.apps(unlimited)["nb"])
    headers = {"Authorization": f"Bearer {PASSWORD}"}
    with Back(site.folder).limit("requests", 1):
        call = [client.get("/api/notes", headers=headers).status_code for _ in range(3)]
    assert call == [200, 200, 200]


def test_password_is_stored_as_salted_scrypt_hash() -> None:
    first_hash, other = hash_password(PASSWORD), hash_password(PASSWORD)
    kind, salt, slow = first_hash.split("$")
    assert kind == "scrypt"
    created = hashlib.scrypt(PASSWORD.encode(), salt=bytes.fromhex(salt), n=1 << 14, r=8, p=1)
    assert slow == created.hex()
    assert salt not in other
    assert slow not in other


def test_changed_password_invalidates_the_old_one() -> None:
    verifier = PasswordVerifier()
    before, after = hash_password(PASSWORD), hash_password("another-password")
    verified = [verifier.verify(PASSWORD, stored) for stored in (before, before, after)]
    assert verified == [True, True, False]
    assert verifier.verify("another-password", after)
    assert not verifier.verify(PASSWORD, after)
    assert not verifier.verify("", before)


def test_acknowledged_notes_survive_a_kill_once(new_box) -> None:
    box = new_box()
    password, word = box.nb.password, new_name()
    api = Api(box.nb.base_url, password)
    notebook = api.notebook()
    acknowledged: dict[int, dict[str, Any]] = {}
    some = threading.Event()

    def write(worker: int) -> None:
        mine = Api(box.nb.base_url, password)
        for number in range(worker, 10_000, 2):
            try:
                body = {"content": f"{word} number {number}", "notebook_id": notebook}
                acknowledged[number] = mine.call("POST", "notes", json=body)
            except requests.RequestException:
                return
            if len(acknowledged) >= 20:
                some.set()

    writers = [threading.Thread(target=write, args=[worker]) for worker in range(2)]
    for writer in writers:
        writer.start()
    assert some.wait(60)
    host = psutil.Process(box.status().pid)
    host.kill()
    host.wait(30)
    for writer in writers:
        writer.join(60)

    box.start()
    assert box.nb.password == password
    api = Api(box.nb.base_url, password)
    result = api.call("GET", "notes", params={"notebook_id": notebook})
    by_content = {note["content"]: note for note in result}
    assert len(by_content) == len(result)
    # At most the two requests in progress were stored without a response.
    assert len(acknowledged) <= len(result) <= len(acknowledged) + len(writers)
    for note in acknowledged.values():
        assert by_content[note["content"]] == note
    assert api.call("GET", f"notebooks/{notebook}")["note_count"] == len(result)
    hits = api.call("POST", "search", json={"query": word, "limit": 1000})["results"]
    assert {hit["parent_id"] for hit in hits} == {note["id"] for note in result}


def test_unexpected_error_is_the_last_event(site, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object, **_options: object) -> None:
        raise RuntimeError("the password is hunter2")

    monkeypatch.setattr(SearchIndex, "find", fail)
    client = TestClient(service.apps(site)["nb"])
    answer = client.post(
        "/api/search/ask",
        json={"question": "What induces the promoter?"},
        headers={"Authorization": f"Bearer {PASSWORD}"},
    )
    assert answer.status_code == 200
    events = [json.loads(line[len("data: ") :]) for line in answer.text.splitlines() if line]
    assert [event["type"] for event in events] == ["strategy", "error"]
    assert "log" in events[-1]["message"]
    assert "hunter2" not in answer.text
