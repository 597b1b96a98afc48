"""Uploaded files and folders, direct and presigned: upload, list, delete."""

from __future__ import annotations

import asyncio
import base64
import errno
import hashlib
import os
import socket
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from unittest.mock import Mock
from urllib.parse import parse_qs, quote, urlsplit

import orjson
import pytest
import requests
from sqlalchemy import select
from starlette.exceptions import HTTPException
from waiting import wait_until

from labext.sandbox.core.signing import hash_key
from labext.sandbox.jobs.files.uploaded_files import begin_upload, receive_upload
from labext.sandbox.jobs.submission import submit_batch
from labext.sandbox.jobs.tables import Account, Key, current_timestamp

pytestmark = pytest.mark.contract


def test_file_is_uploaded_listed_and_deleted(api, kit):
    name = f"{kit.name()}.pdb"
    answer = api.upload(name, b"ATOM")
    assert answer.status_code == 200
    assert name in answer.json()["message"]
    assert name in api.get("files").json()
    answer = api.delete("delete-file", filePath=name)
    assert name in answer.json()["message"]
    assert name not in api.get("files").json()
    assert name in kit.error_message(api.delete("delete-file", filePath=name), 404)


def test_files_lists_folders_only_on_request(api, kit):
    folder, inner, outer = kit.name(), f"{kit.name()}.txt", f"{kit.name()}.txt"
    api.upload(inner, b"a", folder=folder)
    api.upload(outer, b"b")
    assert api.get("files", folder=folder).json() == [inner]
    files = api.get("files").json()
    assert outer in files
    assert inner not in files
    assert not any(name.endswith("/") for name in files)
    assert f"{folder}/" in api.get("files", includeFolders="true").json()
    assert api.get("files", folder=kit.name()).json() == []
    assert "includeFolders" in kit.error_message(api.get("files", includeFolders="yes"))


def test_deleting_a_folder_deletes_its_files(api, kit):
    folder = kit.name()
    for name in ("a.txt", "b.txt", "c.txt"):
        api.upload(name, b"a", folder=folder)
    assert api.delete("delete-file", filePath=f"{folder}/a.txt").status_code == 200
    assert api.get("files", folder=folder).json() == ["b.txt", "c.txt"]
    assert api.delete("delete-file", folder=folder).status_code == 200
    assert api.get("files", folder=folder).json() == []
    assert folder in kit.error_message(api.delete("delete-file", folder=folder), 404)


def test_upload_replaces_a_file_of_the_same_name(api, kit, db):
    name = f"{kit.name()}.fa"
    api.upload(name, b">a\nACGT\n>b\nACGA\n>c\nACGG\n")
    api.upload(name, b"no FASTA")
    assert "FASTA" in api.ended(api.submit("msa_tree", {"sequences": name}))["Reason"]
    assert api.get("files").json().count(name) == 1
    assert len(list((db.data_dir / "jobs" / "incoming").iterdir())) == 0


@pytest.mark.data_folder
def test_simultaneous_uploads_leave_one_whole_file(own_box, kit):
    contents = [bytes([65 + number]) * 1_000_000 for number in range(8)]
    with ThreadPoolExecutor(len(contents)) as pool:
        answers = pool.map(lambda content: kit.Api(own_box).upload("a", content), contents)
        assert {answer.status_code for answer in answers} == {200}
    assert kit.Api(own_box).get("files").json() == ["a"]
    (file,) = (own_box.data_dir / "jobs" / "files").iterdir()
    assert file.read_bytes() in contents


def test_stored_files_are_readable_by_their_owner_only(own_box, kit):
    api = kit.Api(own_box)
    api.upload("a.fa", b">a\nACGT\n", folder="f")
    batch = api.batch([{"sequence": "ACDEFGHIK"}], type="peptide_build")
    api.ended(batch)
    api.archive(f"{batch}-j0", pdbsOnly=True)
    stored_paths = [*own_box.data_dir.rglob("*")]
    assert {"pdbs.zip", "archive.zip", "metrics.csv", "log.txt"} <= {
        path.name for path in stored_paths
    }
    # Only the certificate of the authority is public.
    assert {path.name for path in stored_paths if path.stat().st_mode & 0o077} <= {"ca.pem"}


def test_accounts_cannot_see_files_of_others(api, teacher, kit):
    name = f"{kit.name()}.txt"
    api.upload(name, b"a")
    assert name not in teacher.get("files").json()
    kit.error_message(teacher.delete("delete-file", filePath=name), 404)


