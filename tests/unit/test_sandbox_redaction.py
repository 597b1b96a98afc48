"""No secret is in what the sandbox keeps or shows of a failure, nor half of one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from labext.lab.auth.tokens import Token
from labext.redaction import keep_secret
from labext.sandbox import daemon, runner
from labext.sandbox.lab.tokens import Credentials

SECRET = "swordfish-of-the-deep"


@pytest.fixture(autouse=True)
def known() -> None:
    keep_secret(SECRET)


def test_end_of_a_log_never_begins_within_a_secret(tmp_path: Path) -> None:
    log = tmp_path / "log"
    for missing in range(1, len(SECRET) - 3):
        log.write_text(f"{'x' * 100}{SECRET}{'y' * (65_536 - len(SECRET) + missing)}")
        assert SECRET[missing:] not in daemon.last_words(log, 0)


def test_last_line_of_a_long_log_is_shown(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("line\n" * 20_000 + "the end\n")
    assert daemon.last_words(tmp_path / "log", 0) == "the end"


def test_reason_of_a_failed_task_is_masked_before_it_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def entry(work: Path, payload: dict[str, object]) -> None:
        raise ValueError(f"{'x' * (runner.REASON_LENGTH - 30)} {SECRET}")

    monkeypatch.setattr(runner, "entry_of_this_test", entry, raising=False)
    report = runner._report("labext.sandbox.runner:entry_of_this_test", tmp_path, {})
    assert report is not None
    assert SECRET[:4] not in json.loads(report)["reason"]
    assert SECRET not in capsys.readouterr().err


@pytest.mark.parametrize("holder", [Token(SECRET, 60.0), Credentials("app", SECRET)])
def test_repr_does_not_show_the_secret(holder: object) -> None:
    assert SECRET not in repr(holder)
