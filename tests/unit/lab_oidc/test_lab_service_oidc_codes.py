"""The codes that are out: good once, for a minute, and bounded in number."""

from __future__ import annotations

from typing import Any

import pytest

from labext.sandbox.lab.oidc.asking import (
    CODE_SECONDS,
    MOST_CODES,
    Asked,
    Client,
    Codes,
    Refused,
    challenge_of,
)

VERIFIER = "v" * 43
ASKED = Asked(Client("ours", "http://localhost/", None), challenge_of(VERIFIER), None)


def form(code: str) -> dict[str, str]:
    return {
        "code": code,
        "client_id": "ours",
        "redirect_uri": "http://localhost/",
        "code_verifier": VERIFIER,
    }


def test_the_challenge_is_that_of_the_rfc() -> None:
    """RFC 7636, appendix B."""
    verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    assert challenge_of(verifier) == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


def test_a_code_is_good_for_a_minute(clock: Any) -> None:
    codes = Codes(clock)
    one, other = codes.new(ASKED, "a@b.c"), codes.new(ASKED, "d@e.f")
    clock.now += CODE_SECONDS - 0.1
    assert codes.taken(form(one)) == (ASKED, "a@b.c")
    clock.now += 0.1
    with pytest.raises(Refused) as refused:
        codes.taken(form(other))
    assert refused.value.error == "invalid_grant"


def test_the_oldest_give_way_to_new_ones(clock: Any) -> None:
    codes = Codes(clock)
    given = [codes.new(ASKED, "a@b.c") for _ in range(MOST_CODES + 1)]
    with pytest.raises(Refused):
        codes.taken(form(given[0]))
    assert codes.taken(form(given[1])) == codes.taken(form(given[-1]))


def test_an_address_keeps_its_own_query() -> None:
    client = Client("ours", "http://localhost/?a=1&b=", "s&t")
    assert client.address(code="c") == "http://localhost/?a=1&b=&code=c&state=s%26t"
