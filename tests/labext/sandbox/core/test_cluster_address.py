"""Addresses and certificates of a cluster."""

from __future__ import annotations

import socket
import ssl
import stat
import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme

from labext.errors import SetupError
from labext.sandbox.core.data_folder import DataFolder, read_json, write_json
from labext.sandbox.core.executors.cluster import setup
from labext.sandbox.core.executors.cluster.address import (
    TlsFiles,
    check_connection,
    scheduler_address,
    write_certificates,
)
from labext.sandbox.core.executors.cluster.protocol import resolve_inside, version_error, versions
from labext.sandbox.core.executors.cluster.setup import Cluster, open_cluster
from labext.sandbox.core.server_settings import ServerSettings


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> TlsFiles:
    folder = tmp_path_factory.mktemp("certificates") / "new"
    write_certificates(folder, ["lab.example.org"])
    return TlsFiles(folder / "ca.pem", folder / "worker.pem", folder / "worker.key")


def _written(folder: Path, certificate: trustme.LeafCert) -> TlsFiles:
    """Write a certificate and its key, which the authority in the same folder has issued."""
    certificate.cert_chain_pems[0].write_to_path(folder / "leaf.pem")
    (folder / "leaf.key").touch(mode=0o600)
    certificate.private_key_pem.write_to_path(folder / "leaf.key")
    return TlsFiles(folder / "ca.pem", folder / "leaf.pem", folder / "leaf.key")


@pytest.mark.parametrize(
    ("begin", "end", "reason"), [(-2, -1, "expired on"), (1, 2, "is valid only from")]
)
def test_certificate_that_is_not_valid_now_is_refused(
    tmp_path: Path, begin: int, end: int, reason: str
) -> None:
    authority, now = trustme.CA(), datetime.now(UTC)
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    dates = [now + timedelta(days=days) for days in (begin, end)]
    outdated = authority.issue_cert("localhost", not_before=dates[0], not_after=dates[1])
    files = _written(tmp_path, outdated)
    with pytest.raises(SetupError, match=rf"leaf\.pem {reason} "):
        TlsFiles.of(files.ca, files.certificate, files.key)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    outdated.configure_cert(server)
    valid = _written(tmp_path, authority.issue_cert("localhost"))

    def accept() -> None:
        with suppress(OSError), server.wrap_socket(listener.accept()[0], server_side=True):
            pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=accept)
        thread.start()
        with pytest.raises(SetupError, match=r"refused: certificate (has expired|is not yet)"):
            check_connection(f"tls://127.0.0.1:{listener.getsockname()[1]}", valid)
        thread.join()


def test_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    files = _written(tmp_path, authority.issue_cert("localhost"))
    files.key.chmod(0o644)
    with pytest.raises(SetupError, match=r"leaf\.key can be read or changed by others"):
        TlsFiles.of(files.ca, files.certificate, files.key)


def test_previous_port_of_the_scheduler_is_awaited_for_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = DataFolder(tmp_path / "box")
    folder.prepare()
    with socket.create_server(("", 0)) as listener:
        port = listener.getsockname()[1]
        write_json(folder.ports, {"scheduler": port})
        threading.Timer(0.3, listener.close).start()
        assert setup.choose_port(folder) == port
    with socket.create_server(("", port)):
        monkeypatch.setattr(setup, "PREVIOUS_PORT_SECONDS", 0.0)
        other = setup.choose_port(folder)
        assert other != port
        assert read_json(folder.ports) == {"scheduler": other}


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("tls://lab.example.org:9000", "tls://lab.example.org:9000"),
        ("tls://lab.example.org", "tls://lab.example.org:8786"),
        ("dask://10.0.0.1:8786", "tls://10.0.0.1:8786"),
        ("tcp://127.0.0.1:8786", "tcp://127.0.0.1:8786"),
        ("tcp://[::1]:8786", "tcp://[::1]:8786"),
        ("tcp://localhost", "tcp://localhost:8786"),
    ],
)
def test_addresses_are_completed(address: str, expected: str, tls: TlsFiles) -> None:
    assert scheduler_address(address, tls, allow_plaintext=False) == expected


