"""Fixtures of the HTTP tests."""

from __future__ import annotations

import ssl

import pytest
import trustme


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, str]:
    """Return a TLS context for loopback addresses, and the path of its CA bundle."""
    ca = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert("localhost", "localhost.", "127.0.0.1", "::1").configure_cert(context)
    bundle = tmp_path_factory.mktemp("ca") / "ca.pem"
    ca.cert_pem.write_to_path(str(bundle))
    return context, str(bundle)
