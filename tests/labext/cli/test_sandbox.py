"""`labext sandbox …`: output and effects."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import requests

from labext import cli
from labext.sandbox import Sandbox

pytestmark = pytest.mark.contract

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def data_dir(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "box"
    Sandbox(tmp_path / "box").stop()


@pytest.fixture
def run(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `labext sandbox VERB …` on that folder: exit code, stdout, stderr."""

    def run_one(*words: str) -> tuple[int, str, str]:
        code = cli.main(["sandbox", *words, "--data-dir", str(data_dir)])
        output = capsys.readouterr()
        return code, output.out, output.err

    return run_one


def test_start_status_and_stop(run, data_dir):
    code, out, _ = run("start", "--json")
    assert code == 0
    connection = json.loads(out)
    assert connection["data_dir"] == str(data_dir)
    assert isinstance(connection["pid"], int)
    key = {"x-api-key": connection["jobs"]["api_key"]}
    tools = requests.get(f"{connection['jobs']['base_url']}tools", headers=key, timeout=10)
    assert tools.status_code == 200
    assert run("start", "--json")[1] == out, "starting what runs changes nothing"
    status = json.loads(run("status", "--json")[1])
    assert status["state"] == "running"
    assert status["jobs"] == connection["jobs"]
    for verb in ("start", "status", "stop"):
        code, plain, _ = run(verb)
        assert code == 0
        assert connection["jobs"]["api_key"] not in plain
    assert json.loads(run("status", "--json")[1])["state"] == "stopped"
    assert "was not running" in run("stop")[1]


def test_reset_needs_yes_and_names_the_deleted_data(run, data_dir):
    run("start")
    code, out, err = run("reset")
    assert (code, out) == (1, "")
    assert str(data_dir) in err
    assert "--yes" in err
    assert err.count("\n") == 1
    assert Sandbox(data_dir).status().running
    assert run("reset", "--yes")[0] == 0
    assert not data_dir.exists()
    assert "no sandbox" in run("reset", "--yes")[1]


def test_foreign_folder_is_refused(run, data_dir):
    data_dir.mkdir()
    (data_dir / "thesis.txt").write_text("five years")
    for words in (["start"], ["reset", "--yes"]):
        code, _, err = run(*words)
        assert code == 1
        assert err.startswith("labext: ")
        assert "Traceback" not in err
    assert (data_dir / "thesis.txt").read_text() == "five years"


def test_rate_option_is_kept_by_the_running_sandbox(run, data_dir):
    run("start", "--rate", "off")
    assert Sandbox(data_dir).status().rate == "off"
    code, _, err = run("start", "--rate", "named")
    assert code == 1
    assert "labext: " in err
