"""After a kill nothing that was acknowledged is lost, and the password is the same."""

from __future__ import annotations

import threading
from typing import Any

import psutil
import pytest
import requests

pytestmark = pytest.mark.contract


def test_acknowledged_notes_survive_a_kill_once(new_box, kit) -> None:
    box = new_box()
    password, word = box.nb.password, kit.name()
    api = kit.api(box)
    notebook = api.notebook()
    acknowledged: dict[int, dict[str, Any]] = {}
    some = threading.Event()

    def write(worker: int) -> None:
        mine = kit.api(box)
        for number in range(worker, 10_000, 2):
            try:
                body = {"content": f"{word} number {number}", "notebook_id": notebook}
                acknowledged[number] = mine.call("POST", "notes", json=body)
            except requests.RequestException:
                return
            if len(acknowledged) >= 20:
                some.set()

    writers = [threading.Thread(target=write, args=[worker]) for worker in range(2)]
    for writer in writers:
        writer.start()
    assert some.wait(60)
    host = psutil.Process(box.status().pid)
    host.kill()
    host.wait(30)
    for writer in writers:
        writer.join(60)

    box.start()
    assert box.nb.password == password
    api = kit.api(box)
    result = api.call("GET", "notes", params={"notebook_id": notebook})
    by_content = {note["content"]: note for note in result}
    assert len(by_content) == len(result)
    # At most the two that were being written are there without their answer.
    assert len(acknowledged) <= len(result) <= len(acknowledged) + len(writers)
    for note in acknowledged.values():
        assert by_content[note["content"]] == note
    assert api.call("GET", f"notebooks/{notebook}")["note_count"] == len(result)
    hits = api.call("POST", "search", json={"query": word, "limit": 1000})["results"]
    assert {hit["parent_id"] for hit in hits} == {note["id"] for note in result}
