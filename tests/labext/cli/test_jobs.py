"""`labext sandbox jobs …`: output, refusals, and keys that a notebook can use."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from labext import config
from labext.jobs import JobsClient

pytestmark = pytest.mark.contract

TEACHER = "teacher@sandbox.local"


@pytest.fixture
def run(command: Callable[[str], Any]) -> Any:
    """Run `labext sandbox jobs …` on the running sandbox."""
    return command("jobs")


@pytest.mark.parametrize(
    "noun",
    ["accounts", "organizations", "keys", "budgets", "quotas", "limits", "gates", "pipelines"],
)
def test_every_noun_lists_as_a_table_and_as_json(run, noun):
    code, table, err = run(noun, "list")
    assert (code, err) == (0, "")
    code, out, _ = run(noun, "list", "--json")
    assert code == 0
    records = json.loads(out)
    assert len(table.splitlines()) == len(records) + 1


def test_missing_sandbox_is_reported_with_the_next_step(run, tmp_path):
    err = run.error("accounts", "list", data_dir=tmp_path / "nowhere")
    assert "never started" in err
    assert "labext sandbox start" in err
    assert not (tmp_path / "nowhere").exists()
    (tmp_path / "thesis.txt").write_text("five years")
    run.error("accounts", "list", data_dir=tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["accounts", "add", "nobody"], "not an e-mail address"),
        (["accounts", "add", "a@b.c", "--organization", "sandbax"], "Did you mean sandbox?"),
        (["accounts", "add", TEACHER], "already"),
        (["accounts", "remove", "teachr@sandbox.local"], f"Did you mean {TEACHER}?"),
        (["organizations", "add", "sandbox"], "already"),
        (["organizations", "add", " "], "can't be the name"),
        (["organizations", "remove", "sandbox"], "--yes"),
        (["keys", "add", TEACHER], "--profile NAME"),
        (["keys", "add", TEACHER, "--profile", "sandbox"], "reserved for the sandbox"),
        (["keys", "list", "nobody@b.c"], "There is no account"),
        (["keys", "remove", TEACHER, "frst"], "Did you mean first?"),
        (["budgets", "set", "nan", "--account", TEACHER], "hours, at least 0"),
        (["budgets", "set", "1", "--account", "x@y.z"], "There is no account"),
        (["quotas", "set", TEACHER, "much"], "is not a size"),
        (["quotas", "set", TEACHER, "9e99GB"], "is not a size"),
        (["limits", "set", "url_second", "5"], "Did you mean url_seconds?"),
        (["limits", "set", "url_seconds", "0"], "can't be 0"),
        (["limits", "set", "flood_requests", "many"], "Give a whole number"),
        (["limits", "set", "upload_bytes", "many"], "Give a size"),
        (["gates", "remove", "student@sandbox.local", "advanced"], "There is no gate"),
        (["pipelines", "remove", "helix-to-mode"], "Did you mean helix-to-modes?"),
        (["pipelines", "add", "x", "/nowhere/x.yaml"], "can't be read"),
    ],
)
def test_error_is_one_line_with_the_next_step(run, words, message):
    assert message in run.error(*words)


def test_refused_change_of_an_account_changes_nothing(run):
    before = run.json("accounts", "list")
    words = ["accounts", "set", "student@sandbox.local", "--owner", "yes"]
    assert "The weight of an account can't be 1000" in run.error(*words, "--weight", "1000")
    assert "can't be" in run.error(*words, "--weight", "2", "--max-running", "9999999999999")
    assert run.json("accounts", "list") == before


def test_list_of_accounts_distinguishes_the_general_limit_from_no_limit(run):
    run("accounts", "add", "limits@b.c")
    run("accounts", "set", "limits@b.c", "--max-running", "4", "--max-queued", "0")
    rows = [line.split() for line in run.output("accounts", "list").splitlines()]
    lines = {row[0]: row[-2:] for row in rows}
    assert lines["limits@b.c"] == ["4", "none"]
    assert lines["student@sandbox.local"] == ["default", "default"]
    run("accounts", "remove", "limits@b.c", "--yes")


@pytest.mark.parametrize("holder", [[], ["--account", TEACHER, "--organization", "sandbox"]])
def test_budget_needs_one_holder(run, holder, capsys):
    with pytest.raises(SystemExit) as ended:
        run("budgets", "set", "1", *holder)
    assert ended.value.code == 2
    assert "one of --organization, --account" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["{", "", "- 1", "stages: []", "a: &a [*a]", "\x00"])
def test_invalid_pipeline_file_is_refused(run, tmp_path, text):
    file = tmp_path / "p.yaml"
    file.write_text(text)
    run.error("pipelines", "add", "wrong", str(file))


def test_stored_key_is_hidden_and_signs_in(run, ring):
    code, out, _ = run("keys", "add", TEACHER, "--profile", "teacher", "--name", "kept")
    assert code == 0
    assert "%jobs connect teacher" in out
    [key] = ring.secrets.values()
    assert key not in out
    assert key not in run("keys", "list")[1]
    with JobsClient.from_connection(config.connection("jobs", "teacher")) as client:
        client.jobs(organization=True, limit=1)  # which only an owner may request

    # A second key for the same profile replaces the first one; a rejected one does not.
    run.error("keys", "add", TEACHER, "--profile", "teacher", "--name", "kept")
    assert [*ring.secrets.values()] == [key]
    assert run("keys", "add", TEACHER, "--profile", "teacher", "--name", "newer")[0] == 0
    assert [*ring.secrets.values()] != [key]
    for name in ("kept", "newer"):
        assert run("keys", "remove", TEACHER, name, "--yes")[0] == 0


def test_key_is_not_created_without_a_keyring(run, box):
    before = json.loads(run("keys", "list", "--json")[1])
    assert "no keyring" in run.error("keys", "add", TEACHER, "--profile", "teacher")
    assert json.loads(run("keys", "list", "--json")[1]) == before
    assert "teacher" not in config.profile_names()


def test_failed_key_creation_leaves_no_profile(run, ring):
    run.error("keys", "add", "nobody@course.example", "--profile", "nobody")
    assert "nobody" not in config.profile_names()
    assert not ring.secrets


def test_profile_of_another_service_is_kept(run, ring):
    config.save_profile("course", "jobs", "https://jobs.example/api/")
    config.save_secret("jobs", "course", "api_key", "theirs")
    assert "jobs.example" in run.error("keys", "add", TEACHER, "--profile", "course")
    assert [*ring.secrets.values()] == ["theirs"]
