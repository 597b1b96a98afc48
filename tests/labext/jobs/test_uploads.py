"""Uploads, presigned uploads and folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from labext.errors import AccessError, InputError, NotFoundError, ServiceError
from labext.jobs import JobsClient

pytestmark = pytest.mark.faults


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.pdb"
    path.write_bytes(b"ATOM\n" * 1000)
    return path


def test_presigned_upload_sends_no_key_and_is_verified(
    client: JobsClient, ledger: Any, file: Path
) -> None:
    assert client.upload(file, "set", presigned=True).name == "model.pdb"
    assert ledger.stored == {"model.pdb": file.read_bytes()}
    assert ledger.bodies("getPresignedUploadUrl") == [{"filename": "model.pdb", "folder": "set"}]
    assert [key for operation, key in ledger.keys if operation == "store"] == [None, None]
    assert ledger.count("upload") == 0


def test_empty_file_is_uploaded(client: JobsClient, ledger: Any, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").touch()
    client.upload(tmp_path / "empty.txt", presigned=True)
    assert ledger.stored == {"empty.txt": b""}


def test_413_falls_back_to_a_presigned_upload(client: JobsClient, ledger: Any, file: Path) -> None:
    ledger.fail("upload", ledger.answer(413, "Request Entity Too Large", "text/plain"))
    assert client.upload(file).name == "model.pdb"
    assert ledger.stored == {"model.pdb": file.read_bytes()}
    ledger.fail("upload", ledger.answer(413, "Request Entity Too Large", "text/plain"))
    ledger.not_served["getPresignedUploadUrl"] = ledger.answer(404, {"detail": "Not Found"})
    with pytest.raises(InputError, match="Too Large"):
        client.upload(file)
    with pytest.raises(NotFoundError, match="does not support presigned"):
        client.upload(file, presigned=True)


@pytest.mark.parametrize("how", ["lost_before", "lost_after"])
def test_lost_response_of_the_store_is_retried(
    client: JobsClient, ledger: Any, file: Path, how: str
) -> None:
    ledger.fail("store", getattr(ledger, how)(), ledger.answer(503, "slow down"))
    client.upload(file, presigned=True)
    assert ledger.stored == {"model.pdb": file.read_bytes()}
    assert ledger.count("store") == 4


def test_missing_or_truncated_upload_is_an_error(
    client: JobsClient, ledger: Any, file: Path
) -> None:
    ledger.fail("store", ledger.answer())
    with pytest.raises(ServiceError, match="it was not found there"):
        client.upload(file, presigned=True)
    ledger.fail("store", None, ledger.answer(headers={"Content-Length": "7"}))
    with pytest.raises(ServiceError, match="only 7 of 5,000 bytes arrived"):
        client.upload(file, presigned=True)


def test_expired_upload_url_is_an_error_without_its_signature(
    client: JobsClient, ledger: Any, file: Path
) -> None:
    ledger.fail(
        "store", ledger.answer(403, "https://store/x?signature=abcdef0123456789 has expired")
    )
    with pytest.raises(AccessError, match="invalid or has expired") as raised:
        client.upload(file, presigned=True)
    assert "abcdef0123456789" not in str(raised.value)
    assert "abcdef0123456789" not in str(raised.value.server)


@pytest.mark.parametrize("answer", [{}, [], {"uploadUrl": 7}, {"uploadUrl": "ftp://x/y"}])
def test_response_without_upload_url_is_an_error(
    client: JobsClient, ledger: Any, file: Path, answer: Any
) -> None:
    ledger.fail("getPresignedUploadUrl", ledger.answer(body=answer))
    with pytest.raises(ServiceError, match="no upload address"):
        client.upload(file, presigned=True)


def test_folders_from_every_response_format(client: JobsClient, ledger: Any) -> None:
    assert client.folders() == ["models", "sets"]
    ledger.fail("getFolders", ledger.answer(body={"folders": [{"name": "a"}, "b/", "/"]}))
    assert client.folders() == ["a", "b"]
    ledger.fail("getFolders", ledger.answer(body={"x": 1}))
    with pytest.raises(ServiceError, match="invalid list of folders"):
        client.folders()
    ledger.not_served["getFolders"] = ledger.answer(404, {"detail": "Not Found"})
    ledger.files = ["x.pdb"]
    ledger.fail("files", None, ledger.answer(body=["x.pdb", "sets/"]))
    assert client.folders() == ["sets"]


def test_upload_is_retried_and_its_path_checked(
    client: JobsClient, ledger: Any, tmp_path: Path
) -> None:
    path = tmp_path / "my file é.pdb"
    path.write_bytes(b"ATOM" * 1000)
    ledger.fail("upload", ledger.lost_before())
    assert client.upload(path, folder="set").name == "my file é.pdb"
    assert ledger.bodies("upload") == [path.read_bytes()] * 2
    assert ledger.received[-1][1] == {"folder": "set", "name": "my file é.pdb"}
    with pytest.raises(InputError, match="did you mean"):
        client.upload(tmp_path / "my file e.pdb")
    with pytest.raises(InputError, match="is a folder"):
        client.upload(tmp_path)
    with pytest.raises(InputError):
        client.delete_file()
    with pytest.raises(InputError):
        client.delete_file("a", "b")
