"""`labext sandbox jobs …`: what it prints and refuses, and the key that a notebook then uses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import keyring
import pytest
import requests
from keyring.backend import KeyringBackend

from labext import cli, config
from labext.jobs import JobsClient
from labext.sandbox import Sandbox

TEACHER = "teacher@sandbox.local"
Run = Callable[..., tuple[int, str, str]]


class Held(KeyringBackend):
    """A keyring in memory."""

    priority = 1  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.held.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.held[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        self.held.pop((service, username), None)


@pytest.fixture
def ring(monkeypatch: pytest.MonkeyPatch) -> Held:
    held = Held()
    before = keyring.get_keyring()
    monkeypatch.setattr(keyring.core, "_keyring_backend", held)
    assert keyring.get_keyring() is not before
    return held


@pytest.fixture
def run(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `labext sandbox jobs …` on the running sandbox: exit code, stdout, stderr."""

    def run_one(*words: str, data_dir: Path = box.data_dir) -> tuple[int, str, str]:
        capsys.readouterr()
        code = cli.main(["sandbox", "jobs", *words, "--data-dir", str(data_dir)])
        told = capsys.readouterr()
        return code, told.out, told.err

    return run_one


def told(answer: tuple[int, str, str]) -> str:
    """The one line of a refusal."""
    code, out, err = answer
    assert (code, out) == (1, "")
    assert err.startswith("labext: ")
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize(
    "noun",
    ["accounts", "organizations", "keys", "budgets", "quotas", "limits", "gates", "pipelines"],
)
def test_every_noun_lists_as_a_table_and_as_json(run: Run, noun: str) -> None:
    code, table, err = run(noun, "list")
    assert (code, err) == (0, "")
    code, out, _ = run(noun, "list", "--json")
    assert code == 0
    records = json.loads(out)
    assert len(table.splitlines()) == len(records) + 1
    for verb in ("add", "remove"):
        with pytest.raises(SystemExit) as ended:
            run(noun, verb, "--help")
        assert ended.value.code == 0


def test_a_sandbox_that_was_never_started_is_told_with_the_next_step(
    run: Run, tmp_path: Path
) -> None:
    err = told(run("accounts", "list", data_dir=tmp_path / "nowhere"))
    assert "never started" in err
    assert "labext sandbox start" in err
    assert not (tmp_path / "nowhere").exists()
    (tmp_path / "thesis.txt").write_text("five years")
    told(run("accounts", "list", data_dir=tmp_path))
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["accounts", "add", "nobody"], "no e-mail address"),
        (["accounts", "add", "a b@c.d"], "no e-mail address"),
        (["accounts", "add", "a@b.c", "--organization", "sandbax"], "Did you mean sandbox?"),
        (["accounts", "add", TEACHER], "already"),
        (["accounts", "remove", "teachr@sandbox.local"], f"Did you mean {TEACHER}?"),
        (["organizations", "add", "sandbox"], "already"),
        (["organizations", "add", " "], "can't be the name"),
        (["organizations", "remove", "sandbox"], "--yes"),
        (["keys", "add", TEACHER], "--profile NAME"),
        (["keys", "add", TEACHER, "--profile", "sandbox"], "kept for the sandbox"),
        (["keys", "list", "nobody@b.c"], "There is no account"),
        (["keys", "remove", TEACHER, "frst"], "Did you mean first?"),
        (["budgets", "set", "nan", "--account", TEACHER], "number from 0"),
        (["budgets", "set", "1", "--account", "x@y.z"], "There is no account"),
        (["quotas", "set", TEACHER, "much"], "is no size"),
        (["quotas", "set", TEACHER, "9e99GB"], "is no size"),
        (["limits", "set", "url_second", "5"], "Did you mean url_seconds?"),
        (["limits", "set", "url_seconds", "0"], "can't be 0"),
        (["limits", "set", "flood_requests", "many"], "Give a whole number"),
        (["limits", "set", "upload_bytes", "many"], "Give a size"),
        (["gates", "remove", "student@sandbox.local", "advanced"], "There is no gate"),
        (["pipelines", "remove", "helix-to-mode"], "Did you mean helix-to-modes?"),
        (["pipelines", "add", "x", "/nowhere/x.yaml"], "can't be read"),
    ],
)
def test_what_does_not_go_is_one_line_with_the_next_step(
    run: Run, words: list[str], says: str
) -> None:
    assert says in told(run(*words))


@pytest.mark.parametrize("text", ["{", "", "- 1", "stages: []", "a: &a [*a]", "\x00"])
def test_a_file_that_is_no_pipeline_is_refused(run: Run, tmp_path: Path, text: str) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(text)
    told(run("pipelines", "add", "wrong", str(file)))


def test_a_kept_key_is_never_shown_and_signs_the_teacher_in(run: Run, ring: Held) -> None:
    code, out, _ = run("keys", "add", TEACHER, "--profile", "teacher", "--name", "kept")
    assert code == 0
    assert "%jobs connect teacher" in out
    [key] = ring.held.values()
    assert key not in out
    assert key not in run("keys", "list")[1]
    with JobsClient.reached(config.connection("jobs", "teacher")) as client:
        client.jobs(organization=True, limit=1)  # which an owner alone may ask for

    # A second key for the same profile takes the first one's place; a refused one does not.
    told(run("keys", "add", TEACHER, "--profile", "teacher", "--name", "kept"))
    assert [*ring.held.values()] == [key]
    assert run("keys", "add", TEACHER, "--profile", "teacher", "--name", "newer")[0] == 0
    assert [*ring.held.values()] != [key]
    for name in ("kept", "newer"):
        assert run("keys", "remove", TEACHER, name, "--yes")[0] == 0


def test_without_a_keyring_no_key_is_made(run: Run, box: Sandbox) -> None:
    before = json.loads(run("keys", "list", "--json")[1])
    assert "no keyring" in told(run("keys", "add", TEACHER, "--profile", "teacher"))
    assert json.loads(run("keys", "list", "--json")[1]) == before
    assert "teacher" not in config.profiles()


def test_a_key_that_is_not_made_leaves_no_profile(run: Run, ring: Held) -> None:
    told(run("keys", "add", "nobody@course.example", "--profile", "nobody"))
    assert "nobody" not in config.profiles()
    assert not ring.held


def test_a_profile_of_another_service_is_left_alone(run: Run, ring: Held) -> None:
    config.save_profile("course", "jobs", "https://jobs.example/api/")
    config.save_secret("jobs", "course", "api_key", "theirs")
    assert "jobs.example" in told(run("keys", "add", TEACHER, "--profile", "course"))
    assert [*ring.held.values()] == ["theirs"]


def test_a_stopped_sandbox_is_administered_too(run: Run, box: Sandbox, tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path / "own", rate="off", workers=1)
    sandbox.start()
    address = sandbox.jobs.base_url
    sandbox.stop()
    try:
        run("accounts", "add", "new@course.example", data_dir=sandbox.data_dir)
        made = run("keys", "add", "new@course.example", "--json", data_dir=sandbox.data_dir)
        assert "not running" in told(
            run("keys", "add", TEACHER, "--profile", "t", data_dir=sandbox.data_dir)
        )
        sandbox.start()
        header = {"x-api-key": json.loads(made[1])["key"]}
        assert requests.get(f"{address}files", headers=header, timeout=30).json() == []
    finally:
        sandbox.stop()