@pytest.mark.parametrize("presigned", [False, True])
@pytest.mark.parametrize(
    "name",
    [
        "日本語 ä.pdb",
        "a%2Fb%00.txt",
        "100% ?#&=+;,.fa",
        "...",
        "x" * 255,
        "a*?[b].txt",
        """'; "<b>&amp;".txt""",
    ],
)
def test_file_names_are_literal_and_decoded_once(api, kit, name, presigned):
    folder = kit.name()
    api.upload("other", b"a", folder=folder)
    if presigned:
        order = {"filename": name, "folder": folder}
        urls = api.accepted("getPresignedUploadUrl", order).json()
        assert urls["key"] == f"{folder}/{name}"
        assert requests.put(urls["uploadUrl"], data=b"a", timeout=60).status_code == 200
        assert requests.head(urls["headUrl"], timeout=60).status_code == 200
    else:
        assert api.upload(quote(name, safe=""), b"a", folder=folder).status_code == 200
    assert sorted(api.get("files", folder=folder).json()) == sorted([name, "other"])
    assert api.delete("delete-file", filePath=f"{folder}/{name}").status_code == 200
    assert api.get("files", folder=folder).json() == ["other"]


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../a", "a/b", "a\\b", "a\nb", "a\0b", "a\x7f", " a", "x" * 256, 7]
)
def test_file_must_have_a_plain_name(api, kit, name):
    assert "filename" in api.refused("getPresignedUploadUrl", {"filename": name})
    if name != 7:
        encoded = quote(name, safe="").replace(".", "%2E")  # requests normalizes dots
        assert "filename" in kit.error_message(api.upload(encoded, b"a"))


@pytest.mark.parametrize("folder", ["a/b", "..", "a\\b", "a\nb", "x" * 256, 7])
def test_folder_must_be_a_plain_name(api, kit, folder):
    assert "folder" in api.refused("getPresignedUploadUrl", {"filename": "a.txt", "folder": folder})
    if folder != 7:
        assert "folder" in kit.error_message(api.upload("a.txt", b"a", folder=folder))


@pytest.mark.parametrize("query", [{}, {"filePath": "a", "folder": "b"}])
def test_delete_file_needs_either_a_file_or_a_folder(api, kit, query):
    assert "filePath or folder" in kit.error_message(api.delete("delete-file", **query))


@pytest.mark.parametrize("query", [{"filePath": ""}, {"folder": ""}, {"filePath": "/a"}])
def test_empty_name_deletes_nothing(api, kit, query):
    api.upload("a", b"kept")
    kit.error_message(api.delete("delete-file", **query), 404)
    assert "a" in api.get("files").json()


def test_upload_over_the_limit_is_refused(api, kit, db):
    name = kit.name()
    with db.limit("upload_bytes", 1000):
        assert "1,000 bytes" in kit.error_message(api.upload(name, b"x" * 1001))
        chunked = api.session.put(
            f"{api.base}upload/{name}", data=(b"x" * 300 for _ in range(4)), timeout=30
        )
        assert "1,000 bytes" in kit.error_message(chunked)
        assert name not in api.get("files").json()
        assert api.upload(name, b"x" * 1000).status_code == 200


@pytest.mark.parametrize(
    ("field", "body"),
    [("Content-Length: 1001", b"x"), ("Transfer-Encoding: chunked", b"3e9\r\n" + b"x" * 1001)],
)
def test_upload_over_the_limit_is_refused_before_its_end(box, kit, db, field, body):
    head = f"PUT /api/upload/{kit.name()} HTTP/1.1\nHost: $HOST\nx-api-key: $KEY\n{field}\n"
    with db.limit("upload_bytes", 1000):
        assert kit.send_raw(box, head, body) == 400


def receive(site, upload, *chunks):
    async def body():
        for chunk in chunks:
            yield chunk

    return asyncio.run(receive_upload(site, upload, body()))


def test_uploaded_file_is_synced_to_the_disk(site, student, is_synced):
    receive(site, begin_upload(site, student, "a", {}, None), b"x" * (1 << 20), b"the end")
    (file,) = (site.folder / "files").iterdir()
    assert is_synced(file)
    assert is_synced(file.parent)


