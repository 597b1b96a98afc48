"""The laboratory platform without a server: its applications are called in this process.

Two tenants whose users, apps and places are inserted directly into the tables; seeding and
administration have separate tests.
"""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from lab_service import Api, Runner, message, new_site
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.types import ASGIApp, Message

from labext.sandbox import Sandbox
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.core.signing import hash_key
from labext.sandbox.lab import access_control
from labext.sandbox.lab.app import LabService
from labext.sandbox.lab.oidc.verifier import VerificationError
from labext.sandbox.lab.tables import (
    ApiKey,
    App,
    AuditEntry,
    Grant,
    Secret,
    Tenant,
    Token,
    User,
    current_timestamp,
)


@dataclass(frozen=True)
class Response:
    """A response."""

    status: int
    headers: dict[str, str]
    content: bytes

    def json(self) -> Any:
        return json.loads(self.content)


class TenantClient:
    """A tenant's application, called without a network, each time from another address."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._thread = ThreadPoolExecutor(1)
        self._runner = asyncio.Runner()

    def get(self, path: str, *authorization: str, **more: Any) -> Response:
        return self.request("GET", f"/api/v2/{path}", *authorization, **more)

    def token(self, *authorization: str, address: str = "127.0.0.1", **form: str) -> Response:
        """Send a form to the token endpoint."""
        body = urlencode({"grant_type": "client_credentials"} | form).encode()
        headers = [("content-type", "application/x-www-form-urlencoded")]
        return self.request(
            "POST", "/api/v2/token", *authorization, headers=headers, body=body, address=address
        )

    def request(
        self,
        method: str,
        path: str,
        *authorization: str,
        headers: list[tuple[str, str]] | None = None,
        query: str = "",
        body: bytes = b"",
        address: str | None = "127.0.0.1",
        on_behalf_of: str | None = None,
    ) -> Response:
        all_headers = [("host", "localhost"), *(headers or [])]
        all_headers += [("authorization", header) for header in authorization]
        all_headers += [("on-behalf-of", on_behalf_of)] if on_behalf_of is not None else []
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in all_headers],
            "client": None if address is None else (address, 50_000),
        }
        # In a separate thread: a browser test leaves an event loop running in this one.
        return self._thread.submit(self._runner.run, self._send(scope, body)).result(60)

    async def _send(self, scope: dict[str, Any], body: bytes) -> Response:
        response: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Message) -> None:
            response.append(message)

        await self._app(scope, receive, send)
        headers = {name.decode(): value.decode() for name, value in response[0]["headers"]}
        content = b"".join(message.get("body", b"") for message in response[1:])
        return Response(response[0]["status"], headers, content)

    def close(self) -> None:
        self._thread.submit(self._runner.close).result(60)
        self._thread.shutdown()


class FakeVerifier:
    """Reads the email from a fake ID token; `Verifier` has separate tests.

    A token is `e.EMAIL.s`, or `EXPIRED.EMAIL.s` for an expired token, with EMAIL in base64.
    """

    def __init__(self, url: str, audience: str, authorities: Path) -> None:
        assert (url, audience) == ("https://provider/configuration", "campus")

    def email(self, token: str) -> str:
        if token.startswith("EXPIRED."):
            raise VerificationError("The ID token has expired.")
        return base64.b64decode(token.split(".")[1]).decode()


def basic(name: str, password: str = "") -> str:
    """Return the Authorization header of HTTP Basic."""
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


def id_token(email: str, *, expired: bool = False) -> str:
    """Return the Authorization header with an ID token for `FakeVerifier`."""
    head = "EXPIRED" if expired else "e"
    return f"Bearer {head}.{base64.b64encode(email.encode()).decode()}.s"


class World:
    """A platform with clients for its tenants, and methods that insert rows."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.database = site.database
        with self.database.write() as session:
            for name, url in (("campus", "https://provider/configuration"), ("clinic", None)):
                session.add(
                    Tenant(
                        name=name,
                        enterprise=url is not None,
                        configuration_url=url,
                        audience="campus" if url else None,
                    )
                )
        apps = LabService().apps(site)
        self.campus = TenantClient(apps["lab"])
        self.clinic = TenantClient(apps["lab-clinic"])

    def close(self) -> None:
        self.campus.close()
        self.clinic.close()

    def tenant_id(self, session: Session, name: str = "campus") -> int:
        return session.scalars(select(Tenant.id).where(Tenant.name == name)).one()

    def user(
        self, email: str, *, tenant: str = "campus", suspended: bool = False, **granted: str
    ) -> str:
        """Add a user with a key and a grant; return the key."""
        with self.database.write() as session:
            user = User(
                id=f"ent_{email}",
                tenant_id=self.tenant_id(session, tenant),
                handle=email.partition("@")[0],
                name=email.partition("@")[0].title(),
                email=email,
                suspended=suspended,
            )
            session.add(user)
            session.flush()
            if granted:
                session.add(Grant(user_id=user.id, **granted))
        return self.key(email)

    def key(self, email: str, name: str = "first", *, deleted: bool = False) -> str:
        row = ApiKey(user_id=f"ent_{email}", name=name)
        return self._add_credential(row, f"sk_{email}_{name}", deleted)

    def app(
        self,
        name: str,
        *,
        tenant: str = "campus",
        archived: bool = False,
        permissions: tuple[str, ...] = ("sequences:read",),
        **granted: str,
    ) -> str:
        """Add an app `id-NAME` with a secret and a grant; return the secret."""
        with self.database.write() as session:
            app = App(
                id=f"app_{name}",
                tenant_id=self.tenant_id(session, tenant),
                name=name,
                client_id=f"id-{name}",
                redirect_uris=[],
                permissions=list(permissions),
                archived=archived,
            )
            session.add(app)
            session.flush()
            if granted:
                session.add(Grant(app_id=app.id, **granted))
        return self.secret(name)

    def secret(self, app: str, name: str = "first", *, deleted: bool = False) -> str:
        row = Secret(app_id=f"app_{app}", name=name)
        return self._add_credential(row, f"cs_{app}_{name}", deleted)

    def _add_credential(self, row: ApiKey | Secret, value: str, deleted: bool) -> str:
        row.hash, row.created = hash_key(value), current_timestamp()
        row.deleted = current_timestamp() if deleted else None
        with self.database.write() as session:
            session.add(row)
        return value

    def token(self, secret: str, *, seconds: float = 900) -> str:
        """Insert an access token for a secret; return it."""
        token = f"at_{secret}_{seconds:g}".replace(".", "-")
        with self.database.write() as session:
            owner = session.scalars(select(Secret).where(Secret.hash == hash_key(secret))).one()
            session.add(
                Token(secret_id=owner.id, hash=hash_key(token), expires=time.time() + seconds)
            )
        return token

    def log(self, last: int) -> list[AuditEntry]:
        """Return the last entries of the audit log, the oldest first."""
        with self.database.read() as session:
            newest = select(AuditEntry).order_by(AuditEntry.id.desc()).limit(last)
            return list(session.scalars(newest))[::-1]


