"""Arguments of another type or form than documented are refused in one line, before a request."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from labext.errors import InputError
from labext.jobs import JobsClient, tools

SETTINGS = {"sequence": "ACG"}
FRAME = pd.DataFrame({"sequence": ["ACG"], "name": ["x"]})
PDB = "ATOM      1  N   MET A   1      11.104  13.207   2.100\n" * 100
"""The content of a file, passed instead of its path."""


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: c.submit_batch("b", FRAME, "fold"), r'no tool " *sequence name.*"'),
        (lambda c: c.submit("f1", ["fold"], {}), r"no tool \"\['fold'\]\""),
        (lambda c: c.submit("f1", "fold", [("sequence", "A")]), "are a list"),
        (lambda c: c.submit("f1", None, {}), 'no tool "None"'),
        (lambda c: c.submit("f1", "fold", None), "are a NoneType, not a mapping"),
        (lambda c: c.submit("a b", "fold", SETTINGS), "contains a space"),
        (lambda c: c.submit("f1", "fold", SETTINGS, 5), "not a project identifier"),
        (lambda c: c.submit_batch("b-part1of2", "fold", {"a": SETTINGS}), "part of a split batch"),
        (lambda c: c.jobs(limit=0), "The limit is 0"),
        (lambda c: c.jobs(limit="5"), "The limit is '5'"),
        (lambda c: c.jobs(limit=2.5), r"The limit is 2\.5"),
        (lambda c: c.tool(["fold"]), r"no tool \"\['fold'\]\""),
        (lambda c: c.estimate(["fold"], []), r"no tool \"\['fold'\]\""),
        (lambda c: c.estimate("fold", FRAME), "not a list of settings"),
        (lambda c: c.estimate("fold", {"sequence": "A"}), "not a list of settings"),
        (lambda c: c.submit_batch("b", "fold", FRAME, mapping=["sequence"]), "are a list"),
        (lambda c: c.submit_batch("b", "fold", FRAME, mapping="sequence=name"), "are a str"),
        (lambda c: c.submit_batch("b", "fold", FRAME, FRAME), "are a DataFrame"),
        (lambda c: c.check_batch("b", "fold", FRAME, "temperature=30"), "are a str"),
        (lambda c: c.jobs(state=["Failed", "Stopped"]), "state is a list"),
        (lambda c: list(c.iter_jobs(tool=["fold"])), "name of the tool is a list"),
        (lambda c: c.jobs(batch="b", rows=[{"name": "x"}], name_column="name"), "are a list"),
        (lambda c: c.download("f1", "out", file=["a.pdb", "b.pdb"]), "file is a list"),
        (lambda c: c.read_result("f1", None), "file is a NoneType"),
        (lambda c: c.wait("b", timedelta(minutes=5)), "Give seconds, such as `timeout=300`"),
        (lambda c: c.upload(__file__, Path("structures")), "folder is a P"),
    ],
)
def test_invalid_argument_is_refused(
    client: JobsClient, ledger: Any, call: Callable[[JobsClient], Any], message: str
) -> None:
    ledger.add_batch("b", {"x": {"sequence": "ACG"}})
    with pytest.raises(InputError, match=message) as raised:
        call(client)
    assert "\n" not in str(raised.value)
    assert not any(ledger.count(path) for path in ("submit-job", "submit-batch", "result"))


def test_unknown_tool_of_a_sandbox_hints_at_the_tools_to_install(
    client: JobsClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match='no tool "primer_design"') as elsewhere:
        client.tool("primer_design")
    assert "`labext doctor`" not in elsewhere.value.next_step
    monkeypatch.setattr(tools, "is_sandbox", client.base_url.startswith)
    with pytest.raises(InputError, match='no tool "primer_design"') as raised:
        client.tool("primer_design")
    assert raised.value.next_step.endswith("`labext doctor` shows tools that have to be installed.")
    with pytest.raises(InputError, match='did you mean "fold"') as misspelt:
        client.tool("fol")
    assert "`labext doctor`" not in misspelt.value.next_step


@pytest.mark.parametrize("call", [lambda c: c.upload(PDB), lambda c: c.download("f1", PDB)])
def test_content_of_a_file_is_not_a_path(client: JobsClient, ledger: Any, call: Any) -> None:
    ledger.add("f1", settings={"sequence": "A"})
    ledger.complete("f1")
    with pytest.raises(InputError, match="is not a path") as raised:
        call(client)
    assert len(str(raised.value)) < 200


def test_name_that_is_too_long_is_no_file(client: JobsClient, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no file"):
        client.upload(tmp_path / ("n" * 300))
