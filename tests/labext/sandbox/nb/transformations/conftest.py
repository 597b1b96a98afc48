"""Plain requests for transformations."""

from __future__ import annotations

from typing import Any

import nb_service
import pytest

from labext.sandbox import Sandbox
from labext.sandbox.nb.administration import open_administration


class Api(nb_service.Api):
    """A client with the requests of transformations, and models of a server."""

    def __init__(self, box: Sandbox) -> None:
        super().__init__(box.nb.base_url, box.nb.password)
        self.box = box

    def make(self, **more: Any) -> dict[str, Any]:
        body = {"name": "Shorten", "prompt": "Shorten the text.", **more}
        return self.call("POST", "transformations", body)

    def run(self, transformation: str, text: str, **more: Any) -> dict[str, Any]:
        """Return the result of a transformation of a text."""
        body = {"transformation_id": transformation, "input_text": text, **more}
        return self.call("POST", "transformations/execute", body)

    def processed(self, text: str) -> tuple[dict[str, Any], dict[str, str]]:
        """Add a source; return its status once it is processed, and its insights."""
        return self.until_processed(self.call("POST", "sources", {"text": text})["id"])

    def until_processed(self, created: str) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the same for an existing source."""
        status = self.once(f"sources/{created}/status")
        insights = self.call("GET", f"sources/{created}/insights")
        return {"id": created} | status, {
            insight["insight_type"]: insight["content"] for insight in insights
        }

    def model(self, name: str, base_url: str) -> str:
        """Add a model of a server and return its identifier."""
        with open_administration(self.box.data_dir) as admin:
            return admin.add_model(name, "llm", base_url, None)["id"]

    def default(self, slot: str, model: str | None) -> None:
        with open_administration(self.box.data_dir) as admin:
            admin.set_default(slot, model)


@pytest.fixture(scope="session")
def api(box: Sandbox) -> Api:
    return Api(box)