@pytest.mark.parametrize("links", [True, False])
def test_input_files_of_jobs_are_synced_to_the_disk(site, student, is_synced, monkeypatch, links):
    receive(site, begin_upload(site, student, "a.fa", {}, None), b">a\nACGT\n>b\nACGA\n>c\nACGG\n")
    if not links:
        monkeypatch.setattr(os, "link", Mock(side_effect=OSError(errno.EPERM, "no links")))
    batch = {"batchName": "b", "type": "msa_tree", "jobNames": ["one", "two"]}
    submit_batch(site, student, orjson.dumps(batch | {"settings": [{"sequences": "a.fa"}] * 2}))
    inputs = [*(site.folder / "jobs").rglob("a.fa")]
    assert len(inputs) == 2
    for file in inputs:
        for path in (file, *file.relative_to(site.folder).parents):
            assert is_synced(site.folder / path)


def test_simultaneous_uploads_share_the_storage_of_the_account(site, student):
    with site.database.write() as session:
        session.get(Account, student.id).storage_quota = 1000
    first, second = [begin_upload(site, student, name, {}, "600") for name in ("a", "b")]
    receive(site, first, b"x" * 600)
    with pytest.raises(HTTPException, match="400 bytes"):
        receive(site, second, b"x" * 600)
    assert len(list((site.folder / "files").iterdir())) == 1
    assert list((site.folder / "incoming").iterdir()) == []


@pytest.mark.data_folder
def test_storage_of_an_account_is_limited(own_box, kit):
    api = kit.Api(own_box)
    with kit.DatabaseAccess(own_box).quota("student@sandbox.local", 1000):
        assert api.upload("a", b"x" * 600).status_code == 200
        assert "storage" in kit.error_message(api.upload("b", b"x" * 600))
        assert api.upload("a", b"x" * 900).status_code == 200  # replaces the first upload
        api.delete("delete-file", filePath="a")
        assert api.upload("b", b"x" * 600).status_code == 200
    stored = [f for f in (own_box.data_dir / "jobs").rglob("*") if f.is_file()]
    assert [file.stat().st_size for file in stored] == [600]


@pytest.mark.parametrize("presigned", [False, True])
def test_interrupted_upload_leaves_nothing(box, api, kit, presigned):
    name = kit.name()
    url = f"{api.base}upload/{name}"
    if presigned:
        url = api.accepted("getPresignedUploadUrl", {"filename": name}).json()["uploadUrl"]
    address = urlsplit(url)
    incoming = box.data_dir / "jobs" / "incoming"
    with socket.create_connection((address.hostname, address.port), timeout=30) as connection:
        head = (
            f"PUT {address.path}?{address.query} HTTP/1.1\r\nHost: {address.netloc}\r\n"
            f"x-api-key: {box.jobs.api_key}\r\nContent-Length: 5000000\r\n\r\n"
        )
        connection.sendall(head.encode() + b"x" * 2_000_000)
        wait_until(lambda: any(incoming.iterdir()))
    wait_until(lambda: not any(incoming.iterdir()))
    assert name not in api.get("files").json()


def test_folders_are_listed_while_they_contain_files(api, teacher, kit):
    first, second = sorted([kit.name(), kit.name()])
    for folder in (second, first, first):
        api.upload(f"{kit.name()}.txt", b"a", folder=folder)
    folders = api.get("getFolders").json()
    assert [name for name in folders if name in (first, second)] == [first, second]
    assert "" not in folders
    assert first not in teacher.get("getFolders").json()
    api.delete("delete-file", folder=first)
    assert first not in api.get("getFolders").json()


def presign(api, filename, **more):
    return api.accepted("getPresignedUploadUrl", {"filename": filename} | more).json()


def put(address, content=b"ATOM"):
    return requests.put(address, data=content, timeout=60)


def head(address):
    return requests.head(address, timeout=60)


def test_presigned_upload_needs_no_key(api, kit):
    name = f"{kit.name()}.pdb"
    urls = presign(api, name)
    assert set(urls) == {"uploadUrl", "headUrl", "key", "bucket"}
    assert urls["key"] == name
    assert head(urls["headUrl"]).status_code == 404
    answer = put(urls["uploadUrl"])
    assert answer.status_code == 200
    assert name in answer.json()["message"]
    stored = head(urls["headUrl"])
    assert (stored.status_code, stored.headers["Content-Length"]) == (200, "4")
    assert name in api.get("files").json()
    api.delete("delete-file", filePath=urls["key"])
    assert head(urls["headUrl"]).status_code == 404