class Kit:
    """Helpers that tests get as a fixture."""

    Api = Api
    Runner = Runner
    basic = staticmethod(basic)
    id_token = staticmethod(id_token)
    message = staticmethod(message)


@pytest.fixture(scope="session")
def kit() -> type[Kit]:
    return Kit


@pytest.fixture(scope="session")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the provider's keys, shared because their generation is slow."""
    return tmp_path_factory.mktemp("secrets")


@pytest.fixture(scope="module")
def make_world(tmp_path_factory: pytest.TempPathFactory, secrets: Path) -> Iterator[Any]:
    """Create a platform without users: `make_world(rate="off")`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(access_control, "Verifier", FakeVerifier)
        worlds: list[World] = []

        def make(rate: str = "off") -> World:
            path = tmp_path_factory.mktemp("lab")
            worlds.append(World(new_site(path, secrets, rate=rate)))
            return worlds[-1]

        yield make
        for world in worlds:
            world.close()
            world.database.close()


@pytest.fixture(scope="module")
def world(make_world: Any) -> World:
    """A platform without rate limits, shared by the tests of a file: use unique names."""
    return make_world()


@pytest.fixture(scope="session")
def api(box: Sandbox) -> Api:
    """The API of the tenant `campus`."""
    return Api(box)


@pytest.fixture(scope="session")
def clinic(box: Sandbox) -> Api:
    return Api(box, "clinic")


@pytest.fixture(scope="session")
def runner(box: Sandbox) -> Iterator[Runner]:
    with Runner.of(box) as administrator:
        yield administrator
