"""Endpoint names of the tenants and the identity provider, and their TLS certificate."""

from __future__ import annotations

import logging
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import trustme
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDSA,
    EllipticCurvePrivateKey,
    EllipticCurvePublicKey,
)
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from labext.sandbox.core.service_protocol import Certificate
from labext.storage import create_atomic, write_atomic

CAMPUS, CLINIC = "campus", "clinic"
"""The tenants: an enterprise account with an identity provider, and one without."""

TENANT_ENDPOINTS = {CAMPUS: "lab", CLINIC: "lab-clinic"}
"""Each tenant's door; the first is the one that the sandbox hands out."""

PROVIDER_ENDPOINT = "lab-oidc"
"""The identity provider's door."""

ENDPOINTS = (*TENANT_ENDPOINTS.values(), PROVIDER_ENDPOINT)


CERTIFICATE_NAMES = ("localhost", "127.0.0.1", "::1")

VALIDITY = timedelta(days=400)
"""How far a certificate reaches from the moment it is made, back too: clocks go wrong. Some
browsers take none that is good for more than 825 days; the authority has no end."""

RENEWAL_MARGIN = timedelta(days=200)
"""A certificate with less before it is renewed at the next start: more than a term."""

log = logging.getLogger(__name__)


def ca_bundle_path(folder: Path) -> Path:
    """The file with the authority's certificate, which clients are given as their CA bundle."""
    return folder / "ca.pem"


def ensure_certificate(folder: Path, secrets: Path) -> Certificate:
    """The certificate for this machine's names; a new one where there is no good one.

    An authority whose file is damaged is made anew, which clients see in `ca.pem`.
    """
    authority = _load_authority(secrets / "lab_ca.pem")
    public = authority.cert_pem.bytes()
    if _pem_content(ca_bundle_path(folder)) != public:
        write_atomic(ca_bundle_path(folder), public)
        ca_bundle_path(folder).chmod(0o644)  # it is public, and handed to other accounts
    kept = secrets / "lab_tls.pem"
    if not _is_certificate_valid(kept, authority):
        now = datetime.now(UTC)
        made = authority.issue_cert(
            *CERTIFICATE_NAMES,
            common_name="labext sandbox",
            not_before=now - VALIDITY,
            not_after=now + VALIDITY,
        )
        write_atomic(kept, made.private_key_and_cert_chain_pem.bytes(), private=True)
    return Certificate(kept, kept)


def _load_authority(path: Path) -> trustme.CA:
    """The authority in a file, certificate and key; whoever comes first makes it."""
    for _ in range(5):
        content = _pem_content(path)
        if content is None:
            made = trustme.CA(organization_name="labext sandbox")
            create_atomic(path, made.cert_pem.bytes() + made.private_key_pem.bytes())
        elif _load_pair(content, content) is None:
            log.warning("The authority in %s is damaged: a new one takes its place.", path)
            path.unlink(missing_ok=True)
        else:
            return trustme.CA.from_pem(content, content)
    raise OSError(f"The authority in {path} can't be kept.")


def _is_certificate_valid(path: Path, authority: trustme.CA) -> bool:
    """Whether a file has a key with a certificate of this authority, for a while yet."""
    content = _pem_content(path)
    found = content and _load_pair(content, authority.cert_pem.bytes())
    if not found:
        return False
    try:  # what a host will do with it, which reads all that is in the file
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(path)
    except ssl.SSLError:
        return False
    return (
        found.not_valid_before_utc
        <= datetime.now(UTC)
        <= found.not_valid_after_utc - RENEWAL_MARGIN
    )


def _load_pair(content: bytes, issuer: bytes) -> x509.Certificate | None:
    """The certificate in a file, if the key there is its own and the issuer has signed it."""
    try:
        found, key = x509.load_pem_x509_certificate(content), load_pem_private_key(content, None)
        found.verify_directly_issued_by(x509.load_pem_x509_certificate(issuer))
        public = found.public_key()
        assert isinstance(key, EllipticCurvePrivateKey)
        assert isinstance(public, EllipticCurvePublicKey)
        public.verify(key.sign(content, ECDSA(SHA256())), content, ECDSA(SHA256()))
    except Exception:  # noqa: BLE001 - however it is damaged, a new one takes its place
        return None
    return found


def _pem_content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
