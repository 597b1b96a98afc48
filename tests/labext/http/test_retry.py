"""Retries, unknown outcomes, waits and redirects against a scripted faulty server."""

from __future__ import annotations

import io
import socket
import threading
import traceback
from pathlib import Path
from typing import Any

import pytest

from labext.errors import (
    AccessError,
    BusyError,
    LabextError,
    NotFoundError,
    OutcomeUnknownError,
    ResponseLimitError,
    ServiceError,
    SetupError,
    SignInError,
    UnreachableError,
)
from labext.http import ErrorResponse, Operation, Rate, RetryMode
from labext.http.connection_pool import ResponseLimits
from labext.http.rate_limiter import RateLimiter
from labext.http.upload import MultipartForm

pytestmark = pytest.mark.faults

READ = Operation("list jobs", "GET", "jobs", RetryMode.ALWAYS, answer="json")
ASK = Operation("get results", "POST", "result", RetryMode.ALWAYS)
SUBMIT = Operation(
    "submit a job", "POST", "submit-job", RetryMode.UNSENT, next_step="Look at the list."
)
DELETE = Operation("delete a job", "DELETE", "delete-job", RetryMode.DELETE)
UPLOAD = Operation("upload a file", "PUT", "upload/{filename}", RetryMode.ALWAYS)

KEY = "swordfish-0123"
GOOD = {"jobs": []}


def visible_text(error: BaseException) -> str:
    """Return everything that a message, a log or a traceback may show of an error."""
    return "".join(traceback.format_exception(error)) + repr(error) + repr(vars(error))


