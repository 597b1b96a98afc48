"""Every operation against every kind of invalid response: processed exactly once or reported.

The service processes each request and damages its response, or does not process it; its record of
requests shows that nothing was lost or done twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from labext.errors import OutcomeUnknownError
from labext.jobs import JobsClient

pytestmark = [pytest.mark.faults, pytest.mark.usefixtures("small_parts")]
SETTINGS = {"sequence": "GGGAAACCC"}
STAGES = [{"task": "Fold", "toolSettings": {"fold": {"sequence": "pipe"}}}]


@dataclass(frozen=True)
class OperationCase:
    """An operation of the client.

    Attributes:
        operation: the request with the invalid response.
        act: calls the client.
        is_done: returns True if the service processed the operation exactly once.
    """

    operation: str
    act: Callable[[JobsClient, Path], Any]
    is_done: Callable[[Any, Path], bool]


def _batch(client: JobsClient, _: Path) -> Any:
    return client.submit_batch("b1", "fold", {f"j{n}": SETTINGS for n in range(12)}).created


def _upload(client: JobsClient, folder: Path) -> Any:
    (folder / "up.pdb").write_text("ATOM\n" * 1000)
    return client.upload(folder / "up.pdb")


OPERATIONS = {
    "submit": OperationCase(
        "submit-job",
        lambda client, _: client.submit("f1", "fold", SETTINGS).created,
        lambda ledger, _: sorted(ledger.rows) == ["done1", "f1"] and ledger.done["submit-job"] == 1,
    ),
    "batch": OperationCase(
        "submit-batch",
        _batch,
        lambda ledger, _: (
            {name: len(of) for name, of in ledger.members.items()}
            == {"b1-part1of2": 10, "b1-part2of2": 2}
            and ledger.done["submit-batch"] == 2
        ),
    ),
    "pipeline": OperationCase(
        "submit-pipeline",
        lambda client, _: client.submit_pipeline("p1", STAGES, ["ACD"]).created,
        lambda ledger, _: "p1" in ledger.rows and ledger.done["submit-pipeline"] == 1,
    ),
    "list": OperationCase(
        "jobs",
        lambda client, _: client.jobs()["JobName"].tolist() == ["done1"],
        lambda ledger, _: ledger.done["jobs"] >= 1,
    ),
    "result": OperationCase(
        "result",
        lambda client, folder: client.download("done1", folder / "out"),
        lambda ledger, folder: (folder / "out" / "rank_1.pdb").read_text() == "ATOM done1\n",
    ),
    "delete": OperationCase(
        "delete-job",
        lambda client, _: client.delete("done1"),
        lambda ledger, _: not ledger.rows and ledger.done["delete-job"] == 1,
    ),
    "upload": OperationCase("upload", _upload, lambda ledger, _: set(ledger.files) == {"up.pdb"}),
}


def _head(raw: bytes) -> int:
    return raw.index(b"\r\n\r\n") + 4


RESPONSES: dict[str, Callable[[Any], Any]] = {
    "cut before the answer": lambda ledger: ledger.lost_after(),
    "cut in the headers": lambda ledger: ledger.corrupted(lambda raw: raw[: _head(raw) // 2]),
    "cut in the body": lambda ledger: ledger.corrupted(
        lambda raw: raw[: (_head(raw) + len(raw)) // 2]
    ),
    "cut after the answer": lambda ledger: ledger.corrupted(lambda raw: raw),
    "stalls within": lambda ledger: ledger.corrupted(
        lambda raw: raw[: _head(raw) + 1], stalls=True
    ),
    "too long a length": lambda ledger: ledger.corrupted(
        lambda raw: raw.replace(b"Content-Length: ", b"Content-Length: 1")
    ),
    "half of JSON": lambda ledger: ledger.answer(body=b'{"jobs": [{"Jo', first_acts=True),
    "a web page": lambda ledger: ledger.html(first_acts=True),
    "a 500 after the fact": lambda ledger: ledger.answer(500, "disk on fire", first_acts=True),
    "no connection": lambda ledger: ledger.lost_before(),
    "a web page without processing": lambda ledger: ledger.html(),
    "a 500 without processing": lambda ledger: ledger.answer(500, "disk on fire"),
    "a 503": lambda ledger: ledger.answer(503, "later", headers={"Retry-After": "0"}),
}


@pytest.fixture
def quick(client: JobsClient, ledger: Any, monkeypatch: pytest.MonkeyPatch) -> JobsClient:
    """A client with a short timeout, on a service that has one job."""
    monkeypatch.setattr("labext.http.rate_limiter.LONGEST_WAIT", 0.02)
    ledger.add("done1", "fold", SETTINGS)
    ledger.complete("done1")
    client._http._options = replace(client._http._options, timeout=(2, 0.4))
    client.tools()  # the service is known to be reachable
    return client


REPRESENTATIVE = ("cut in the body", "half of JSON", "a 500 after the fact", "no connection")


@pytest.mark.parametrize(
    ("operation_name", "how"),
    [
        *((name, how) for name in ("submit", "list", "delete", "upload") for how in RESPONSES),
        *((name, how) for name in ("batch", "pipeline", "result") for how in REPRESENTATIVE),
    ],
)
def test_operation_succeeds_once_despite_an_invalid_response(
    quick: JobsClient, ledger: Any, tmp_path: Path, operation_name: str, how: str
) -> None:
    case = OPERATIONS[operation_name]
    ledger.fail(case.operation, RESPONSES[how](ledger))
    assert case.act(quick, tmp_path)
    assert case.is_done(ledger, tmp_path)


BLOCKED = "Request blocked. Too many requests from this address."


@pytest.mark.parametrize("operation_name", ["submit", "batch", "pipeline"])
def test_unknown_outcome_names_the_submission_and_the_next_step(
    quick: JobsClient, ledger: Any, tmp_path: Path, operation_name: str
) -> None:
    case = OPERATIONS[operation_name]
    ledger.fail(case.operation, ledger.corrupted(lambda _: b"", stalls=True))
    polls = 2 if operation_name == "batch" else 1
    ledger.fail("jobs", *[None] * polls, *[ledger.answer(403, BLOCKED)] * 99)
    with pytest.raises(OutcomeUnknownError, match="was sent, but the response was lost") as raised:
        case.act(quick, tmp_path)
    message, step = {
        "submit": (r"f1 \(1 job of fold\) was sent", '`jobs.show("f1")`'),
        "batch": (r"b1-part1of2 \(10 jobs of fold\) was sent", '`jobs.resume("b1")`'),
        "pipeline": (r"p1 \(1 pipeline\) was sent", '`jobs.show("p1")`'),
    }[operation_name]
    assert re.search(message, raised.value.message)
    assert step in raised.value.next_step
    ledger.scripts.clear()
    case.act(quick, tmp_path)
    assert case.is_done(ledger, tmp_path)
