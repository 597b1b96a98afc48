"""Results whose download is cut: taken up where it was, and the same in the end."""

from __future__ import annotations

import hashlib
import random
import re
from pathlib import Path
from typing import Any

import pytest

from labext.jobs import JobsClient

pytestmark = pytest.mark.faults

CUTS = 20


@pytest.fixture
def chance() -> random.Random:
    return random.Random(2026)


def complete(ledger: Any, chance: random.Random) -> str:
    """Complete a job with an archive of a megabyte that nothing packs; return its checksum."""
    if "f1" not in ledger.rows:
        ledger.add("f1", "fold", {"sequence": "A"})
    ledger.complete("f1", results={"trace.bin": chance.randbytes(1_000_000).hex()})
    return hashlib.sha256(ledger.archives["f1"]).hexdigest()


def cut(ledger: Any, at: int) -> Any:
    """Cut an answer, or the rest of one that was cut before, at a byte of the archive."""

    def spoil(raw: bytes) -> bytes:
        rest = re.search(rb"Content-Range: bytes (\d+)-", raw)
        head = raw.index(b"\r\n\r\n") + 4
        return raw[: head + at - (int(rest[1]) if rest else 0)]

    return ledger.spoilt(spoil)


def cuts(ledger: Any, chance: random.Random, count: int) -> list[Any]:
    """Return cuts at random bytes of the archive, in their order."""
    return [
        cut(ledger, at) for at in sorted(chance.sample(range(len(ledger.archives["f1"])), count))
    ]


def checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def served(ledger: Any) -> int:
    return sum(1 for name, query, _ in ledger.received if name == "download" and query["range"])


def test_twenty_cuts_at_random_bytes_end_in_the_same_checksum(
    client: JobsClient, ledger: Any, chance: random.Random, tmp_path: Path
) -> None:
    wanted = complete(ledger, chance)
    ledger.fail("download", *cuts(ledger, chance, CUTS))
    got = client.download("f1", tmp_path / "out")
    assert got.archive is not None
    assert checksum(got.archive) == wanted
    assert ledger.count("download") == CUTS + 1
    assert served(ledger) == CUTS, "it goes on where it was cut"
    assert not client.download("f1", tmp_path / "out").fetched


def test_results_that_changed_in_between_begin_anew(
    client: JobsClient, ledger: Any, chance: random.Random, tmp_path: Path
) -> None:
    old = complete(ledger, chance)
    new = ""

    def changing(raw: bytes) -> bytes:
        nonlocal new
        new = complete(ledger, chance)
        return raw[: len(raw) // 2]

    ledger.fail("download", ledger.spoilt(changing))
    got = client.download("f1", tmp_path / "f1.zip")
    assert got.archive is not None
    assert checksum(got.archive) == new != old


def test_a_store_without_ranges_begins_anew(
    client: JobsClient, ledger: Any, chance: random.Random, tmp_path: Path
) -> None:
    ledger.ranges = False
    wanted = complete(ledger, chance)
    ledger.fail("download", *cuts(ledger, chance, 4))
    got = client.download("f1", tmp_path / "f1.zip")
    assert got.archive is not None
    assert checksum(got.archive) == wanted
    assert served(ledger) == 0
