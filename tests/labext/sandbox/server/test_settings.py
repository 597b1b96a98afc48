"""Settings that a server refuses, each with one line and the next step."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import psutil
import pytest
from tls_server import Files, free_ports, issue
from waiting import wait_until

from labext.errors import ConflictError, InputError, LabextError, ServiceError, SetupError
from labext.sandbox.core.data_folder import DataFolder
from labext.sandbox.core.database import CoreBase, Database
from labext.sandbox.core.server_settings import ServerSettings
from labext.sandbox.lab import tables
from labext.sandbox.server import Server

JOBS = ["labext.sandbox.jobs.app:service"]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return issue(tmp_path / "tls", "lab.example.org")


def refusal(error: type[LabextError], **values: object) -> LabextError:
    settings = ServerSettings(**({"host": "lab.example.org", "listen": "127.0.0.1"} | values))
    with pytest.raises(error) as caught:
        settings.check()
    assert "\n" not in caught.value.message
    assert caught.value.next_step
    return caught.value


def test_valid_settings_are_accepted(files):
    ServerSettings("lab.example.org", **files.options()).check()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"listen": "0.0.0.0"}, "clear text"),
        ({"listen": "192.0.2.1", "behind_proxy": True}, "clear text"),
        ({"listen": "127.0.0.1"}, ""),
    ],
)
def test_plain_http_is_accepted_only_from_a_proxy_on_loopback(values, message):
    assert message in refusal(InputError, **values).message
    ServerSettings("lab.example.org", "127.0.0.1", behind_proxy=True).check()


def test_proxy_and_certificate_together_are_refused(files):
    refusal(InputError, behind_proxy=True, **files.options())


@pytest.mark.parametrize("mode", [0o604, 0o644, 0o660])
def test_key_that_others_can_read_or_change_is_refused(files, mode):
    files.tls_key.chmod(mode)
    assert "by others" in refusal(SetupError, **files.options()).message


def test_certificate_must_cover_the_host_and_the_hosts_of_all_public_urls(tmp_path, files):
    other = issue(tmp_path / "other", "other.example.org")
    error = refusal(SetupError, **other.options())
    assert "is for other.example.org, not for lab.example.org" in error.message
    urls = {"jobs": "https://jobs.example.org"}
    assert "jobs.example.org" in refusal(SetupError, public_urls=urls, **files.options()).message


def test_wildcard_certificate_covers_one_label(tmp_path):
    files = issue(tmp_path / "wild", "*.example.org")
    ServerSettings("lab.example.org", **files.options()).check()
    refusal(SetupError, host="a.lab.example.org", **files.options())


def test_key_of_another_certificate_is_refused(files, tmp_path):
    other = issue(tmp_path / "other", "lab.example.org")
    values = files.options() | {"tls_key": str(other.tls_key)}
    assert "another certificate" in refusal(SetupError, **values).message


def test_expired_certificate_and_one_of_the_future_are_refused(tmp_path):
    day = timedelta(days=1)
    past = issue(tmp_path / "past", "lab.example.org", valid=(-2 * day, -day))
    assert "expired on" in refusal(SetupError, **past.options()).message
    future = issue(tmp_path / "future", "lab.example.org", valid=(day, 2 * day))
    assert "valid only from" in refusal(SetupError, **future.options()).message


def test_missing_and_damaged_files_are_refused(files, tmp_path):
    refusal(SetupError, **(files.options() | {"tls_cert": str(tmp_path / "none")}))
    refusal(SetupError, **(files.options() | {"tls_key": str(tmp_path / "none")}))
    files.tls_cert.write_text("no certificate")
    refusal(SetupError, **files.options())


@pytest.mark.parametrize(
    "values",
    [
        *(
            {"host": host}
            for host in ("https://lab.example.org", "lab.example.org:8443", "Lab", "a b")
        ),
        {"public_urls": {"none": "https://lab.example.org"}},
        {"public_urls": {"jobs": "http://lab.example.org"}},
        {"public_urls": {"jobs": "https://lab.example.org/jobs"}},
        {"public_urls": {"jobs": "https://user@lab.example.org"}},
    ],
)
def test_host_and_public_urls_are_checked(files, values):
    refusal(InputError, **(files.options() | values))


def test_port_in_use_is_refused(tmp_path):
    files, port = issue(tmp_path / "tls", "localhost"), free_ports()
    server = Server(tmp_path / "data")
    server.configure(host="localhost", listen="127.0.0.1", port=port, **files.options())
    with (
        socket.create_server(("127.0.0.1", port + 1)),
        pytest.raises(SetupError, match=f"{port + 1} of 127.0.0.1 can't be opened"),
    ):
        server.start()
    assert not (tmp_path / "data").exists(), "a rejected start leaves nothing"


@pytest.mark.parametrize("name", ["", " lab", "a\nb", "x" * 300])
def test_name_of_the_organization_is_checked(files, name):
    error = refusal(InputError, organization=name, **files.options())
    assert "can't be the name of an organization" in error.message


@pytest.mark.parametrize("has_tables", [False, True])
def test_organization_that_a_failed_start_did_not_create_can_be_renamed(tmp_path, has_tables):
    folder = DataFolder(tmp_path)
    folder.prepare()
    ServerSettings("localhost", organization="Smith lab").save(folder)
    folder.database.touch()
    database = Database(folder.database_url)
    if has_tables:
        database.create(CoreBase.metadata, tables.Base.metadata)
    assert Server(tmp_path).configure(host="localhost").organization == "Smith lab"
    renamed = Server(tmp_path).configure(host="localhost", organization="Jones lab")
    assert renamed.organization == "Jones lab"
    if has_tables:
        with database.write() as session:
            session.add(tables.Seeded(name="tenant campus"))
        with pytest.raises(InputError, match="has created the organization Smith lab"):
            Server(tmp_path).configure(host="localhost", organization="Jones lab")
    database.close()


def test_first_start_needs_a_host_name(tmp_path):
    with pytest.raises(InputError, match="host name is missing"):
        Server(tmp_path / "data").start()


def test_folder_of_a_sandbox_is_refused(tmp_path):
    folder = DataFolder(tmp_path / "data")
    folder.prepare()
    folder.state.write_text("{}")
    files = issue(tmp_path / "tls", "localhost")
    server = Server(folder.path)
    server.configure(host="localhost", listen="127.0.0.1", **files.options())
    with pytest.raises(SetupError, match="sample accounts"):
        server.start()


def test_settings_of_another_version_are_refused(tmp_path):
    folder = DataFolder(tmp_path / "data")
    folder.prepare()
    folder.server.write_text('{"host": "localhost", "newer": true}')
    with pytest.raises(SetupError, match="another version of labext"):
        Server(folder.path).start()


@pytest.mark.contract
def test_running_server_refuses_other_settings(server):
    other = Server(server.data_dir)
    other.configure(**(vars(server.settings) | {"port": 40_000}))
    with pytest.raises(ConflictError, match="other settings"):
        other.start()


@pytest.mark.contract
def test_start_without_a_host_name_keeps_the_options_of_the_last_one(new_server):
    first = new_server(executor="dask", services=JOBS)
    first.stop()
    stored = vars(Server(first.data_dir).settings)
    second = Server(first.data_dir, workers=1, services=JOBS)
    second.configure(log_format="json")
    status = second.start()
    assert status.worker_command is not None
    assert status.workers == 1
    assert Server(first.data_dir).start() == status
    second.stop()
    options = stored["start_options"] | {"workers": 1}
    changed = {"start_options": options, "log_format": "json"}
    assert vars(Server(first.data_dir).settings) == stored | changed
    third = Server(first.data_dir, services=JOBS)
    third.configure(**(vars(first.settings) | {"start_options": {}}))
    assert third.start().worker_command is None
    third.stop()


@pytest.mark.contract
def test_messages_of_the_server_process_name_options_of_the_command_line(new_server, tmp_path):
    (tmp_path / "objects").mkdir()
    (tmp_path / "objects" / "other").touch()
    with pytest.raises(ServiceError, match="is not empty") as refused:
        new_server(storage=f"file://{tmp_path / 'objects'}", services=JOBS)
    assert "`--storage`" in refused.value.next_step


@pytest.mark.contract
def test_reload_during_the_start_does_not_end_the_server(tmp_path):
    settings = {"host": "localhost", "listen": "127.0.0.1", "port": free_ports()}
    code = (
        "from labext.sandbox.server import Server\n"
        f"server = Server({str(tmp_path / 'data')!r}, services={JOBS})\n"
        f"server.configure(behind_proxy=True, **{settings})\n"
        "server.run()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code])
    try:
        wait_until(lambda: "labext.sandbox.host" in psutil.Process(process.pid).cmdline())
        process.send_signal(signal.SIGHUP)
        announced = tmp_path / "data" / "connection.json"
        wait_until(lambda: announced.exists() or process.poll() is not None)
        assert process.poll() is None
    finally:
        process.terminate()
        process.wait(30)


@pytest.mark.contract
def test_unusable_renewed_certificate_is_named_in_the_log(server):
    file = Path(server.settings.tls_cert)
    certificate = file.read_text()
    file.write_text("no certificate")
    os.kill(server.status().pid, signal.SIGHUP)
    log = server.data_dir / "host.log"
    wait_until(lambda: "The certificate is not reloaded." in log.read_text())
    assert "`--tls-cert FILE`" in log.read_text()
    file.write_text(certificate)
