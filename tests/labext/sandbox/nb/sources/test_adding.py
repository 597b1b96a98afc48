"""Sources are added by forms and as JSON, listed and deleted."""

from __future__ import annotations

import asyncio
import socket
from urllib.parse import unquote, urlsplit

import psutil
import pytest
import requests
from labext_test_documents import pdf
from nb_service import detail
from waiting import wait_until

from labext.sandbox.nb.sources.uploads import FormLimits, read_multipart
from labext.sandbox.nb.tables import COMPLETED, NotebookSource, Source

pytestmark = pytest.mark.contract

TEXT = "Cells were induced with 0.2 % arabinose. Glucose represses the promoter."


@pytest.mark.parametrize(
    ("name", "content", "title", "message"),
    [
        ("paper.pdf", pdf([TEXT, "Second page."], "Induction of pBAD"), "Induction of pBAD", TEXT),
        ("größe µ.txt", f"Größe. {TEXT}".encode("utf-16"), "größe µ.txt", f"Größe. {TEXT}"),
    ],
)
def test_uploaded_file_is_read_and_kept(sources, name, content, title, message):
    created = sources.file(content, name, topic="induction")
    assert created["status"] == "completed", created
    assert (created["title"], created["topic"], created["kind"]) == (title, "induction", "upload")
    assert created["asset"] == {"file_path": name, "url": None}
    assert created["size"] == len(content)
    assert message in created["full_text"]
    assert created["passages"] >= 1
    assert created["error"] is None
    assert created["stage"] == ""
    response = sources.get(f"sources/{created['id']}/download")
    assert response.content == content
    assert sources.request("HEAD", f"sources/{created['id']}/download").status_code == 200


def test_uploaded_file_is_synced_to_the_disk(tmp_path, is_synced):
    async def body():
        yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
        yield TEXT.encode() + b"\r\n--b--\r\n"

    media_type = "multipart/form-data; boundary=b"
    form = asyncio.run(read_multipart(media_type, body(), tmp_path, FormLimits(1000, 1000)))
    assert form.file.path.read_text() == TEXT
    assert is_synced(form.file.path)


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\data\\a.txt", "a.txt"),
        ('quo"te.txt', 'quo"te.txt'),
        ("x" * 300 + ".txt", "x" * 251 + ".txt"),
        ("..", "file"),
        ("a\r\nSet-Cookie: b=c;.txt", "aSet-Cookie: b=c;.txt"),
        ("a\0b\u202etxt.exe", "abtxt.exe"),
    ],
)
def test_uploaded_file_keeps_its_name_without_folder(sources, name, stored):
    created = sources.send(b"Text.", name).json()
    assert created["asset"]["file_path"] == stored
    disposition = sources.get(f"sources/{created['id']}/download").headers["Content-Disposition"]
    assert disposition.startswith("attachment")
    quoted = unquote(disposition)
    assert stored in quoted.replace('\\"', '"')


def test_download_supports_ranges(sources):
    created = sources.send(b"0123456789").json()
    path = f"sources/{created['id']}/download"
    response = sources.request("GET", path, headers={"Range": "bytes=3-5"})
    assert (response.status_code, response.content) == (206, b"345")


@pytest.mark.parametrize("path", ["sources", "sources/json"])
def test_text_is_added_as_json(sources, path):
    body = {"text": f"# Plan\r\n{TEXT}", "process_async": False}
    created = sources.call("POST", path, json=body)
    assert (created["status"], created["kind"], created["title"]) == ("completed", "text", "Plan")
    assert created["full_text"] == f"# Plan\n{TEXT}"
    assert created["asset"] == {"file_path": None, "url": None}
    assert sources.get(f"sources/{created['id']}/download").status_code == 404


@pytest.mark.parametrize("files", [None, {"nothing": (None, "x")}])
def test_text_is_added_by_a_form(sources, files):
    """As multipart/form-data and as application/x-www-form-urlencoded."""
    fields = {"text": "Größe & Länge.", "process_async": "False", "title": "", "topic": "t"}
    created = sources.call("POST", "sources", data=fields, files=files)
    assert created["status"] == "completed"
    assert created["full_text"] == "Größe & Länge."
    assert created["title"] == "Größe & Länge"
    assert created["topic"] == "t"


