"""`POST /getPresignedUploadUrl` and presigned uploads (JOBS-139 to JOBS-142)."""

from __future__ import annotations

import base64
import hashlib
import socket
import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from sqlalchemy import select

pytestmark = pytest.mark.contract

HOSTILE = [
    'a "quoted" name.txt',
    "it's.txt",
    "日本語.pdb",
    "a%2Fb%00.txt",
    "100% ?#&=+;,.fa",
    "<b>&amp;.txt",
    "...",
    "x" * 255,
    "é" * 127,
]


def asked(api, filename, **more):
    answer = api.post("getPresignedUploadUrl", {"filename": filename} | more)
    assert answer.status_code == 200, answer.text
    return answer.json()


def put(address, content=b"ATOM"):
    return requests.put(address, data=content, timeout=60)


def head(address):
    return requests.head(address, timeout=60)


def test_a_file_is_stored_without_a_key(api, kit):
    name = f"{kit.name()}.pdb"
    given = asked(api, name)
    assert set(given) == {"uploadUrl", "headUrl", "key", "bucket"}
    assert given["key"] == name
    assert head(given["headUrl"]).status_code == 404
    answer = put(given["uploadUrl"])
    assert answer.status_code == 200
    assert name in answer.json()["message"]
    there = head(given["headUrl"])
    assert (there.status_code, there.headers["Content-Length"]) == (200, "4")
    assert name in api.get("files").json()
    api.delete("delete-file", filePath=given["key"])
    assert head(given["headUrl"]).status_code == 404


@pytest.mark.parametrize("presigned", [True, False])
@pytest.mark.parametrize("content", [b"", b"ATOM", b"A" * (3 << 20)])
def test_head_tells_the_checksum_and_the_time_of_an_upload(api, kit, content, presigned):
    name, folder = f"{kit.name()}.pdb", kit.name()
    given = asked(api, name, folder=folder)
    before = datetime.now(UTC).replace(microsecond=0)
    if presigned:
        assert put(given["uploadUrl"], content).status_code == 200
    else:
        assert api.upload(name, content, folder=folder).status_code == 200
    headers = head(given["headUrl"]).headers
    sha256 = hashlib.sha256(content)
    assert headers["Content-Length"] == str(len(content))
    assert headers["ETag"] == f'"{sha256.hexdigest()}"'
    encoded = base64.b64encode(sha256.digest()).decode()
    assert headers["Repr-Digest"] == f"sha-256=:{encoded}:"
    assert before <= parsedate_to_datetime(headers["Last-Modified"]) <= datetime.now(UTC)


def test_a_folder_is_part_of_the_files_key(api, kit):
    folder = kit.name()
    given = asked(api, "a.txt", folder=folder)
    assert given["key"] == f"{folder}/a.txt"
    assert put(given["uploadUrl"]).status_code == 200
    assert api.get("files", folder=folder).json() == ["a.txt"]
    assert folder in api.get("getFolders").json()


def test_it_replaces_an_older_file_as_an_upload_with_a_key_does(api, kit, box):
    name = f"{kit.name()}.fa"
    api.upload(name, b"no FASTA")
    given = asked(api, name)
    assert head(given["headUrl"]).headers["Content-Length"] == "8"
    put(given["uploadUrl"], b">a\nACGT\n>b\nACGA\n>c\nACGG\n")
    job = api.submit("msa_tree", {"sequences": name})
    assert api.ended(job)["JobStatus"] == "Complete"
    assert api.get("files").json().count(name) == 1


@pytest.mark.parametrize("name", HOSTILE)
def test_any_plain_name_is_a_files_name(api, kit, name):
    folder = kit.name()
    given = asked(api, name, folder=folder)
    assert put(given["uploadUrl"]).status_code == 200
    assert head(given["headUrl"]).status_code == 200
    assert api.get("files", folder=folder).json() == [name]
    assert api.delete("delete-file", filePath=given["key"]).status_code == 200


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../a", "a/b", "a\\b", "a\nb", "a\0b", "a\x7f", " a", "x" * 256, 7, None],
)
def test_a_name_that_is_not_plain_is_refused(api, kit, name):
    body = {"filename": name}
    assert "filename" in kit.sentence(api.post("getPresignedUploadUrl", body))


@pytest.mark.parametrize("folder", ["a/b", "..", "a\\b", "a\nb", "x" * 256, 7])
def test_a_folder_that_is_not_plain_is_refused(api, kit, folder):
    body = {"filename": "a.txt", "folder": folder}
    assert "folder" in kit.sentence(api.post("getPresignedUploadUrl", body))


