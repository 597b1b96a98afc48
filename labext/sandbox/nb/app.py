"""The notebook service: its application, and what the host needs to serve it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from fastapi import FastAPI
from sqlalchemy import MetaData
from starlette.types import ASGIApp

from labext.sandbox.nb import faults, pages, seed
from labext.sandbox.nb.answers import routes as answers
from labext.sandbox.nb.chat import routes as chat
from labext.sandbox.nb.chat.talking import Turns
from labext.sandbox.nb.credentials import routes as credentials
from labext.sandbox.nb.description import REFUSALS, describe
from labext.sandbox.nb.gate import Gate
from labext.sandbox.nb.ingestion import tasks
from labext.sandbox.nb.models import environment
from labext.sandbox.nb.models import routes as models
from labext.sandbox.nb.models.leaving import Threads
from labext.sandbox.nb.notebooks import routes as notebooks
from labext.sandbox.nb.notes import routes as notes
from labext.sandbox.nb.podcasts import files as podcast_files
from labext.sandbox.nb.podcasts import profile_routes as profiles
from labext.sandbox.nb.podcasts import routes as podcasts
from labext.sandbox.nb.podcasts import tasks as podcast_tasks
from labext.sandbox.nb.search import renewal
from labext.sandbox.nb.search import routes as search
from labext.sandbox.nb.search.index import Index
from labext.sandbox.nb.sources import folders
from labext.sandbox.nb.sources import routes as sources
from labext.sandbox.nb.store import Base
from labext.sandbox.nb.transformations import routes as transformations
from labext.sandbox.queue import Kind
from labext.sandbox.service import Certificate, Site
from labext.sandbox.web import handle_errors


class NotebookService:
    """The notebook service, as the host knows it (`labext.sandbox.service.Service`)."""

    name = "nb"
    doors = ("nb",)
    metadata: MetaData = Base.metadata
    preload: Sequence[str] = (
        "labext.sandbox.nb.ingestion.execution",
        "labext.sandbox.nb.podcasts.execution",
    )
    data_folders: Sequence[str] = (folders.ORIGINALS, podcast_files.EPISODES)

    def kinds(self, site: Site) -> Sequence[Kind]:
        """Processing a source, making vectors of passages, and making an episode."""
        return [tasks.kind(site), renewal.kind(site), podcast_tasks.kind(site)]

    def seed(self, site: Site) -> None:
        """Make the folders, and the password and models that are there from the start."""
        folders.prepare(site)
        podcast_files.prepare(site)
        environment.take(site)
        seed.seed(site)

    def orphans(self, site: Site) -> Sequence[Path]:
        """Uploaded files without a source, and audio files without an episode."""
        return [*folders.orphans(site), *podcast_files.orphans(site)]

    def certificate(self, folder: Path, secrets: Path) -> Certificate | None:  # noqa: ARG002
        """None: it speaks plain HTTP, on this machine alone."""
        return None

    def connection(self, site: Site) -> Mapping[str, str]:
        """Where it is, and its password, if it has one."""
        password = seed.password(site)
        found = {"base_url": f"{site.origin}/api"}
        return found if password is None else found | {"password": password}

    def apps(self, site: Site) -> Mapping[str, ASGIApp]:
        """The application."""
        app = FastAPI(title=pages.TITLE, redirect_slashes=False, docs_url=None, redoc_url=None)
        app.state.site = site
        app.state.index = Index(site)
        app.state.threads = Threads()
        app.state.turns = Turns()
        app.include_router(pages.api, tags=["service"])
        pages.mount_assets(app)
        for tag, group in _GROUPS:
            app.include_router(group.api, prefix="/api", tags=[tag], responses=REFUSALS)
        describe(app)
        handle_errors(app, faults.body)
        return {"nb": Gate(app, site)}


_GROUPS = (
    ("notebooks", notebooks),
    ("sources", sources),
    ("notes", notes),
    ("chat", chat),
    ("search", search),
    ("search", answers),
    ("models", models),
    ("credentials", credentials),
    ("transformations", transformations),
    ("podcasts", podcasts),
    ("profiles", profiles),
)
"""What `/docs` calls a group, and a module with routes of it."""

service = NotebookService()
