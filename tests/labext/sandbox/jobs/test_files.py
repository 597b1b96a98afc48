"""`PUT /upload/{filename}`, `GET /files`, `DELETE /delete-file` (JOBS-127 to JOBS-138)."""

from __future__ import annotations

import socket
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote, urlsplit

import pytest

pytestmark = pytest.mark.contract


def test_a_file_is_uploaded_listed_and_deleted(api, kit):
    name = f"{kit.name()}.pdb"
    answer = api.upload(name, b"ATOM")
    assert answer.status_code == 200
    assert name in answer.json()["message"]
    assert name in api.get("files").json()
    answer = api.delete("delete-file", filePath=name)
    assert name in answer.json()["message"]
    assert name not in api.get("files").json()
    assert name in kit.sentence(api.delete("delete-file", filePath=name), 404)


def test_files_are_a_flat_array_and_folders_come_when_asked_for(api, kit):
    folder, inner, outer = kit.name(), f"{kit.name()}.txt", f"{kit.name()}.txt"
    api.upload(inner, b"a", folder=folder)
    api.upload(outer, b"b")
    assert api.get("files", folder=folder).json() == [inner]
    listed = api.get("files").json()
    assert outer in listed
    assert inner not in listed
    assert not any(name.endswith("/") for name in listed)
    assert f"{folder}/" in api.get("files", includeFolders="true").json()
    assert api.get("files", folder=kit.name()).json() == []
    assert "includeFolders" in kit.sentence(api.get("files", includeFolders="yes"))


def test_a_folder_is_deleted_with_its_files(api, kit):
    folder = kit.name()
    for name in ("a.txt", "b.txt", "c.txt"):
        api.upload(name, b"a", folder=folder)
    assert api.delete("delete-file", filePath=f"{folder}/a.txt").status_code == 200
    assert api.get("files", folder=folder).json() == ["b.txt", "c.txt"]
    assert api.delete("delete-file", folder=folder).status_code == 200
    assert api.get("files", folder=folder).json() == []
    assert folder in kit.sentence(api.delete("delete-file", folder=folder), 404)


def test_the_same_name_replaces_the_content(api, kit, back):
    name = f"{kit.name()}.fa"
    api.upload(name, b">a\nACGT\n>b\nACGA\n>c\nACGG\n")
    first = api.submit("msa_tree", {"sequences": name})
    api.upload(name, b"no FASTA")
    second = api.submit("msa_tree", {"sequences": name})
    assert api.ended(first)["JobStatus"] == "Complete"  # with the content of its time
    assert "FASTA" in api.ended(second)["Reason"]
    assert api.get("files").json().count(name) == 1
    assert len(list((back.path.parent / "jobs" / "incoming").iterdir())) == 0


def test_uploads_of_one_name_at_once_leave_one_whole_file(new_box, kit):
    box = new_box(workers=1)
    contents = [bytes([65 + number]) * 1_000_000 for number in range(8)]
    with ThreadPoolExecutor(len(contents)) as pool:
        answers = pool.map(lambda content: kit.Api(box).upload("a", content), contents)
        assert {answer.status_code for answer in answers} == {200}
    assert kit.Api(box).get("files").json() == ["a"]
    (file,) = (box.data_dir / "jobs" / "files").iterdir()
    assert file.read_bytes() in contents


def test_whatever_the_service_keeps_is_its_owners_alone(new_box, kit):
    box = new_box(workers=2)
    api = kit.Api(box)
    api.upload("a.fa", b">a\nACGT\n>b\nACGA\n>c\nACGG\n", folder="f")
    helix = api.submit("peptide_build", {"sequence": "ACDEFGHIK"})
    batch = api.batch([{"sequences": "a.fa"}] * 2, type="msa_tree")
    for name in (helix, batch):
        api.ended(name)
    api.archive(helix, pdbsOnly=True)
    kept = [*box.data_dir.rglob("*")]
    assert {"pdbs.zip", "archive.zip", "metrics.csv", "log.txt"} <= {path.name for path in kept}
    # The authority's certificate alone is to be handed on.
    assert {path.name for path in kept if path.stat().st_mode & 0o077} <= {"ca.pem"}


def test_accounts_do_not_see_each_others_files(api, teacher, kit):
    name = f"{kit.name()}.txt"
    api.upload(name, b"a")
    assert name not in teacher.get("files").json()
    kit.sentence(teacher.delete("delete-file", filePath=name), 404)