def test_given_title_is_kept(sources):
    assert sources.file(pdf([TEXT], "Its own"), "a.pdf", title="Mine")["title"] == "Mine"
    assert sources.file(pdf([TEXT], "Its own"), "a.pdf", title="a.pdf")["title"] == "a.pdf"
    assert sources.text("# Its own", title="Mine")["title"] == "Mine"


def test_sources_are_processed_in_the_background_by_default(sources):
    created = sources.send(b"Text.").json()
    assert created["status"] in ("new", "running", "completed")
    status = sources.until(created["id"])
    assert status["status"] == "completed"
    assert status["started_at"] <= status["completed_at"] == status["changed_at"]
    assert status["error"] is None


def test_source_is_added_to_a_notebook(sources):
    notebook = sources.notebook()
    created = sources.text("In it.", notebook_id=notebook)
    sources.text("Not in it.")
    assert created["notebooks"] == [notebook]
    assert [row["id"] for row in sources.listed(notebook_id=notebook)] == [created["id"]]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, "exactly one"),
        ({"text": "a", "url": "https://example.org"}, "exactly one"),
        ({"text": " \n"}, "empty"),
        ({"url": "example.org"}, "url"),
        ({"url": "file:///etc/passwd"}, "url"),
        ({"url": "http://me:secret@example.org"}, "url"),
        ({"text": 7}, "text"),
        ({"text": "a", "process_async": "maybe"}, "process_async"),
        ({"text": "a", "title": "x" * 501}, "title"),
        ({"text": "a\0b"}, "NUL"),
        ([], "object"),
    ],
)
def test_invalid_source_is_refused(sources, body, expected):
    before = sources.count()
    for path in ("sources", "sources/json"):
        reason = detail(sources.post(path, body))
        assert expected in reason
        assert "secret" not in reason
    assert sources.count() == before


FORM = "multipart/form-data; boundary=x"
PART = b"--x\r\nContent-Disposition: form-data; "


@pytest.mark.data_folder
@pytest.mark.parametrize(
    ("content_type", "body", "expected"),
    [
        ("application/json", b"{", "JSON"),
        ("text/plain", b"text", "form"),
        ("application/x-www-form-urlencoded", b"a=1&" * 101 + b"text=b", "form is invalid"),
        ("multipart/form-data", b"--x--", "boundary"),
        (FORM, b"", "incomplete"),
        (FORM, b"--y\r\n", "form is invalid"),
        (FORM, b"--x\r\nA: b\r\n\r\n1\r\n--x--\r\n", "no name"),
        (FORM, PART + b'name="file"; filename="a"\r\n\r\nabc', "incomplete"),
        (FORM, PART + b'name="other"; filename="a"\r\n\r\na\r\n--x--', "field file"),
        (FORM, PART + b'name="text"\r\n\r\n\xff\r\n--x--\r\n', "UTF-8"),
        (FORM, b"--x\r\nA: " + b"b" * 20_000, "The form"),
        (FORM, b"--x\r\n" + b"".join(b"%d: b\r\n" % n for n in range(10_000)), "The form"),
    ],
)
def test_invalid_form_is_refused(sources, content_type, body, expected):
    before = sources.files()
    headers = {"Content-Type": content_type}
    response = sources.request("POST", "sources", data=body, headers=headers)
    assert expected in detail(response)
    assert sources.files() == before


@pytest.mark.data_folder
def test_unknown_notebook_stores_nothing(sources):
    before, source_count = sources.files(), sources.count()
    assert "notebook" in detail(sources.send(b"Text.", notebook_id="notebook:none"), 404)
    assert sources.files() == before
    assert sources.count() == source_count


