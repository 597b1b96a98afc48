"""A platform whose host was killed takes up where it stopped."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from labext.sandbox.folder import Lock


def test_what_was_handed_out_is_good_after_the_host_was_killed(new_box, kit):
    box = new_box(services=["labext.sandbox.lab.app:service"])
    with kit.Runner.of(box) as runner:
        email, key = runner.user("Vectors")
        _, client_id, secret = runner.app("Vectors")
        api = kit.Api(box)
        access_token = api.token(client_id, secret).json()["access_token"]
        credentials = [kit.basic(key), f"Bearer {access_token}", f"Bearer {runner.id_token(email)}"]

        def first_page(**query):
            answers = [
                api.get("dna-sequences", each, pageSize=1, **query).json() for each in credentials
            ]
            assert answers == answers[:1] * 3
            return answers[0]

        before = first_page()
        second = first_page(nextToken=before["nextToken"])
        logged, lab = runner.logged(), box.lab
        certificate = Path(lab.ca_bundle).read_bytes()
        _kill(box)
        box.start()
        assert box.lab == lab
        assert Path(lab.ca_bundle).read_bytes() == certificate
        assert runner.logged() == logged
        assert first_page() == before
        assert first_page(nextToken=before["nextToken"]) == second
        assert runner.logged()[6:] == logged


def _kill(box):
    lock = Lock(box.data_dir / "host.lock")
    os.kill(box.status().pid, signal.SIGKILL)
    until = time.monotonic() + 60
    while lock.is_held():  # its last thread keeps its files open a moment longer
        assert time.monotonic() < until
        time.sleep(0.01)
