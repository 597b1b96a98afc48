"""The platform's certificate, and the authority that has signed it: made once, kept in the folder.

Whoever trusts `ca.pem`, and it alone, is sure to speak with this sandbox. The authority's key is
kept to renew the certificate, in a file that only its owner reads. What is there and good is left
as it is, so that it does not matter who else looks: a host that starts, an administrator.
"""

from __future__ import annotations

import logging
import os
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from secrets import token_hex

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
    if not _holds(bundle(folder), public):
        _write(bundle(folder), public, 0o644)  # no secret: to be copied and handed on
    kept = secrets / "lab_tls.pem"
    if not _is_good(kept, authority):
        now = datetime.now(UTC)
        made = authority.issue_cert(
            *NAMES, common_name="labext sandbox", not_before=now - VALID, not_after=now + VALID
        )
        _write(kept, made.private_key_and_cert_chain_pem.bytes())
    return Certificate(kept, kept)


def _authority(path: Path) -> trustme.CA:
    """The authority in a file, certificate and key; whoever comes first makes it."""
    for _ in range(3):
        found = _read(path)
        if found is not None:
            return found
        if path.exists():
            log.warning("The authority in %s is damaged: a new one takes its place.", path)
            path.unlink(missing_ok=True)
        made = trustme.CA(organization_name="labext sandbox")
        _write_first(path, made.cert_pem.bytes() + made.private_key_pem.bytes())
    raise OSError(f"The authority in {path} can't be kept.")


def _read(path: Path) -> trustme.CA | None:
    if _pair(path) is None:
        return None
    content = path.read_bytes()
    return trustme.CA.from_pem(content, content)


def _is_good(path: Path, authority: trustme.CA) -> bool:
    """Whether a file has a key with a certificate of this authority, for a while yet."""
    found = _pair(path, authority)
    if found is None:
        return False
    try:  # what a host will do with it, which reads all that is in the file
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(path)
    except ssl.SSLError:
        return False
    return found.not_valid_before_utc <= datetime.now(UTC) <= found.not_valid_after_utc - LEFT


def _pair(path: Path, authority: trustme.CA | None = None) -> x509.Certificate | None:
    """The certificate in a file, if the key there is its own and an authority, or it, signed it."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    try:
        found, key = x509.load_pem_x509_certificate(content), load_pem_private_key(content, None)
        issuer = content if authority is None else authority.cert_pem.bytes()
        found.verify_directly_issued_by(x509.load_pem_x509_certificate(issuer))
        public = found.public_key()
        assert isinstance(key, EllipticCurvePrivateKey)
        assert isinstance(public, EllipticCurvePublicKey)
        public.verify(key.sign(content, ECDSA(SHA256())), content, ECDSA(SHA256()))
    except Exception:  # noqa: BLE001 - however it is damaged, a new one takes its place
        return None
    return found


def _holds(path: Path, content: bytes) -> bool:
    try:
        return path.read_bytes() == content
    except FileNotFoundError:
        return False


def _write(path: Path, content: bytes, mode: int = 0o600) -> None:
    part = _part(path, content)
    part.chmod(mode)
    part.replace(path)


def _write_first(path: Path, content: bytes) -> None:
    """Write a file whole, unless somebody else was first."""
    part = _part(path, content)
    try:
        path.hardlink_to(part)
    except FileExistsError:
        pass
    finally:
        part.unlink()


def _part(path: Path, content: bytes) -> Path:
    part = path.with_name(f".{path.name}.{token_hex(4)}")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    return part
