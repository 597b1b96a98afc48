"""An HTTPS identity provider on loopback with configurable documents and tokens."""

from __future__ import annotations

import json
import os
import ssl
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jwt
import pytest
from local_http import running

from labext.sandbox.lab import endpoints
from labext.sandbox.lab.oidc import service
from labext.sandbox.lab.oidc import verifier as verifier_module
from labext.sandbox.lab.oidc.verifier import WELL_KNOWN, Verifier

AUDIENCE = "the-tenant"


class FakeProvider:
    """Attributes:
    documents: the response for each path: JSON, bytes, or a status.
    requests: the requested paths.
    """

    def __init__(self, origin: str, folder: Path) -> None:
        self.origin, self.folder = origin, folder
        self.requests: list[str] = []
        self.documents: dict[str, Any] = {}
        self.publish()

    @property
    def configuration_url(self) -> str:
        return self.origin + WELL_KNOWN

    @property
    def key(self) -> service.SigningKey:
        return service.load_signing_keys(self.folder)[0]

    def publish(self, **changed: Any) -> None:
        """Publish the current keys, and the configuration with changes."""
        self.documents[WELL_KNOWN] = {
            "issuer": self.origin,
            "jwks_uri": f"{self.origin}/jwks",
            "id_token_signing_alg_values_supported": ["RS256"],
        } | changed
        published = [key.published for key in service.load_signing_keys(self.folder)]
        self.documents["/jwks"] = {"keys": published}

    def claims(self, **changed: Any) -> dict[str, Any]:
        """Return valid claims with changes; None omits a claim."""
        now = int(time.time())
        claims = {
            "iss": self.origin,
            "sub": "1",
            "aud": AUDIENCE,
            "iat": now,
            "exp": now + 600,
            "email": "student@sandbox.local",
        } | changed
        return {name: value for name, value in claims.items() if value is not None}

    def token(self, **changed: Any) -> str:
        """Return a token signed with the newest key."""
        return jwt.encode(
            self.claims(**changed), self.key.private, "RS256", headers={"kid": self.key.kid}
        )


class Handler(BaseHTTPRequestHandler):
    provider: FakeProvider

    def do_GET(self) -> None:
        self.provider.requests.append(self.path)
        document = self.provider.documents.get(self.path, 404)
        status = document if isinstance(document, int) else 200
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(autouse=True)
def no_system_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Avoid loading the system's certificates for each connection."""
    monkeypatch.setenv("SSL_CERT_FILE", os.devnull)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[FakeProvider, Path]]:
    folder = tmp_path_factory.mktemp("provider")
    certificate = endpoints.ensure_certificate(folder, folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.chain)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    provider = FakeProvider(f"https://localhost:{server.server_port}", folder)
    server.RequestHandlerClass = type("Served", (Handler,), {"provider": provider})
    with running(server):
        yield provider, endpoints.ca_bundle_path(folder)


@pytest.fixture
def provider(served: tuple[FakeProvider, Path]) -> FakeProvider:
    provider = served[0]
    provider.documents.clear()
    provider.publish()
    provider.requests.clear()
    return provider


@pytest.fixture
def bundle(served: tuple[FakeProvider, Path]) -> Path:
    return served[1]


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now

    monotonic = __call__


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Replace the monotonic clock of key caching and retries; claims are checked in real time."""
    clock = Clock()
    for module in (verifier_module, jwt.api_jwk, jwt.jwk_set_cache, jwt.jwks_client):
        monkeypatch.setattr(module, "time", clock)
    return clock


@pytest.fixture
def verifier(provider: FakeProvider, bundle: Path) -> Verifier:
    return Verifier(provider.configuration_url, AUDIENCE, bundle)
