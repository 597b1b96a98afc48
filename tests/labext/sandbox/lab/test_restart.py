"""A platform continues after its host was killed."""

from __future__ import annotations

import contextlib
import gc
import random
import threading
from pathlib import Path

import pytest
import requests
from supervision import kill_host

pytestmark = pytest.mark.contract

KILLS = 3


def test_credentials_survive_a_killed_host(new_box, kit):
    box = new_box(services=["labext.sandbox.lab.app:service"])
    with kit.Runner.of(box) as runner:
        email, key = runner.user("Vectors")
        _, client_id, secret = runner.app("Vectors")
        api = kit.Api(box)
        access_token = api.token(client_id, secret).json()["access_token"]
        credentials = [kit.basic(key), f"Bearer {access_token}", f"Bearer {runner.id_token(email)}"]

        def first_page(**query):
            answers = [
                api.get("dna-sequences", credential, pageSize=1, **query).json()
                for credential in credentials
            ]
            assert answers == answers[:1] * 3
            return answers[0]

        before = first_page()
        second = first_page(nextToken=before["nextToken"])
        logged, lab = runner.logged(), box.lab
        certificate = Path(lab.ca_bundle).read_bytes()
        kill_host(box)
        box.start()
        assert box.lab == lab
        assert Path(lab.ca_bundle).read_bytes() == certificate
        assert runner.logged() == logged
        assert first_page() == before
        assert first_page(nextToken=before["nextToken"]) == second
        assert runner.logged()[6:] == logged


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_repeated_kills_neither_lose_nor_duplicate_tokens_and_entries(new_box, kit):
    box = new_box(services=["labext.sandbox.lab.app:service"])
    chance = random.Random(20261122)
    with kit.Runner.of(box) as runner:
        runner.user("Vectors")
        _, client_id, secret = runner.app("Vectors")
        before, attempts, tokens = len(runner.logged(limit=None)), 0, []
        for _ in range(KILLS):
            killer = threading.Timer(chance.uniform(0.02, 0.4), kill_host, [box])
            killer.start()
            api = kit.Api(box)
            while killer.is_alive():
                attempts += 1
                with contextlib.suppress(requests.RequestException, OSError):
                    tokens.append(api.token(client_id, secret).json()["access_token"])
            killer.join()
            box.start()
        entries = len(runner.logged(limit=None)) - before
        assert len(tokens) <= entries <= attempts
        assert len(set(tokens)) == len(tokens)
        api = kit.Api(box)
        for token in tokens:
            assert api.get("dna-sequences", f"Bearer {token}", pageSize=1).status_code == 200
        print(f"{KILLS} kills: {len(tokens)} of {attempts} tokens answered, {entries} log entries")
    # Python leaves a socket unclosed, in a reference cycle, whose connection was reset just before
    # its handshake. Collected later, it would fail another test.
    gc.collect()
