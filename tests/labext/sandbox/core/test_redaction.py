"""Stored and displayed failures contain no secret and no part of one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from labext.lab.auth.client_credentials import AccessToken
from labext.redaction import register_secret
from labext.sandbox import host_process
from labext.sandbox.core.executors import task_process
from labext.sandbox.lab.tokens import ClientCredentials

SECRET = "swordfish-of-the-deep"


@pytest.fixture(autouse=True)
def known() -> None:
    register_secret(SECRET)


def test_log_tail_never_starts_within_a_secret(tmp_path):
    log = tmp_path / "log"
    for missing in range(1, len(SECRET) - 3):
        log.write_text(f"{'x' * 100}{SECRET}{'y' * (65_536 - len(SECRET) + missing)}")
        assert SECRET[missing:] not in host_process.last_log_line(log, 0)


def test_last_line_of_a_long_log_is_shown(tmp_path):
    (tmp_path / "log").write_text("line\n" * 20_000 + "the end\n")
    assert host_process.last_log_line(tmp_path / "log", 0) == "the end"


def test_reason_of_a_failed_task_is_masked_before_truncation(tmp_path, monkeypatch, capsys):
    def entry(work: Path, payload: dict[str, object]) -> None:
        raise ValueError(f"{'x' * (task_process.MAX_REASON_LENGTH - 30)} {SECRET}")

    monkeypatch.setattr(task_process, "entry_of_this_test", entry, raising=False)
    report = task_process._call_entry(
        "labext.sandbox.core.executors.task_process:entry_of_this_test", tmp_path, {}
    )
    assert report is not None
    assert SECRET[:4] not in json.loads(report)["reason"]
    assert SECRET not in capsys.readouterr().err


@pytest.mark.parametrize("holder", [AccessToken(SECRET, 60.0), ClientCredentials("app", SECRET)])
def test_repr_does_not_show_the_secret(holder):
    assert SECRET not in repr(holder)
