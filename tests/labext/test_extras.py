"""What is missing of each extra, out of the distribution's own requirements."""

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


def test_a_package_counts_with_or_without_an_extra_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("labext.extras.metadata.requires", lambda name: REQUIRED)
    missing = {"": [], "sandbox": ["nosuch-one"], "demo": ["nosuch-two"]}
    assert extras.missing_packages() == missing
