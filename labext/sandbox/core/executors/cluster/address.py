"""Addresses and TLS certificates of a cluster, and the check of a connection."""

from __future__ import annotations

import ipaddress
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from labext.actions import parameter
from labext.errors import SetupError
from labext.sandbox.core.server_settings import check_certificate, check_key_file

if TYPE_CHECKING:
    from distributed.security import Security

PROBE_SECONDS = 5.0
DEFAULT_PORT = 8786
_OUT_OF_DATE = (9, 10)
"""OpenSSL's codes of a certificate that is not valid yet, or has expired."""


@dataclass(frozen=True)
class TlsFiles:
    """PEM files of a cluster: its authority, and the certificate of this machine with its key."""

    ca: Path
    certificate: Path
    key: Path

    @classmethod
    def of(cls, ca: Path | None, certificate: Path | None, key: Path | None) -> TlsFiles | None:
        """Return the files; None if no option was given.

        Raises:
            SetupError: some are missing or can't be read.
        """
        if ca is None and certificate is None and key is None:
            return None
        if ca is None or certificate is None or key is None:
            raise SetupError(
                "TLS needs three files: of the authority, the certificate and its key.",
                "Name all three, such as those that the command for certificates writes.",
            )
        files = cls(ca, certificate, key)
        files.context()
        return files

    def security(self) -> Security:
        """Return them as keyword arguments of dask."""
        from distributed.security import Security

        roles = {
            f"tls_{role}_{kind}": str(path)
            for role in ("client", "worker", "scheduler")
            for kind, path in (("cert", self.certificate), ("key", self.key))
        }
        return Security(  # type: ignore[no-untyped-call]
            tls_ca_file=str(self.ca), require_encryption=True, **roles
        )

    def context(self) -> ssl.SSLContext:
        """Return the context of a client.

        Raises:
            SetupError: a file is missing or is not a certificate or key, the certificate is not
                valid now, or others can read the key.
        """
        try:
            context = ssl.create_default_context(cafile=str(self.ca))
            # Like dask: any certificate of the authority is accepted.
            context.check_hostname = False
            context.load_cert_chain(self.certificate, self.key)
        except (OSError, ssl.SSLError) as error:
            raise SetupError(
                f"The TLS files {self.ca}, {self.certificate} and {self.key} can't be used: "
                f"{error.strerror or error}.",
                "Name the PEM files of the cluster's authority, a certificate and its key.",
            ) from error
        check_key_file(self.key)
        check_certificate(self.certificate, self.key, ())
        return context


def scheduler_address(address: str, tls: TlsFiles | None, *, allow_plaintext: bool) -> str:
    """Return the address of a scheduler as dask writes it: `tls://host:port`.

    `dask://host` stands for `tls://` if there are certificates, else for `tcp://`.

    Raises:
        SetupError: the address is invalid, or the connection would not be encrypted.
    """
    scheme, _, place = address.partition("://")
    try:
        parts = urlsplit(f"//{place}")
        host, port = parts.hostname, parts.port or DEFAULT_PORT
    except ValueError:  # of the port, or of an IPv6 address
        host = None
    if scheme not in ("dask", "tcp", "tls") or not host or parts.netloc != place or "@" in place:
        raise SetupError(
            f"{address!r} is not the address of a scheduler.",
            "Write it as tls://HOST:PORT, or tcp://127.0.0.1:PORT on one machine.",
        )
    if scheme == "dask":
        scheme = "tcp" if tls is None else "tls"
    if scheme == "tls" and tls is None:
        raise SetupError(
            f"{address} needs certificates.",
            f"Start the services with {parameter('certificates', 'DIR')}, a worker with "
            f"{parameter('tls_ca_file', 'FILE')}, {parameter('tls_cert', 'FILE')} and "
            f"{parameter('tls_key', 'FILE')}.",
        )
    if scheme == "tcp" and not is_loopback(host) and not allow_plaintext:
        raise SetupError(
            f"The connection to {host} would not be encrypted: anyone who reaches its port could "
            "run programs on the workers.",
            f"Use tls:// with certificates, or add {parameter('allow_plaintext')}.",
        )
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine only."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def check_connection(address: str, tls: TlsFiles | None) -> None:
    """Connect to a scheduler once.

    Raises:
        SetupError: it can't be reached, or one side refuses the certificate of the other.
    """
    scheme, _, place = address.partition("://")
    host, _, port = place.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), PROBE_SECONDS) as connection:
            if scheme == "tls" and tls is not None:
                _check_handshake(connection, tls.context())
            elif not connection.recv(1):
                raise TimeoutError
    except ssl.SSLCertVerificationError as error:
        if error.verify_code in _OUT_OF_DATE:
            raise SetupError(
                f"The certificate of the scheduler at {address} is refused: "
                f"{error.verify_message}.",
                "Renew the certificates of the cluster; if they are valid, check the clock of this "
                "machine.",
            ) from error
        raise SetupError(
            f"The scheduler at {address} has a certificate of another authority.",
            f"Use the authority of the cluster instead of {tls.ca if tls else 'this one'}.",
        ) from error
    except ssl.SSLError as error:
        if "WRONG_VERSION" in str(error) or "RECORD_LAYER" in str(error):
            raise SetupError(
                f"The scheduler at {address} does not use TLS.",
                "Start the scheduler with TLS, or connect to tcp:// on the same machine.",
            ) from error
        raise SetupError(
            f"The scheduler at {address} refuses this certificate: {error.reason or error}.",
            "Use a certificate of the cluster's authority.",
        ) from error
    except TimeoutError as error:
        raise SetupError(
            f"No scheduler responds at {address}; the server may use TLS, or be another program.",
            "Connect to tls:// with the cluster's certificates, or correct the address.",
        ) from error
    except OSError as error:
        raise SetupError(
            f"The scheduler at {address} can't be reached: {error.strerror or error}.",
            f"Start the services with {parameter('executor', 'dask')}, or a scheduler with "
            "`dask scheduler`; or correct the address.",
        ) from error


def _check_handshake(connection: socket.socket, context: ssl.SSLContext) -> None:
    with context.wrap_socket(connection) as stream:
        # With TLS 1.3 the server checks the client's certificate after the client's handshake.
        # dask's server sends the first message, once it has accepted the connection.
        stream.settimeout(PROBE_SECONDS)
        if not stream.recv(1):
            raise ssl.SSLError("it closed the connection")


def write_certificates(folder: Path, names: list[str]) -> list[Path]:
    """Create an authority with certificates for the server and the workers of a cluster.

    Args:
        folder: a new or empty folder; it becomes readable by its owner only.
        names: host names and addresses for the server's certificate.

    Raises:
        SetupError: the folder is not empty.
    """
    import trustme

    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise SetupError(
            f"The folder {folder} is not empty; certificates in use would be replaced.",
            "Name a new folder.",
        )
    authority = trustme.CA(organization_name="labext cluster")
    files = [folder / "ca.pem"]
    authority.cert_pem.write_to_path(files[0])
    for role, identities in (("server", names), ("worker", ["worker"])):
        certificate = authority.issue_cert(*identities)
        chain, key = folder / f"{role}.pem", folder / f"{role}.key"
        for number, blob in enumerate(certificate.cert_chain_pems):
            blob.write_to_path(chain, append=number > 0)
        key.touch(mode=0o600)
        certificate.private_key_pem.write_to_path(key)
        files += [chain, key]
    return files
