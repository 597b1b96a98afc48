"""The notebook service: application, OpenAPI description and open endpoints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.docs import get_redoc_html, get_swagger_ui_html
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse, Response
from pydantic import Field
from sqlalchemy import MetaData, select
from sqlalchemy.exc import SQLAlchemyError
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from labext.sandbox.core.dependencies import SiteDep
from labext.sandbox.core.monitoring import health
from labext.sandbox.core.queue import TaskKind
from labext.sandbox.core.service_protocol import Service, Site
from labext.sandbox.core.web import handle_errors
from labext.sandbox.nb import chat, chat_context, errors, files, notebooks, notes, seed, settings
from labext.sandbox.nb.ask import router as answers
from labext.sandbox.nb.cancellation import ModelThreads
from labext.sandbox.nb.credentials import router as credentials
from labext.sandbox.nb.embedding import passage_vectors
from labext.sandbox.nb.ingestion import tasks
from labext.sandbox.nb.middleware import ASSETS_PATH, OPEN_PATHS, RequestGuard
from labext.sandbox.nb.models import router as models
from labext.sandbox.nb.podcasts import profiles
from labext.sandbox.nb.podcasts import router as podcasts
from labext.sandbox.nb.podcasts import tasks as podcast_tasks
from labext.sandbox.nb.providers import provider_keys
from labext.sandbox.nb.schemas import ErrorResponse, MessageResponse, Record
from labext.sandbox.nb.search import full_text
from labext.sandbox.nb.search import router as search
from labext.sandbox.nb.search.index import SearchIndex
from labext.sandbox.nb.sources import router as sources
from labext.sandbox.nb.tables import Base
from labext.sandbox.nb.transformations import router as transformations

_ERRORS = {
    400: "Invalid input.",
    401: "The password is missing or wrong.",
    404: "The object does not exist.",
    413: "The request exceeds a limit.",
    422: "A setting or model is missing.",
    429: "Too many requests.",
    500: "The service failed.",
    502: "An external service failed.",
}
ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorResponse, "description": text} for status, text in _ERRORS.items()
}
_SECONDS = {"type": "integer", "minimum": 1}
ERROR_RESPONSES[429]["headers"] = {
    "Retry-After": {"description": "Seconds to wait.", "schema": _SECONDS}
}
"""Error responses of every operation (NB-30)."""

TAGS = {
    "notebooks": "Notebooks, which group sources and notes.",
    "sources": "Research material: files, pages and texts, processed in the background.",
    "notes": "Notes written by people and models.",
    "chat": "Conversations about a notebook.",
    "search": "Passages by their words or their meaning, and answers with citations.",
    "models": "Language, embedding and speech models, and the default slots that use them.",
    "credentials": "Addresses and keys of model providers; keys are never returned.",
    "transformations": "Prompts that a model applies to a text.",
    "podcasts": "Spoken episodes about a notebook.",
    "profiles": "Speakers and settings of episodes.",
    "service": "The state of the service; no password is required.",
}

DESCRIPTION = (
    "A research notebook: sources are read, searched and cited. If a password is configured, "
    'send it as `Authorization: Bearer …`. An error response is always `{"detail": "…"}`.'
)

_SECURITY_SCHEME = "password"


def _build_openapi(app: FastAPI) -> dict[str, Any]:
    tags = [{"name": name, "description": about} for name, about in TAGS.items()]
    schema = get_openapi(
        title=app.title,
        version=version("labext-jupyter"),
        description=DESCRIPTION,
        routes=app.routes,
        tags=tags,
    )
    schemes = schema.setdefault("components", {}).setdefault("securitySchemes", {})
    schemes[_SECURITY_SCHEME] = {
        "type": "http",
        "scheme": "bearer",
        "description": "The service's password, if one is configured.",
    }
    for path, operations in schema["paths"].items():
        for operation in operations.values():
            _set_summary(operation)
            if path not in OPEN_PATHS:
                operation["security"] = [{_SECURITY_SCHEME: []}]
    return schema


def _set_summary(operation: dict[str, Any]) -> None:
    first, _, rest = " ".join(operation.pop("description", "").split()).partition(". ")
    operation["summary"] = first.rstrip(".")
    if rest:
        operation["description"] = rest


TITLE = "labext nb"
FAVICON_URL = f"{ASSETS_PATH}/favicon.png"
SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'self' 'unsafe-inline' data: blob:; "
    "script-src 'self' 'unsafe-inline' blob:; frame-ancestors 'none'"
}

router = APIRouter()


class Health(Record):
    """The health of the service."""

    status: str = Field(examples=["healthy"])


class Unhealthy(Record):
    """The reason why the service cannot work."""

    status: str = Field(examples=["unhealthy"])
    reason: str = Field(examples=["The database does not respond."])


class AuthStatus(Record):
    """Whether a password is required."""

    auth_enabled: bool
    message: str


class Config(Record):
    """The version of the service, and the state of its database."""

    version: str
    latestVersion: str | None = None
    hasUpdate: bool = False
    dbStatus: str = Field(examples=["online"])


@router.get("/", response_model=MessageResponse)
def get_root() -> dict[str, str]:
    """Report that the service is running."""
    return {"message": "The notebook service is running."}


@router.get(
    health.PATH,
    response_model=Health,
    responses={503: {"model": Unhealthy, "description": "The database or the queue fails."}},
)
async def get_health(site: SiteDep) -> Response:
    """Report whether the database responds and the queue runs."""
    return await health.HealthCheck(site.database, site.executors).response()


@router.get("/api/auth/status", response_model=AuthStatus)
def get_auth_status(site: SiteDep) -> dict[str, Any]:
    """Report whether a password is required."""
    with site.database.read() as session:
        enabled = settings.get_setting(session, settings.PASSWORD) is not None
    message = "A password is required." if enabled else "No password is required."
    return {"auth_enabled": enabled, "message": message}


@router.get("/api/config", response_model=Config)
def get_config(site: SiteDep) -> dict[str, Any]:
    """Report the version of the service and the state of its database."""
    try:
        with site.database.read() as session:
            session.scalar(select(1))
        database = "online"
    except SQLAlchemyError:
        database = "offline"
    return {"version": version("labext-jupyter"), "dbStatus": database}


@router.get("/docs", include_in_schema=False)
def get_docs() -> HTMLResponse:
    """Show the API in Swagger UI."""
    page = get_swagger_ui_html(
        openapi_url="/openapi.json",
        title=TITLE,
        swagger_js_url=f"{ASSETS_PATH}/swagger-ui-bundle.js",
        swagger_css_url=f"{ASSETS_PATH}/swagger-ui.css",
        swagger_favicon_url=FAVICON_URL,
        swagger_ui_parameters={"validatorUrl": None},
    )
    return HTMLResponse(page.body, headers=SECURITY_HEADERS)


@router.get("/redoc", include_in_schema=False)
def get_redoc() -> HTMLResponse:
    """Show the API in ReDoc."""
    page = get_redoc_html(
        openapi_url="/openapi.json",
        title=TITLE,
        redoc_js_url=f"{ASSETS_PATH}/redoc.standalone.js",
        redoc_favicon_url=FAVICON_URL,
        with_google_fonts=False,
    )
    return HTMLResponse(page.body, headers=SECURITY_HEADERS)


class NotebookService(Service):
    """The notebook service for the host; it has no accounts."""

    name = "nb"
    endpoints = ("nb",)
    metadata: MetaData = Base.metadata
    preload: Sequence[str] = (
        "labext.sandbox.nb.ingestion.execution",
        "labext.sandbox.nb.podcasts.execution",
    )
    data_folders: Sequence[str] = (files.ORIGINALS, files.EPISODES)

    def kinds(self, site: Site) -> Sequence[TaskKind]:
        """Return the task kinds: processing sources, embedding passages, making episodes."""
        return [
            tasks.PROCESS.kind(site),
            passage_vectors.embed_task_kind(site),
            podcast_tasks.PODCAST.kind(site),
        ]

    def seed(self, site: Site) -> None:
        """Create the folders, the initial password and models, and a missing index."""
        files.prepare_folders(site)
        files.prepare_episodes(site)
        provider_keys.store_environment(site)
        seed.seed_service(site)
        with site.database.write() as session:
            full_text.build_index(session)

    def records_files(self, site: Site) -> bool:
        """Return whether there is an uploaded source, or an episode with audio."""
        return files.has_records(site)

    def orphans(self, site: Site) -> Sequence[Path]:
        """Return uploaded files without a source, and audio files without an episode."""
        return [*files.orphaned_files(site)]

    def connection(self, site: Site) -> Mapping[str, str]:
        """Return the address, and a sandbox's password if there is one."""
        password = None if site.server else seed.connection_password(site)
        record = {"base_url": f"{site.origin}/api"}
        return record if password is None else record | {"password": password}

    def apps(self, site: Site) -> Mapping[str, ASGIApp]:
        """Return the application."""
        app = FastAPI(title=TITLE, redirect_slashes=False, docs_url=None, redoc_url=None)
        app.state.site = site
        app.state.index = SearchIndex(site)
        app.state.threads = ModelThreads()
        app.state.turns = chat.SessionLocks(site)
        app.include_router(router, tags=["service"])
        app.mount(ASSETS_PATH, StaticFiles(packages=[("fastapi_offline", "static")]))
        for tag, group in _ROUTERS:
            app.include_router(group.router, prefix="/api", tags=[tag], responses=ERROR_RESPONSES)
        app.openapi = cache(partial(_build_openapi, app))  # type: ignore[method-assign]
        handle_errors(app, errors.error_body)
        return {"nb": RequestGuard(app, site)}


_ROUTERS = (
    ("notebooks", notebooks),
    ("sources", sources),
    ("notes", notes),
    ("chat", chat),
    ("chat", chat_context),
    ("search", search),
    ("search", answers),
    ("models", models),
    ("credentials", credentials),
    ("transformations", transformations),
    ("podcasts", podcasts),
    ("profiles", profiles),
)
"""Tags in the API documentation, with the modules that define their endpoints."""

service = NotebookService()
