"""Every verb of `labext sandbox jobs|lab` has its act, and every act its verb."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest

from labext import cli
from labext.cli.nouns import Lazy, run
from labext.sandbox import Sandbox
from labext.sandbox.control import SandboxStatus

MODULES = (
    "labext.cli.jobs_acts",
    "labext.cli.lab_acts",
    "labext.cli.lab_place_acts",
    "labext.cli.lab_rule_acts",
    "labext.cli.nb_acts",
    "labext.cli.nb_model_acts",
)


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    if isinstance(parser, Lazy):
        parser.complete()
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from parsers(inner)


@pytest.mark.parametrize("module", MODULES)
def test_verbs_and_acts_belong_together(module: str) -> None:
    runs = [each.get_default("run") for each in parsers(cli.parser())]
    named = [each.args for each in runs if isinstance(each, partial) and each.func is run]
    assert {name for name, _ in named} == set(MODULES)
    assert {act for name, act in named if name == module} == set(import_module(module).ACTS)


def test_every_tenant_can_be_named() -> None:
    from labext.cli.lab import TENANTS
    from labext.sandbox.lab import doors

    assert tuple(doors.TENANTS) == TENANTS


@pytest.mark.parametrize("count", ["-1", "many", "1.5"])
def test_sequences_are_counted_from_zero(count: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["sandbox", "start", "--sequences", count])
    assert ended.value.code == 2
    assert "--sequences" in capsys.readouterr().err


def test_a_sandbox_is_started_with_the_sequences_asked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = []

    class Started(Sandbox):
        def start(self) -> SandboxStatus:
            asked.append(self._options["sequences"])
            return SandboxStatus("running", self.data_dir)

    monkeypatch.setattr("labext.sandbox.Sandbox", Started)
    for words in ([], ["--sequences", "0"], ["--sequences", "5000"]):
        assert cli.main(["sandbox", "start", "--data-dir", str(tmp_path), *words]) == 0
    assert asked == [None, 0, 5000]
