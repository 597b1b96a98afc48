"""The laboratory platform: its routes, and what the host needs to serve it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from fastapi import FastAPI
from sqlalchemy import MetaData
from starlette.types import ASGIApp

from labext.sandbox.lab import tls
from labext.sandbox.lab.doors import DOORS
from labext.sandbox.lab.store import Base
from labext.sandbox.queue import Kind
from labext.sandbox.service import Certificate, Site


class LabService:
    """The laboratory platform, as the host knows it (`labext.sandbox.service.Service`)."""

    name = "lab"
    doors = DOORS
    metadata: MetaData = Base.metadata
    preload: Sequence[str] = ()

    def kinds(self, site: Site) -> Sequence[Kind]:  # noqa: ARG002
        """None: it answers at once or not at all."""
        return []

    def seed(self, site: Site) -> None:
        """Tenants, people, apps, projects and sequences."""

    def certificate(self, folder: Path, secrets: Path) -> Certificate:
        """The platform speaks HTTPS alone (contract, Endpoints)."""
        return tls.certificate(folder, secrets)

    def connection(self, site: Site) -> Mapping[str, str]:
        """The student's three ways to sign in at `campus`."""
        return {"base_url": site.origin, "ca_bundle": str(tls.bundle(site.folder))}

    def apps(self, site: Site) -> Mapping[str, ASGIApp]:  # noqa: ARG002
        """The API for each tenant, and the identity provider."""
        return {door: FastAPI(openapi_url=None) for door in self.doors}


service = LabService()
