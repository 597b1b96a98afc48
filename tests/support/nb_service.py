"""Plain requests against a running notebook service: independent of labext's own client."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, ClassVar, Literal, Self
from urllib.parse import urlsplit

import pytest
import requests
from databases import open_database
from waiting import wait_until

from labext.sandbox import Sandbox
from labext.sandbox.core.database import Database
from labext.sandbox.core.queue import Queue
from labext.sandbox.core.service_protocol import Options, Site
from labext.sandbox.core.signing import Signer
from labext.sandbox.nb import limits
from labext.sandbox.nb.providers.provider_keys import encrypt_key
from labext.sandbox.nb.tables import Credential, Limit, Model

PASSWORD = "a-password-of-tests"
SERVICE = "labext.sandbox.nb.app:service"


class Description:
    """The service's description at `/openapi.json`, read once for all sandboxes of this process."""

    _operations: ClassVar[list[tuple[str, re.Pattern[str], Any]]] = []

    def __init__(self, root: str) -> None:
        if self._operations:
            return
        import schemathesis

        raw = requests.get(f"{root}/openapi.json", timeout=60).json()
        schema = schemathesis.openapi.from_dict(raw)
        # Paths without a placeholder first: `/sources/json` does not match `/sources/{source_id}`.
        self._operations.extend(
            (method.upper(), re.compile(re.sub(r"\\{.*?\\}", "[^/]+", re.escape(path))), operation)
            for path in sorted(raw["paths"], key=lambda path: path.count("{"))
            for method in raw["paths"][path]
            for operation in [schema[path][method.upper()]]
        )

    def hold(self, response: requests.Response, **_options: Any) -> None:
        """Fail if a response's status, type or body differs from the description."""
        path, requested = urlsplit(response.url).path, response.request.method
        for method, pattern, operation in self._operations:
            if method == requested and pattern.fullmatch(path):
                described = operation.definition.raw["responses"]
                assert str(response.status_code) in described, (path, response.status_code)
                operation.validate_response(response)
                return


class Api:
    """A client of a running service that uses no code of labext's client.

    Args:
        base_url: ends in `/api`.
        password: sent with every request; None sends none.
        described: every response is checked against it; None checks nothing.
    """

    def __init__(
        self, base_url: str, password: str | None, described: Description | None = None
    ) -> None:
        self.base = base_url
        self.root = base_url.removesuffix("/api")
        self.session = requests.Session()
        if described is not None:
            self.session.hooks["response"].append(described.hold)
        if password is not None:
            self.session.headers["Authorization"] = f"Bearer {password}"

    @classmethod
    def of(cls, box: Sandbox) -> Self:
        """Return a client of a sandbox that checks every response against `/openapi.json`."""
        base = box.nb.base_url
        return cls(base, box.nb.password, Description(base.removesuffix("/api")))

    def request(
        self, method: str, path: str, json: Any = None, **options: Any
    ) -> requests.Response:
        """Send a request; `path` is relative to the base address, or an address."""
        url = path if path.startswith("http") else f"{self.base}/{path}"
        return self.session.request(method, url, json=json, timeout=60, **options)

    def call(self, method: str, path: str, json: Any = None, **options: Any) -> Any:
        """Return the JSON of a successful response."""
        response = self.request(method, path, json, **options)
        assert response.status_code == 200, response.text
        return response.json()

    def error(self, status: int, method: str, path: str, json: Any = None) -> str:
        """Return the detail of an error response."""
        return detail(self.request(method, path, json), status)

    def once(self, path: str, *requested: str) -> Any:
        """Return the JSON of a path once its status is one of these; by default once it ended."""
        wanted = requested or ("completed", "failed")

        def ended() -> Any:
            result = self.call("GET", path)
            return result if result["status"] in wanted else None

        return wait_until(ended, 60)

    def get(self, path: str, **query: Any) -> requests.Response:
        return self.request("GET", path, params=query)

    def post(self, path: str, body: Any = None) -> requests.Response:
        return self.request("POST", path, json=body)

    def put(self, path: str, body: Any) -> requests.Response:
        return self.request("PUT", path, json=body)

    def delete(self, path: str, **query: Any) -> requests.Response:
        return self.request("DELETE", path, params=query)

    def notebook(self, name: str | None = None, **more: Any) -> str:
        """Create a notebook and return its identifier."""
        body = {"name": name or new_name(), **more}
        return str(self.call("POST", "notebooks", json=body)["id"])

    def note(self, content: str = "A note.", **more: Any) -> dict[str, Any]:
        """A new note."""
        note: dict[str, Any] = self.call("POST", "notes", json={"content": content, **more})
        return note

    def source(self, text: str = "Some text.", notebook: str | None = None) -> str:
        """Add a text as a source and return its identifier; it is processed in the background."""
        body = {"text": text, "notebook_id": notebook}
        return str(self.call("POST", "sources", json=body)["id"])


def new_name() -> str:
    return f"n{uuid.uuid4().hex[:12]}"


def detail(response: requests.Response, status: int = 400) -> str:
    """Return the one-line detail of an error response."""
    assert response.status_code == status, response.text
    body = response.json()
    assert set(body) - {"action"} == {"detail"}, body
    text = body["detail"]
    assert isinstance(text, str)
    assert text.strip()
    assert "\n" not in text
    return text


class Back:
    """The settings of the service's administrator: limits, in its database."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir

    @contextmanager
    def limit(self, name: str, value: int) -> Iterator[None]:
        """Set one of the service's limits to another value."""
        before = self._set_limit(name, value)
        try:
            yield
        finally:
            self._set_limit(name, before)

    def _set_limit(self, name: str, value: int | None) -> int | None:
        with closing(open_database(self.data_dir)) as database, database.write() as session:
            changed = session.get(Limit, name)
            before = None if changed is None else changed.value
            limits.LIMITS.change(session, name, value)
        return before


@contextmanager
def running(factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """Run a sandbox with only the notebook service."""
    sandbox = Sandbox(factory.mktemp("nb") / "data", rate="off", workers=2, services=[SERVICE])
    sandbox.start()
    yield sandbox
    sandbox.stop()


def make_site(
    folder: Path,
    database: Database,
    secrets: Path | None = None,
    rate: Literal["named", "off"] = "off",
) -> Site:
    """Return the site of a notebook service without a process."""
    return Site(
        folder=folder,
        secrets=secrets or folder,
        database=database,
        queue=Queue(),
        signer=Signer("a key of the tests"),
        origins={"nb": "http://127.0.0.1:1"},
        options=Options(rate=rate),
    )


def store_model(
    site: Site,
    model: str,
    kind: str,
    key: str | None,
    base_url: str,
    provider: str = "openai_compatible",
    **credential_fields: Any,
) -> Model:
    """Add a model of a provider's server to a site's database, with a credential."""
    credential = Credential(
        provider=provider,
        base_url=base_url,
        key=None if key is None else encrypt_key(site, key),
        **{"name": "lab"} | credential_fields,
    )
    created = Model(name=model, kind=kind, provider=provider, credential_id=credential.id)
    with site.database.write() as session:
        session.add(credential)
        session.flush()
        session.add(created)
    return created
