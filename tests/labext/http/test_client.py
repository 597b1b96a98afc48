"""Requests, error messages, responses and keys, without a server."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import pickle
from typing import Any

import numpy as np
import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st

from labext.errors import (
    AccessError,
    BusyError,
    ConflictError,
    InputError,
    LabextError,
    NotFoundError,
    ServiceError,
    SignInError,
    StorageError,
)
from labext.http import ErrorResponse, HttpClient, Operation, Response, RetryMode
from labext.http.auth import ApiKeyAuth, BasicKeyAuth, BearerAuth
from labext.http.connection_failures import classify_failure
from labext.http.request import build_request
from labext.http.responses import excerpt, quote_message, server_message, to_exception
from labext.redaction import mask

OP = Operation("upload a file", "PUT", "upload/{filename}", RetryMode.ALWAYS)


@given(st.text(min_size=1).filter(lambda name: name not in {".", ".."}))
def test_path_parameter_stays_one_segment(name: str) -> None:
    try:
        address = OP.address("http://h/api/", {"filename": name})
    except UnicodeEncodeError:
        return  # a lone surrogate is not valid text
    sent = requests.Request("PUT", address).prepare().url
    assert sent.startswith("http://h/api/upload/")
    assert sent.removeprefix("http://h/api/upload/").count("/") == 0
    assert "?" not in sent
    assert "#" not in sent


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_path_parameter_of_dots_is_refused(name: str) -> None:
    with pytest.raises(InputError):
        OP.address("http://h/api/", {"filename": name})


def build(**overrides: Any) -> Any:
    arguments: dict[str, Any] = {
        "path": {"filename": "a"},
        "params": None,
        "json": None,
        "content": None,
        "headers": None,
    }
    return build_request(OP, "http://h/api", **(arguments | overrides))


def test_query_parameters_are_converted_to_text() -> None:
    params = {"organization": True, "limit": 50, "startKey": None, "batch": "A b"}
    assert build(params=params).params == {"organization": "true", "limit": "50", "batch": "A b"}


def test_content_type_defaults_by_body() -> None:
    assert build().headers == {}
    assert build(json={}).headers == {"Content-Type": "application/json"}
    assert build(content=io.BytesIO).headers == {"Content-Type": "application/octet-stream"}
    explicit = {"Content-Type": "text/plain"}
    assert build(json={}, headers=explicit).headers == explicit
    assert build(content=io.BytesIO, headers=explicit).headers == explicit


def test_json_and_content_exclude_each_other() -> None:
    with pytest.raises(ValueError, match="one body"):
        build(json={}, content=io.BytesIO)


def test_numpy_array_is_not_serialized_as_a_number() -> None:
    with pytest.raises(InputError):
        build(json={"n": np.array([1])})


def test_numpy_scalars_are_serialized_as_numbers() -> None:
    body = build(json={"n": np.int64(3), "x": np.float32(0.5), "b": np.bool_(True)}).body
    assert json.loads(body) == {"n": 3, "x": 0.5, "b": True}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {1, 2}, np.zeros(3)])
def test_unserializable_value_fails_before_sending(value: Any) -> None:
    with pytest.raises(InputError, match="can't be written as JSON"):
        build(json={"x": value})


def test_unreadable_file_fails_before_sending(tmp_path: Any) -> None:
    transport = HttpClient("http://127.0.0.1:9/", auth=None, rate=None)
    with pytest.raises(InputError, match=r"none\.pdb can't be read"):
        transport.send(
            OP, path={"filename": "a"}, content=lambda: (tmp_path / "none.pdb").open("rb")
        )


def test_request_path_is_relative_to_the_base_url() -> None:
    assert build().path == "/upload/a"
    assert build().url == "http://h/api/upload/a"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("Job fold1 not found", "Job fold1 not found"),
        ('"Job fold1 not found"', "Job fold1 not found"),
        ('{"error": "no"}', "no"),
        ('{"message": "no"}', "no"),
        ('{"detail": "no"}', "no"),
        ('{"title": "no"}', "no"),
        ('{"error": {"type": "x", "message": "m", "userMessage": "u"}}', "u"),
        (
            '{"detail": [{"loc": ["body", "name"], "msg": "Field required"}, {"msg": "b"}]}',
            "body.name: Field required; b",
        ),
        ('{"other": 1}', '{"other": 1}'),
        ("", ""),
        ("   \n ", ""),
        ("null", ""),
        ("{}", ""),
        ("{half", "{half"),
        ("two\nlines", "two lines"),
    ],
)
def test_server_message_of_each_body_format(body: str, message: str) -> None:
    assert server_message(body.encode()) == message


@pytest.mark.parametrize(
    ("page", "content_type", "message"),
    [
        ("<html><head><title>502 Bad &amp; Worse</title>", "", "a web page, “502 Bad & Worse”"),
        ("<html><TITLE id=1> Sign\n in </TITLE>", "text/plain", "a web page, “Sign in”"),
        ("<body>Sign in", "Text/HTML", "a web page"),
        ("\ufeff <html>Sign in", "", "a web page"),
        ("  <!DOCTYPE html><p>", "", "a web page"),
    ],
)
def test_web_page_is_named_by_its_title(page: str, content_type: str, message: str) -> None:
    assert server_message(page.encode(), content_type) == message


@pytest.mark.parametrize(
    ("message", "quoted"),
    [
        ("", ""),
        ("You may not. ", " (“You may not”)"),
        ("a web page, “Stop”", " (a web page, “Stop”)"),
    ],
)
def test_only_the_words_of_a_server_are_in_quotation_marks(message: str, quoted: str) -> None:
    assert quote_message(message) == quoted


@given(st.binary(max_size=300))
def test_server_message_of_arbitrary_bytes_is_one_line(body: bytes) -> None:
    assert "\n" not in server_message(body)


def test_server_message_is_shortened_and_masked() -> None:
    words = server_message(json.dumps({"error": "api_key='swordfish' " + "x" * 5000}).encode())
    assert "swordfish" not in words
    assert len(words) <= 500


@pytest.mark.parametrize("length", [79, 80, 81, 1_600, 1_601, 3_000, 6_000, 20_000])
def test_excerpt_shows_the_start_of_a_text_of_any_length(length: int) -> None:
    text = "x" * length
    assert excerpt(text) == (text if length <= 80 else f"{'x' * 79}…")


def test_whitespace_in_a_server_message_is_collapsed() -> None:
    assert server_message(f"first{' ' * 5_000}last".encode()) == "first last"


def test_deeply_nested_body_is_shown_as_text() -> None:
    assert server_message(b"[" * 100_000).startswith("[[")


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, InputError),
        (401, SignInError),
        (403, AccessError),
        (404, NotFoundError),
        (409, ConflictError),
        (410, NotFoundError),
        (418, InputError),
        (422, InputError),
        (429, BusyError),
        (500, ServiceError),
        (503, ServiceError),
    ],
)
def test_status_maps_to_an_error_with_its_attributes(status: int, error: type[LabextError]) -> None:
    exception = to_exception(
        ErrorResponse(status, "PUT", "/upload/a", "the words", OP), "job service", None
    )
    assert type(exception) is error
    assert (exception.status, exception.method, exception.path) == (status, "PUT", "/upload/a")
    assert exception.server == "the words"
    assert exception.message == f"The job service answered {status} to 'upload a file': the words."
    assert exception.next_step


@pytest.mark.parametrize("end", [".", "!", "?", "…"])
def test_final_punctuation_of_a_server_message_is_kept(end: str) -> None:
    failure = ErrorResponse(400, "PUT", "/upload/a", f"no such job{end}", OP)
    assert to_exception(failure, "job service", None).message.endswith(f": no such job{end}")


@pytest.mark.parametrize("status", [None, 404])
def test_explanation_of_the_service_client_takes_precedence(status: int | None) -> None:
    failure = ErrorResponse(400, "PUT", "/upload/a", "no such job", OP)
    explained = NotFoundError("Gone.", "Look.", status=status)
    exception = to_exception(failure, "job service", lambda _: explained)
    assert exception is explained
    assert (exception.status, exception.server) == (status or 400, "no such job")


def test_connection_error_shows_neither_password_nor_query() -> None:
    url = "http://ada:lovelace@h.example/a?signature=c0ffee"
    missing = classify_failure(requests.ConnectionError(), url, "job service")
    assert "at http://h.example/a was interrupted" in missing.error.message


READ = Operation("list jobs", "GET", "jobs", RetryMode.ALWAYS, answer="json")


def reply(
    content: bytes, kind: str = "application/json", op: Operation = OP, **more: Any
) -> Response:
    headers = {"Content-Type": kind, "Content-Length": str(len(content))}
    return Response(op, more.pop("status", 200), headers, content, **more)


@pytest.mark.parametrize(
    ("content", "kind", "op", "broken"),
    [
        (b'{"a": 1}', "application/json", READ, False),
        (b'{"a": 1}', "text/plain", READ, False),
        (b'{"a": ', "application/json", READ, True),
        (b'{"a": ', "application/json", OP, True),
        (b'{"a": ', "text/plain", OP, False),
        (b"", "application/json", READ, True),
        (b"", "application/json", OP, False),
        (b"plain words", "application/json", OP, False),
        (b"plain words", "application/json", READ, True),
        (b"<html>", "text/html", OP, True),
        (b"\n<!DOCTYPE HTML>", "application/json", OP, True),
        (b" " * 250 + b"<html>", "application/json", OP, False),
        (b"Sign in", "Text/HTML", OP, True),
        (b"\n [1, ", "application/JSON", OP, True),
        (b"", "application/json", Operation("look", "HEAD", "a", RetryMode.ALWAYS, "json"), False),
    ],
)
def test_validation_depends_on_the_expected_content(
    content: bytes, kind: str, op: Operation, broken: bool
) -> None:
    assert (reply(content, kind, op).validation_error() is not None) is broken


@pytest.mark.parametrize("status", [204, 304, 404])
def test_empty_response_is_valid_for_204_and_errors(status: int) -> None:
    assert reply(b"", op=READ, status=status).validation_error() is None


@pytest.mark.parametrize(
    ("headers", "broken"),
    [
        ({}, True),
        ({"Content-Length": ""}, True),
        ({"Content-Length": "0"}, False),
        ({"Transfer-Encoding": "chunked"}, False),
    ],
)
def test_empty_response_without_length_is_invalid(headers: dict[str, str], broken: bool) -> None:
    assert (Response(OP, 200, headers, b"").validation_error() is not None) is broken


@pytest.mark.parametrize("content", [b"[1]", b"[1", b"[" * 100_000])
def test_garbage_collection_is_enabled_after_parsing(content: bytes) -> None:
    with contextlib.suppress(ServiceError):
        reply(content).json()
    assert gc.isenabled()


def test_json_nested_too_deeply_is_a_service_error() -> None:
    with pytest.raises(ServiceError, match="not JSON"):
        reply(b"[" * 100_000 + b"]" * 100_000).json()


@pytest.mark.parametrize("content", [b"", b"<html><body>Sign in", b'{"jobs": [', b"\xff\xfe"])
def test_invalid_json_is_quoted_in_the_error(content: bytes) -> None:
    with pytest.raises(ServiceError, match="not JSON") as caught:
        reply(content).json()
    assert caught.value.method == "PUT"
    assert caught.value.__cause__ is None
    assert content[:10].decode("utf-8", "replace").strip() in caught.value.message


def test_json_is_parsed_once_and_may_contain_nan() -> None:
    answer = reply(b'{"a": [NaN, Infinity, 12345678901234567890123]}')
    assert answer.json() is answer.json()
    assert answer.json()["a"][1] == float("inf")


@pytest.mark.parametrize(
    ("auth", "header", "value"),
    [
        (ApiKeyAuth(" swordfish\n"), "x-api-key", "swordfish"),
        (BearerAuth("swordfish"), "Authorization", "Bearer swordfish"),
        (BasicKeyAuth("swordfish"), "Authorization", "Basic c3dvcmRmaXNoOg=="),
    ],
)
def test_key_is_sent_in_its_header_and_masked_elsewhere(auth: Any, header: str, value: str) -> None:
    request = requests.Request("GET", "http://h/", auth=auth).prepare()
    assert request.headers[header] == value
    assert "swordfish" not in repr(auth)
    assert "swordfish" not in repr(HttpClient("http://h/", auth=auth, rate=None))
    type(auth)("swordfish")
    assert "swordfish" not in mask("x swordfish x")
    assert "c3dvcmRmaXNoOg" not in mask("c3dvcmRmaXNoOg==") or header == "x-api-key"


@pytest.mark.parametrize("key", ["", "  ", "sword\nfish", "swördfish", "sword\0fish"])
def test_invalid_key_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(InputError) as caught:
        ApiKeyAuth(key)
    assert not key.strip() or key not in str(caught.value)


def test_errors_survive_pickling() -> None:
    error = ServiceError("It broke.", "Look.", status=500, method="GET", path="/a", server="x")
    restored = pickle.loads(pickle.dumps(error))
    assert type(restored) is ServiceError
    assert vars(restored) == vars(error)
    assert str(restored) == str(error) == "It broke. Look."
    assert isinstance(pickle.loads(pickle.dumps(StorageError("Full.", "Make room."))), OSError)
