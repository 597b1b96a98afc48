"""Uploads to a presigned URL: requests, errors and retries."""

from __future__ import annotations

import io
from typing import Any

import pytest

from labext.errors import AccessError, LabextError, NotFoundError, ServiceError
from labext.http.retry_policy import RequestOptions
from labext.http.upload import PresignedStore, check_presigned_url

pytestmark = pytest.mark.faults


@pytest.fixture
def store(clock: Any) -> PresignedStore:
    return PresignedStore(
        RequestOptions(service="job service", timeout=(1, 0.3), clock=clock, sleep=clock.sleep)
    )


def put(store: PresignedStore, server: Any, content: bytes = b"ATOM") -> None:
    store.put(f"{server.url}a.pdb?signature=c0ffee", "a.pdb", lambda: io.BytesIO(content))


@pytest.mark.parametrize("content", [b"ATOM", b"A", b""])
def test_upload_is_sent_with_its_length(content: bytes, faulty: Any, store: PresignedStore) -> None:
    server = faulty(faulty.answer(b""))
    put(store, server, content)
    (request,) = server.received
    assert (request.method, request.body) == ("PUT", content)
    assert request.headers["content-length"] == str(len(content))
    assert "transfer-encoding" not in request.headers


@pytest.mark.parametrize(
    ("status", "error", "expected_message"),
    [
        (400, AccessError, "invalid or has expired (400: Sorry)"),
        (401, AccessError, "invalid or has expired (401: Sorry)"),
        (403, AccessError, "invalid or has expired (403: Sorry)"),
        (404, NotFoundError, "answered 404 to the upload of a.pdb: Sorry"),
        (410, AccessError, "invalid or has expired (410: Sorry)"),
        (413, ServiceError, "answered 413 to the upload of a.pdb: Sorry"),
    ],
)
def test_refused_upload_is_an_error_and_not_repeated(
    status: int, error: type[LabextError], expected_message: str, faulty: Any, store: PresignedStore
) -> None:
    server = faulty(faulty.answer("Sorry", status, kind="text/plain"))
    with pytest.raises(error) as caught:
        put(store, server)
    assert expected_message in caught.value.message
    assert (caught.value.status, caught.value.method) == (status, "PUT")
    assert caught.value.server == "Sorry"
    assert server.count == 1


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_failed_upload_is_repeated_after_the_wait_asked_for(
    status: int, faulty: Any, store: PresignedStore, clock: Any
) -> None:
    server = faulty(faulty.answer(b"", status, Retry_After="7"), faulty.answer(b""))
    put(store, server)
    assert [request.body for request in server.received] == [b"ATOM", b"ATOM"]
    assert 7 <= sum(clock.slept) < 8


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_presigned_address_is_http_or_https(scheme: str) -> None:
    check_presigned_url(f"{scheme}://store.example/a?signature=c0ffee", "job service")


@pytest.mark.parametrize("scheme", ["ftp", "file", "httpx"])
def test_presigned_address_of_another_scheme_is_refused(scheme: str) -> None:
    with pytest.raises(ServiceError, match="invalid address"):
        check_presigned_url(f"{scheme}://store.example/a?signature=c0ffee", "job service")