LOST = {
    "closed without a response": lambda faulty: faulty.silence,
    "reset": lambda faulty: faulty.reset,
    "cut in the headers": lambda faulty: faulty.raw(b"HTTP/1.1 200 OK\r\nContent-Len"),
    "cut in the body": lambda faulty: faulty.answer(b'{"jobs": [', length=100),
    "a chunk cut": lambda faulty: faulty.raw(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n20\r\n{"
    ),
    "stalled": lambda faulty: faulty.stall,
    "stalled within": lambda faulty: faulty.stall_within,
    "no HTTP": lambda faulty: faulty.raw(b"SSH-2.0-OpenSSH_9.2\r\n"),
    "a web page": lambda faulty: faulty.answer("<!DOCTYPE html><title>Sign in</title>"),
    "half a JSON": lambda faulty: faulty.answer(b'{"jobs": ['),
    "invalid gzip": lambda faulty: faulty.answer(b"no gzip", Content_Encoding="gzip"),
}


@pytest.mark.parametrize("fault", LOST)
def test_read_fails_after_five_attempts(
    fault: str, faulty: Any, transport_to: Any, clock: Any
) -> None:
    server = faulty(LOST[fault](faulty))
    with pytest.raises(ServiceError) as caught:
        transport_to(server, timeout=(1, 0.1)).send(ASK)
    assert server.count == 5
    assert clock.slept == sorted(clock.slept)
    assert 2 < sum(clock.slept) < 8
    assert not isinstance(caught.value, OutcomeUnknownError)
    assert caught.value.next_step
    assert KEY not in visible_text(caught.value)
    assert (caught.value.method, caught.value.path) == ("POST", "/result")


@pytest.mark.parametrize("fault", LOST)
def test_post_with_lost_response_is_sent_once_and_has_unknown_outcome(
    fault: str, faulty: Any, transport_to: Any
) -> None:
    server = faulty(LOST[fault](faulty))
    with pytest.raises(OutcomeUnknownError) as caught:
        transport_to(server).send(SUBMIT, json={"jobName": "fold1"})
    assert server.count == 1
    assert "submit a job" in caught.value.message
    assert "POST /submit-job" in caught.value.message
    assert caught.value.next_step == "Look at the list."
    assert KEY not in visible_text(caught.value)


@pytest.mark.parametrize("fault", ["closed without a response", "cut in the body", "stalled"])
def test_404_of_a_repeated_delete_is_success(fault: str, faulty: Any, transport_to: Any) -> None:
    server = faulty(LOST[fault](faulty), faulty.answer({"error": "not found"}, 404))
    reply = transport_to(server).send(DELETE, json={"jobName": "fold1"})
    assert (reply.status, reply.repeated) == (404, True)
    assert server.count == 2


def test_404_of_a_first_delete_is_an_error(faulty: Any, transport_to: Any) -> None:
    server = faulty(faulty.answer({"error": "There is no job fold1"}, 404))
    with pytest.raises(NotFoundError, match="There is no job fold1"):
        transport_to(server).send(DELETE, json={"jobName": "fold1"})
    assert server.count == 1
    server = faulty(faulty.answer("busy", 429), faulty.answer({"error": "not found"}, 404))
    with pytest.raises(NotFoundError, match="not found"):  # the refused request deleted nothing
        transport_to(server).send(DELETE, json={"jobName": "fold1"})


@pytest.mark.parametrize(
    ("answers", "error", "words", "count"),
    [
        ([("down", 503), ("not found", 404)], NotFoundError, "not found", 2),
        ([(b"", 200, "text/plain")], ServiceError, "an empty response", 5),
        ([(b"who", 401, "text/plain", 100)], SignInError, "401", 1),  # truncated
    ],
)
def test_read_ends_with_the_last_error(
    answers: list[Any],
    error: type[LabextError],
    words: str,
    count: int,
    faulty: Any,
    transport_to: Any,
) -> None:
    server = faulty(*[faulty.answer(*answer) for answer in answers])
    with pytest.raises(error, match=words):
        transport_to(server).send(READ)
    assert server.count == count


def test_web_page_of_a_network_that_asks_to_sign_in_is_named(
    faulty: Any, transport_to: Any
) -> None:
    page = "<!DOCTYPE html><html><head><title>Hotel Wi-Fi</title></head><p>Welcome</p>"
    with pytest.raises(ServiceError, match="answered a web page, “Hotel Wi-Fi” to ") as caught:
        transport_to(faulty(faulty.answer(page))).send(READ)
    assert "sign in to this network" in caught.value.next_step


HTTPS_PORT = "<html><head><title>400 The plain HTTP request was sent to HTTPS port</title></head>"


@pytest.mark.parametrize("fault", ["nginx", "closed", "reset"])
def test_http_to_a_server_with_https_suggests_the_scheme(
    fault: str, faulty: Any, transport_to: Any
) -> None:
    acts = {
        "nginx": faulty.answer(HTTPS_PORT, 400),
        "closed": faulty.silence,
        "reset": faulty.reset,
    }
    with pytest.raises(LabextError) as caught:
        transport_to(faulty(acts[fault])).send(READ)
    assert "https://" in caught.value.next_step
    assert isinstance(caught.value, SetupError if fault == "nginx" else UnreachableError)


def test_lost_connection_to_a_known_server_suggests_no_scheme(
    faulty: Any, transport_to: Any
) -> None:
    client = transport_to(faulty(faulty.answer(GOOD), faulty.silence))
    client.send(READ)
    with pytest.raises(UnreachableError) as caught:
        client.send(READ)
    assert "https" not in caught.value.next_step


def test_redirect_loop_ends_after_five_redirects(faulty: Any, transport_to: Any) -> None:
    server = faulty(faulty.answer(b"", 307, Location="/api/jobs"))
    with pytest.raises(ServiceError, match="more than 5 times"):
        transport_to(server).send(READ)
    assert server.count == 5


def test_refused_connection_fails_after_two_retries(
    faulty: Any, transport_to: Any, clock: Any
) -> None:
    for op in (READ, SUBMIT, DELETE):
        with pytest.raises(UnreachableError, match="connection refused") as caught:
            transport_to(f"http://127.0.0.1:{faulty.closed_port()}/api/").send(op)
        assert caught.value.next_step == "Check the address, and that the service runs."
    assert len(clock.slept) == 6


def test_unknown_host_name_is_unreachable(transport_to: Any) -> None:
    with pytest.raises(UnreachableError, match="unknown host name"):
        transport_to("http://no-such-host.invalid/api/").send(SUBMIT)


def test_post_is_retried_if_the_connection_was_refused(
    faulty: Any, transport_to: Any, clock: Any
) -> None:
    port = faulty.closed_port()
    server: list[Any] = []

    def sleep(seconds: float) -> None:
        clock.sleep(seconds)
        if not server:  # the service comes up while the client waits
            listener = socket.create_server(("127.0.0.1", port))
            server.append(listener)
            threading.Thread(target=_answer_once, args=(listener,), daemon=True).start()

    transport = transport_to(f"http://127.0.0.1:{port}/api/", sleep=sleep, timeout=(1, 5))
    reply = transport.send(SUBMIT, json={})
    server[0].close()
    assert reply.text() == "done"
    assert not reply.repeated


def _answer_once(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    with connection:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone")


def test_refused_connection_of_a_known_service_gets_all_retries(
    faulty: Any, transport_to: Any, clock: Any
) -> None:
    server = faulty(faulty.answer(GOOD))
    transport = transport_to(server)
    transport.send(READ)
    server.close()
    with pytest.raises(UnreachableError):
        transport.send(READ)
    assert len(clock.slept) == 4


def test_bytes_beyond_content_length_are_ignored(faulty: Any, transport_to: Any) -> None:
    server = faulty(faulty.answer(b'{"a":1}garbage', length=7), faulty.answer(GOOD))
    transport = transport_to(server)
    assert transport.send(READ).json() == {"a": 1}
    assert transport.send(READ).json() == GOOD
    assert server.count == 2


@pytest.mark.parametrize(
    ("op", "rate"), [(READ, None), (SUBMIT, Rate(None)), (DELETE, Rate(100, 10))]
)
@pytest.mark.parametrize(
    "headers", [{"Retry_After": "3"}, {"x_rate_limit_remaining": "0", "x_rate_limit_reset": "3"}]
)
def test_repeated_429_is_retried_after_the_requested_delay(
    headers: dict[str, str],
    rate: Rate | None,
    op: Operation,
    faulty: Any,
    transport_to: Any,
    clock: Any,
) -> None:
    busy = faulty.answer({"error": "slow down"}, 429, **headers)
    server = faulty(busy, busy, busy, faulty.answer(GOOD))
    reply = transport_to(server, rate=rate).send(op)
    assert server.count == 4
    assert 9 <= sum(clock.slept) < 12
    assert not reply.repeated


def test_clients_with_one_limiter_obey_each_others_headers(
    faulty: Any, transport_to: Any, clock: Any
) -> None:
    headers = {"x_rate_limit_remaining": "0", "x_rate_limit_reset": "30"}
    server = faulty(faulty.answer(GOOD, **headers), faulty.answer(GOOD))
    limiter = RateLimiter(Rate(100, 10), clock=clock, sleep=clock.sleep)
    transport_to(server, rate_limiter=limiter).send(READ)
    assert clock.slept == []
    transport_to(server, rate_limiter=limiter).send(READ)
    assert sum(clock.slept) == 30


def test_endless_429_raises_busy_error(faulty: Any, transport_to: Any, clock: Any) -> None:
    server = faulty(
        faulty.answer({"error": "slow down"}, 429, Retry_After="2", X_Request_ID="a1b2")
    )
    with pytest.raises(BusyError, match="slow down") as caught:
        transport_to(server, rate=Rate(None)).send(SUBMIT)
    assert server.count == 5
    assert (caught.value.status, caught.value.retry_after) == (429, 2)
    assert caught.value.request_id == "a1b2"


@pytest.mark.parametrize("rate", [None, Rate(100, 10)])
def test_429_without_a_delay_is_retried_longer_than_the_window_of_the_limit(
    rate: Rate | None, faulty: Any, transport_to: Any, clock: Any
) -> None:
    server = faulty(faulty.answer({"error": "slow down"}, 429))
    transport = transport_to(server, rate=rate)
    clock.at(30, lambda: setattr(server, "acts", (faulty.answer(GOOD),)))
    assert transport.send(READ).json() == GOOD
    assert 30 <= clock.elapsed < 60


def test_endless_429_without_a_delay_ends_with_the_patience(
    faulty: Any, transport_to: Any, clock: Any
) -> None:
    server = faulty(faulty.answer({"error": "slow down"}, 429))
    with pytest.raises(BusyError, match="slow down"):
        transport_to(server, patience=60).send(SUBMIT)
    assert 30 <= clock.elapsed <= 60
    assert server.count < 12


@pytest.mark.parametrize(("status", "error"), [(429, BusyError), (503, ServiceError)])
def test_delay_beyond_patience_fails_at_once_and_is_stated(
    status: int, error: Any, faulty: Any, transport_to: Any, clock: Any
) -> None:
    server = faulty(faulty.answer({"error": "slow down"}, status, Retry_After="280"))
    transport = transport_to(server, rate=Rate(None), patience=60)
    for kind in (error, BusyError, BusyError):
        with pytest.raises(kind) as caught:
            transport.send(READ)
        assert caught.value.next_step == "Try again after 280 seconds."
        assert caught.value.retry_after == pytest.approx(280)
    assert clock.slept == []
    assert server.count == 1  # nothing is sent while the service asks to wait


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_read_is_retried_on_5xx(status: int, faulty: Any, transport_to: Any) -> None:
    server = faulty(faulty.answer("down", status), faulty.answer(GOOD))
    assert transport_to(server).send(READ).json() == GOOD
    assert server.count == 2


@pytest.mark.parametrize(
    ("status", "headers", "error", "count"),
    [
        (500, {}, ServiceError, 1),
        (502, {}, OutcomeUnknownError, 1),
        (503, {}, ServiceError, 1),
        (503, {"Retry_After": "1"}, ServiceError, 5),
        (504, {}, OutcomeUnknownError, 1),
        (500, {"Retry_After": "1"}, ServiceError, 1),
        (502, {"Retry_After": "1"}, OutcomeUnknownError, 1),
        (408, {}, LabextError, 5),
        (425, {}, LabextError, 5),
    ],
)
def test_post_is_retried_only_if_the_service_did_not_process_it(
    status: int,
    headers: dict[str, str],
    error: type[LabextError],
    count: int,
    faulty: Any,
    transport_to: Any,
) -> None:
    server = faulty(faulty.answer({"error": "sorry"}, status, **headers))
    with pytest.raises(error) as caught:
        transport_to(server).send(SUBMIT)
    assert server.count == count
    assert isinstance(caught.value, OutcomeUnknownError) == (error is OutcomeUnknownError)
    assert "sorry" in caught.value.message


@pytest.mark.parametrize(
    ("status", "error"), [(400, LabextError), (401, SignInError), (403, AccessError)]
)
def test_4xx_is_not_retried(
    status: int, error: type[LabextError], faulty: Any, transport_to: Any
) -> None:
    server = faulty(faulty.answer(f"the key {KEY} won't do", status, kind="text/plain"))
    with pytest.raises(error, match="won't do") as caught:
        transport_to(server).send(READ)
    assert server.count == 1
    assert caught.value.status == status
    assert KEY not in visible_text(caught.value)


@pytest.mark.parametrize(
    ("status", "kind", "count"),
    [(503, "Application/JSON", 1), (503, "text/plain", 2), (500, "application/json", 2)],
)
def test_final_status_from_the_service_is_not_retried(
    status: int, kind: str, count: int, faulty: Any, transport_to: Any
) -> None:
    server = faulty(faulty.answer("no", status, kind=kind))
    with pytest.raises(ServiceError):
        transport_to(server, final_statuses={503}, attempts=2).send(READ)
    assert server.count == count


@pytest.mark.parametrize(
    ("kind", "headers", "expected"),
    [
        ("Application/JSON", {"WWW_Authenticate": "Bearer"}, (True, True)),
        ("application/json", {}, (True, False)),
        ("text/plain", {}, (False, False)),
    ],
)
def test_error_response_records_origin_and_challenge(
    kind: str, headers: dict[str, str], expected: tuple[bool, bool], faulty: Any, transport_to: Any
) -> None:
    failures: list[ErrorResponse] = []
    server = faulty(faulty.answer("no", 401, kind=kind, **headers))
    with pytest.raises(SignInError):
        transport_to(server, map_error=failures.append).send(READ)
    assert [(failure.from_service, failure.has_challenge) for failure in failures] == [expected]


@pytest.mark.parametrize("limit", ["size", "time", "values"])
@pytest.mark.parametrize("op", [READ, SUBMIT])
def test_response_beyond_a_limit_is_not_retried(
    limit: str, op: Operation, faulty: Any, transport_to: Any
) -> None:
    act, limits = {
        "size": (faulty.answer("x" * 1001), ResponseLimits(size=1000)),
        "time": (faulty.stall_within, ResponseLimits(seconds=0.05)),
        "values": (faulty.answer(f"[{'0,' * 400}0]"), ResponseLimits(size=1000)),
    }[limit]
    server = faulty(act)
    error = ResponseLimitError if op is READ else OutcomeUnknownError
    with pytest.raises(error) as caught:
        transport_to(server, limits=limits).send(op)
    assert server.count == 1
    assert (caught.value.method, caught.value.path) == (op.method, f"/{op.path}")


def test_upload_content_is_opened_again_for_each_attempt(faulty: Any, transport_to: Any) -> None:
    opened: list[io.BytesIO] = []

    def content() -> io.BytesIO:
        opened.append(io.BytesIO(b"ATOM" * 50_000))
        return opened[-1]

    server = faulty(faulty.cut_in_request, faulty.silence, faulty.answer("ok"))
    transport_to(server).send(UPLOAD, path={"filename": "a.pdb"}, content=content)
    assert [len(request.body) for request in server.received[1:]] == [200_000, 200_000]
    assert server.received[-1].headers["content-length"] == "200000"
    assert len(opened) == server.count == 3
    assert all(stream.closed for stream in opened)


def test_empty_upload_has_content_length_zero(faulty: Any, transport_to: Any) -> None:
    server = faulty(faulty.answer("ok"))
    transport_to(server).send(UPLOAD, path={"filename": "a b"}, content=io.BytesIO)
    assert server.received[0].path == "/api/upload/a%20b"
    assert server.received[0].headers["content-length"] == "0"
    assert "transfer-encoding" not in server.received[0].headers


@pytest.mark.parametrize("form", ["json", "stream"])
def test_connect_timeout_does_not_limit_sending(form: str, faulty: Any, transport_to: Any) -> None:
    text = "A" * 30_000_000  # more than the sockets hold
    payload: dict[str, Any] = {"json": text}
    if form == "stream":
        payload = {"content": lambda: io.BytesIO(text.encode())}
    server = faulty(faulty.reads_late(0.4))
    reply = transport_to(server, timeout=(0.2, 5)).send(UPLOAD, path={"filename": "a"}, **payload)
    assert int(reply.text()) >= len(text)
    assert server.count == 1


def test_stream_of_unknown_length_is_sent_chunked(faulty: Any, transport_to: Any) -> None:
    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.left = [b"def", b"abc"]

        def readable(self) -> bool:
            return True

        def read(self, size: int = -1) -> bytes:
            return self.left.pop() if self.left else b""

    server = faulty(faulty.answer("ok"))
    transport_to(server).send(UPLOAD, path={"filename": "a"}, content=Pipe)
    assert server.received[0].body == b"abcdef"


def test_error_of_the_stream_consumer_is_not_converted(faulty: Any, transport_to: Any) -> None:
    server = faulty(faulty.answer(b"abc"))
    with pytest.raises(FileNotFoundError), transport_to(server).stream(READ):
        Path("/no/such/file").read_bytes()


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (302, {"json": {"jobName": "fold1"}}),  # which would turn the POST into a GET
        (307, {"content": MultipartForm([("title", "a")]).open}),  # which is read once
    ],
)
def test_redirect_that_would_lose_the_body_is_refused(
    status: int, body: dict[str, Any], faulty: Any, transport_to: Any
) -> None:
    server = faulty(faulty.answer(b"", status, Location="/api/elsewhere"), faulty.answer(GOOD))
    with pytest.raises(ServiceError, match="without what was sent"):
        transport_to(server).send(SUBMIT, **body)
    assert server.count == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_read_follows_every_redirect_status(status: int, faulty: Any, transport_to: Any) -> None:
    server = faulty(faulty.answer(b"", status, Location="/api/elsewhere"), faulty.answer(GOOD))
    assert transport_to(server).send(READ).json() == GOOD
    assert [request.path for request in server.received] == ["/api/jobs", "/api/elsewhere"]