@pytest.mark.parametrize(
    "name", ["a b.txt", "ä.pdb", "日本.pdb", "a%2Fb", "a+b&c=d?.txt", "#1", "~"]
)
def test_a_name_in_the_address_is_decoded_once(api, kit, name):
    folder = kit.name()
    assert api.upload(quote(name, safe=""), b"a", folder=folder).status_code == 200
    assert api.get("files", folder=folder).json() == [name]
    assert api.delete("delete-file", filePath=f"{folder}/{name}").status_code == 200


@pytest.mark.parametrize(
    "name", ["a%2Fb", "a/b", "%2e%2e", "..%2Fx", "a%00b", "a%0Ab", "a%5Cb", "%20a", "x" * 256, ""]
)
def test_a_name_that_is_not_plain_is_refused(api, kit, name):
    assert "filename" in kit.sentence(api.upload(name, b"a"))


@pytest.mark.parametrize("folder", ["a/b", "..", "a\\b", "a\nb", "x" * 256])
def test_a_folder_that_is_not_plain_is_refused(api, kit, folder):
    assert "folder" in kit.sentence(api.upload("a.txt", b"a", folder=folder))


@pytest.mark.parametrize("query", [{}, {"filePath": "a", "folder": "b"}])
def test_either_a_file_or_a_folder_is_deleted(api, kit, query):
    assert "filePath or folder" in kit.sentence(api.delete("delete-file", **query))


@pytest.mark.parametrize("query", [{"filePath": ""}, {"folder": ""}, {"filePath": "/a"}])
def test_nothing_is_deleted_by_an_empty_name(api, kit, query):
    api.upload("a", b"kept")
    kit.sentence(api.delete("delete-file", **query), 404)
    assert "a" in api.get("files").json()


def test_a_big_file_goes_to_disk_as_it_comes(api, kit):
    name = kit.name()
    piece = bytes(range(256)) * 4096

    def pieces():
        for _ in range(64):
            yield piece

    answer = api.session.put(f"{api.base}upload/{name}", data=pieces(), timeout=60)  # chunked
    assert answer.status_code == 200
    assert f"{len(piece) * 64:,} bytes" in answer.json()["message"]
    api.delete("delete-file", filePath=name)


def test_a_file_over_the_limit_is_refused_by_its_length_or_as_it_comes(api, kit, back):
    name = kit.name()
    with back.limit("upload_bytes", 1000):
        assert "1,000 bytes" in kit.sentence(api.upload(name, b"x" * 1001))
        chunked = api.session.put(
            f"{api.base}upload/{name}", data=(b"x" * 300 for _ in range(4)), timeout=30
        )
        assert "1,000 bytes" in kit.sentence(chunked)
        assert name not in api.get("files").json()
        assert api.upload(name, b"x" * 1000).status_code == 200


def test_the_accounts_storage_is_bounded(new_box, kit):
    box = new_box(workers=1)
    api = kit.Api(box)
    with kit.Back(box).quota("student@sandbox.local", 1000):
        assert api.upload("a", b"x" * 600).status_code == 200
        assert "storage" in kit.sentence(api.upload("b", b"x" * 600))
        assert api.upload("a", b"x" * 900).status_code == 200  # in place of the first
        api.delete("delete-file", filePath="a")
        assert api.upload("b", b"x" * 600).status_code == 200
    stored = [f for f in (box.data_dir / "jobs").rglob("*") if f.is_file()]
    assert [file.stat().st_size for file in stored] == [600]


def test_an_upload_that_breaks_off_leaves_nothing(box, api, kit):
    name = kit.name()
    address = urlsplit(box.jobs.base_url)
    with socket.create_connection((address.hostname, address.port), timeout=30) as wire:
        head = (
            f"PUT /api/upload/{name} HTTP/1.1\r\nHost: {address.netloc}\r\n"
            f"x-api-key: {box.jobs.api_key}\r\nContent-Length: 5000000\r\n\r\n"
        )
        wire.sendall(head.encode() + b"x" * 2_000_000)
        incoming = box.data_dir / "jobs" / "incoming"
        deadline = time.monotonic() + 90
        while not any(incoming.iterdir()):
            assert time.monotonic() < deadline
            time.sleep(0.01)
    while any(incoming.iterdir()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert name not in api.get("files").json()