@pytest.mark.data_folder
@pytest.mark.parametrize("declared", [True, False])
def test_file_over_the_limit_is_413_and_leaves_nothing(sources, declared):
    """The body has a Content-Length or is chunked; the form itself may be some bytes longer."""
    before = sources.files()
    with sources.limit("upload_bytes", 100_000):
        assert sources.send(b"x" * 100_000).status_code == 200
        existing = sources.files()
        assert len(existing) == len(before) + 1
        form = requests.Request("POST", "http://x", files={"file": ("a", b"x" * 100_001)}).prepare()
        body = form.body if declared else iter([form.body[:50_000], form.body[50_000:]])
        headers = {"Content-Type": form.headers["Content-Type"]}
        response = sources.request("POST", "sources", data=body, headers=headers)
    message = detail(response, 413)
    assert "100,000" in message
    assert "`labext sandbox nb limits set upload_bytes VALUE" in message
    assert sources.files() == existing


def test_text_over_the_limit_is_413(sources):
    with sources.limit("text_bytes", 1000):
        assert sources.text("é" * 500)["status"] == "completed"
        message = detail(sources.post("sources", {"text": "é" * 501}), 413)
        assert "1,000" in message
        assert "`labext sandbox nb limits set text_bytes VALUE" in message
        fields = {"text": "é" * 501}
        assert "1,000" in detail(sources.request("POST", "sources", data=fields), 413)


@pytest.mark.data_folder
def test_oversized_form_fields_are_413(sources):
    existing = sources.files()
    with sources.limit("text_bytes", 1000):
        detail(sources.send(b"x", nonsense="x" * 100_000), 413)
    assert sources.files() == existing


@pytest.mark.data_folder
def test_interrupted_upload_leaves_nothing(sources):
    before = sources.files()
    parts = urlsplit(sources.base)
    with socket.create_connection((parts.hostname, parts.port)) as connection:
        head = (
            f"POST {parts.path}/sources HTTP/1.1\r\nHost: {parts.netloc}\r\n"
            f"Authorization: {sources.session.headers['Authorization']}\r\n"
            "Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 5000000\r\n\r\n"
            '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
        )
        connection.sendall(head.encode() + b"x" * 2_000_000)
        wait_until(lambda: sources.files() != before, 20)
    wait_until(lambda: sources.files() == before, 20)


@pytest.fixture(scope="module")
def three(sources):
    """A notebook with three sources whose names are not in order of creation."""
    notebook = sources.notebook()
    return notebook, [
        sources.text(f"About {title}.", title=title, notebook_id=notebook)["id"]
        for title in ("beta", "Gamma", "alpha")
    ]


@pytest.mark.parametrize(
    ("order", "places"),
    [
        (None, [2, 1, 0]),
        ("updated_at", [2, 1, 0]),
        ("created_at asc", [0, 1, 2]),
        ("created_at", [2, 1, 0]),
        ("title", [2, 0, 1]),
        ("title DESC", [1, 0, 2]),
    ],
)
def test_sources_are_listed_in_the_requested_order(sources, three, order, places):
    notebook, created = three
    query = {"notebook_id": notebook} | ({} if order is None else {"order_by": order})
    assert [row["id"] for row in sources.listed(**query)] == [created[place] for place in places]


def test_source_list_is_paginated(sources, three):
    notebook, created = three
    pages = [
        sources.listed(notebook_id=notebook, limit=2, offset=offset, order_by="created_at asc")
        for offset in (0, 2, 4)
    ]
    assert [[item["id"] for item in page] for page in pages] == [created[:2], created[2:], []]
    assert "full_text" not in pages[0][0]


def test_source_list_has_fifty_rows_by_default(sources):
    notebook = sources.notebook()
    many = [f"source:listed{number}" for number in range(51)]
    with sources.back() as session:
        session.add_all(Source(id=source, kind="text", status=COMPLETED) for source in many)
        session.flush()
        session.add_all(NotebookSource(notebook_id=notebook, source_id=source) for source in many)
    assert len(sources.listed(notebook_id=notebook)) == 50
    assert {row["id"] for row in sources.listed(notebook_id=notebook, limit=1000)} == set(many)
    deleted = sources.call("DELETE", f"notebooks/{notebook}", params={"delete_sources": "true"})
    assert deleted["deleted_sources"] == 51