@pytest.mark.parametrize("status", [307, 308])
def test_redirected_post_keeps_method_and_body(status: int, faulty: Any, transport_to: Any) -> None:
    server = faulty(faulty.answer(b"", status, Location="/api/elsewhere"), faulty.answer("ok"))
    transport_to(server).send(SUBMIT, json={"jobName": "fold1"})
    assert server.received[1].method == "POST"
    assert server.received[1].body == b'{"jobName":"fold1"}'


def test_each_thread_keeps_its_own_connection(faulty: Any, transport_to: Any) -> None:
    server = faulty(faulty.answer(GOOD))
    transport = transport_to(server, rate=Rate(None), timeout=(5, 5))
    answers: list[Any] = []

    def ask() -> None:
        answers.extend(transport.send(READ).json() == GOOD for _ in range(5))

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert answers == [True] * 30
    assert server.accepted == 6


def test_post_does_not_reuse_an_idle_connection(faulty: Any, transport_to: Any, clock: Any) -> None:
    server = faulty(faulty.answer(GOOD))
    transport = transport_to(server)
    transport.send(READ)
    transport.send(READ)
    assert server.accepted == 1
    clock.now += 0.9
    transport.send(SUBMIT)
    assert server.accepted == 1
    clock.now += 5
    transport.send(SUBMIT)
    assert server.accepted == 2


def test_closed_transport_closes_its_connections(faulty: Any, transport_to: Any) -> None:
    server = faulty(faulty.answer(GOOD))
    transport = transport_to(server)
    transport.send(READ)
    transport.close()
    transport.send(READ)
    assert server.accepted == 2


def test_requests_have_user_agent_and_accept_encoding(faulty: Any, transport_to: Any) -> None:
    server = faulty(faulty.answer(GOOD))
    transport_to(server).send(READ)
    assert server.received[0].headers["user-agent"] == "labext"
    assert server.received[0].headers["accept-encoding"] == "gzip, deflate"


def test_timeout_of_a_request_overrides_the_client_timeout(faulty: Any, transport_to: Any) -> None:
    transport = transport_to(faulty(faulty.stall), timeout=(1, 60), attempts=1)
    with pytest.raises(UnreachableError, match="the response timed out"):
        transport.send(READ, timeout=(1, 0.05))