@pytest.mark.parametrize(("presigned", "content"), [(True, b""), (False, b"A" * (3 << 20))])
def test_head_returns_checksum_and_time_of_an_upload(api, kit, content, presigned):
    name, folder = f"{kit.name()}.pdb", kit.name()
    urls = presign(api, name, folder=folder)
    before = datetime.now(UTC).replace(microsecond=0)
    if presigned:
        assert put(urls["uploadUrl"], content).status_code == 200
    else:
        assert api.upload(name, content, folder=folder).status_code == 200
    headers = head(urls["headUrl"]).headers
    sha256 = hashlib.sha256(content)
    assert headers["Content-Length"] == str(len(content))
    assert headers["ETag"] == f'"{sha256.hexdigest()}"'
    encoded = base64.b64encode(sha256.digest()).decode()
    assert headers["Repr-Digest"] == f"sha-256=:{encoded}:"
    assert before <= parsedate_to_datetime(headers["Last-Modified"]) <= datetime.now(UTC)


def test_presigned_url_is_valid_for_its_file_and_method_only(api, teacher, kit):
    mine, other = presign(api, "a.txt", folder=kit.name()), presign(api, "b.txt", folder=kit.name())
    theirs = presign(teacher, mine["key"].split("/")[1], folder=mine["key"].split("/")[0])

    def swapped(path, query):
        return f"{path.split('?')[0]}?{query.split('?')[1]}"

    for forged in (
        swapped(other["uploadUrl"], mine["uploadUrl"]),
        swapped(theirs["uploadUrl"], mine["uploadUrl"]),
        mine["headUrl"],
        mine["uploadUrl"].split("?")[0],
        mine["uploadUrl"] + "x",
        mine["uploadUrl"].replace("a.txt", "../a.txt"),
        mine["uploadUrl"].replace("a.txt", "a.txt/"),
    ):
        kit.error_message(put(forged), 403)
    for forged in (mine["uploadUrl"], swapped(other["headUrl"], mine["headUrl"])):
        assert head(forged).status_code == 403
    assert requests.get(mine["headUrl"], timeout=60).status_code == 405
    assert api.get("files", folder=mine["key"].split("/")[0]).json() == []


def test_presigned_url_expires(api, kit, db):
    with db.limit("url_seconds", 0):
        urls = presign(api, "a.txt", folder=kit.name())
    assert "expired" in kit.error_message(put(urls["uploadUrl"]), 403)
    assert head(urls["headUrl"]).status_code == 403
    expires = int(parse_qs(urlsplit(urls["uploadUrl"]).query)["expires"][0])
    later = urls["uploadUrl"].replace(str(expires), str(expires + 9999))
    assert "signature" in kit.error_message(put(later), 403)


def test_presigned_url_of_a_removed_account_is_invalid(box, db, kit):
    key = kit.name()

    def add_account(session):
        account = Account(
            organization_id=1, email=f"{kit.name()}@x.org", storage_quota=10**6, gates=[]
        )
        session.add(account)
        session.flush()
        return account.id

    with db.session() as session:
        number = add_account(session)
        row = {"name": "a", "hash": hash_key(key), "created": current_timestamp()}
        session.add(Key(account_id=number, **row))
    urls = presign(kit.Api(box, key), "a.txt")
    with db.session() as session:
        session.delete(session.scalars(select(Key).where(Key.hash == hash_key(key))).one())
        session.delete(session.get_one(Account, number))
    with db.session() as session:
        add_account(session)
    assert "was removed" in kit.error_message(put(urls["uploadUrl"]), 403)
    assert head(urls["headUrl"]).status_code == 404


def test_limits_and_quota_apply_to_presigned_uploads(api, kit, db):
    urls = presign(api, kit.name())
    with db.limit("upload_bytes", 1000):
        assert "1,000 bytes" in kit.error_message(put(urls["uploadUrl"], b"x" * 1001))
        pieces = (b"x" * 300 for _ in range(4))
        assert "1,000 bytes" in kit.error_message(put(urls["uploadUrl"], pieces))
        assert head(urls["headUrl"]).status_code == 404
    with db.quota("student@sandbox.local", 3):
        assert "storage" in kit.error_message(put(urls["uploadUrl"], b"x" * 600))
    assert put(urls["uploadUrl"], b"").status_code == 200
    assert head(urls["headUrl"]).headers["Content-Length"] == "0"


@pytest.mark.parametrize("length", ["many", "-1", "1e3", "0x10", "1, 2"])
def test_invalid_content_length_is_refused(box, api, kit, length):
    address = urlsplit(presign(api, kit.name())["uploadUrl"])
    head = f"PUT {address.path}?{address.query} HTTP/1.1\nHost: $HOST\nContent-Length: {length}\n"
    assert kit.send_raw(box, head, b"ATOM") == 400
