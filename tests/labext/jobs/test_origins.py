"""The initial input of a pipeline that each job comes from."""

from __future__ import annotations

import json
from typing import Any

from labext.jobs.results import frame


def pipeline(inputs: list[Any], *stages: dict[str, Any]) -> dict[str, Any]:
    settings = {
        "initialInputs": inputs,
        "stages": [{"task": "t", "toolSettings": s} for s in stages],
    }
    return {"JobName": "p", "Type": "pipeline", "Settings": json.dumps(settings)}


def job(name: str, type: str, **settings: Any) -> dict[str, Any]:
    return {"JobName": name, "Type": type, "Settings": json.dumps(settings)}


def test_input_is_traced_through_all_stages() -> None:
    row = pipeline(["ACD", "EFG"], {"a": {"s": "pipe"}}, {"b": {"f": "pipe"}}, {"c": {"f": "pipe"}})
    jobs = [
        (job("p-stage1-a-1", "a", s="ACD"), 1),
        (job("p-stage1-a-2", "a", s="EFG"), 1),
        (job("p-stage2-b-1", "b", f="p-stage1-a-1/x.pdb"), 2),
        (job("p-stage2-b-2", "b", f="p-stage1-a-2/x.pdb"), 2),
        (job("p-stage2-b-3", "b", f="p-stage1-a-2/y/z.pdb"), 2),
        (job("p-stage3-c-1", "c", f="p-stage2-b-3/z.pdb"), 3),
    ]
    assert frame.initial_inputs(row, jobs) == ["ACD", "EFG", "ACD", "EFG", "EFG", "EFG"]


def test_only_piped_settings_are_traced() -> None:
    row = pipeline(["ACD", "helix"], {"a": {"s": "pipe", "form": "helix"}}, {"b": {"f": "up.pdb"}})
    jobs = [
        (job("p-stage1-a-1", "a", form="helix", s="ACD"), 1),
        (job("p-stage2-b", "b", f="up.pdb"), 2),  # it runs in parallel with the others
    ]
    assert frame.initial_inputs(row, jobs) == ["ACD", None]


def test_input_may_be_an_output_path_or_a_number() -> None:
    row = pipeline(["old/x.pdb", "7"], {"a": {"f": "pipe"}}, {"b": {"n": "pipe"}})
    jobs = [
        (job("p-stage1-a-1", "a", f="old/x.pdb"), 1),
        (job("p-stage2-b-1", "b", n=7), 2),  # the input is ambiguous
    ]
    assert frame.initial_inputs(row, jobs) == ["old/x.pdb", None]
    alone = pipeline(["7"], {"a": {"n": "pipe"}})
    assert frame.initial_inputs(alone, [(job("p-stage1-a", "a", n=7), 1)]) == ["7"]


def test_content_of_an_output_is_not_taken_for_another_input() -> None:
    row = pipeline(["ATGAAG", "ATGAAA"], {"a": {"s": "pipe"}}, {"b": {"s": "pipe"}})
    jobs = [
        (job("p-stage1-a-1", "a", s="ATGAAG"), 1),
        (job("p-stage1-a-2", "a", s="ATGAAA"), 1),
        (job("p-stage2-b-1", "b", s="ATGAAA"), 2),  # made from the first
    ]
    assert frame.initial_inputs(row, jobs) == ["ATGAAG", "ATGAAA", None]


def test_number_or_boolean_has_the_input_that_it_was_read_from() -> None:
    row = pipeline(["30", " 4.50", "true", "x"], {"a": {"n": "pipe"}})
    jobs = [(job(f"p-stage1-a-{n}", "a", n=n), 1) for n in (4.5, 30, True, 31)]
    assert frame.initial_inputs(row, jobs) == [" 4.50", "30", "true", None]


def test_incomplete_rows_have_no_input() -> None:
    row = pipeline(["ACD", "EFG"])
    jobs = [(job("x", "a", s="ACD"), None), ({"JobName": "y", "Settings": "?"}, 4)]
    assert frame.initial_inputs(row, jobs) == ["ACD", None]
    assert frame.initial_inputs({"Settings": None}, jobs) == [None, None]
    odd = {"Settings": json.dumps({"initialInputs": [["ACD"]], "stages": [{"toolSettings": [1]}]})}
    assert frame.initial_inputs(odd, [(job("x", "a", s="ACD"), 1)]) == ['["ACD"]']
