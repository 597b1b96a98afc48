"""Sockets of a sandbox, and settings of a server: addresses, ports and certificate."""

from __future__ import annotations

import re
import secrets
import socket
import ssl
import stat
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import urlsplit

from labext.actions import parameter
from labext.errors import InputError, ServiceError, SetupError, StorageError
from labext.sandbox.core.data_folder import DataFolder, read_json, write_json
from labext.sandbox.core.validation import validate_name

LOOPBACK_ADDRESS = "127.0.0.1"
"""The address that all endpoints of a sandbox listen on: local only."""

DEFAULT_PORT = 8443

PORT_OFFSETS = {"lab": 0, "jobs": 1, "nb": 2, "lab-oidc": 3}
"""Port of each endpoint of a server, counted from its first one.

An endpoint that is not listed is not served: a server has one laboratory, not the sandbox's two.
"""

PORTS = len(PORT_OFFSETS)
"""Number of consecutive ports of a server."""

HOST_NAME = re.compile(r"(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9-]{1,63})*")


@dataclass(frozen=True)
class ServerSettings:
    """Settings of a server, kept in `server.json` of its data folder.

    Attributes:
        host: the public host name, such as `lab.example.org`.
        listen: the IP address that the services listen on.
        port: the first port; see `PORT_OFFSETS`.
        tls_cert, tls_key: PEM files; None behind a proxy, which then ends TLS.
        ca_bundle: PEM file of the authority of the certificate, if systems do not know it.
        public_urls: origins of endpoints that differ from `https://HOST:PORT`.
        behind_proxy: plain HTTP on a loopback address; X-Forwarded-For of this machine is trusted.
        log_format: `text`, or `json` for one object per line, which also logs every request.
        organization: the name of the organization that the first start creates.
        start_options: `workers`, `processes`, `executor` and so on, as those of `Sandbox`.
    """

    host: str
    listen: str = "0.0.0.0"  # noqa: S104 - only with TLS, see `check`
    port: int = DEFAULT_PORT
    tls_cert: str | None = None
    tls_key: str | None = None
    ca_bundle: str | None = None
    public_urls: Mapping[str, str] = field(default_factory=dict)
    behind_proxy: bool = False
    log_format: Literal["text", "json"] = "text"
    organization: str = "Laboratory"
    start_options: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @classmethod
    def load(cls, folder: DataFolder) -> Self | None:
        """Return the settings of a data folder; None for a sandbox's.

        Raises:
            SetupError: they were stored by another version of labext.
        """
        values = read_json(folder.server)
        try:
            return cls(**values) if values else None
        except TypeError:
            raise SetupError(
                f"The settings in {folder.server} were made by another version of labext.",
                "Use that version, or another data folder.",
            ) from None

    def save(self, folder: DataFolder) -> None:
        """Make the folder a server's, or change its settings."""
        write_json(folder.server, asdict(self))

    def endpoints(self, names: Sequence[str]) -> list[str]:
        """Return those of a service's endpoints that a server has."""
        return [name for name in names if name in PORT_OFFSETS]

    def port_of(self, endpoint: str) -> int:
        """Return the port that an endpoint listens on."""
        return self.port + PORT_OFFSETS[endpoint]

    def origin(self, endpoint: str) -> str:
        """Return the public address of an endpoint, without a trailing slash."""
        if endpoint not in PORT_OFFSETS:
            return ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return self.public_urls.get(endpoint, f"https://{host}:{self.port_of(endpoint)}")

    @property
    def hosts(self) -> list[str]:
        """The accepted Host headers: the names in the public addresses."""
        names = {urlsplit(self.origin(endpoint)).hostname for endpoint in PORT_OFFSETS}
        return sorted(name for name in names if name)

    def check(self) -> None:
        """Check that the services can be served this way.

        Raises:
            InputError: an option is missing, not valid, or would send keys in clear text.
            SetupError: the certificate or its key cannot be used.
        """
        _check_host(self.host)
        validate_name("an organization", self.organization)
        try:
            address = ip_address(self.listen)
        except ValueError:
            raise InputError(
                f"{self.listen!r} is not an IP address.",
                f"Give an address of this machine, {parameter('listen', 'ADDRESS')}.",
            ) from None
        if not 0 < self.port <= 65536 - PORTS:
            raise InputError(f"The port {self.port} is not valid.", f"Choose 1 to {65536 - PORTS}.")
        for endpoint, url in self.public_urls.items():
            _check_public_url(endpoint, url)
        if self.behind_proxy:
            if self.tls_cert or self.tls_key:
                raise InputError(
                    "Behind a proxy the proxy has the certificate.",
                    f"Leave out either {parameter('behind_proxy')} or "
                    f"{parameter('tls_cert', 'FILE')} and {parameter('tls_key', 'FILE')}.",
                )
            if not address.is_loopback:
                raise InputError(
                    f"Plain HTTP on {self.listen} would send keys in clear text.",
                    f"Listen on this machine only with {parameter('listen', '127.0.0.1')}, behind "
                    f"a proxy that runs here; or use {parameter('tls_cert', 'FILE')} and "
                    f"{parameter('tls_key', 'FILE')}.",
                )
        elif self.tls_cert is None or self.tls_key is None:
            raise InputError(
                f"Plain HTTP on {self.listen} would send keys in clear text.",
                f"Add {parameter('tls_cert', 'FILE')} {parameter('tls_key', 'FILE')}, or "
                f"{parameter('behind_proxy')} {parameter('listen', '127.0.0.1')} if "
                "a proxy on this machine ends TLS.",
            )
        else:
            check_key_file(Path(self.tls_key))
            check_certificate(Path(self.tls_cert), Path(self.tls_key), self.hosts)
        if self.ca_bundle is not None:
            _check_ca_bundle(Path(self.ca_bundle))

    def check_ports(self) -> None:
        """Check that all ports are free.

        Raises:
            SetupError: one is in use, or may not be opened.
        """
        with ExitStack() as stack:
            for endpoint in PORT_OFFSETS:
                stack.enter_context(listening_socket(self.listen, self.port_of(endpoint)))


