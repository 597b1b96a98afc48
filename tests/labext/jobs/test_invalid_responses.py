"""Every kind of request against every kind of bad answer: done once, or said what is so.

The ledger does what is asked and then spoils its answer, or says that it does not. Counted at the
service: what was acknowledged is there, and nothing is there twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from labext.errors import (
    AccessError,
    BusyError,
    LabextError,
    OutcomeUnknownError,
    ServiceError,
)
from labext.jobs import JobsClient

pytestmark = pytest.mark.faults

KEY = "ledger-key-0123456789"
SETTINGS = {"sequence": "GGGAAACCC"}
STAGES = [{"task": "Fold", "toolSettings": {"fold": {"sequence": "pipe"}}}]


@dataclass(frozen=True)
class Deed:
    """Something that a user asks for.

    Attributes:
        operation: the request that is spoilt.
        act: asks for it.
        is_done: says whether the service has it, once.
        changes: whether doing it twice would be wrong.
    """

    operation: str
    act: Callable[[JobsClient, Path], Any]
    is_done: Callable[[Any, Path], bool]
    changes: bool = True


def _batch(client: JobsClient, _: Path) -> Any:
    return client.submit_batch("b1", "fold", {f"j{n}": SETTINGS for n in range(120)})


def _upload(client: JobsClient, folder: Path) -> Any:
    (folder / "up.pdb").write_text("ATOM\n" * 1000)
    return client.upload(folder / "up.pdb")


DEEDS = {
    "submit": Deed(
        "submit-job",
        lambda client, _: client.submit("f1", "fold", SETTINGS),
        lambda ledger, _: sorted(ledger.rows) == ["done1", "f1"] and ledger.done["submit-job"] == 1,
    ),
    "batch": Deed(
        "submit-batch",
        _batch,
        lambda ledger, _: (
            {name: len(of) for name, of in ledger.members.items()}
            == {"b1-part1of2": 100, "b1-part2of2": 20}
            and ledger.done["submit-batch"] == 2
        ),
    ),
    "pipeline": Deed(
        "submit-pipeline",
        lambda client, _: client.submit_pipeline("p1", STAGES, ["ACD"]),
        lambda ledger, _: "p1" in ledger.rows and ledger.done["submit-pipeline"] == 1,
    ),
    "list": Deed(
        "jobs",
        lambda client, _: client.jobs()["JobName"].tolist() == ["done1"],
        lambda ledger, _: ledger.done["jobs"] >= 1,
        changes=False,
    ),
    "result": Deed(
        "result",
        lambda client, folder: client.download("done1", folder / "out"),
        lambda ledger, folder: (folder / "out" / "rank_1.pdb").read_text() == "ATOM done1\n",
        changes=False,
    ),
    "stop": Deed(
        "stop-job",
        lambda client, _: client.stop("done1"),
        lambda ledger, _: ledger.rows["done1"]["JobStatus"] == "Stopped",
        changes=False,
    ),
    "delete": Deed(
        "delete-job",
        lambda client, _: client.delete("done1"),
        lambda ledger, _: not ledger.rows and ledger.done["delete-job"] == 1,
    ),
    "upload": Deed(
        "upload",
        _upload,
        lambda ledger, _: set(ledger.files) == {"up.pdb"},
        changes=False,
    ),
}


def _head(raw: bytes) -> int:
    return raw.index(b"\r\n\r\n") + 4


def _length(raw: bytes, by: int) -> bytes:
    return re.sub(
        rb"Content-Length: (\d+)", lambda m: b"Content-Length: %d" % (int(m[1]) + by), raw, count=1
    )


SPOILT: dict[str, Callable[[Any], Any]] = {
    "cut before the answer": lambda ledger: ledger.lost_after(),
    "cut in the headers": lambda ledger: ledger.spoilt(lambda raw: raw[: _head(raw) // 2]),
    "cut at a header's value": lambda ledger: ledger.spoilt(
        lambda raw: raw[: raw.index(b"Length: ") + len("Length: ")]
    ),
    "cut after the headers": lambda ledger: ledger.spoilt(lambda raw: raw[: _head(raw)]),
    "cut in the body": lambda ledger: ledger.spoilt(
        lambda raw: raw[: (_head(raw) + len(raw)) // 2]
    ),
    "cut after the answer": lambda ledger: ledger.spoilt(lambda raw: raw),
    "stalls before": lambda ledger: ledger.spoilt(lambda _: b"", stalls=True),
    "stalls within": lambda ledger: ledger.spoilt(lambda raw: raw[: _head(raw) + 1], stalls=True),
    "too long a length": lambda ledger: ledger.spoilt(lambda raw: _length(raw, 7)),
    "half of JSON": lambda ledger: ledger.answer(body=b'{"jobs": [{"Jo', first_acts=True),
    "a web page": lambda ledger: ledger.html(first_acts=True),
    "a 500 after the fact": lambda ledger: ledger.answer(500, "disk on fire", first_acts=True),
    "a 502 after the fact": lambda ledger: ledger.answer(502, "bad gateway", first_acts=True),
    "no connection": lambda ledger: ledger.lost_before(),
    "a 503": lambda ledger: ledger.answer(503, "later", headers={"Retry-After": "0"}),
}


@pytest.fixture
def quick(ledger: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[JobsClient]:
    """A client that gives up on a silent service soon, on a service that has one job."""
    monkeypatch.setattr("labext.http.rate_limiter.LONGEST_WAIT", 0.02)
    ledger.add("done1", "fold", SETTINGS)
    ledger.complete("done1")
    with JobsClient(ledger.url, KEY, rate=None) as client:
        client._http._options = replace(client._http._options, timeout=(2, 0.4))
        client.tools()  # the service is known to be there
        yield client


@pytest.mark.parametrize("how", SPOILT)
@pytest.mark.parametrize("what", DEEDS)
def test_one_bad_answer_changes_nothing(
    quick: JobsClient, ledger: Any, tmp_path: Path, what: str, how: str
) -> None:
    deed = DEEDS[what]
    ledger.fail(deed.operation, SPOILT[how](ledger))
    assert deed.act(quick, tmp_path)
    assert deed.is_done(ledger, tmp_path)


@pytest.mark.parametrize("what", DEEDS)
def test_a_length_that_is_too_short_loses_words_and_no_deed(
    quick: JobsClient, ledger: Any, tmp_path: Path, what: str
) -> None:
    deed = DEEDS[what]
    ledger.fail(deed.operation, ledger.spoilt(lambda raw: _length(raw, -3)))
    assert deed.act(quick, tmp_path)
    assert deed.is_done(ledger, tmp_path)


@pytest.mark.parametrize(
    ("status", "words", "error"),
    [
        (429, "Slow down, please", BusyError),
        (500, "disk on fire", ServiceError),
        (502, "bad gateway", ServiceError),
        (503, "in maintenance", ServiceError),
        (504, "gateway timeout", ServiceError),
    ],
)
@pytest.mark.parametrize("what", DEEDS)
def test_a_storm_that_lasts_is_told_and_bounded(
    quick: JobsClient,
    ledger: Any,
    tmp_path: Path,
    what: str,
    status: int,
    words: str,
    error: type[LabextError],
) -> None:
    deed = DEEDS[what]
    ledger.fail(deed.operation, *[ledger.answer(status, words)] * 99)
    with pytest.raises(error, match=words):
        deed.act(quick, tmp_path)
    assert ledger.count(deed.operation) <= 15, "five tries, of a submission three times"
    if deed.changes:
        assert ledger.done[deed.operation] == 0
    ledger.scripts.clear()
    assert deed.act(quick, tmp_path), "the same again, when the storm is over"
    assert deed.is_done(ledger, tmp_path)


@pytest.mark.parametrize("asked", [None, "0"])
@pytest.mark.parametrize("what", DEEDS)
def test_a_storm_that_passes_is_waited_for(
    quick: JobsClient, ledger: Any, tmp_path: Path, what: str, asked: str | None
) -> None:
    deed = DEEDS[what]
    headers = {} if asked is None else {"Retry-After": asked}
    ledger.fail(deed.operation, *[ledger.answer(429, "Slow down", headers=headers)] * 4)
    assert deed.act(quick, tmp_path)
    assert deed.is_done(ledger, tmp_path)


FLOOD = "Request blocked. Too many requests from this address."


@pytest.mark.parametrize("what", DEEDS)
def test_a_403_for_every_address_is_told_in_the_services_words(
    quick: JobsClient, ledger: Any, tmp_path: Path, what: str
) -> None:
    deed = DEEDS[what]
    for operation in ("tools", "jobs", "files", "validate-job", deed.operation):
        ledger.fail(operation, *[ledger.answer(403, FLOOD)] * 99)
    with pytest.raises(AccessError, match="Request blocked") as raised:
        deed.act(quick, tmp_path)
    assert "budget" not in str(raised.value)
    assert "after too many requests the service refuses all for a while" in raised.value.next_step
    assert ledger.done[deed.operation] == 0
    assert sum(ledger.count(each) for each in ledger.scripts) <= 3, "a flood is not answered by one"
    ledger.scripts.clear()
    assert deed.act(quick, tmp_path)
    assert deed.is_done(ledger, tmp_path)


@pytest.mark.parametrize("what", ["submit", "batch", "pipeline"])
def test_what_cannot_be_known_says_what_was_sent_and_how_to_find_out(
    quick: JobsClient, ledger: Any, tmp_path: Path, what: str
) -> None:
    deed = DEEDS[what]
    ledger.fail(deed.operation, ledger.spoilt(lambda _: b"", stalls=True))
    looks = {"submit": 1, "batch": 2, "pipeline": 1}[what]
    ledger.fail("jobs", *[None] * looks, *[ledger.answer(403, FLOOD)] * 99)
    with pytest.raises(OutcomeUnknownError, match="was sent, but its answer was lost") as raised:
        deed.act(quick, tmp_path)
    said, step = {
        "submit": (r"f1 \(1 job of fold\) was sent", '`jobs.show("f1")`'),
        "batch": (r"b1-part1of2 \(100 jobs of fold\) was sent", '`jobs.resume("b1")`'),
        "pipeline": (r"p1 \(1 pipeline\) was sent", '`jobs.show("p1")`'),
    }[what]
    assert re.search(said, raised.value.message)
    assert step in raised.value.next_step
    ledger.scripts.clear()
    assert deed.act(quick, tmp_path)
    assert deed.is_done(ledger, tmp_path)
