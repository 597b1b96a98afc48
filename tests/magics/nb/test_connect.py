"""`%nb connect`, `login`, `logout` and `status`, with a password and without."""

from __future__ import annotations

import builtins
import getpass
import json
import socket
import ssl
from collections.abc import Iterator
from typing import Any

import pytest
from IPython.core.error import StdinNotImplementedError
from labext_test_shell import Run
from local_http import QuietHandler, Server, running
from open_notebook import Replay, serving, web_page
from openai_server import serving as other_server
from tls_server import issue

from labext import config
from labext.errors import (
    CommandInterrupted,
    SetupError,
    SignInError,
    StorageError,
    UnreachableError,
)

pytestmark = pytest.mark.contract


WRONG = "typed-but-wrong-0123456789"


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The hidden inputs that a user will type; if empty, no prompt is possible."""
    passwords: list[str] = []

    def ask(_: str = "", stream: Any = None) -> str:
        if not passwords:
            raise StdinNotImplementedError
        return passwords.pop(0)

    monkeypatch.setattr(getpass, "getpass", ask)
    monkeypatch.setattr(builtins, "input", ask)
    return passwords


def status(run: Run) -> dict[str, str]:
    return dict(run("%nb status")["value"])


def test_password_prompt_is_hidden(run, refused, nb_box, answers, capsys):
    line, password = f"%nb connect {nb_box.nb.base_url}", nb_box.nb.password
    assert password is not None
    error = refused(line, SetupError)
    assert "LABEXT_NB_PASSWORD" in error.next_step
    answers.append(WRONG)
    wrong = refused(line, SignInError)
    assert wrong.next_step.startswith(
        "Run this line again, and enter another password. `%nb` still"
    )
    assert status(run)["profile"] == "sandbox", "nothing has changed"
    answers.append(password)
    run(line)
    status_values = status(run)
    assert status_values["address"].rstrip("/") == nb_box.nb.base_url.rstrip("/")
    assert "accepted" in status_values["password needed"]
    assert status_values["database"] == "online"
    assert status_values["version"]
    run("%nb logout")
    refused("%nb notebooks", SignInError)
    assert "%nb login" in status(run)["password needed"]
    answers.append(password)
    run("%nb login\n%nb notebooks")
    captured = capsys.readouterr()
    for text in (captured.out, captured.err, str(error), str(wrong), str(status_values)):
        assert password not in text
        assert WRONG not in text


@pytest.fixture
def replay() -> Iterator[Replay]:
    """A server without a password."""
    with serving() as server:
        yield server


def test_current_notebook_belongs_to_its_service(run, replay):
    run("%nb use Here --create")
    assert "Here" in status(run)["notebook in use"]
    run("%nb login")
    assert "Here" in status(run)["notebook in use"]
    run(f"%nb connect {replay.base_url}")  # no prompt is possible
    assert status(run)["notebook in use"] == "none"
    assert status(run)["password needed"] == "no"
    run("%nb connect sandbox\n%nb delete Here --yes")


def test_pasted_addresses_resolve_to_the_api(run, replay):
    for scheme in ("http://", ""):
        with web_page(replay) as page:
            for path in ("", "/", "/notebooks"):
                run(f"%nb connect {scheme}{page.removeprefix('http://')}{path}")
                assert status(run)["address"] == f"{page}/api"
            run(f"%nb connect {page} --save pasted{len(scheme)}")
            assert config.connection("nb", f"pasted{len(scheme)}").base_url == f"{page}/api"
        run(f"%nb connect {scheme}{replay.base_url.removeprefix('http://').removesuffix('/api')}")
        assert status(run)["address"] == replay.base_url


def test_plain_http_to_a_remote_host_is_suggested_not_used(run, refused, replay, monkeypatch):
    monkeypatch.setattr("labext.http.connection_pool.is_loopback", lambda _: False)
    where = replay.base_url.removeprefix("http://")
    error = refused(f"%nb connect {where}", SetupError)
    assert "does not support HTTPS" in error.message
    assert f"`%nb connect http://{where}`" in error.next_step
    assert "https://" not in error.next_step
    assert not replay.requests


def test_https_is_preferred(refused, tmp_path, monkeypatch):
    files = issue(tmp_path / "tls", "127.0.0.1")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(files.tls_cert, files.tls_key)
    server = Server(("127.0.0.1", 0), QuietHandler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    with running(server) as url:
        where = url.removeprefix("http://")
        for loopback in (True, False):
            monkeypatch.setattr(
                "labext.http.connection_pool.is_loopback", lambda _, is_so=loopback: is_so
            )
            error = refused(f"%nb connect {where}")
            assert f"at https://{where}/" in error.message
            assert "not trusted" in error.message


def test_failed_connect_saves_nothing_and_names_the_service_in_use(run, refused, nb_box):
    run("%nb use Here --create")
    for where in ("http://127.0.0.1:9", "localhost:9", "http://127.0.0.1:9/api"):
        error = refused(f"%nb connect {where} --save broken --keep", UnreachableError)
        assert f"`%nb` still uses {nb_box.nb.base_url} (profile sandbox)." in error.next_step
        assert "sandbox start" not in error.next_step
    assert "broken" not in config.profile_names()
    assert "Here" in status(run)["notebook in use"]
    config.forget_session()
    assert refused(f"%nb connect {where}").next_step.endswith("No nb service is in use.")
    run("%nb connect sandbox\n%nb delete Here --yes")


def test_unneeded_password_is_not_saved(run, printed, replay):
    output = printed(f"%nb connect {replay.base_url} --save open --keep")
    assert "The service needs no password, so none is stored." in output
    assert status(run)["profile"] == "open"
    run("%nb connect sandbox")
    assert "Connected to" in printed("%nb connect open --keep")


def test_interrupt_at_the_last_prompt_saves_nothing(shell, nb_box, monkeypatch):
    def interrupted(_: str = "") -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(getpass, "getpass", lambda *_, **__: nb_box.nb.password)
    monkeypatch.setattr(builtins, "input", interrupted)
    done = shell.run_cell(f"%nb connect {nb_box.nb.base_url} --save left")
    error = done.error_in_exec
    assert isinstance(error, KeyboardInterrupt)
    assert isinstance(error, CommandInterrupted)
    assert error.message == "`%nb connect` was interrupted."
    assert len(error._render_traceback_()) == 1
    assert "left" not in config.profile_names()
    assert config.connection("nb").profile == "sandbox"


def test_unsaveable_connection_is_not_used(run, refused, nb_box, answers, monkeypatch):
    answers.append(str(nb_box.nb.password))
    forgotten: list[tuple[str, ...]] = []
    monkeypatch.setattr(config, "forget_secret", lambda *names: forgotten.append(names))

    def full(*_: Any) -> None:
        raise StorageError("The disk is full.", "Make room.")

    monkeypatch.setattr(config, "save_profile", full)
    error = refused(f"%nb connect {nb_box.nb.base_url} --save left --keep")
    assert error.message == "The disk is full."
    assert "still uses" in error.next_step
    assert forgotten == [("nb", "left", "password")]
    assert status(run)["profile"] == "sandbox"


def test_dead_sandbox_hints_at_a_restart(run, refused, nb_box, tmp_path, monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    left = {"nb": {"base_url": f"http://127.0.0.1:{port}/api", "password": "gone-0123456789"}}
    (tmp_path / "connection.json").write_text(json.dumps(left))
    monkeypatch.setenv("LABEXT_SANDBOX_DIR", str(tmp_path))
    assert "%lab sandbox start" in refused("%nb notebooks").next_step


def test_environment_password_matches_its_address_with_and_without_api(run, nb_box, monkeypatch):
    root = nb_box.nb.base_url.rstrip("/").removesuffix("/api")
    monkeypatch.setenv("LABEXT_NB_PASSWORD", str(nb_box.nb.password))
    for named in (root, f"{root}/api"):
        monkeypatch.setenv("LABEXT_NB_BASE_URL", named)
        run(f"%nb connect {root}")  # no prompt is possible
        assert "accepted" in status(run)["password needed"]


def test_server_of_another_kind_is_reported(refused):
    with other_server() as provider:
        error = refused(f"%nb connect {provider.base_url.removesuffix('/v1')}", SetupError)
    assert "is not a notebook service" in error.message
    assert "5055" in error.next_step
