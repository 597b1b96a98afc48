"""Missing packages of each extra, from the distribution's requirements."""

from __future__ import annotations

import pytest

from labext import extras

REQUIRED = [
    "requests>=2.32",
    'nosuch-one[crypto]>=2.8; extra == "sandbox"',
    'pandas>=2; extra == "sandbox"',
    'labext-jupyter[sandbox]; extra == "demo"',
    'nosuch-two; extra == "demo"',
    'nosuch-three; extra == "dev"',
]


def test_missing_packages_of_each_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("labext.extras.metadata.requires", lambda name: REQUIRED)
    missing = {"": [], "sandbox": ["nosuch-one"], "demo": ["nosuch-two"]}
    assert extras.missing_packages() == missing
