"""The open routes: that the service is there, and its description as pages.

The pages' scripts and styles come from `fastapi_offline`, which carries Swagger UI and ReDoc; a
policy in each page's header keeps it from asking any other server for anything.
"""

from __future__ import annotations

from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from fastapi import APIRouter, FastAPI
from fastapi.openapi.docs import get_redoc_html, get_swagger_ui_html
from fastapi.responses import HTMLResponse, Response
from pydantic import Field
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError
from starlette.staticfiles import StaticFiles

from labext.sandbox.nb import settings
from labext.sandbox.nb.bodies import Done, Record
from labext.sandbox.nb.calls import SiteOf, json_answer
from labext.sandbox.nb.gate import ASSETS

TITLE = "labext nb"
FAVICON = f"{ASSETS}/favicon.png"
POLICY = {
    "Content-Security-Policy": "default-src 'self' 'unsafe-inline' data: blob:; "
    "script-src 'self' 'unsafe-inline' blob:; frame-ancestors 'none'"
}

api = APIRouter()


class Health(Record):
    """That the service answers."""

    status: str = Field(examples=["healthy"])


class AuthStatus(Record):
    """Whether a password is asked for."""

    auth_enabled: bool
    message: str


class Config(Record):
    """Which version answers, and whether its database does."""

    version: str
    latestVersion: str | None = None
    hasUpdate: bool = False
    dbStatus: str = Field(examples=["online"])


@api.get("/", response_model=Done)
def get_root() -> Response:
    """Say that the service is there."""
    return json_answer({"message": "The notebook service is running."})


@api.get("/health", response_model=Health)
def get_health() -> Response:
    """Say that the service answers."""
    return json_answer({"status": "healthy"})


@api.get("/api/auth/status", response_model=AuthStatus)
def get_auth_status(site: SiteOf) -> Response:
    """Say whether a password is asked for."""
    with site.database.read() as session:
        enabled = settings.value(session, settings.PASSWORD) is not None
    said = "A password is required." if enabled else "No password is required."
    return json_answer({"auth_enabled": enabled, "message": said})


@api.get("/api/config", response_model=Config)
def get_config(site: SiteOf) -> Response:
    """Say which version answers, and whether its database does."""
    try:
        with site.database.read() as session:
            session.scalar(select(1))
        database = "online"
    except SQLAlchemyError:
        database = "offline"
    told = {"version": version("labext-jupyter"), "latestVersion": None, "hasUpdate": False}
    return json_answer(told | {"dbStatus": database})


@api.get("/docs", include_in_schema=False)
def get_docs() -> HTMLResponse:
    """The description as Swagger UI shows it."""
    return _closed(
        get_swagger_ui_html(
            openapi_url="/openapi.json",
            title=TITLE,
            swagger_js_url=f"{ASSETS}/swagger-ui-bundle.js",
            swagger_css_url=f"{ASSETS}/swagger-ui.css",
            swagger_favicon_url=FAVICON,
            swagger_ui_parameters={"validatorUrl": None},
        )
    )


@api.get("/redoc", include_in_schema=False)
def get_redoc() -> HTMLResponse:
    """The description as ReDoc shows it."""
    return _closed(
        get_redoc_html(
            openapi_url="/openapi.json",
            title=TITLE,
            redoc_js_url=f"{ASSETS}/redoc.standalone.js",
            redoc_favicon_url=FAVICON,
            with_google_fonts=False,
        )
    )


def mount_assets(app: FastAPI) -> None:
    """Serve what the pages load."""
    found = find_spec("fastapi_offline")
    assert found is not None
    assert found.origin is not None
    app.mount(ASSETS, StaticFiles(directory=Path(found.origin).parent / "static"))


def _closed(page: HTMLResponse) -> HTMLResponse:
    page.headers.update(POLICY)
    return page
