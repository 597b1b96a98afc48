"""Plain requests against a running laboratory platform: independent of labext's own client."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from sqlalchemy import select

from labext.sandbox import Sandbox
from labext.sandbox.core.signing import new_key
from labext.sandbox.lab.administration import LabAdministration, open_administration
from labext.sandbox.lab.limits import LIMITS
from labext.sandbox.lab.tables import Folder, Grant, Organization, Project, Tenant


class FromAddress(HTTPAdapter):
    """Sends from another address of this machine."""

    def __init__(self, address: str) -> None:
        self._source = (address, 0)
        super().__init__()

    def init_poolmanager(self, *arguments: Any, **named: Any) -> None:
        super().init_poolmanager(*arguments, **named, source_address=self._source)


class Api:
    """A tenant's API, for whoever's credentials a call has."""

    def __init__(self, box: Sandbox, tenant: str = "campus", address: str | None = None) -> None:
        self.base = box.lab.tenants[tenant]
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.verify = box.lab.ca_bundle
        if address is not None:
            self.session.mount("https://", FromAddress(address))

    def get(self, path: str, authorization: str | None = None, **query: Any) -> requests.Response:
        return self.ask("GET", path, authorization, params=query)

    def ask(
        self, method: str, path: str, authorization: str | None = None, **more: Any
    ) -> requests.Response:
        headers = more.pop("headers", {})
        if authorization is not None:
            headers = headers | {"Authorization": authorization}
        url = f"{self.base}/api/v2/{path}"
        return self.session.request(method, url, headers=headers, timeout=60, **more)

    def token(self, client_id: str, secret: str) -> requests.Response:
        form = {
            "grant_type": "client_credentials",
            "client_id": client_id,
            "client_secret": secret,
        }
        return self.ask("POST", "token", data=form)

    def rows(self, authorization: str, **query: Any) -> list[dict[str, Any]]:
        """All rows of the list, page by page."""
        found, token = [], ""
        while True:
            answer = self.get(
                "dna-sequences", authorization, pageSize=100, nextToken=token, **query
            )
            assert answer.status_code == 200, answer.text
            found += answer.json()["dnaSequences"]
            token = answer.json()["nextToken"]
            if not token:
                return found


class Runner:
    """Whoever runs a sandbox, and what she may do at `campus`."""

    def __init__(self, box: Sandbox, admin: LabAdministration) -> None:
        self.box, self._admin = box, admin

    @classmethod
    @contextmanager
    def of(cls, box: Sandbox) -> Iterator[Runner]:
        with open_administration(box.data_dir) as admin:
            yield cls(box, admin)

    def user(self, *folders: str) -> tuple[str, str]:
        """A new user with a key: the e-mail address and the key."""
        email, key = f"{uuid.uuid4().hex[:10]}@x.example", new_key("sk_")
        made = self._admin.add_user(email)
        self._admin.add_credential("key", email, key, "first")
        self._grant(folders, user_id=made["id"])
        return email, key

    def _grant(self, folders: Sequence[str], **holder: str) -> None:
        """Let a user or an app see folders of `campus`, by their names."""
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

    def key(self, email: str, name: str) -> str:
        key = new_key("sk_")
        self._admin.add_credential("key", email, key, name)
        return key

    def app(self, *folders: str) -> tuple[str, str, str]:
        """A new app: its name, client id and secret."""
        name, secret = f"app-{uuid.uuid4().hex[:10]}", new_key("cs_")
        made = self._admin.add_app(name, f"id-{name}", secret)
        self._grant(folders, app_id=made["id"])
        return name, f"id-{name}", secret

    def secret(self, app: str, name: str) -> str:
        secret = new_key("cs_")
        self._admin.add_credential("secret", app, secret, name)
        return secret

    def end(self, kind: str, owner: str, name: str) -> None:
        """Delete a key or a secret."""
        self._admin.remove_credential(kind, owner, name, yes=True)

    def suspend(self, email: str, suspended: bool = True) -> None:
        self._admin.set_suspended(email, suspended)

    def archive(self, app: str, archived: bool = True) -> None:
        self._admin.set_archived(app, archived)

    def id_token(self, email: str, **more: Any) -> str:
        return str(self._admin.id_token(email, **more)["id_token"])

    def logged(self, **which: Any) -> list[dict[str, Any]]:
        """The log, the newest call first."""
        return self._admin.of(which.pop("tenant", "campus")).audit_log(**which)

    @contextmanager
    def open_to(self, networks: Sequence[str]) -> Iterator[None]:
        """`campus` is open to these addresses alone."""
        for each in networks:
            self._admin.add_range(each)
        try:
            yield
        finally:
            for each in networks:
                self._admin.remove_range(each)

    @contextmanager
    def limits(self, **values: int) -> Iterator[None]:
        """Other limits for a while."""
        self._set(values)
        try:
            yield
        finally:
            self._set(dict.fromkeys(values))

    def _set(self, values: Any) -> None:
        with self._admin.database.write() as session:
            for name, value in values.items():
                LIMITS.change(session, name, value)


def basic(name: str, password: str = "") -> str:
    return requests.auth._basic_auth_str(name, password)


def message(answer: requests.Response, status: int) -> str:
    """Return the message of an error response (LAB-26)."""
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"] == "application/json"
    error = answer.json()["error"]
    assert set(error) == {"type", "message", "userMessage"}
    assert error["type"] == "invalid_request_error"
    assert error["message"].strip()
    return str(error["message"])
