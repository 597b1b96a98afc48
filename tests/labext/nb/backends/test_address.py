"""The API is found from the URLs that users paste."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from open_notebook import Replay, serving, web_page
from open_notebook.serving import listening
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from labext.errors import SetupError
from labext.nb import NotebookClient
from labext.nb.backends.detect import candidate_urls, find_api

pytestmark = pytest.mark.contract


@pytest.fixture(scope="module")
def replay() -> Iterator[Replay]:
    with serving(password="s3cret pass") as server:
        yield server


@pytest.fixture(scope="module")
def page(replay: Replay) -> Iterator[str]:
    with web_page(replay) as root:
        yield root


PATHS = ("", "/", "/notebooks", "/notebooks/", "/notebooks/notebook:abc", "/api", "/api/notebooks")


@pytest.mark.parametrize("path", PATHS)
def test_api_is_found_from_a_web_page(page, path):
    assert find_api(f"{page}{path}") == f"{page}/api"


@pytest.mark.parametrize("path", ["", "/", "/docs", "/api/docs"])
def test_api_is_found_from_its_server(replay, path):
    root = replay.base_url.removesuffix("/api")
    assert find_api(f"{root}{path}") == replay.base_url


def test_url_that_ends_in_api_needs_no_request(replay):
    replay.requests.clear()
    for url in ("http://127.0.0.1:9/api", "https://nowhere.invalid/nb/api/"):
        assert find_api(url) == url
    assert not replay.requests


def test_proxy_folders_are_tried_before_the_root():
    url = "https://proxy.example/nb/notebooks"
    assert candidate_urls(url) == [
        "https://proxy.example/nb/notebooks/api",
        "https://proxy.example/nb/api",
        "https://proxy.example/api",
        url,
    ]
    assert candidate_urls("http://[::1]:5055") == ["http://[::1]:5055/api", "http://[::1]:5055"]


@contextmanager
def server(answer: Callable[[Request], Response]) -> Iterator[str]:
    with listening(Starlette(routes=[Route("/{path:path}", answer)])) as root:
        yield root


def test_api_at_another_path_is_found():
    def answer(request: Request) -> Response:
        known = request.url.path == "/v1/config"
        return JSONResponse({"version": "1"}) if known else PlainTextResponse("No.", 404)

    with server(answer) as root:
        assert find_api(f"{root}/v1") == f"{root}/v1"


def test_url_without_an_api_is_unchanged():
    bodies: list[Any] = [{}, [], "config", {"apiUrl": "http://elsewhere/api"}]
    with server(lambda _: JSONResponse(bodies[0])) as root:
        while bodies:
            assert find_api(f"{root}/notebooks") == f"{root}/notebooks"
            bodies.pop(0)


def test_client_error_names_the_url_of_the_api(replay, page):
    replay.requests.clear()
    for url in (replay.base_url.removesuffix("/api"), f"{page}/notebooks"):
        with NotebookClient(url, "s3cret pass") as nb, pytest.raises(SetupError) as caught:
            nb.notebooks.list()
        assert url in caught.value.message
        root = url.removesuffix("/notebooks")
        assert caught.value.next_step == f"Use {root}/api."
    assert {request.path for request in replay.requests} <= {"/api/config"}
