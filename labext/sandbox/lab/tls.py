"""The platform's certificate, and the authority that has signed it: made once, kept in the folder.

Whoever trusts `ca.pem`, and it alone, is sure to speak with this sandbox. The authority's key is
kept to renew the certificate, in a file that only its owner reads. What is there and good is left
as it is, so that it does not matter who else looks: a host that starts, an administrator.
"""

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

from labext.sandbox.service import Certificate
from labext.storage import create_atomic, write_atomic

NAMES = ("localhost", "127.0.0.1", "::1")

VALID = timedelta(days=400)
"""How far a certificate reaches from the moment it is made, back too: clocks go wrong. Some
browsers take none that is good for more than 825 days; the authority has no end."""

LEFT = timedelta(days=200)
"""A certificate with less before it is renewed at the next start: more than a term."""

log = logging.getLogger(__name__)


def bundle(folder: Path) -> Path:
    """The file with the authority's certificate, which clients are given as their CA bundle."""
    return folder / "ca.pem"


def certificate(folder: Path, secrets: Path) -> Certificate:
    """The certificate for this machine's names; a new one where there is no good one.

    An authority whose file is damaged is made anew, which clients see in `ca.pem`.
    """
    authority = _authority(secrets / "lab_ca.pem")
    public = authority.cert_pem.bytes()
    if _content(bundle(folder)) != public:
        write_atomic(bundle(folder), public)
        bundle(folder).chmod(0o644)  # it is public, and handed to other accounts
    kept = secrets / "lab_tls.pem"
    if not _is_good(kept, authority):
        now = datetime.now(UTC)
        made = authority.issue_cert(
            *NAMES, common_name="labext sandbox", not_before=now - VALID, not_after=now + VALID
        )
        write_atomic(kept, made.private_key_and_cert_chain_pem.bytes(), private=True)
    return Certificate(kept, kept)


def _authority(path: Path) -> trustme.CA:
    """The authority in a file, certificate and key; whoever comes first makes it."""
    for _ in range(5):
        content = _content(path)
        if content is None:
            made = trustme.CA(organization_name="labext sandbox")
            create_atomic(path, made.cert_pem.bytes() + made.private_key_pem.bytes())
        elif _pair(content, content) is None:
            log.warning("The authority in %s is damaged: a new one takes its place.", path)
            path.unlink(missing_ok=True)
        else:
            return trustme.CA.from_pem(content, content)
    raise OSError(f"The authority in {path} can't be kept.")


def _is_good(path: Path, authority: trustme.CA) -> bool:
    """Whether a file has a key with a certificate of this authority, for a while yet."""
    content = _content(path)
    found = content and _pair(content, authority.cert_pem.bytes())
    if not found:
        return False
    try:  # what a host will do with it, which reads all that is in the file
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(path)
    except ssl.SSLError:
        return False
    return found.not_valid_before_utc <= datetime.now(UTC) <= found.not_valid_after_utc - LEFT


def _pair(content: bytes, issuer: bytes) -> x509.Certificate | None:
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


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
