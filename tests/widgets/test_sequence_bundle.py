"""A view with a bundle of its own: sent once, and not before it is needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import comm
import pytest

from labext_widgets.core import hub


class Comm(comm.base_comm.BaseComm):
    """A connection to a page that records sent messages."""

    sent: ClassVar[list[tuple[str, dict[str, Any]]]] = []

    def publish_msg(self, msg_type: str, data: Any = None, *_: Any, **__: Any) -> None:
        self.sent.append((msg_type, data or {}))


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, dict[str, Any]]]]:
    monkeypatch.setattr(comm, "create_comm", Comm)
    monkeypatch.setattr(Comm, "sent", [])
    yield Comm.sent
    hub.close()


def opened(sent: list[tuple[str, dict[str, Any]]], key: str) -> list[dict[str, Any]]:
    states = [data.get("state", {}) for kind, data in sent if kind == "comm_open"]
    return [state for state in states if key in state]


def test_bundle_is_sent_once_and_only_for_its_views(
    sent: list[tuple[str, dict[str, Any]]],
) -> None:
    progress = hub.mount("a", "progress", {})
    assert opened(sent, "code") == []
    first_model = hub.mount("b", "sequence", {"bases": "ACGT"})
    two = hub.mount("c", "sequence", {"bases": "ACGT"})
    (bundle,) = opened(sent, "code")
    assert bundle["code"] == (hub._STATIC / "sequence.js").read_text("utf-8")
    assert progress.bundle == ""
    assert first_model.bundle == two.bundle != ""
    assert repr(hub._bundles["sequence.js"]) == "Bundle()"
    for model in (progress, first_model, two):
        hub.unmount(model)
    hub.close()
    assert hub._bundles == {}
    again = hub.mount("d", "sequence", {})
    assert again.bundle != first_model.bundle, "after an unload it is sent anew"
    hub.unmount(again)


def test_partial_update_is_sent_alone_and_kept_in_the_state(
    sent: list[tuple[str, dict[str, Any]]],
) -> None:
    view = hub.mount("a", "sequence", {"bases": "ACGT" * 1000, "selection": None})
    sent.clear()
    view.update_state({"selection": 7})
    ((kind, data),) = sent
    assert kind == "comm_msg"
    assert data == {"method": "custom", "content": {"change": {"selection": 7}}}
    assert view.get_state("state")["state"]["selection"] == 7
    assert len(view.get_state("state")["state"]["bases"]) == 4000
    hub.unmount(view)