FIRST_PORTS = range(20_000, 30_000)
"""Range of new ports, below those of outgoing connections, so that a port is still free at the next
start."""


def loopback_socket(folder: DataFolder, endpoint: str) -> socket.socket:
    """Return a listening socket, on the endpoint's previous port unless that is taken.

    Raises:
        ServiceError: no port can be opened.
    """
    ports = read_json(folder.ports)
    cause = OSError()
    choices = [ports.get(endpoint), *(secrets.choice(FIRST_PORTS) for _ in range(20)), 0]
    for port in choices:
        if type(port) is not int or not 0 <= port < 65536:
            continue
        try:
            listener = _listen(LOOPBACK_ADDRESS, port)
        except OSError as error:
            cause = error
            continue
        write_json(folder.ports, ports | {endpoint: listener.getsockname()[1]})
        return listener
    raise ServiceError(f"No port can be opened on {LOOPBACK_ADDRESS}: {cause.strerror}.")


def listening_socket(address: str, port: int) -> socket.socket:
    """Return a listening socket on a fixed port.

    Raises:
        SetupError: it is in use, or may not be opened.
    """
    try:
        return _listen(address, port)
    except OSError as error:
        advice = (
            f"Open ports below 1024 behind a proxy, or choose others with {parameter('port', 'N')}."
            if isinstance(error, PermissionError)
            else f"End the program that uses it, or choose other ports with "
            f"{parameter('port', 'N')} and another address with {parameter('listen', 'ADDRESS')}."
        )
        raise SetupError(
            f"The port {port} of {address} can't be opened: {error.strerror}.", advice
        ) from error


