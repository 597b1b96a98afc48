"""Rate limit (LAB-90 to LAB-96) and IP ranges (LAB-71, LAB-72) over HTTPS."""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from labext.sandbox import Sandbox

pytestmark = pytest.mark.contract


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A sandbox of this file's own, which keeps the limits."""
    sandbox = Sandbox(tmp_path_factory.mktemp("paced") / "data", rate="named", workers=1)
    sandbox.start()
    yield sandbox
    sandbox.stop()


@pytest.fixture(scope="module")
def runner(own, kit):
    with kit.Runner.of(own) as made:
        yield made


def _left(answer) -> tuple[int, int, int]:
    limit, remaining, reset = (
        int(answer.headers[f"x-rate-limit-{name}"]) for name in ("limit", "remaining", "reset")
    )
    assert "Retry-After" not in answer.headers
    return limit, remaining, reset


def test_concurrent_calls_do_not_exceed_the_rate_limit(own, kit, runner):
    email, key = runner.user()
    api = kit.Api(own)
    with runner.limits(rate_seconds=600):  # a window that no machine is too slow for

        def ask(_: int) -> tuple[int, int]:
            answer = api.get("users/me", kit.basic(key))
            return answer.status_code, _left(answer)[1]

        with ThreadPoolExecutor(8) as pool:
            told = list(pool.map(ask, range(130)))
        assert Counter(status for status, _ in told) == {200: 100, 429: 30}
        assert sorted(left for status, left in told if status == 200) == [*range(100)]
        answer = api.get("dna-sequences", kit.basic(key))
        assert "100 requests in 600 seconds" in kit.message(answer, 429)
        assert _left(answer)[:2] == (100, 0)
        assert 0 < _left(answer)[2] <= 600
        # Everybody else goes on.
        assert api.get("users/me", kit.basic(own.lab.api_key)).status_code == 200
    statuses = Counter(entry["status"] for entry in runner.logged(user=email, limit=None))
    assert statuses == {200: 100, 429: 31}


def test_calls_are_accepted_again_after_the_reset(own, kit, runner):
    _, key = runner.user()
    api = kit.Api(own)
    with runner.limits(rate_requests=2, rate_seconds=1):
        while (answer := api.get("users/me", kit.basic(key))).status_code == 200:
            pass
        for _ in range(2):
            time.sleep(_left(answer)[2])
            answer = api.get("users/me", kit.basic(key))
            assert answer.status_code == 200


def test_default_rate_limit_is_100_calls_in_10_seconds(own, kit, runner):
    _, key = runner.user()
    assert _left(kit.Api(own).get("users/me", kit.basic(key))) == (100, 99, 10)
    _, client_id, secret = runner.app()
    answer = kit.Api(own).token(client_id, secret)
    assert not [name for name in answer.headers if name.lower().startswith("x-rate")]
    bearer = f"Bearer {answer.json()['access_token']}"
    assert _left(kit.Api(own).get("dna-sequences", bearer)) == (100, 99, 10)


def test_no_limit_where_the_sandbox_keeps_none(box, api, kit):
    answer = api.get("users/me", kit.basic(box.lab.api_key))
    assert not [name for name in answer.headers if name.lower().startswith("x-rate")]


def test_only_addresses_within_the_ip_ranges_are_accepted(own, kit, runner):
    inside, outside = kit.Api(own, address="127.0.0.1"), kit.Api(own, address="127.0.0.2")
    email, key = runner.user()
    _, client_id, secret = runner.app()
    bearer = f"Bearer {inside.token(client_id, secret).json()['access_token']}"
    credentials = [kit.basic(key), f"Bearer {runner.id_token(email)}", bearer]
    with runner.open_to(["127.0.0.1/32", "192.0.2.0/24"]):
        for each in credentials:
            assert inside.get("users/me", each).status_code in (200, 404)
            assert "IP address" in kit.message(outside.get("users/me", each), 403)
        (entry,) = runner.logged(user=email, status=403, limit=1)
        assert (entry["address"], entry["user"]) == ("127.0.0.2", email)
        refused = outside.token(client_id, secret)
        assert (refused.status_code, refused.json()["error"]) == (403, "access_denied")
        kit.message(outside.get("users/me", kit.basic("sk_x")), 401)
        # The other account has no ranges.
        key = (own.data_dir / "secrets" / "lab_clinic_clinician_key").read_text().strip()
        there = kit.Api(own, "clinic", address="127.0.0.2")
        assert there.get("users/me", kit.basic(key)).status_code == 200
    assert outside.get("users/me", credentials[0]).status_code == 200


def test_forwarded_address_is_ignored(own, kit, runner):
    """Proxies name the caller's address in headers; there is none before the sandbox."""
    email, key = runner.user()
    told = {"X-Forwarded-For": "192.0.2.7", "X-Real-IP": "192.0.2.7", "Forwarded": "for=192.0.2.7"}
    api = kit.Api(own, address="127.0.0.1")
    with runner.open_to(["192.0.2.0/24"]):
        refused = api.ask("GET", "users/me", kit.basic(key), headers=told)
        assert "IP address" in kit.message(refused, 403)
    (entry,) = runner.logged(user=email, limit=1)
    assert (entry["status"], entry["address"]) == (403, "127.0.0.1")