@pytest.mark.parametrize(
    "query",
    [
        {"limit": 0},
        {"limit": 1001},
        {"limit": "x"},
        {"offset": -1},
        {"order_by": "name"},
        {"order_by": "title; drop"},
        {"notebook_id": ""},
    ],
)
def test_invalid_list_query_is_refused(sources, query):
    assert detail(sources.get("sources", **query))


def test_unknown_source_is_404(sources):
    detail(sources.get("sources", notebook_id="notebook:none"), 404)
    for path in ("", "/status", "/download", "/insights"):
        detail(sources.get(f"sources/source:none{path}"), 404)
    detail(sources.put("sources/source:none", {"title": "x"}), 404)
    detail(sources.post("sources/source:none/retry"), 404)
    detail(sources.delete("sources/source:none"), 404)
    assert sources.request("HEAD", "sources/source:none/download").status_code == 404


def test_invalid_source_update_is_refused(sources):
    created = sources.call("POST", "sources", json={"text": "Text."})
    for body in ({"title": ""}, {"title": 1}, {"title": "a\nb"}, {"topic": []}):
        detail(sources.put(f"sources/{created['id']}", body))


def test_empty_update_changes_nothing(sources):
    created = sources.text("Text.")
    body = {"title": None, "topic": None, "other": 1}
    same = sources.call("PUT", f"sources/{created['id']}", json=body)
    assert same == sources.one(created["id"])
    assert same["updated_at"] == created["updated_at"]
    changed = sources.call("PUT", f"sources/{created['id']}", json={"topic": "t"})
    assert changed["updated_at"] > created["updated_at"]


@pytest.mark.data_folder
def test_deleted_source_leaves_nothing(sources):
    before = sources.files()
    notebook = sources.notebook()
    created = sources.file(b"The bilbyzyme is here.", notebook_id=notebook)
    assert len(sources.files()) == len(before) + 1
    sources.call("DELETE", f"sources/{created['id']}")
    assert sources.files() == before
    for path in ("", "/status", "/insights", "/download"):
        detail(sources.get(f"sources/{created['id']}{path}"), 404)
    assert sources.call("POST", "search", json={"query": "bilbyzyme"})["results"] == []
    assert sources.listed(notebook_id=notebook) == []
    detail(sources.delete(f"sources/{created['id']}"), 404)


def test_source_can_be_deleted_while_processed(sources, site):
    site.go.clear()
    with sources.private():
        created = sources.call("POST", "sources", json={"url": site.url})
        assert site.requested.acquire(timeout=30)
        sources.call("DELETE", f"sources/{created['id']}")
    assert not (sources.folder / "work" / created["id"].partition(":")[2]).exists()
    assert created["id"] not in [row["id"] for row in sources.listed()]


@pytest.mark.data_folder
def test_processing_resumes_after_a_kill(new_box, sources_of, site):
    box = new_box(workers=1)
    sources = sources_of(box)
    sources.embed_by(None)
    sources.allow("yes")
    site.go.clear()
    link = sources.call("POST", "sources", json={"url": site.url})
    assert site.requested.acquire(timeout=30)
    waiting = sources.send(b"It waits for its turn.").json()
    host = psutil.Process(box.status().pid)
    host.kill()
    host.wait(30)
    for name in ("originals/gone", "incoming/part"):  # as after a kill between two steps
        (sources.folder / name).write_bytes(b"x")
    site.go.set()
    box.start()
    sources = sources_of(box)
    assert sources.until(link["id"])["status"] == "completed"
    assert sources.until(waiting["id"])["status"] == "completed"
    assert sources.one(link["id"])["full_text"] == "Cells were induced with arabinose."
    assert sources.files() == {f"originals/{waiting['id'].partition(':')[2]}"}
    assert [*(sources.folder / "work").iterdir()] == []
