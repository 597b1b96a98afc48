"""The backend is detected once per client, even behind proxies."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from open_notebook import serving
from open_notebook.facts import recordings
from open_notebook.serving import listening
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from labext.errors import InputError, ServiceError, SignInError, UnreachableError
from labext.nb import NotebookClient

pytestmark = pytest.mark.contract

DESCRIPTION = "/openapi.json"
NOTEBOOKS = recordings()["notebooks.list"].answer
REJECTED_ORDER = recordings()["notebooks.list_order_updated_at_400"]

Answer = Callable[[Request], Response]


def description_with(title: object) -> Answer:
    """A server that sends its title."""
    return lambda _: JSONResponse({"info": {"title": title, "version": "0.1.0"}})


def status(code: int) -> Answer:
    """A proxy that does not forward the description."""
    return lambda _: JSONResponse({"detail": "No."}, code)


def page(_: Request) -> Response:
    """Response of a proxy to any address."""
    return HTMLResponse("<!doctype html><title>Welcome</title>")


@contextmanager
def server(description: Answer, *, orders: bool) -> Iterator[tuple[str, list[str]]]:
    """A server with notebooks; with `orders` it also sorts by the contract's time fields."""
    requests: list[str] = []

    async def answer(request: Request) -> Response:
        query = f"?{request.url.query}" if request.url.query else ""
        requests.append(f"{request.url.path}{query}")
        if request.url.path == DESCRIPTION:
            return description(request)
        if not orders and request.query_params.get("order_by", "").startswith("updated_at"):
            return JSONResponse(REJECTED_ORDER.answer, REJECTED_ORDER.status)
        times = {"created_at": None, "updated_at": None} if orders else {}
        return JSONResponse([{**notebook, **times} for notebook in NOTEBOOKS])

    with listening(Starlette(routes=[Route("/{path:path}", answer)])) as root:
        yield f"{root}/api", requests


@pytest.mark.parametrize(
    ("description", "orders", "name"),
    [
        (description_with("Open Notebook API"), False, "open-notebook"),
        (description_with("Notebook service"), True, "contract"),
        (description_with(None), True, "contract"),
        (status(404), False, "open-notebook"),
        (status(404), True, "contract"),
        (status(401), False, "open-notebook"),
        (page, False, "open-notebook"),
    ],
)
def test_backend_is_detected(description, orders, name):
    with server(description, orders=orders) as (url, requests), NotebookClient(url) as nb:
        assert nb._selector.backend.name == name
        requests.clear()
        assert list(nb.notebooks.list(order_by="updated_at desc")["name"])
        order = "updated" if name == "open-notebook" else "updated_at"
        assert requests == [f"/api/notebooks?order_by={order}+desc"]


def test_detection_runs_once_per_client():
    with server(description_with("Open Notebook API"), orders=False) as (url, requests):
        with NotebookClient(url) as nb:
            assert requests == []
            for _ in range(3):
                nb.notebooks.list()
        assert requests.count(DESCRIPTION) == 1
        with NotebookClient(url) as other:
            other.notebooks.list()
        assert requests.count(DESCRIPTION) == 2


@pytest.mark.parametrize("backend_name", ["contract", "open-notebook"])
def test_explicit_backend_is_not_detected(backend_name):
    with server(description_with("Open Notebook API"), orders=True) as (url, requests):
        with NotebookClient(url, backend=backend_name) as nb:
            nb.notebooks.list(order_by="updated_at desc")
        by = "updated_at" if backend_name == "contract" else "updated"
        assert requests == [f"/api/notebooks?order_by={by}+desc"]


def test_unknown_backend_is_an_error():
    with pytest.raises(InputError, match=r"open-notebok.*open-notebook") as raised:
        NotebookClient("http://127.0.0.1:9/api", backend="open-notebok")
    assert "contract" in raised.value.next_step


def test_detection_with_a_password():
    with serving(password="s3cret pass") as replay:
        with NotebookClient(replay.base_url, "s3cret pass") as nb:
            assert nb.status()["backend"] == "open-notebook"
            assert nb.status()["signed_in"] is True
        for password in (None, "wrong"):
            with NotebookClient(replay.base_url, password) as nb:
                recording = nb.status()
                assert (recording["backend"], recording["signed_in"]) == ("open-notebook", False)
                with pytest.raises(SignInError, match="password") as raised:
                    nb.notebooks.list()
                assert 'save_secret("nb"' in raised.value.next_step
        assert replay.faults == []


@pytest.mark.parametrize(
    ("rejection", "kind"),
    [
        (JSONResponse({"detail": "Down"}, 500), ServiceError),
        (JSONResponse({"detail": "No"}, 401, headers={"WWW-Authenticate": "Bearer"}), SignInError),
    ],
)
def test_rejection_does_not_decide_the_backend(fast_retries, rejection, kind):
    routes = [Route("/{path:path}", lambda _: rejection)]
    with listening(Starlette(routes=routes)) as root, NotebookClient(f"{root}/api") as nb:
        with pytest.raises(kind):
            nb.notebooks.list()
        assert nb._selector._backend is None


def test_detection_is_repeated_after_an_outage(fast_retries):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with NotebookClient(f"http://127.0.0.1:{port}/api") as nb:
        with pytest.raises(UnreachableError):
            nb.notebooks.list()
        with server_at(port):
            assert len(nb.notebooks.list()) == len(NOTEBOOKS)
            assert nb._selector.backend.name == "open-notebook"


@contextmanager
def server_at(port: int) -> Iterator[None]:
    async def answer(request: Request) -> Response:
        if request.url.path == DESCRIPTION:
            return description_with("Open Notebook API")(request)
        return JSONResponse(NOTEBOOKS)

    with listening(Starlette(routes=[Route("/{path:path}", answer)]), port):
        yield
