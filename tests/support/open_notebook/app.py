"""The application: validates a request against its route, and responds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from starlette.applications import Starlette
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from open_notebook import (
    answering,
    answers,
    chats,
    extensions,
    facts,
    models,
    notebooks,
    podcasts,
    sources,
)
from open_notebook.answers import Refused, recorded_response
from open_notebook.serving import METHODS, ReceivedRequest

if TYPE_CHECKING:
    from open_notebook.serving import Replay

OPEN = ("/", "/health", "/docs", "/redoc", "/openapi.json", "/api/auth/status", "/api/config")

ROUTES = answering.routes(notebooks, sources, chats, models, podcasts, extensions)


def application(replay: Replay) -> Starlette:
    """Return the ASGI application."""

    async def answer(request: Request) -> Response:
        path = unquote(request.url.path)
        if (refusal := _unauthenticated(replay, request, path)) is not None:
            return refusal
        operation = _operation(replay, request.method, path)
        if isinstance(operation, Response):
            return operation
        try:
            body, uploaded = await _body(request, operation)
        except ValueError:
            return recorded_response("meta.bad_json")
        redacted = dict(body) if isinstance(body, dict) else body
        query = dict(request.query_params)
        replay.requests.append(ReceivedRequest(request.method, path, query, redacted))
        _check_names(replay, operation, request, body)
        if (missing := _missing(operation, request, body)) is not None:
            return missing
        return _answered(replay, operation, request, path, body, uploaded)

    return Starlette(routes=[Route("/{path:path}", answer, methods=METHODS)])


def _unauthenticated(replay: Replay, request: Request, path: str) -> Response | None:
    if replay.password is None or path in OPEN:
        return None
    token = request.headers.get("authorization")
    if token is None:
        return recorded_response("auth.none")
    return None if token == f"Bearer {replay.password}" else recorded_response("auth.wrong")


def _operation(replay: Replay, method: str, path: str) -> facts.Operation | Response:
    fitting = [operation for operation in facts.operations() if operation.fits(path)]
    for operation in fitting:
        if operation.method == method:
            return operation
    if path == "/openapi.json":
        return JSONResponse({"info": {"title": "Open Notebook API", "version": "0.1.0"}})
    replay.faults.append(f"{method} {path}: unknown route")
    return (
        recorded_response("meta.method_not_allowed")
        if fitting
        else recorded_response("meta.unknown_path")
    )


async def _body(
    request: Request, operation: facts.Operation
) -> tuple[Any, tuple[str, bytes] | None]:
    """Return the fields of the body, and the name and bytes of an uploaded file."""
    if operation.kind == "form":
        async with request.form() as form:
            fields = {name: value for name, value in form.items() if isinstance(value, str)}
            for value in form.values():
                if isinstance(value, UploadFile) and value.filename:
                    return fields, (value.filename, await value.read())
        return fields, None
    content = await request.body()
    return (json.loads(content) if content else None), None


def _check_names(replay: Replay, operation: facts.Operation, request: Request, body: Any) -> None:
    """Record fields that the server would ignore."""
    where = f"{operation.method} {operation.template}"
    for name in request.query_params.keys() - operation.query:
        replay.faults.append(f"{where}: it ignores the query's {name}")
    if body is None:
        return
    if not isinstance(body, dict):
        replay.faults.append(f"{where}: the body is no object")
        return
    for name in body.keys() - operation.body:
        replay.faults.append(f"{where}: it ignores the body's {name}")


def _missing(operation: facts.Operation, request: Request, body: Any) -> Response | None:
    """Return the rejection of a request without a required field, else None."""
    parameters = {*request.query_params, *(body if isinstance(body, dict) else ())}
    lacking = sorted(operation.needed - parameters)
    return answers.missing(lacking, operation.query, body) if lacking else None


def _answered(
    replay: Replay,
    operation: facts.Operation,
    request: Request,
    path: str,
    body: Any,
    uploaded: tuple[str, bytes] | None,
) -> Response:
    route = ROUTES.get((operation.method, operation.template))
    if route is None:
        replay.faults.append(f"{operation.method} {operation.template}: no recording covers it")
        return JSONResponse({"detail": "Not covered"}, 500)
    call = answering.Call(
        replay.state,
        operation,
        path,
        dict(request.query_params),
        body or {},
        dict(request.headers),
        uploaded,
    )
    try:
        reply = route(call, *answering.parts(operation, path))
    except Refused as refused:
        return refused.response
    return reply if isinstance(reply, Response) else JSONResponse(reply)
