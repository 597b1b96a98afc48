"""The platform's certificate: created once, trusted through its authority, replaced if damaged."""

from __future__ import annotations

import os
import ssl
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import requests
import trustme
from cryptography import x509
from hypothesis import given
from hypothesis import strategies as st

from labext.sandbox.core.service_protocol import Certificate
from labext.sandbox.lab import endpoints


def hands_shake(pair: Certificate, bundle: Path, name: str = "localhost") -> bool:
    """Return whether a client that trusts only the bundle accepts the certificate for a name."""
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.load_cert_chain(pair.chain, pair.key)
    incoming, other = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = server_side.wrap_bio(incoming, other, server_side=True)
    client = ssl.create_default_context(cafile=bundle).wrap_bio(
        other, incoming, server_hostname=name
    )
    done = set[ssl.SSLObject]()
    for _ in range(4):
        for side in (client, server):
            try:
                side.do_handshake()
                done.add(side)
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLCertVerificationError:
                return False
    return len(done) == 2


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    folder = tmp_path / "secrets"
    folder.mkdir()
    return folder


def parse_certificate(pair: Certificate) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pair.chain.read_bytes())


def test_certificate_is_trusted_through_the_authority(tmp_path, secrets):
    certificate = endpoints.ensure_certificate(tmp_path, secrets)
    for name in ("localhost", "127.0.0.1", "::1"):
        assert hands_shake(certificate, endpoints.ca_bundle_path(tmp_path), name)
    assert not hands_shake(certificate, endpoints.ca_bundle_path(tmp_path), "labext.example")
    other = tmp_path / "other.pem"
    trustme.CA().cert_pem.write_to_path(other)
    assert not hands_shake(certificate, other)


def test_valid_certificate_is_reused(tmp_path, secrets):
    endpoints.ensure_certificate(tmp_path, secrets)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    endpoints.ensure_certificate(tmp_path, secrets)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_keys_are_private_and_the_bundle_is_readable(tmp_path, secrets):
    umask = os.umask(0o077)  # the host's
    try:
        certificate = endpoints.ensure_certificate(tmp_path, secrets)
    finally:
        os.umask(umask)
    modes = {path.name: path.stat().st_mode & 0o777 for path in secrets.iterdir()}
    assert set(modes.values()) == {0o600}
    assert certificate.key.name in modes
    assert endpoints.ca_bundle_path(tmp_path).stat().st_mode & 0o777 == 0o644
    assert b"PRIVATE" not in endpoints.ca_bundle_path(tmp_path).read_bytes()


def test_certificate_is_valid_with_a_clock_off_by_a_year(tmp_path, secrets):
    details = parse_certificate(endpoints.ensure_certificate(tmp_path, secrets))
    now, year = datetime.now(UTC), timedelta(days=365)
    assert details.not_valid_before_utc < now - year
    assert details.not_valid_after_utc > now + year
    # Apple's and Chrome's limit for certificates of private authorities
    assert details.not_valid_after_utc - details.not_valid_before_utc < timedelta(days=825)


def test_certificate_that_expires_soon_is_renewed(tmp_path, secrets, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(endpoints, "VALIDITY", timedelta(days=150))
        old = parse_certificate(endpoints.ensure_certificate(tmp_path, secrets))
    authority = endpoints.ca_bundle_path(tmp_path).read_bytes()
    certificate = endpoints.ensure_certificate(tmp_path, secrets)
    assert parse_certificate(certificate).not_valid_after_utc > old.not_valid_after_utc
    assert endpoints.ca_bundle_path(tmp_path).read_bytes() == authority
    assert hands_shake(certificate, endpoints.ca_bundle_path(tmp_path))


@pytest.mark.parametrize("content", [None, b"", b"-----BEGIN CERTIFICATE-----", b"\xff" * 40])
def test_missing_or_changed_bundle_is_rewritten(tmp_path, secrets, content):
    certificate = endpoints.ensure_certificate(tmp_path, secrets)
    bundle = endpoints.ca_bundle_path(tmp_path)
    before = bundle.read_bytes()
    if content is None:
        bundle.unlink()
    else:
        bundle.write_bytes(content)
    endpoints.ensure_certificate(tmp_path, secrets)
    assert bundle.read_bytes() == before
    assert hands_shake(certificate, bundle)


def test_certificate_of_another_authority_is_replaced(tmp_path, secrets):
    endpoints.ensure_certificate(tmp_path, secrets)
    foreign = trustme.CA().issue_cert("localhost").private_key_and_cert_chain_pem
    foreign.write_to_path(secrets / "lab_tls.pem")
    assert hands_shake(
        endpoints.ensure_certificate(tmp_path, secrets), endpoints.ca_bundle_path(tmp_path)
    )


def test_authority_with_a_foreign_key_is_replaced(tmp_path, secrets):
    first_ca, other = trustme.CA(), trustme.CA()
    (secrets / "lab_ca.pem").write_bytes(first_ca.cert_pem.bytes() + other.private_key_pem.bytes())
    assert hands_shake(
        endpoints.ensure_certificate(tmp_path, secrets), endpoints.ca_bundle_path(tmp_path)
    )


@given(
    file=st.sampled_from(["lab_ca.pem", "lab_tls.pem"]),
    place=st.integers(0, 2000),
    damage=st.one_of(st.sampled_from(["cut", "doubled"]), st.integers(0, 255)),
)
def test_damaged_files_are_replaced(tmp_path_factory, file, place, damage):
    folder = tmp_path_factory.mktemp("damaged")
    endpoints.ensure_certificate(folder, folder)
    content = bytearray((folder / file).read_bytes())
    place %= len(content)
    if damage == "cut":
        del content[place:]
    elif damage == "doubled":
        content += content[:place]
    else:
        content[place] = int(damage)
    (folder / file).write_bytes(content)
    assert hands_shake(
        endpoints.ensure_certificate(folder, folder), endpoints.ca_bundle_path(folder)
    )


def test_concurrent_starts_share_one_authority(tmp_path, secrets):
    with ThreadPoolExecutor(8) as threads:
        certificates = list(
            threads.map(lambda _: endpoints.ensure_certificate(tmp_path, secrets), range(16))
        )
    assert hands_shake(certificates[0], endpoints.ca_bundle_path(tmp_path))
    assert {path.name for path in secrets.iterdir()} == {"lab_ca.pem", "lab_tls.pem"}


@pytest.mark.contract
def test_stop_does_not_wait_for_idle_connections(new_box):
    box = new_box(services=["labext.sandbox.lab.app:service"])
    with requests.Session() as session:
        session.get(box.lab.base_url, verify=box.lab.ca_bundle, timeout=60)
        assert box.stop()
    assert "graceful shutdown exceeded" not in (box.data_dir / "host.log").read_text()
