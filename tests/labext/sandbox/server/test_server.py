"""A server over HTTPS on loopback, used by the clients."""

from __future__ import annotations

import io
import re
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
import requests
from tls_server import ca, nb_password, origin, post_notebook

from labext import cli
from labext.errors import InputError, SetupError
from labext.nb import NotebookClient
from labext.sandbox import Sandbox
from labext.sandbox.core.data_folder import DataFolder
from labext.sandbox.core.server_settings import PORT_OFFSETS
from labext.sandbox.server import Server

pytestmark = pytest.mark.contract


@pytest.fixture
def admin(server: Server, run: Any) -> Any:
    """Run `labext server …` on the shared server and return its JSON."""
    return partial(run, server)


def test_new_server_has_no_accounts_and_hands_out_no_keys(server, admin):
    assert not [a for a in admin("jobs", "accounts", "list") if "sandbox.local" in a["email"]]
    assert not [u for u in admin("lab", "users", "list") if "sandbox.local" in u["email"]]
    entries = server.connection()
    for service in ("lab", "jobs", "nb"):
        assert not {"api_key", "client_secret", "oidc_secret", "password"} & entries[service].keys()
        assert entries[service]["base_url"].startswith("https://localhost:")


def test_password_that_is_set_is_not_handed_out(server, admin, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("correct-horse-battery\n"))
    admin("nb", "password", "set", "--stdin")
    assert "password" not in server.connection()["nb"]
    assert post_notebook(server, b'{"name": "Opened"}').ok


def test_identity_provider_issues_tokens_for_the_public_host(server, admin):
    admin("lab", "users", "add", "oidc@lab.example.org")
    url = f"{origin(server, 'lab-oidc')}/.well-known/openid-configuration"
    configuration = requests.get(url, verify=ca(server), timeout=30).json()
    assert configuration["issuer"] == origin(server, "lab-oidc")
    assert admin("lab", "provider", "list")["configuration_url"] == url


@pytest.mark.parametrize("endpoint", ["lab", "jobs", "nb", "lab-oidc"])
def test_other_host_names_are_refused(server, endpoint):
    headers = {"Host": "evil.example.org"}
    answer = requests.get(origin(server, endpoint), headers=headers, verify=ca(server), timeout=30)
    assert answer.status_code == 400


def test_sandbox_does_not_start_in_the_folder_of_a_server(server):
    with pytest.raises(SetupError, match="belong to a server"):
        Sandbox(server.data_dir).start()


def test_running_request_is_answered_during_shutdown(new_server):
    server = new_server(services=["labext.sandbox.nb.app:service"])

    def slowly():
        yield b"{"
        time.sleep(1.0)
        yield b"}"

    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(post_notebook, server, slowly())
        time.sleep(0.4)
        server.stop()
    assert answer.result().status_code in (400, 422), "the service's own, not a cut connection"
    log = DataFolder(server.data_dir).log.read_text()
    assert "graceful shutdown exceeded" not in log, "the client keeps the connection open"


@pytest.mark.parametrize("endpoint", ["lab", "jobs", "nb", "lab-oidc"])
def test_health_of_every_endpoint_needs_no_credentials(server, endpoint):
    headers = {"Host": "127.0.0.1"}
    answer = requests.get(
        f"{origin(server, endpoint)}/health", headers=headers, verify=ca(server), timeout=30
    )
    assert (answer.status_code, answer.json()) == (200, {"status": "healthy"})


def test_status_shows_the_health_of_every_endpoint(server, admin):
    assert admin("status")["health"] == dict.fromkeys(PORT_OFFSETS, "healthy")


def test_first_start_names_the_organization_of_new_accounts(new_server, run):
    def names(server: Server, service: str) -> list[str]:
        return [row["name"] for row in run(server, service, "organizations", "list")]

    services = ["labext.sandbox.lab.app:service", "labext.sandbox.jobs.app:service"]
    server = new_server(organization="Smith lab", services=services)
    assert run(server, "jobs", "accounts", "add", "a@lab.example.org")["organization"] == (
        "Smith lab"
    )
    assert names(server, "jobs") == names(server, "lab") == ["Smith lab"]
    pipelines = run(server, "jobs", "pipelines", "list")
    assert {row["organization"] for row in pipelines} == {"Smith lab"}
    run(server, "jobs", "organizations", "add", "Guests")
    guest = run(server, "jobs", "accounts", "add", "b@x.org", "--organization", "Guests")
    assert guest["organization"] == "Guests"
    server.stop()
    options = vars(server.settings)
    with pytest.raises(InputError, match="has created the organization Smith lab") as refused:
        Server(server.data_dir).configure(**(options | {"organization": "Jones lab"}))
    assert "`labext server jobs organizations add NAME --data-dir" in str(refused.value)
    again = Server(server.data_dir, workers=2, services=services)
    again.configure(**{name: options[name] for name in options if name != "organization"})
    again.start()
    assert again.settings == server.settings
    assert run(server, "jobs", "accounts", "add", "c@x.org")["organization"] == "Smith lab"