def test_an_address_is_good_for_its_file_and_its_method_alone(api, teacher, kit):
    mine, other = asked(api, "a.txt", folder=kit.name()), asked(api, "b.txt", folder=kit.name())
    theirs = asked(teacher, mine["key"].split("/")[1], folder=mine["key"].split("/")[0])

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
        kit.sentence(put(forged), 403)
    for forged in (mine["uploadUrl"], swapped(other["headUrl"], mine["headUrl"])):
        assert head(forged).status_code == 403
    assert requests.get(mine["headUrl"], timeout=60).status_code == 405
    assert api.get("files", folder=mine["key"].split("/")[0]).json() == []


def test_a_signature_of_a_result_stores_nothing(api, kit):
    job = api.submit("digest", kit.cut())
    api.ended(job)
    query = urlsplit(api.address(job)).query
    given = asked(api, "a.txt", folder=kit.name())
    kit.sentence(put(f"{given['uploadUrl'].split('?')[0]}?{query}"), 403)


def test_an_address_expires_and_says_so(api, kit, back):
    with back.limit("url_seconds", 0):
        given = asked(api, "a.txt", folder=kit.name())
    assert "expired" in kit.sentence(put(given["uploadUrl"]), 403)
    assert head(given["headUrl"]).status_code == 403
    expires = int(parse_qs(urlsplit(given["uploadUrl"]).query)["expires"][0])
    later = given["uploadUrl"].replace(str(expires), str(expires + 9999))
    assert "signature" in kit.sentence(put(later), 403)


def test_an_address_dies_with_its_account_and_is_nobody_elses(box, back, kit):
    from labext.sandbox.core.database import Database
    from labext.sandbox.core.signing import hash_key
    from labext.sandbox.jobs.tables import Account, Key, current_timestamp

    database, key = Database.at(back.path), kit.name()

    def account(session):
        one = Account(organization_id=1, email=f"{kit.name()}@x.org", storage_quota=10**6, gates=[])
        session.add(one)
        session.flush()
        return one

    with database.write() as session:
        one = account(session)
        session.add(
            Key(account_id=one.id, name="a", hash=hash_key(key), created=current_timestamp())
        )
    given = asked(kit.Api(box, key), "a.txt")
    with database.write() as session:
        session.delete(session.scalars(select(Key).where(Key.hash == hash_key(key))).one())
        session.delete(session.get_one(Account, one.id))
    with database.write() as session:
        account(session)
    database.close()
    assert "gone" in kit.sentence(put(given["uploadUrl"]), 403)
    assert head(given["headUrl"]).status_code == 404


def test_limits_and_quota_bind_as_for_an_upload_with_a_key(api, kit, back):
    given = asked(api, kit.name())
    with back.limit("upload_bytes", 1000):
        assert "1,000 bytes" in kit.sentence(put(given["uploadUrl"], b"x" * 1001))
        pieces = (b"x" * 300 for _ in range(4))
        assert "1,000 bytes" in kit.sentence(put(given["uploadUrl"], pieces))
        assert head(given["headUrl"]).status_code == 404
    with back.quota("student@sandbox.local", 3):
        assert "storage" in kit.sentence(put(given["uploadUrl"], b"x" * 600))
    assert put(given["uploadUrl"], b"").status_code == 200
    assert head(given["headUrl"]).headers["Content-Length"] == "0"


def test_an_upload_that_breaks_off_leaves_nothing(box, api, kit):
    name = kit.name()
    address = urlsplit(asked(api, name)["uploadUrl"])
    incoming = box.data_dir / "jobs" / "incoming"
    with socket.create_connection((address.hostname, address.port), timeout=30) as wire:
        head = (
            f"PUT {address.path}?{address.query} HTTP/1.1\r\nHost: {address.netloc}\r\n"
            "Content-Length: 5000000\r\n\r\n"
        )
        wire.sendall(head.encode() + b"x" * 2_000_000)
        deadline = time.monotonic() + 90
        while not any(incoming.iterdir()):
            assert time.monotonic() < deadline
            time.sleep(0.01)
    while any(incoming.iterdir()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert name not in api.get("files").json()


@pytest.mark.parametrize("length", ["many", "-1", "1e3", "0x10", "1, 2"])
def test_a_length_that_is_none_is_refused(api, kit, length):
    address = urlsplit(asked(api, kit.name())["uploadUrl"])
    with socket.create_connection((address.hostname, address.port), timeout=30) as wire:
        head = (
            f"PUT {address.path}?{address.query} HTTP/1.1\r\nHost: {address.netloc}\r\n"
            f"Content-Length: {length}\r\n\r\n"
        )
        wire.sendall(head.encode() + b"ATOM")
        assert wire.recv(4096).split(b" ")[1] == b"400"
