"""A running notebook service, plain requests against it, and a model's server that records."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import openai_server
import pytest
import requests

from labext.sandbox import Sandbox
from labext.sandbox.nb.administration import open_administration

SERVICE = "labext.sandbox.nb.app:service"


class Api:
    """Plain requests with the service's password, and models of a server.

    Args:
        box: the running sandbox.
    """

    def __init__(self, box: Sandbox) -> None:
        self.box = box
        self.base = box.nb.base_url
        self.session = requests.Session()
        self.session.headers["Authorization"] = f"Bearer {box.nb.password}"

    def ask(self, method: str, path: str, body: Any = None) -> requests.Response:
        return self.session.request(method, f"{self.base}/{path}", json=body, timeout=60)

    def told(self, method: str, path: str, body: Any = None) -> Any:
        """The JSON of an answer when all is well."""
        response = self.ask(method, path, body)
        assert response.status_code == 200, response.text
        return response.json()

    def refused(self, status: int, method: str, path: str, body: Any = None) -> str:
        """The sentence of a refusal."""
        response = self.ask(method, path, body)
        assert response.status_code == status, response.text
        assert set(response.json()) - {"action"} == {"detail"}
        return response.json()["detail"]

    def make(self, **more: Any) -> dict[str, Any]:
        """A new transformation."""
        body = {"name": "Shorten", "prompt": "Shorten the text.", **more}
        return self.told("POST", "transformations", body)

    def named(self, name: str) -> dict[str, Any]:
        """The one transformation of a name."""
        found = [each for each in self.told("GET", "transformations") if each["name"] == name]
        assert len(found) == 1
        return found[0]

    def run(self, transformation: str, text: str, **more: Any) -> dict[str, Any]:
        """What a transformation makes of a text."""
        body = {"transformation_id": transformation, "input_text": text, **more}
        return self.told("POST", "transformations/execute", body)

    def processed(self, text: str) -> tuple[dict[str, Any], dict[str, str]]:
        """The status of a new source once it is processed, and its insights."""
        return self.until_processed(self.told("POST", "sources", {"text": text})["id"])

    def until_processed(self, made: str) -> tuple[dict[str, Any], dict[str, str]]:
        """The same of a source that is there."""
        for _ in range(600):
            status = self.told("GET", f"sources/{made}/status")
            if status["status"] in ("completed", "failed"):
                break
            time.sleep(0.05)
        insights = self.told("GET", f"sources/{made}/insights")
        return {"id": made} | status, {each["insight_type"]: each["content"] for each in insights}

    def model(self, name: str, base_url: str) -> str:
        """The identifier of a new model of a server."""
        with open_administration(self.box.data_dir) as admin:
            return admin.add_model(name, "llm", base_url, None)["id"]

    def default(self, slot: str, model: str | None) -> None:
        """Set the model of a slot."""
        with open_administration(self.box.data_dir) as admin:
            admin.set_default(slot, model)


@pytest.fixture(scope="session")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    folder = tmp_path_factory.mktemp("nb") / "data"
    sandbox = Sandbox(folder, rate="off", workers=1, services=[SERVICE])
    sandbox.start()
    yield Api(sandbox)
    sandbox.stop()


@pytest.fixture
def provider() -> Iterator[openai_server.OpenAI]:
    with openai_server.serving() as server:
        yield server