def _listen(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    # asyncio disables Nagle's algorithm (40 ms per response) only if the protocol is given.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address, port))
        listener.listen(2048)
    except OSError:
        listener.close()
        raise
    return listener


def check_key_file(path: Path) -> None:
    """Check that only the server's user can read a private key; of root's, also its group.

    Raises:
        SetupError: others can read it, or this user can't.
    """
    try:
        state = path.stat()
        path.open("rb").close()
    except OSError as error:
        raise SetupError(
            f"The key {path} can't be read: {error.strerror}.",
            f"Name the PEM file of the certificate's key with {parameter('tls_key', 'FILE')}, "
            f"readable by this user.",
        ) from error
    allowed = 0o640 if state.st_uid == 0 else 0o600
    if stat.S_IMODE(state.st_mode) & 0o077 & ~allowed:
        raise SetupError(
            f"The key {path} can be read or changed by others.",
            f"Run `chmod {allowed:o} {path}`; if others may have read it, get a new certificate.",
        )


def check_certificate(chain: Path, key: Path, hosts: Sequence[str]) -> None:
    """Check that a certificate is valid now, has the key and covers the host names.

    Raises:
        SetupError: it does not.
    """
    from cryptography import x509

    advice = (
        f"Name the PEM file of the certificate and its chain with {parameter('tls_cert', 'FILE')}."
    )
    try:
        certificate = x509.load_pem_x509_certificate(chain.read_bytes())
    except OSError as error:
        raise SetupError(
            f"The certificate {chain} can't be read: {error.strerror}.", advice
        ) from error
    except ValueError:
        raise SetupError(f"The file {chain} has no certificate in PEM format.", advice) from None
    load_certificate(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), chain, key)
    now = datetime.now(UTC)
    if certificate.not_valid_after_utc <= now:
        raise SetupError(
            f"The certificate {chain} expired on {certificate.not_valid_after_utc:%Y-%m-%d}.",
            "Renew it, then start again.",
        )
    if certificate.not_valid_before_utc > now:
        raise SetupError(
            f"The certificate {chain} is valid only from "
            f"{certificate.not_valid_before_utc:%Y-%m-%d %H:%M} UTC on.",
            "Check this machine's clock.",
        )
    names = _certificate_names(certificate)
    for host in hosts:
        if not any(_covers(name, host) for name in names):
            raise SetupError(
                f"The certificate {chain} is for {', '.join(names) or 'no host name'}, not for "
                f"{host}.",
                f"Use a certificate for {host}, or give its name with {parameter('host', 'NAME')}.",
            )


def load_certificate(context: ssl.SSLContext, chain: Path, key: Path) -> None:
    """Load a certificate and its key, also into a context that is in use.

    Raises:
        SetupError: the key belongs to another certificate, is encrypted or damaged.
    """

    def no_password() -> str:
        raise SetupError(
            f"The key {key} is encrypted.",
            "A server starts without a person: decrypt it with `openssl pkey`, readable by the "
            "server's user only.",
        )

    try:
        context.load_cert_chain(chain, key, password=no_password)
    except ssl.SSLError as error:
        mismatch = error.reason == "KEY_VALUES_MISMATCH"
        cause = "belongs to another certificate than" if mismatch else "can't be used with"
        raise SetupError(
            f"The key {key} {cause} {chain}.",
            f"Give the two files that were issued together with {parameter('tls_cert', 'FILE')} "
            f"and {parameter('tls_key', 'FILE')}.",
        ) from error
    except OSError as error:
        raise StorageError(
            f"The certificate {chain} or its key {key} can't be read: {error.strerror}.",
            "Give files that the server's user can read.",
        ) from error


def _certificate_names(certificate: Any) -> list[str]:
    from cryptography import x509

    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return [
        *names.get_values_for_type(x509.DNSName),
        *map(str, names.get_values_for_type(x509.IPAddress)),
    ]


def _covers(name: str, host: str) -> bool:
    """Return whether a name of a certificate covers a host; `*` stands for one label (RFC 6125)."""
    name, host = name.lower(), host.lower()
    return name == host or (name.startswith("*.") and host.partition(".")[2] == name[2:])


def _check_host(host: str) -> None:
    try:
        ip_address(host)
    except ValueError:
        if not HOST_NAME.fullmatch(host):
            raise InputError(
                f"{host!r} is not a host name.",
                f"Give the name that people use, such as {parameter('host', 'lab.example.org')}, "
                "in lower case and without `https://` and a port.",
            ) from None


def _check_public_url(endpoint: str, url: str) -> None:
    if endpoint not in PORT_OFFSETS:
        raise InputError(
            f"There is no endpoint {endpoint}.", f"It is one of {', '.join(PORT_OFFSETS)}."
        )
    parts = urlsplit(url)
    if (
        parts.scheme != "https"
        or not parts.hostname
        or "@" in url
        or url != f"https://{parts.netloc}"
    ):
        raise InputError(
            f"{url} is not the public address of a service.",
            f"Give it as {parameter('public_url', f'{endpoint}=https://{endpoint}.example.org')}, "
            f"without a path.",
        )
    _check_host(parts.hostname)


def _check_ca_bundle(path: Path) -> None:
    try:
        ssl.create_default_context(cafile=str(path))
    except (OSError, ssl.SSLError) as error:
        raise SetupError(
            f"The file {path} has no certificates of authorities: {error}.",
            f"Name a PEM file with {parameter('ca_bundle', 'FILE')}.",
        ) from error
