"""The platform's certificate, and the authority that has signed it: made at the first start.

Whoever trusts `ca.pem`, and it alone, is sure to speak with this sandbox. The authority's key is
kept to renew the certificate, in a file that only its owner reads.
"""

from __future__ import annotations

import os
from pathlib import Path

import trustme

from labext.sandbox.service import Certificate

NAMES = ("localhost", "127.0.0.1", "::1")


def bundle(folder: Path) -> Path:
    """The file with the authority's certificate, which clients are given as their CA bundle."""
    return folder / "ca.pem"


def certificate(folder: Path, secrets: Path) -> Certificate:
    """The certificate for this machine's names; a new one each start, of the same authority."""
    authority = _authority(folder, secrets)
    made = authority.issue_cert(*NAMES, common_name="labext sandbox")
    found = Certificate(folder / "certificate.pem", secrets / "lab_tls_key")
    _write(found.key, made.private_key_pem.bytes())
    _write(found.chain, b"".join(each.bytes() for each in made.cert_chain_pems))
    return found


def _authority(folder: Path, secrets: Path) -> trustme.CA:
    certificate, key = bundle(folder), secrets / "lab_ca_key"
    if certificate.exists() and key.exists():
        return trustme.CA.from_pem(certificate.read_bytes(), key.read_bytes())
    made = trustme.CA(organization_name="labext sandbox")
    _write(key, made.private_key_pem.bytes())
    _write(certificate, made.cert_pem.bytes())
    return made


def _write(path: Path, content: bytes) -> None:
    part = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    part.replace(path)
