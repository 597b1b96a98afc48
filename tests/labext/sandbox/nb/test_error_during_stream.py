"""An unexpected error after the stream of an answer has begun."""

from __future__ import annotations

import json

import pytest
from starlette.testclient import TestClient

from labext.sandbox.nb.app import service
from labext.sandbox.nb.search.index import SearchIndex

pytestmark = pytest.mark.contract


def test_unexpected_error_is_the_last_event(
    in_process, kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object, **_options: object) -> None:
        raise RuntimeError("the password is hunter2")

    monkeypatch.setattr(SearchIndex, "find", fail)
    client = TestClient(service.apps(in_process())["nb"])
    answer = client.post(
        "/api/search/ask",
        json={"question": "What induces the promoter?"},
        headers={"Authorization": f"Bearer {kit.PASSWORD}"},
    )
    assert answer.status_code == 200
    events = [json.loads(line[len("data: ") :]) for line in answer.text.splitlines() if line]
    assert [event["type"] for event in events] == ["strategy", "error"]
    assert "log" in events[-1]["message"]
    assert "hunter2" not in answer.text
