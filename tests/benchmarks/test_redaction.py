"""Masking 2 MB of text: at most 100 ms of CPU time, also if it is truncated after `MAX_LENGTH`.

Hostile texts consist of nothing but the beginnings of keys.
"""

from __future__ import annotations

import base64
import html
import json
import random
import time
from collections.abc import Callable

import pytest

from labext.redaction import mask, register_secret

pytestmark = pytest.mark.benchmark

SIZE = 2_000_000

_random = random.Random(7)
_VOCABULARY = "the protein sequence job status error key token secret password api of a in to"
_WORDS = _VOCABULARY.split()
_ROWS = [
    {"name": f"seq{n}", "bases": "ACGT" * 20, "key": n, "url": f"https://lab.example/a?b={n}&c=d"}
    for n in range(SIZE // 140)
]
TEXTS: dict[str, Callable[[], str]] = {
    "prose": lambda: " ".join(_random.choices(_WORDS, k=SIZE // 5)),
    "prose with other letters": lambda: "é" + " ".join(_random.choices(_WORDS, k=SIZE // 5)),
    "JSON": lambda: json.dumps(_ROWS),
    "HTML of JSON": lambda: html.escape(json.dumps(_ROWS)),
    "base64": lambda: base64.b64encode(_random.randbytes(SIZE * 3 // 4)).decode(),
}
HOSTILE = (
    "?", "a?&", "?token=", "password=x ", 'password="', "password='x\n", "bearer ", "eyJ", "-eyJ",
    "sk-", "sk-a1", "://", "https://a:b@c ", "api key: ", "\\", "%41", "&amp;", "swordfish-",
)  # fmt: skip


@pytest.mark.parametrize("kind", [*TEXTS, *HOSTILE])
def test_masking(
    benchmark: Callable[[Callable[[], float]], float],
    request: pytest.FixtureRequest,
    figure: Callable[[str, str], None],
    kind: str,
) -> None:
    for secret in (
        "swordfish-of-the-deep-7",
        "sk-proj-abcdefgh1234567890",
        "p/ss+wo&rd<x>\"y'z\\w",
    ):
        register_secret(secret)
    size = SIZE if request.config.getoption("benchmark_only", False) else 20_000
    text = (TEXTS[kind]() if kind in TEXTS else kind * (size // len(kind)))[:size]

    def masking() -> float:
        started_at = time.process_time()
        mask(text)
        return time.process_time() - started_at

    masking()
    seconds = benchmark(masking)
    figure(f"mask {size:,} characters of {kind!r}", f"{seconds * 1000:.0f} ms")
