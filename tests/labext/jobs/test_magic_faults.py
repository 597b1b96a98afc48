"""Requests sent by the options of `%jobs` lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from IPython.core.interactiveshell import InteractiveShell

pytestmark = pytest.mark.faults
MATE = "mate@lab.org"
BATCH = "%jobs batch few --type fold --from rows --name-column name --map sequence=bases"
STAGES = "stages: [{task: Fold, toolSettings: {fold: {sequence: pipe}}}]"


@pytest.fixture
def shell(
    new_shell: Callable[[], InteractiveShell],
    ledger: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> InteractiveShell:
    """A shell in a new folder, and a service with two jobs."""
    monkeypatch.chdir(tmp_path)
    Path("a.pdb").write_text("ATOM")
    ledger.files.append("old.pdb")
    ledger.usage = {"total": 1}
    for name in ("f1", "f2"):
        ledger.add(name, settings={"sequence": "A"})
    ledger.complete("f1")
    ip = new_shell()
    ip.push({"rows": pd.DataFrame({"name": ["a", "b"], "bases": ["A", "C"]})})
    return ip


LINES: list[tuple[str, str, dict[str, Any]]] = [
    ("%jobs list --organization", "jobs", {"organization": "true"}),
    (f"%jobs list --email {MATE}", "jobs", {"jobEmail": MATE}),
    ("%jobs list --limit 1 --start-key 1", "jobs", {"limit": "1", "startKey": "1"}),
    (f"%jobs show f1 --email {MATE}", "jobs", {"jobName": "f1", "jobEmail": MATE}),
    ("%jobs files --folder sets", "files", {"folder": "sets"}),
    ("%jobs files --folders", "files", {"includeFolders": "true"}),
    ("%jobs upload a.pdb --folder sets", "upload", {"name": "a.pdb", "folder": "sets"}),
    (
        "%jobs usage --statistic jobs --scope organization",
        "usage-statistics",
        {"statistic": "jobs", "scope": "organization"},
    ),
    (
        "%jobs submit fold --name s1 --project proj_7 --set sequence=A",
        "submit-job",
        {"jobName": "s1", "projectTag": "proj_7"},
    ),
    (f"{BATCH} --max-runtime 60", "submit-batch", {"maxRuntimeSeconds": 60}),
    (f"{BATCH.replace('few', 'two')} --budget 1.5", "submit-batch", {"weightedHoursBudget": 1.5}),
    (
        f"%%jobs pipeline p1 --project proj_7\ninitialInputs: [ACD]\n{STAGES}",
        "submit-pipeline",
        {"projectTag": "proj_7", "initialInputs": ["ACD"]},
    ),
    (
        '%jobs run-pipeline saved --name p2 --inputs {["A"]} --project proj_7',
        "run-pipeline",
        {"projectTag": "proj_7", "pipelineName": "saved"},
    ),
    ("%jobs results f1 --pdbs-only", "result", {"pdbsOnly": True}),
    (f"%jobs results f1 --email {MATE}", "result", {"jobEmail": MATE}),
    (
        "%jobs upload a.pdb --presigned --folder sets",
        "getPresignedUploadUrl",
        {"filename": "a.pdb", "folder": "sets"},
    ),
]


def test_lines_send_their_options(shell: InteractiveShell, ledger: Any) -> None:
    for line, operation, fields in LINES:
        ledger.received.clear()
        shell.run_cell(line).raise_error()
        requests = [
            query | (body if isinstance(body, dict) else {})
            for name, query, body in ledger.received
            if name == operation
        ]
        assert any(fields.items() <= request.items() for request in requests), (line, requests)


@pytest.mark.parametrize("line", ["show", "watch", "list --batch", "results"])
def test_email_option_is_sent_with_every_request(
    shell: InteractiveShell, ledger: Any, line: str
) -> None:
    for batch in ("few", "split-part1of2", "split-part2of2"):
        ledger.add_batch(batch, {"a": {}})
        ledger.complete(batch)
    for name in ("f1", "few", "split"):
        ledger.received.clear()
        done = shell.run_cell(f"%jobs {line} {name} --email {MATE}")
        assert done.success == ((line, name) != ("list --batch", "f1"))
        requests = [q | (b or {}) for name, q, b in ledger.received if name in ("jobs", "result")]
        assert requests
        assert {request.get("jobEmail") for request in requests} == {MATE}


def test_results_of_given_rows_are_a_frame(shell: InteractiveShell, ledger: Any) -> None:
    ledger.add_batch("few", {"b": {}, "a": {}})
    ledger.complete("few")
    line = "%jobs results few --from rows --name-column name"
    shell.run_cell(f"{line} --frame --out kept").raise_error()
    assert shell.user_ns["kept"][["Name", "bases"]].to_numpy().tolist() == [["a", "A"], ["b", "C"]]
    assert "need `--frame`" in str(shell.run_cell(line).error_in_exec)


def test_tool_search_covers_name_title_and_description(
    shell: InteractiveShell, ledger: Any
) -> None:
    ledger.tools[0] |= {"name": "x1", "displayName": "Fold it", "description": "It folds."}
    for word in ("X1", "FOLDS.", "Fold it", "nothing"):
        shell.run_cell(f'found = %jobs tools "{word}"').raise_error()
        assert len(shell.user_ns["found"]) == (word != "nothing")
