"""Errors of `%lab` in a real shell: one line, a next step, and the end of Run All."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from labext_test_shell import Refused

from labext.errors import (
    AccessError,
    ConflictError,
    InputError,
    LabextError,
    NotFoundError,
    SignInError,
)
from labext.sandbox import Sandbox

pytestmark = pytest.mark.contract

STUDENT = "student@sandbox.local"

SETUP = """
import pandas as pd
frame = pd.DataFrame({"name": ["a", "b"], "bases": ["ACGT", "GGGG"]})
twice = frame.assign(name="a")
number = 3
"""

LINES = [
    ("%lab sequences --columns nmae", InputError, 'did you mean "name"'),
    ("%lab sequences --columns name length", InputError, "commas: `--columns name,length`"),
    ("%lab sequences --columns name,,", InputError, "comma-separated words"),
    ("%lab sequences --columns fields.Volumne", InputError, "fields.Volumne"),
    ("%lab sequences --folder lib_nosuch", AccessError, "no such folder, or you have no"),
    ("%lab sequences --sort length", InputError, "createdAt or modifiedAt"),
    ("%lab sequences --circular maybe", InputError, "yes or no"),
    ("%lab sequences pBAD30", InputError, "does not take `pBAD30`"),
    ("%lab sequences | head", InputError, "`%lab sequences --help` shows its arguments"),
    ("%lab sequences --modified-at > 2026-01-01", InputError, "`--modified-at '> 2026-01-01'`"),
    ("%lab sequences --sort name desc", InputError, "Write `--sort name:desc`"),
    ("%lab sequences --columns id, name", InputError, "`--columns 'id, name'`"),
    ("%lab show pBAD31", NotFoundError, 'did you mean "pBAD30"'),
    ("%lab show seq_nosuch1", NotFoundError, "seq_nosuch1"),
    ("%lab show pBAD30 --enzymes EcoR", InputError, "EcoR"),
    ("%lab export pBAD30", InputError, "needs --to"),
    ("%lab export --to a.gb", InputError, "names of sequences"),
    ("%lab export pBAD30 --from frame --to a.gb", InputError, "names of sequences"),
    ("%lab export pBAD30 --to a.txt", InputError, "`--format fasta` or `--format genbank`"),
    ("%lab export pBAD30 nosuch --to a.gb", NotFoundError, "nosuch"),
    ("%lab export pBAD30 --to there.gb", ConflictError, "--overwrite"),
    ("%lab export --from twice --to a.fa", ConflictError, "same name: a"),
    ("%lab export --from {frame[['name']]} --to a.fa", InputError, "The frame has no column"),
    ("%lab export --from {frame[:0]} --to a.fa", InputError, "no sequence to write"),
    ("%lab export --from number --to a.fa", InputError, "takes a DataFrame"),
    ("%lab export --from {frame.iloc[0]} --to a.fa", InputError, "`frame.iloc[[0]]`"),
]


@pytest.fixture
def shell(loaded_shell: InteractiveShell, tmp_path: Path) -> InteractiveShell:
    (tmp_path / "there.gb").write_text("mine")
    loaded_shell.run_cell(f"%lab connect sandbox\n{SETUP}").raise_error()
    return loaded_shell


@pytest.fixture
def refused(refused: Refused, tmp_path: Path) -> Refused:
    """Run a line that fails and writes no file, and return the error, exactly of a kind."""

    def run(line: str, kind: type[LabextError]) -> LabextError:
        error = refused(line, kind)
        assert type(error) is kind, (line, error)
        assert [path.name for path in tmp_path.iterdir()] == ["there.gb"]
        return error

    return run


@pytest.fixture
def admin(command: Callable[[str], Any]) -> Callable[..., Any]:
    """Administer the platform, and return the response."""
    run: Callable[..., Any] = command("lab").json
    return run


def test_wrong_lines_do_nothing(refused: Refused, tmp_path: Path) -> None:
    for line, kind, expected_message in LINES:
        assert expected_message in str(refused(line, kind)), line
    assert (tmp_path / "there.gb").read_text() == "mine"


def connected(box: Sandbox, tenant: str = "campus") -> str:
    return f"%lab connect {box.lab.tenants[tenant]} --ca-bundle {box.lab.ca_bundle}"


def test_invalid_keys(
    refused: Refused, box: Sandbox, admin: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    new_key = admin("keys", "add", STUDENT, "--name", "short-lived")
    admin("keys", "remove", STUDENT, "short-lived", "--yes")
    for key, kind, expected_message in (
        ("wrong-key-0123456789", SignInError, "rejected the API key"),
        (new_key["api_key"], SignInError, "rejected the API key"),
        (f"{new_key['api_key'][:5]} {new_key['api_key'][5:]}", InputError, "contains spaces"),
        (f"Basic {new_key['api_key']}", InputError, "an HTTP header, not a key"),
    ):
        monkeypatch.setenv("LABEXT_LAB_API_KEY", key)
        error = refused(connected(box), kind)
        assert expected_message in error.message
        assert key not in str(error)


def test_key_of_another_tenant(
    refused: Refused, box: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LABEXT_LAB_API_KEY", box.lab.api_key)
    refused(connected(box, "clinic"), SignInError)


def test_invalid_id_tokens(
    refused: Refused, box: Sandbox, admin: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    good = admin("id-token", STUDENT)["id_token"]
    head, claims, seal = good.split(".")
    for token, kind, expected_message in (
        (admin("id-token", STUDENT, "--seconds", "-60")["id_token"], SignInError, "has expired"),
        (f"{head}.{claims}.{seal[::-1]}", SignInError, "rejected the ID token"),
        (admin("id-token", STUDENT, "--audience", "others")["id_token"], SignInError,
         "rejected the ID token"),
        (admin("id-token", "nobody@sandbox.local")["id_token"], SignInError,
         "rejected the ID token"),
        ("no-token", InputError, "three parts"),
    ):  # fmt: skip
        monkeypatch.setenv("LABEXT_LAB_ID_TOKEN", token)
        error = refused("%lab login --method oidc", kind)
        assert expected_message in error.message
        assert token not in str(error)
        assert "oidc" in error.next_step or "LABEXT_LAB_ID_TOKEN" in error.next_step
        assert "•" not in error.next_step


def test_suspended_user_and_user_without_grants(
    refused: Refused, shell: InteractiveShell, box: Sandbox, admin: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    new_key = admin("keys", "add", "suspended@sandbox.local", "--name", "late")
    monkeypatch.setenv("LABEXT_LAB_API_KEY", new_key["api_key"])
    error = refused(connected(box), AccessError)
    assert error.message.endswith("(“The user is suspended”).")
    new_key = admin("keys", "add", "guest@sandbox.local", "--name", "visit")
    monkeypatch.setenv("LABEXT_LAB_API_KEY", new_key["api_key"])
    shell.run_cell(connected(box)).raise_error()
    assert len(shell.run_line_magic("lab", "sequences")) == 0
    refused("%lab show pBAD30", NotFoundError)


def test_app_without_grants_and_archived_app(
    refused: Refused, shell: InteractiveShell, box: Sandbox, admin: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    new_app = admin("apps", "add", "lines")
    monkeypatch.setenv("LABEXT_LAB_CLIENT_ID", new_app["client_id"])
    monkeypatch.setenv("LABEXT_LAB_CLIENT_SECRET", new_app["client_secret"])
    shell.run_cell(f"{connected(box)} --method oauth").raise_error()
    assert "grant the app access" in refused("%lab sequences", AccessError).next_step
    status = shell.run_line_magic("lab", "status")["value"]
    assert status["sign-in"] == "access denied"
    assert status["signed in as"] == f"the app {new_app['client_id']}, without a user"
    admin("apps", "archive", "lines")
    refused("%lab sequences", AccessError)
    assert "unarchive" in refused(f"{connected(box)} --method oauth", AccessError).next_step
    monkeypatch.setenv("LABEXT_LAB_CLIENT_SECRET", "wrong-secret-0123456789")
    error = refused(f"{connected(box)} --method oauth", SignInError)
    assert "client ID and secret" in error.message
    admin("apps", "remove", "lines", "--yes")


def test_address_outside_the_allowed_range(refused: Refused, admin: Callable[..., Any]) -> None:
    admin("ip", "add", "192.0.2.0/24")
    try:
        errors = [refused(line, AccessError) for line in ("%lab login", "%lab sequences")]
    finally:
        admin("ip", "remove", "192.0.2.0/24")
    assert all("IP address" in str(error) for error in errors)
