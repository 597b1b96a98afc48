"""Endpoint names of the tenants and the identity provider, and their TLS certificate."""

from __future__ import annotations

import logging
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import certifi
import trustme
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDSA,
    EllipticCurvePrivateKey,
    EllipticCurvePublicKey,
)
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from labext.sandbox.core.service_protocol import Certificate, Site
from labext.storage import create_atomic, write_atomic

CAMPUS, CLINIC = "campus", "clinic"
"""The tenants: an enterprise account with an identity provider, and one without."""

TENANT_ENDPOINTS = {CAMPUS: "lab", CLINIC: "lab-clinic"}
"""The endpoint of each tenant; the first one is in connection.json."""

PROVIDER_ENDPOINT = "lab-oidc"
"""The endpoint of the identity provider."""

ENDPOINTS = (*TENANT_ENDPOINTS.values(), PROVIDER_ENDPOINT)


CERTIFICATE_NAMES = ("localhost", "127.0.0.1", "::1")

VALIDITY = timedelta(days=400)
"""Validity of a certificate before and after its creation, since clocks may be wrong. Some browsers
refuse certificates with more than 825 days; the authority does not expire."""

RENEWAL_MARGIN = timedelta(days=200)
"""A certificate that expires within this time is renewed at the next start. Longer than a term, so
that it does not change during a course."""

log = logging.getLogger(__name__)


def client_ca_bundle(site: Site) -> Path:
    """Return the CA bundle for clients, of the sandbox's own authority or a server's settings."""
    if site.server is None:
        return ca_bundle_path(site.folder)
    return Path(site.server.ca_bundle or certifi.where())


def ca_bundle_path(folder: Path) -> Path:
    """Return the path of the certificate of a sandbox's own authority."""
    return folder / "ca.pem"


def ensure_certificate(folder: Path, secrets: Path) -> Certificate:
    """Return the certificate for this machine's names; issue one if none is valid.

    A damaged authority is replaced by a new one, which clients read from `ca.pem`.
    """
    authority = _load_authority(secrets / "lab_ca.pem")
    public = authority.cert_pem.bytes()
    if _pem_content(ca_bundle_path(folder)) != public:
        write_atomic(ca_bundle_path(folder), public)
        ca_bundle_path(folder).chmod(0o644)  # public, and read by other accounts
    pem_file = secrets / "lab_tls.pem"
    if not _is_certificate_valid(pem_file, authority):
        now = datetime.now(UTC)
        leaf = authority.issue_cert(
            *CERTIFICATE_NAMES,
            common_name="labext sandbox",
            not_before=now - VALIDITY,
            not_after=now + VALIDITY,
        )
        write_atomic(pem_file, leaf.private_key_and_cert_chain_pem.bytes(), private=True)
    return Certificate(pem_file, pem_file)


def _load_authority(path: Path) -> trustme.CA:
    """Load the authority (certificate and key) from a file; create it if it is missing."""
    for _ in range(5):
        content = _pem_content(path)
        if content is None:
            authority = trustme.CA(organization_name="labext sandbox")
            create_atomic(path, authority.cert_pem.bytes() + authority.private_key_pem.bytes())
        elif _load_pair(content, content) is None:
            log.warning("The authority in %s is damaged and is replaced.", path)
            path.unlink(missing_ok=True)
        else:
            return trustme.CA.from_pem(content, content)
    raise OSError(f"The authority cannot be stored in {path}.")


def _is_certificate_valid(path: Path, authority: trustme.CA) -> bool:
    """Return whether a file has a valid key and certificate of this authority."""
    content = _pem_content(path)
    certificate = content and _load_pair(content, authority.cert_pem.bytes())
    if not certificate:
        return False
    try:  # the host loads the whole file in the same way
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(path)
    except ssl.SSLError:
        return False
    return (
        certificate.not_valid_before_utc
        <= datetime.now(UTC)
        <= certificate.not_valid_after_utc - RENEWAL_MARGIN
    )


def _load_pair(content: bytes, issuer: bytes) -> x509.Certificate | None:
    """Return the certificate of a file if its key matches and the issuer has signed it."""
    try:
        certificate = x509.load_pem_x509_certificate(content)
        key = load_pem_private_key(content, None)
        certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(issuer))
        public = certificate.public_key()
        assert isinstance(key, EllipticCurvePrivateKey)
        assert isinstance(public, EllipticCurvePublicKey)
        public.verify(key.sign(content, ECDSA(SHA256())), content, ECDSA(SHA256()))
    except Exception:  # noqa: BLE001 - any damage: the file is replaced
        return None
    return certificate


def _pem_content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
