"""A server behind nginx, which ends TLS with the documented configuration."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import model_servers
import pytest
import requests
from databases import open_database
from sqlalchemy import select
from tls_server import Files, free_ports, issue
from waiting import wait_until

from labext import cli
from labext.jobs import JobsClient
from labext.nb import NotebookClient
from labext.sandbox.core.server_settings import PORT_OFFSETS
from labext.sandbox.lab.tables import AuditEntry
from labext.sandbox.server import Server

pytestmark = [
    pytest.mark.contract,
    pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed"),
]

GUIDE = Path(__file__).parents[4] / ".docs" / "text" / "server.md"
PAUSE = 1.0
"""Seconds between two words of the model."""


def _documented_block() -> str:
    blocks = re.findall(r"```text\n(server \{.*?)```", GUIDE.read_text("utf-8"), re.S)
    (block,) = [block for block in blocks if "proxy_pass" in block]
    return str(block)


def _configuration(folder: Path, files: Files, public: int, private: int) -> str:
    blocks = []
    for offset in PORT_OFFSETS.values():
        block = _documented_block()
        for documented, value in {
            "listen 443 ssl": f"listen 127.0.0.1:{public + offset} ssl",
            "server_name jobs.example.org": "server_name localhost",
            "/etc/labext/cert.pem": str(files.tls_cert),
            "/etc/labext/key.pem": str(files.tls_key),
            "127.0.0.1:8444": f"127.0.0.1:{private + offset}",
        }.items():
            assert documented in block
            block = block.replace(documented, value)
        blocks.append(block)
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return (
        f"user root;\npid {folder}/pid;\nerror_log {folder}/error.log;\ndaemon off;\n"
        f"events {{}}\nhttp {{\naccess_log off;\n{temporary}{''.join(blocks)}}}\n"
    )


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Files]]:
    """A running server behind nginx, and the certificate of nginx."""
    folder = tmp_path_factory.mktemp("proxied")
    files = issue(folder / "tls", "localhost")
    private = free_ports()
    public = free_ports(private + len(PORT_OFFSETS))
    server = Server(folder / "data", workers=2)
    server.configure(
        host="localhost",
        listen="127.0.0.1",
        port=private,
        behind_proxy=True,
        log_format="json",
        ca_bundle=str(files.ca_bundle),
        public_urls={n: f"https://localhost:{public + o}" for n, o in PORT_OFFSETS.items()},
    )
    server.start()
    (folder / "nginx.conf").write_text(_configuration(folder, files, public, private))
    nginx = subprocess.Popen(["nginx", "-c", str(folder / "nginx.conf"), "-p", str(folder)])
    try:
        until = time.monotonic() + 20
        while True:
            try:
                health = f"https://localhost:{public}/health"
                assert requests.get(health, verify=str(files.ca_bundle), timeout=5).ok
                break
            except requests.ConnectionError:
                assert time.monotonic() < until
                assert nginx.poll() is None
                time.sleep(0.1)
        yield server, files
    finally:
        nginx.terminate()
        nginx.wait(20)
        server.stop()


def _notebook_client(proxied: tuple[Server, Files]) -> NotebookClient:
    server, files = proxied
    password = (server.data_dir / "secrets" / "nb_password").read_text()
    url = server.connection()["nb"]["base_url"]
    return NotebookClient(url, password, verify=str(files.ca_bundle))


def test_clients_work_through_nginx(proxied, tmp_path, capsys):
    server, files = proxied
    for words in (["accounts", "add"], ["keys", "add"]):
        capsys.readouterr()
        command = ["server", "jobs", *words, "a@lab.example.org", "--json"]
        assert cli.main([*command, "--data-dir", str(server.data_dir)]) == 0
    key = json.loads(capsys.readouterr().out)["key"]
    url = server.connection()["jobs"]["base_url"]
    client = JobsClient(url, key, verify=str(files.ca_bundle))
    (tmp_path / "large.txt").write_bytes(b"x" * 3_000_000)  # more than nginx allows by default
    client.upload(tmp_path / "large.txt")
    client.submit("proxied", "digest", {"sequence": "AAAGAATTCAAA", "enzymes": ["EcoRI"]})
    client.wait("proxied", timeout=60)
    assert client.download("proxied", tmp_path / "out")


def test_words_of_a_model_are_not_held_back_by_nginx(proxied):
    with _notebook_client(proxied) as nb, model_servers.serving("openai") as model:
        model.words = ["Glucose ", "keeps ", "expression low."]
        model.pause = PAUSE
        nb.credentials.create("openai", "talker", "correct-horse-battery", model.base_url)
        talker = nb.models.create("talker-1", "llm", "openai", "talker")
        nb.models.set_defaults({"chat": talker["id"]})
        notebook = nb.notebooks.create("Streamed")["id"]
        nb.sources.add_text("Glucose keeps the expression low.", notebook, process_async=False)
        session = nb.chat.create(notebook)["id"]
        arrived: list[float] = []
        nb.chat.execute(session, "Why glucose?", on_words=lambda _: arrived.append(time.time()))
    delay = arrived[0] - model.sent_at[0]
    print(f"first words after {delay * 1000:.0f} ms")
    assert delay < PAUSE, "a buffered response arrives after the last word"
    assert model.sent_at[-1] - model.sent_at[0] > 1.5 * PAUSE


def test_request_id_of_nginx_is_in_the_log_and_the_sent_address_is_not_trusted(proxied):
    server, files = proxied
    url = f"{server.connection()['lab']['base_url']}/api/v2/users/me"
    answer: Any = requests.get(
        url, headers={"X-Forwarded-For": "9.9.9.9"}, verify=str(files.ca_bundle), timeout=30
    )
    assert answer.status_code == 401
    request_id = answer.headers["X-Request-ID"]
    assert re.fullmatch("[0-9a-f]{32}", request_id)
    log = server.data_dir / "host.log"
    # A request is logged after its response has been sent.
    wait_until(lambda: f'"request_id": "{request_id}"' in log.read_text())
    with closing(open_database(server.data_dir)) as database, database.read() as session:
        assert {*session.scalars(select(AuditEntry.address))} == {"127.0.0.1"}
