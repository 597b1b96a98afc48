"""`POST /getPresignedUploadUrl` and presigned uploads (JOBS-139 to JOBS-142)."""

from __future__ import annotations

import base64
import hashlib
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from sqlalchemy import select

from labext.sandbox.core.signing import hash_key
from labext.sandbox.jobs.tables import Account, Key, current_timestamp

pytestmark = pytest.mark.contract


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


@pytest.mark.parametrize("presigned", [True, False])
@pytest.mark.parametrize("content", [b"", b"ATOM", b"A" * (3 << 20)])
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


def test_folder_is_part_of_the_file_key(api, kit):
    folder = kit.name()
    urls = presign(api, "a.txt", folder=folder)
    assert urls["key"] == f"{folder}/a.txt"
    assert put(urls["uploadUrl"]).status_code == 200
    assert api.get("files", folder=folder).json() == ["a.txt"]
    assert folder in api.get("getFolders").json()


def test_presigned_upload_replaces_an_older_file(api, kit, box):
    name = f"{kit.name()}.fa"
    api.upload(name, b"no FASTA")
    urls = presign(api, name)
    assert head(urls["headUrl"]).headers["Content-Length"] == "8"
    put(urls["uploadUrl"], b">a\nACGT\n>b\nACGA\n>c\nACGG\n")
    job = api.submit("msa_tree", {"sequences": name})
    assert api.ended(job)["JobStatus"] == "Complete"
    assert api.get("files").json().count(name) == 1


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


def test_signature_of_a_result_cannot_upload(api, kit):
    job = api.submit("digest", kit.cut())
    api.ended(job)
    query = urlsplit(api.address(job)).query
    urls = presign(api, "a.txt", folder=kit.name())
    kit.error_message(put(f"{urls['uploadUrl'].split('?')[0]}?{query}"), 403)


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
