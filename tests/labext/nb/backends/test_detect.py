"""Which kind of server answers is found out once a client, whatever stands before it."""

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
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from labext.errors import InputError, LabextError, SignInError, UnreachableError
from labext.nb import NotebookClient

pytestmark = pytest.mark.contract

DESCRIPTION = "/openapi.json"
NOTEBOOKS = recordings()["notebooks.list"].answer
REFUSED = recordings()["notebooks.list_order_updated_at_400"]

Answer = Callable[[Request], Response]


def described(title: object) -> Answer:
    """A server that tells its title."""
    return lambda _: JSONResponse({"info": {"title": title, "version": "0.1.0"}})


def status(code: int) -> Answer:
    """Something in between that keeps the description to itself."""
    return lambda _: JSONResponse({"detail": "No."}, code)


def page(_: Request) -> Response:
    """What a web server in between shows for any address."""
    return HTMLResponse("<!doctype html><title>Welcome</title>")


def text(_: Request) -> Response:
    return PlainTextResponse("OK")


@contextmanager
def server(description: Answer, *, orders: bool) -> Iterator[tuple[str, list[str]]]:
    """A server with notebooks; `orders`: by the contract's names of the times too."""
    asked: list[str] = []

    async def answer(request: Request) -> Response:
        query = f"?{request.url.query}" if request.url.query else ""
        asked.append(f"{request.url.path}{query}")
        if request.url.path == DESCRIPTION:
            return description(request)
        if not orders and request.query_params.get("order_by", "").startswith("updated_at"):
            return JSONResponse(REFUSED.answer, REFUSED.status)
        times = {"created_at": None, "updated_at": None} if orders else {}
        return JSONResponse([{**each, **times} for each in NOTEBOOKS])

    with listening(Starlette(routes=[Route("/{path:path}", answer)])) as root:
        yield f"{root}/api", asked


@pytest.mark.parametrize(
    ("description", "orders", "name"),
    [
        (described("Open Notebook API"), False, "open-notebook"),
        (described("open notebook"), False, "open-notebook"),
        (described("Notebook service"), True, "contract"),
        (described(None), True, "contract"),
        (described(["Open Notebook"]), True, "contract"),
        (status(404), False, "open-notebook"),
        (status(404), True, "contract"),
        (status(401), False, "open-notebook"),
        (status(403), True, "contract"),
        (status(405), False, "open-notebook"),
        (status(501), False, "open-notebook"),
        (status(501), True, "contract"),
        (page, False, "open-notebook"),
        (page, True, "contract"),
        (text, False, "open-notebook"),
    ],
)
def test_the_kind_of_server_is_found_out(description, orders, name):
    with server(description, orders=orders) as (url, asked), NotebookClient(url) as nb:
        assert nb._selector.backend.name == name
        asked.clear()
        assert list(nb.notebooks.list(order_by="updated_at desc")["name"])
        way = "updated" if name == "open-notebook" else "updated_at"
        assert asked == [f"/api/notebooks?order_by={way}+desc"]


def test_it_is_asked_once_a_client():
    with server(described("Open Notebook API"), orders=False) as (url, asked):
        with NotebookClient(url) as nb:
            for _ in range(3):
                nb.notebooks.list()
        assert asked.count(DESCRIPTION) == 1
        with NotebookClient(url) as other:
            other.notebooks.list()
        assert asked.count(DESCRIPTION) == 2


def test_a_client_asks_nothing_before_its_first_call():
    with server(described("Open Notebook API"), orders=False) as (url, asked):
        NotebookClient(url).close()
        assert asked == []


@pytest.mark.parametrize("wanted", ["contract", "open-notebook"])
def test_whoever_knows_it_is_not_contradicted(wanted):
    with server(described("Open Notebook API"), orders=True) as (url, asked):
        with NotebookClient(url, backend=wanted) as nb:
            nb.notebooks.list(order_by="updated_at desc")
        by = "updated_at" if wanted == "contract" else "updated"
        assert asked == [f"/api/notebooks?order_by={by}+desc"]


def test_a_kind_that_there_is_not_is_told_at_once():
    with pytest.raises(InputError, match=r"open-notebok.*open-notebook") as raised:
        NotebookClient("http://127.0.0.1:9/api", backend="open-notebok")
    assert "contract" in raised.value.next_step


def test_the_password_is_no_hindrance():
    with serving(password="s3cret pass") as replay:
        with NotebookClient(replay.base_url, "s3cret pass") as nb:
            assert nb.status()["backend"] == "open-notebook"
            assert nb.status()["signed_in"] is True
        for given in (None, "wrong"):
            with NotebookClient(replay.base_url, given) as nb:
                told = nb.status()
                assert (told["backend"], told["signed_in"]) == ("open-notebook", False)
                with pytest.raises(SignInError, match="password") as raised:
                    nb.notebooks.list()
                assert 'save_secret("nb"' in raised.value.next_step
        assert replay.faults == []


@pytest.mark.parametrize("name", ["auth.none", "auth.wrong", "auth.no_scheme"])
def test_a_refused_password_does_not_decide_the_kind(name):
    told = recordings()[name]
    refusal = JSONResponse(told.answer, told.status, headers=dict(told.told))
    routes = [Route("/{path:path}", lambda _: refusal)]
    with listening(Starlette(routes=routes)) as root, NotebookClient(f"{root}/api") as nb:
        with pytest.raises(SignInError):
            nb.notebooks.list()
        assert nb._selector._backend is None


def test_a_server_that_could_not_be_reached_is_asked_again(at_once):
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
            return described("Open Notebook API")(request)
        return JSONResponse(NOTEBOOKS)

    with listening(Starlette(routes=[Route("/{path:path}", answer)]), port):
        yield


def test_a_broken_server_decides_nothing(at_once):
    failing = [Route("/{path:path}", lambda _: JSONResponse({"detail": "Down"}, 500))]
    with listening(Starlette(routes=failing)) as root, NotebookClient(f"{root}/api") as nb:
        with pytest.raises(LabextError, match="Down"):
            nb.notebooks.list()
        assert nb._selector._backend is None
