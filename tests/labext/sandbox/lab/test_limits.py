"""Rate limit (LAB-90 to LAB-96) and IP ranges (LAB-71, LAB-72) over HTTPS."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from labext.sandbox import Sandbox

pytestmark = pytest.mark.contract


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A separate sandbox with rate limits."""
    sandbox = Sandbox(tmp_path_factory.mktemp("paced") / "data", rate="named", workers=1)
    sandbox.start()
    yield sandbox
    sandbox.stop()


@pytest.fixture(scope="module")
def runner(own, kit):
    with kit.Runner.of(own) as created:
        yield created


def _limit_headers(response) -> tuple[int, int, int]:
    limit, remaining, reset = (
        int(response.headers[f"x-rate-limit-{name}"]) for name in ("limit", "remaining", "reset")
    )
    assert "Retry-After" not in response.headers
    return limit, remaining, reset


def test_concurrent_calls_do_not_exceed_the_rate_limit(own, kit, runner):
    email, key = runner.user()
    api = kit.Api(own)
    with runner.limits(rate_seconds=600):  # a window long enough for slow machines

        def request(_: int) -> tuple[int, int]:
            response = api.get("users/me", kit.basic(key))
            return response.status_code, _limit_headers(response)[1]

        with ThreadPoolExecutor(8) as pool:
            outcomes = list(pool.map(request, range(130)))
        assert Counter(status for status, _ in outcomes) == {200: 100, 429: 30}
        assert sorted(left for status, left in outcomes if status == 200) == [*range(100)]
        response = api.get("dna-sequences", kit.basic(key))
        assert "100 requests in 600 seconds" in kit.message(response, 429)
        assert _limit_headers(response)[:2] == (100, 0)
        assert 0 < _limit_headers(response)[2] <= 600
        # Other callers are not affected.
        assert api.get("users/me", kit.basic(own.lab.api_key)).status_code == 200
    statuses = Counter(entry["status"] for entry in runner.logged(user=email, limit=None))
    assert statuses == {200: 100, 429: 31}


def test_forwarded_address_is_ignored(own, kit, runner):
    """Clients could forge the forwarding headers, since no proxy is in front of the sandbox."""
    email, key = runner.user()
    headers = {
        "X-Forwarded-For": "192.0.2.7",
        "X-Real-IP": "192.0.2.7",
        "Forwarded": "for=192.0.2.7",
    }
    api = kit.Api(own, address="127.0.0.1")
    with runner.open_to(["192.0.2.0/24"]):
        refused = api.request("GET", "users/me", kit.basic(key), headers=headers)
        assert "IP address" in kit.message(refused, 403)
    (entry,) = runner.logged(user=email, limit=1)
    assert (entry["status"], entry["address"]) == (403, "127.0.0.1")
