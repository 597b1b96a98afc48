"""`%jobs connect` and `login`: the key in use, stored secrets, and no key is ever displayed."""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path

import pytest
from cli_fixtures import MemoryKeyring
from IPython.core.interactiveshell import InteractiveShell
from labext_test_shell import Run, User

from labext import config
from labext.errors import InputError, LabextError, SetupError, SignInError
from labext.sandbox import Sandbox
from labext_magics.core import sign_in

pytestmark = pytest.mark.contract

TYPED = "typed-but-wrong-0123456789"


@pytest.fixture
def shell(shell_without_sandbox: InteractiveShell) -> InteractiveShell:
    return shell_without_sandbox


def test_environment_key_takes_precedence(
    run: Run, box: Sandbox, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LABEXT_JOBS_API_KEY", box.jobs.api_key)
    run(f"%jobs connect {box.jobs.base_url}")
    assert run("%jobs status")["value"]["address"] == box.jobs.base_url
    monkeypatch.setenv("LABEXT_JOBS_API_KEY", TYPED)
    with pytest.raises(SignInError):
        run(f"%jobs connect {box.jobs.base_url}")
    assert not user.hidden_prompts


def test_environment_key_is_sent_only_to_its_address(
    run: Run, box: Sandbox, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LABEXT_JOBS_API_KEY", box.jobs.api_key)
    monkeypatch.setenv("LABEXT_JOBS_BASE_URL", "https://elsewhere.example.org/api/")
    with pytest.raises(SetupError, match="needs a key") as caught:
        run(f"%jobs connect {box.jobs.base_url}")
    assert "LABEXT_JOBS_API_KEY" in caught.value.next_step
    assert len(user.hidden_prompts) == 1


def test_refused_saved_key_is_prompted_again(
    run: Run, box: Sandbox, user: User, ring: MemoryKeyring, capsys: pytest.CaptureFixture[str]
) -> None:
    config.save_profile("lab1", "jobs", box.jobs.base_url)
    config.save_secret("jobs", "lab1", "api_key", TYPED)
    config.forget_session()
    user.answers = [box.jobs.api_key]
    run("%jobs connect lab1 --keep")
    assert "not accepted" in capsys.readouterr().out
    assert len(user.hidden_prompts) == 1
    assert list(ring.secrets.values()) == [box.jobs.api_key]
    run("%jobs login")
    assert len(user.hidden_prompts) == 1


def test_key_that_another_program_has_stored_is_used_by_the_next_connect(
    run: Run, box: Sandbox, user: User, ring: MemoryKeyring
) -> None:
    config.save_profile("lab1", "jobs", box.jobs.base_url)
    config.save_secret("jobs", "lab1", "api_key", TYPED)
    assert config.connection("jobs", "lab1").secrets == {"api_key": TYPED}
    ring.set_password("labext", "lab1/jobs/api_key", box.jobs.api_key)
    run("%jobs connect lab1")
    assert not user.hidden_prompts


def test_wrong_key_changes_nothing(
    run: Run, box: Sandbox, user: User, ring: MemoryKeyring, isolated: Path
) -> None:
    user.answers = [TYPED, "", TYPED]
    for _ in range(3):
        with pytest.raises((SignInError, SetupError)):
            run(f"%jobs connect {box.jobs.base_url} --save lab1 --keep")
    assert config.profile_names() == []
    assert not ring.secrets
    with pytest.raises(SetupError, match="No jobs service is configured"):
        run("%jobs list")


def test_connection_profile_gains_a_second_service(
    run: Run, box: Sandbox, user: User, ring: MemoryKeyring
) -> None:
    user.answers = [box.jobs.api_key]
    config.save_profile("lab", "lab", "https://lab.example.org/")
    run(f"%jobs connect {box.jobs.base_url} --save lab --keep")
    assert config.connection("jobs", "lab").base_url == box.jobs.base_url
    assert config.connection("lab", "lab").base_url == "https://lab.example.org/"


def test_split_batch_is_counted_once(
    run: Run, box: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LABEXT_JOBS_API_KEY", box.jobs.api_key)
    run(f"%jobs connect {box.jobs.base_url}")

    def counted() -> int:
        return int(run("%jobs status")["value"]["jobs and batches"])

    before = counted()
    rows = "{{f'j{n}': {'sequence': 'GAATTC', 'enzymes': 'EcoRI'} for n in range(101)}}"
    run(f"%jobs batch counted --type digest --from {rows}")
    try:
        assert counted() == before + 1 == len(run("%jobs list"))
    finally:
        run("%jobs delete counted --yes")


def test_key_on_a_line_is_refused_and_masked(
    run: Run, shell: InteractiveShell, capsys: pytest.CaptureFixture[str], box: Sandbox
) -> None:
    for line in (
        "%jobs connect URL KEY",
        "%jobs connect KEY",
        "%jobs connect URL --key KEY",
        "%jobs connect URL --api-key=KEY",
        "%jobs list --x-api-key KEY",
        "%jobs login KEY",
        "%jobs connect http://me:KEY@127.0.0.1/api/",
        "%jobs connect http://127.0.0.1/api/?key=KEY",
    ):
        with pytest.raises(InputError, match="history") as caught:
            run(line.replace("URL", box.jobs.base_url).replace("KEY", TYPED))
        assert "LABEXT_JOBS_API_KEY" in caught.value.next_step
        assert TYPED not in capsys.readouterr().out + str(caught.value)


def test_no_key_is_in_history_or_output(
    run: Run, shell: InteractiveShell, box: Sandbox, user: User,
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("LABEXT_SANDBOX_DIR", str(box.data_dir))
    user.answers = [box.jobs.api_key]
    outputs = []
    for line in (
        f"%jobs connect {box.jobs.base_url}",
        "%jobs status",
        "%lab sandbox start",
        "%lab sandbox status",
        "%jobs connect sandbox",
        "%jobs login",
        "%jobs tools",
        "%jobs list",
    ):
        outputs.append(str(run(line)))
    outputs += [capsys.readouterr().out, *shell.history_manager.input_hist_raw]
    outputs += [repr(value) for name, value in shell.user_ns.items() if name[:1] != "_"]
    assert box.jobs.api_key not in "".join(outputs)


@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n"])
def test_server_that_never_finishes_ends_a_connect(
    run: Run, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(sign_in, "CHECK_SECONDS", 0.6)
    open_connections = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def respond() -> None:
            connection = server.accept()[0]
            open_connections.append(connection)
            connection.sendall(sent)

        threading.Thread(target=respond, daemon=True).start()
        began = time.monotonic()
        with pytest.raises(LabextError, match=r"timed out|took more than 0\.6 s"):
            run(f"%jobs connect http://127.0.0.1:{server.getsockname()[1]}/api/")
        assert time.monotonic() - began < 15
    open_connections[0].close()


def test_host_that_only_a_proxy_reaches_is_offered_with_https(run: Run) -> None:
    with pytest.raises(SetupError, match="no server responds") as caught:
        run("%jobs connect jobs.test.invalid/api")
    assert caught.value.next_step.count("%jobs connect https://jobs.test.invalid/api") == 1
