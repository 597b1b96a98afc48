"""`labext sandbox …` and `labext sandbox nb …`: output and effects."""

from __future__ import annotations

import io
import json
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import requests
from databases import open_database, stored_content

from labext import cli
from labext.sandbox import Sandbox
from labext.sandbox.nb import settings

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


def test_start_status_and_stop(run, data_dir, monkeypatch):
    monkeypatch.setattr("labext.sandbox.status.HEALTH_SECONDS", 2.0)
    code, out, _ = run("status")
    assert (code, "is stopped" in out) == (3, True)
    code, out, _ = run("start", "--rate", "off", "--json")
    assert code == 0
    connection = json.loads(out)
    assert connection["data_dir"] == str(data_dir)
    key = {"x-api-key": connection["jobs"]["api_key"]}
    tools = requests.get(f"{connection['jobs']['base_url']}tools", headers=key, timeout=10)
    assert tools.status_code == 200
    assert run("start", "--json")[1] == out, "starting a running sandbox changes nothing"
    code, _, err = run("start", "--rate", "named")
    assert (code, Sandbox(data_dir).status().rate) == (1, "off")
    assert f"`labext sandbox stop --data-dir {data_dir}`" in err
    code, out, _ = run("status", "--json")
    status = json.loads(out)
    assert (code, status["state"], status["jobs"]) == (0, "running", connection["jobs"])
    assert "health" not in status
    host = psutil.Process(connection["pid"])
    host.suspend()
    try:
        code, out, _ = run("status")
    finally:
        host.resume()
    assert code == 4
    assert "jobs is not healthy: It does not respond" in out
    for verb in ("start", "status", "stop"):
        code, plain, _ = run(verb)
        assert code == 0
        assert connection["jobs"]["api_key"] not in plain
    code, out, _ = run("status", "--json")
    assert (code, json.loads(out)["state"]) == (3, "stopped")
    assert "was not running" in run("stop")[1]


def test_help_of_status_names_the_exit_codes(capsys):
    for group in ("sandbox", "server"):
        with pytest.raises(SystemExit) as ended:
            cli.main([group, "status", "--help"])
        assert ended.value.code == 0
        words = " ".join(capsys.readouterr().out.split())
        assert "Exits with 3 if they do not run, 4 if one is not healthy." in words


def test_reset_needs_yes_and_names_the_deleted_data(run, data_dir):
    Sandbox(data_dir, services=[SERVICE]).start()
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


PASSWORD = "correct-horse-battery"
SERVICE = "labext.sandbox.nb.app:service"


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A sandbox for this file, with only the notebook service, whose password is changed."""
    sandbox = Sandbox(tmp_path_factory.mktemp("cli") / "data", rate="off", services=[SERVICE])
    sandbox.start()
    yield sandbox
    sandbox.stop()


@pytest.fixture
def nb(command: Any) -> Any:
    """Run `labext sandbox nb …` on the running sandbox."""
    return command("nb")


def typed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


def status(box: Sandbox, password: str | None = None) -> int:
    headers = {} if password is None else {"Authorization": f"Bearer {password}"}
    response = requests.get(f"{box.nb.base_url}/notebooks", headers=headers, timeout=60)
    return response.status_code


def enabled(box: Sandbox) -> bool:
    return requests.get(f"{box.nb.base_url}/auth/status", timeout=60).json()["auth_enabled"]


@pytest.fixture
def given_back(nb: Any, box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Restore the password."""
    before = box.nb.password
    assert before is not None
    yield
    typed(monkeypatch, before)
    nb.output("password", "set", "--stdin")
    assert box.nb.password == before


@pytest.mark.usefixtures("given_back")
def test_password_applies_at_once_and_is_shown(nb, box, monkeypatch):
    before = box.nb.password
    typed(monkeypatch, f"{PASSWORD}\nanother line\n")
    output = nb.output("password", "set", "--stdin")
    assert PASSWORD not in output
    assert [status(box, password) for password in (before, PASSWORD)] == [401, 200]
    assert box.nb.password == PASSWORD
    file = box.data_dir / "connection.json"
    assert json.loads(file.read_text())["nb"]["password"] == PASSWORD
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE((box.data_dir / "secrets" / "nb_password").stat().st_mode) == 0o600
    assert PASSWORD.encode() not in stored_content(box.data_dir)
    assert PASSWORD not in (box.data_dir / "host.log").read_text()


