"""HTTP requests to a running laboratory platform, independent of labext's client."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests
from sqlalchemy import select

from labext.sandbox import Sandbox
from labext.sandbox.core.database import CoreBase, Database
from labext.sandbox.core.queue import Queue
from labext.sandbox.core.service_protocol import Options, Site
from labext.sandbox.core.signing import Signer, new_key
from labext.sandbox.lab.administration import LabAdministration, open_administration
from labext.sandbox.lab.endpoints import ENDPOINTS
from labext.sandbox.lab.tables import Base, Folder, Grant, Organization, Project, Tenant


def new_site(folder: Path, secrets: Path | None = None, **options: Any) -> Site:
    """Return a platform in a folder, with its tables but without a server or rows."""
    database = Database.at(folder / "db")
    database.create(CoreBase.metadata, Base.metadata)
    return Site(
        folder=folder,
        secrets=secrets or folder,
        database=database,
        queue=Queue(),
        signer=Signer("key"),
        origins={name: f"https://localhost:{port}" for port, name in enumerate(ENDPOINTS, 20001)},
        options=Options(**options),
    )


class Api:
    """A tenant's API, called with the credentials of each call or of a user."""

    def __init__(self, box: Sandbox, tenant: str = "campus") -> None:
        self.base = box.lab.tenants[tenant]
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.verify = box.lab.ca_bundle

    @classmethod
    def of_user(cls, box: Sandbox, user: str | None = "student", tenant: str = "campus") -> Api:
        """Return the API of a tenant with the key of a seeded user, or without a key."""
        api = cls(box, tenant)
        if user is not None:
            key = (box.data_dir / "secrets" / f"lab_{tenant}_{user}_key").read_text()
            api.session.auth = (key, "")
        return api

    def url(self, url: str, **query: Any) -> requests.Response:
        return self.session.get(url, params=query, timeout=60)

    def get(self, path: str, authorization: str | None = None, **query: Any) -> requests.Response:
        return self.request("GET", path, authorization, params=query)

    def request(
        self, method: str, path: str, authorization: str | None = None, **more: Any
    ) -> requests.Response:
        headers = more.pop("headers", {})
        if authorization is not None:
            headers = headers | {"Authorization": authorization}
        url = f"{self.base}/api/v2/{path}"
        return self.session.request(method, url, headers=headers, timeout=60, **more)

    def token(self, client_id: str, secret: str) -> requests.Response:
        form = {"grant_type": "client_credentials", "client_id": client_id, "client_secret": secret}
        return self.request("POST", "token", data=form)

    def pages(self, authorization: str | None = None, **query: Any) -> Iterator[list[Any]]:
        """Yield the pages of the list of sequences."""
        token = ""
        while True:
            response = self.get("dna-sequences", authorization, nextToken=token, **query)
            assert response.status_code == 200, response.text
            yield response.json()["dnaSequences"]
            token = response.json()["nextToken"]
            if not token:
                return

    def rows(self, authorization: str | None = None, **query: Any) -> list[dict[str, Any]]:
        """Return all sequences of the list."""
        pages = self.pages(authorization, pageSize=100, **query)
        return [row for page in pages for row in page]


class Runner:
    """The administrator of a sandbox, who manages the tenant `campus`."""

    def __init__(self, box: Sandbox, admin: LabAdministration) -> None:
        self.box, self._admin = box, admin

    @classmethod
    @contextmanager
    def of(cls, box: Sandbox) -> Iterator[Runner]:
        with open_administration(box.data_dir) as admin:
            yield cls(box, admin)

    def user(self, *folders: str) -> tuple[str, str]:
        """Add a user with a key; return the e-mail address and the key."""
        email, key = f"{uuid.uuid4().hex[:10]}@x.example", new_key("sk_")
        created = self._admin.add_user(email)
        self._admin.add_credential("key", email, key, "first")
        self._grant(folders, user_id=created["id"])
        return email, key

    def _grant(self, folders: Sequence[str], **holder: str) -> None:
        """Grant a user or an app access to folders of `campus` by name."""
        with self._admin.database.write() as session:
            for name in folders:
                named = (
                    select(Folder.id)
                    .join(Project)
                    .join(Organization)
                    .join(Tenant, Tenant.id == Organization.tenant_id)
                    .where(Tenant.name == "campus", Folder.name == name)
                )
                session.add(Grant(folder_id=session.scalars(named).one(), **holder))

    def app(self, *folders: str) -> tuple[str, str, str]:
        """Add an app; return its name, client id and secret."""
        name, secret = f"app-{uuid.uuid4().hex[:10]}", new_key("cs_")
        created = self._admin.add_app(name, f"id-{name}", secret)
        self._grant(folders, app_id=created["id"])
        return name, f"id-{name}", secret

    def id_token(self, email: str, **more: Any) -> str:
        return str(self._admin.id_token(email, **more)["id_token"])

    def logged(self, **which: Any) -> list[dict[str, Any]]:
        """Return entries of the audit log, the newest first."""
        return self._admin.of(which.pop("tenant", "campus")).audit_log(**which)

    @contextmanager
    def open_to(self, networks: Sequence[str]) -> Iterator[None]:
        """Restrict `campus` to these networks while the block runs."""
        for network in networks:
            self._admin.add_range(network)
        try:
            yield
        finally:
            for network in networks:
                self._admin.remove_range(network)


def basic(name: str, password: str = "") -> str:
    return requests.auth._basic_auth_str(name, password)


def message(response: requests.Response, status: int) -> str:
    """Return the message of an error response (LAB-26)."""
    assert response.status_code == status, response.text
    assert response.headers["Content-Type"] == "application/json"
    error = response.json()["error"]
    assert set(error) == {"type", "message", "userMessage"}
    assert error["type"] == "invalid_request_error"
    assert error["message"] == error["userMessage"] != ""
    return str(error["message"])