@pytest.mark.parametrize(
    "address",
    [
        *("lab:8786", "http://lab:8786", "tls://", "tls://lab:1/x"),
        *("tls://lab:99999", "tls://lab:http", "tls://::1", "tls://user@lab"),
    ],
)
def test_other_addresses_are_refused(address: str, tls: TlsFiles) -> None:
    with pytest.raises(SetupError, match="not the address of a scheduler"):
        scheduler_address(address, tls, allow_plaintext=False)


def test_plain_connection_to_another_machine_must_be_allowed() -> None:
    with pytest.raises(SetupError, match="would not be encrypted"):
        scheduler_address("tcp://10.0.0.1:8786", None, allow_plaintext=False)
    with pytest.raises(SetupError, match="would not be encrypted"):
        scheduler_address("dask://lab.example.org", None, allow_plaintext=False)
    with pytest.raises(SetupError, match=r"needs certificates.* `certificates=\"DIR\"`"):
        scheduler_address("tls://10.0.0.1:8786", None, allow_plaintext=True)
    address = "tcp://10.0.0.1:8786"
    assert scheduler_address(address, None, allow_plaintext=True) == address


def test_command_of_a_worker_allows_the_plain_connection_of_its_service() -> None:
    commands = [
        Cluster(f"tcp://{host}:8786", None, "service", "here").worker_command
        for host in ("10.0.0.1", "127.0.0.1")
    ]
    assert commands[0] == "labext worker --connect tcp://10.0.0.1:8786 --allow-plaintext"
    assert commands[1] == "labext worker --connect tcp://127.0.0.1:8786"


def test_command_of_a_worker_names_the_public_host_of_the_server(
    tls: TlsFiles, tmp_path: Path
) -> None:
    folder = DataFolder(tmp_path / "data")
    folder.prepare()
    ServerSettings("lab.example.org").save(folder)
    cluster = open_cluster("dask", tls.ca.parent, folder)
    try:
        assert "--connect tls://lab.example.org:" in cluster.worker_command
    finally:
        cluster.close()


def test_certificates_are_never_replaced(tls: TlsFiles) -> None:
    with pytest.raises(SetupError, match="not empty"):
        write_certificates(tls.ca.parent, ["lab.example.org"])
    assert stat.S_IMODE(tls.key.stat().st_mode) == 0o600
    assert stat.S_IMODE(tls.ca.parent.stat().st_mode) == 0o700


def test_incomplete_or_broken_certificates_are_refused(tls: TlsFiles, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="three files"):
        TlsFiles.of(tls.ca, None, tls.key)
    (tmp_path / "broken.pem").write_text("no certificate")
    with pytest.raises(SetupError, match="can't be used"):
        TlsFiles.of(tls.ca, tmp_path / "broken.pem", tls.key)
    with pytest.raises(SetupError, match="can't be used"):
        TlsFiles.of(tls.ca, tmp_path / "missing.pem", tls.key)
    assert TlsFiles.of(None, None, None) is None


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/../../x", "", ".."])
def test_names_of_files_stay_in_the_folder_of_the_task(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="not the name"):
        resolve_inside(tmp_path, name)


def test_links_do_not_lead_out_of_the_folder_of_the_task(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "link").symlink_to(tmp_path)
    for name in ("link", "link/x"):
        with pytest.raises(ValueError, match="not the name"):
            resolve_inside(tmp_path / "work", name)
    assert resolve_inside(tmp_path / "work", "a/b.txt") == tmp_path / "work" / "a" / "b.txt"


def test_versions_of_service_and_worker_must_agree() -> None:
    assert version_error(versions()) == ""
    assert "the service has labext 9.9" in version_error(versions() | {"labext": "9.9"})