def test_organization_of_a_server_is_called_laboratory_by_default(server, admin):
    added = admin("jobs", "accounts", "add", "default@lab.example.org")
    assert added["organization"] == "Laboratory"
    assert [row["name"] for row in admin("lab", "organizations", "list")] == ["Laboratory"]


def test_exit_code_of_status_says_whether_the_server_runs_and_is_healthy(
    server, tmp_path, capsys, monkeypatch
):
    def status(folder: Path) -> tuple[int, str]:
        capsys.readouterr()
        code = cli.main(["server", "status", "--data-dir", str(folder)])
        return code, capsys.readouterr().out

    monkeypatch.setattr("labext.sandbox.status.HEALTH_SECONDS", 2.0)
    assert status(server.data_dir)[0] == 0
    host = psutil.Process(server.status().pid)
    host.suspend()
    try:
        code, text = status(server.data_dir)
    finally:
        host.resume()
    assert code == 4
    assert "lab-oidc is not healthy: It does not respond" in text
    for name in (".labext-sandbox", "server.json", "host.json"):  # those of a stopped one
        shutil.copy(server.data_dir / name, tmp_path)
    assert status(tmp_path)[0] == 3


def test_messages_name_the_commands_of_the_server(server, admin, capsys):
    def text(*words: str) -> str:
        capsys.readouterr()
        cli.main(["server", *words, "--data-dir", str(server.data_dir)])
        printed = capsys.readouterr()
        return printed.out + printed.err

    where = f"--data-dir {server.data_dir}"
    added = text("jobs", "accounts", "add", "named@lab.example.org")
    key = re.search(f"`labext server (jobs keys add .*) {where}`", added)
    assert '"key": ' in text(*key[1].split())
    added = text("lab", "users", "add", "n@lab.example.org")
    grant = re.search(f"`labext server (lab grants add .*) NAME {where}`", added)
    assert "may see the organization Laboratory" in text(*grant[1].split(), "Laboratory")
    assert "labext server nb models list" in text("nb", "models", "key", "extractive", "--no-key")
    client = NotebookClient(f"{origin(server, 'nb')}/api", nb_password(server), verify=ca(server))
    source = client.sources.add_url("http://127.0.0.1:1/private")
    until = time.monotonic() + 60  # the page is fetched in the process of a task
    while "labext server nb fetch allow-private" not in str(client.sources.status(source["id"])):
        assert time.monotonic() < until, client.sources.status(source["id"])
        time.sleep(0.2)


@pytest.mark.parametrize("words", ["jobs accounts list", "lab users list", "backup b.zip"])
def test_command_before_the_first_start_names_the_start_of_a_server(words, tmp_path, capsys):
    assert cli.main(["server", *words.split(), "--data-dir", str(tmp_path / "new")]) == 1
    message = capsys.readouterr().err
    assert "There is no server in" in message
    assert f"`labext server start --data-dir {tmp_path / 'new'}`" in message


def test_doctor_shows_the_server_of_this_machine(server, monkeypatch, capsys):
    monkeypatch.setenv("LABEXT_SERVER_DIR", str(server.data_dir))
    assert cli.main(["doctor"]) == 0
    line = f"server in {server.data_dir}: running: lab {origin(server, 'lab')}, jobs "
    assert line in capsys.readouterr().out


def test_sign_in_page_of_a_server_names_its_command_but_no_users(server, admin):
    admin("lab", "users", "add", "listed@lab.example.org")
    configuration = f"{origin(server, 'lab-oidc')}/.well-known/openid-configuration"
    endpoints = requests.get(configuration, verify=ca(server), timeout=30).json()
    query = {
        "response_type": "code",
        "client_id": server.connection()["lab"]["oidc_client_id"],
        "redirect_uri": "http://127.0.0.1:1/",
        "scope": "openid",
        "code_challenge": "x" * 43,
        "code_challenge_method": "S256",
        "login_hint": '"><script>',
    }
    page = requests.get(
        endpoints["authorization_endpoint"], params=query, verify=ca(server), timeout=30
    )
    assert "labext server lab users secret EMAIL" in page.text
    assert "sandbox" not in page.text
    assert "listed@lab.example.org" not in page.text
    assert 'name="email" type="email" value="&quot;&gt;&lt;script&gt;"' in page.text
