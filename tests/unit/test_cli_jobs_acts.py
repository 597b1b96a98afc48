"""Every verb of `labext sandbox jobs` has its act, and every act its verb."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial

from labext import cli
from labext.cli_jobs_acts import ACTS


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from parsers(inner)


def test_verbs_and_acts_belong_together() -> None:
    runs = [each.get_default("run") for each in parsers(cli.parser())]
    named = {run.args[0] for run in runs if isinstance(run, partial)}
    assert named == set(ACTS)