@pytest.mark.usefixtures("given_back")
def test_server_without_password_needs_none(nb, box):
    before = box.nb.password
    assert "--yes" in nb.error("password", "remove")
    assert status(box) == 401
    assert nb.json("password", "remove", "--yes") == {"password": False}
    assert (status(box), status(box, before), status(box, "wrong")) == (200, 200, 200)
    assert enabled(box) is False
    assert box.nb.password is None
    assert "password" not in json.loads((box.data_dir / "connection.json").read_text())["nb"]
    assert "not required" in nb.output("status")
    nb.output("password", "remove", "--yes")


@pytest.mark.parametrize(
    "text", ["", "\n", "short\n", "two words here\n", "x" * 201, "pässwort-lang\n", "tab\tinside\n"]
)
def test_invalid_password_is_refused(nb, box, monkeypatch, text):
    typed(monkeypatch, text)
    output = nb.error("password", "set", "--stdin")
    assert text.strip() not in output or not text.strip()
    assert status(box, box.nb.password) == 200


def test_password_prompt_without_a_terminal_names_the_option(nb, monkeypatch):
    typed(monkeypatch, "ignored")
    assert "--stdin" in nb.error("password", "set")


@pytest.mark.usefixtures("given_back")
def test_password_is_prompted_twice_without_echo(nb, box, monkeypatch):
    typed(monkeypatch, "")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    answers = [PASSWORD, "correct-horse-batteri", PASSWORD, PASSWORD]
    monkeypatch.setattr("getpass.getpass", lambda prompt: answers.pop(0))
    assert "differ" in nb.error("password", "set")
    assert status(box, PASSWORD) == 401
    nb.output("password", "set")
    assert status(box, PASSWORD) == 200


def private(box: Sandbox) -> bool:
    database = open_database(box.data_dir)
    try:
        with database.read() as session:
            return settings.allows_private_fetches(session)
    finally:
        database.close()


def test_fetch_rule_is_off_by_default(nb, box):
    assert private(box) is False
    assert "may be fetched" in nb.output("fetch", "allow-private")
    assert private(box) is True
    assert nb.json("status")["private_fetches"] is True
    assert nb.json("fetch", "deny-private") == {"private_fetches": False}
    assert private(box) is False


def test_changed_limit_applies_at_once(nb, box):
    url = f"{box.nb.base_url}/notes"
    headers = {"Authorization": f"Bearer {box.nb.password}"}

    def post() -> int:
        body = {"content": "x" * 2000}
        return requests.post(url, json=body, headers=headers, timeout=60).status_code

    assert nb.json("limits", "set", "text_bytes", "1,999") == {"name": "text_bytes", "value": 1999}
    assert post() == 413
    assert "text_bytes" in nb.output("limits", "list")
    nb.output("limits", "remove", "text_bytes")
    assert post() == 200
    assert "requests" in nb.error("limits", "set", "requests", "0")
    assert "text_bytes" in nb.error("limits", "set", "text_byte", "1")


def test_status_counts_stored_objects(nb, box):
    headers = {"Authorization": f"Bearer {box.nb.password}"}
    before = nb.json("status")
    for group, body in [("notebooks", {"name": "One"}), ("notes", {"content": "Two"})]:
        url = f"{box.nb.base_url}/{group}"
        assert requests.post(url, json=body, headers=headers, timeout=60).status_code == 200
    result = nb.json("status")
    assert (result["running"], result["base_url"], result["password"]) == (
        True,
        box.nb.base_url,
        True,
    )
    assert result["notebooks"] == before["notebooks"] + 1
    assert result["notes"] == before["notes"] + 1
    output = nb.output("status")
    assert box.nb.base_url in output
    assert box.nb.password not in output


def test_stopped_sandbox_can_be_administered(command, new_box, monkeypatch):
    box = new_box(services=[SERVICE])
    box.stop()
    nb = command("nb")
    typed(monkeypatch, PASSWORD)
    nb.output("password", "set", "--stdin", data_dir=box.data_dir)
    assert (box.data_dir / "secrets" / "nb_password").read_text() == PASSWORD
    result = nb.json("status", data_dir=box.data_dir)
    assert (result["running"], result["password"]) == (False, True)
    nb.output("password", "remove", "--yes", data_dir=box.data_dir)
    assert not (box.data_dir / "connection.json").exists()
    box.start()
    assert (box.nb.password, status(box)) == (None, 200)
