"""Plain requests against a running notebook service: independent of labext's own client."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests

from labext.sandbox import Sandbox
from labext.sandbox.core.database import Database
from labext.sandbox.nb import limits
from labext.sandbox.nb.tables import Limit

PASSWORD = "a-password-of-tests"
SERVICE = "labext.sandbox.nb.app:service"


class Description:
    """The OpenAPI description of a service."""

    def __init__(self, root: str) -> None:
        import schemathesis

        self.raw = requests.get(f"{root}/openapi.json", timeout=60).json()
        schema = schemathesis.openapi.from_dict(self.raw)
        # A path without a placeholder comes first: `/sources/json` is no `/sources/{source_id}`.
        self._operations = [
            (method.upper(), re.compile(re.sub(r"\\{.*?\\}", "[^/]+", re.escape(path))), operation)
            for path in sorted(self.raw["paths"], key=lambda path: path.count("{"))
            for method in self.raw["paths"][path]
            for operation in [schema[path][method.upper()]]
        ]

    def hold(self, response: requests.Response, **_options: Any) -> None:
        """Check the status, type and body of a response against the description."""
        path, asked = urlsplit(response.url).path, response.request.method
        for method, pattern, operation in self._operations:
            if method == asked and pattern.fullmatch(path):
                described = operation.definition.raw["responses"]
                assert str(response.status_code) in described, (path, response.status_code)
                operation.validate_response(response)
                return


class Api:
    """A session with the service; every response is checked against its description.

    Args:
        base_url: ends in `/api`.
        password: sent with every request; None sends none.
        described: the description for the checks.
    """

    def __init__(self, base_url: str, password: str | None, described: Description) -> None:
        self.base = base_url
        self.root = base_url.removesuffix("/api")
        self.session = requests.Session()
        self.session.hooks["response"].append(described.hold)
        if password is not None:
            self.session.headers["Authorization"] = f"Bearer {password}"

    def ask(self, method: str, path: str, **options: Any) -> requests.Response:
        """One request; `path` begins below the base address, or is an address."""
        url = path if path.startswith("http") else f"{self.base}/{path}"
        return self.session.request(method, url, timeout=60, **options)

    def get(self, path: str, **query: Any) -> requests.Response:
        return self.ask("GET", path, params=query)

    def post(self, path: str, body: Any = None) -> requests.Response:
        return self.ask("POST", path, json=body)

    def put(self, path: str, body: Any) -> requests.Response:
        return self.ask("PUT", path, json=body)

    def delete(self, path: str, **query: Any) -> requests.Response:
        return self.ask("DELETE", path, params=query)

    def told(self, method: str, path: str, **options: Any) -> Any:
        """The JSON of a successful response."""
        response = self.ask(method, path, **options)
        assert response.status_code == 200, response.text
        return response.json()

    def notebook(self, name: str | None = None, **more: Any) -> str:
        """A new notebook's identifier."""
        body = {"name": name or new_name(), **more}
        return str(self.told("POST", "notebooks", json=body)["id"])

    def note(self, content: str = "A note.", **more: Any) -> dict[str, Any]:
        """A new note."""
        note: dict[str, Any] = self.told("POST", "notes", json={"content": content, **more})
        return note

    def source(self, text: str = "Some text.", notebook: str | None = None) -> str:
        """The identifier of a new source, a text that is being processed."""
        body = {"text": text, "notebook_id": notebook}
        return str(self.told("POST", "sources", json=body)["id"])


def new_name() -> str:
    return f"n{uuid.uuid4().hex[:12]}"


def sentence(response: requests.Response, status: int = 400) -> str:
    """The one-line message of an error response."""
    assert response.status_code == status, response.text
    body = response.json()
    assert set(body) - {"action"} == {"detail"}, body
    text = body["detail"]
    assert isinstance(text, str)
    assert text.strip()
    assert "\n" not in text
    return text


class Back:
    """Settings of an administrator: limits in the database."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def limit(self, name: str, value: int) -> Iterator[None]:
        """Another value for one of the service's limits."""
        before = self._set_limit(name, value)
        try:
            yield
        finally:
            self._set_limit(name, before)

    def _set_limit(self, name: str, value: int | None) -> int | None:
        database = Database.at(self.path)
        try:
            with database.write() as session:
                changed = session.get(Limit, name)
                before = None if changed is None else changed.value
                limits.LIMITS.change(session, name, value)
            return before
        finally:
            database.close()


def api_of(box: Sandbox) -> Api:
    """The service of a sandbox, by its own password."""
    base = box.nb.base_url
    return Api(base, box.nb.password, Description(base.removesuffix("/api")))


class Kit:
    """The helpers of this folder, which tests get as a fixture."""

    Api, Back, Description = Api, Back, Description
    PASSWORD = PASSWORD
    name = staticmethod(new_name)
    sentence = staticmethod(sentence)
    api = staticmethod(api_of)
