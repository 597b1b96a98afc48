"""Connecting to a service and signing in, for every magic alike.

What differs from service to service is declared as a `SignIn`: the ways there are, and how the
service is asked whether it accepts what is known.
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from labext import config, secret_store
from labext.config import SANDBOX, Connection, Service
from labext.errors import AccessError, InputError, LabextError, SetupError, SignInError
from labext.secret_store import from_environment
from labext_magics import asking, output, secrets
from labext_magics.methods import Method

_LIKE_ADDRESS = re.compile(r"[:/]|^localhost$|\.[A-Za-z]{2,}$")
"""A name with one of these is more likely an address without its scheme."""

_PATIENCE = 5.0
"""Seconds to wait for a server's greeting."""


@dataclass(frozen=True)
class SignIn:
    """How one connects to a service and signs in to it.

    Attributes:
        service: which one; its magic has the same name.
        methods: the ways there are; the first is taken where nothing says which.
        accepts: asks the service by what is known, and returns what it said in a few words. Without
            a secret it sees whether the service is there, and whether it takes anybody.
        find_api: returns the address of the API that an address leads to; the second argument is
            what a certificate is checked against.
    """

    service: Service
    methods: tuple[Method, ...]
    accepts: Callable[[Connection], str]
    find_api: Callable[[str, bool | str], str] = lambda url, _: url

    def connect(
        self,
        where: str,
        *,
        save: str | None,
        keep: bool,
        ca_bundle: Path | None,
        method: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> None:
        """Use a service for this session, once it has accepted what signs in.

        After a failure nothing is saved, and the error says which service stays in use.

        Args:
            where: an address, a profile's name, or `sandbox`.
            save: keep the address under this profile's name.
            keep: keep what signs in in the keyring.
            ca_bundle: certificates to trust.
            method: the way to sign in.
            options: of the profile, as in `config.OPTIONS`; they hold in place of its own.
        """
        try:
            if save is not None:
                config.check_profile_name(save)
            target = self._target(where, save, ca_bundle)
            target = replace(target, options={**target.options, **(options or {})})
            self._sign_in(_by_method(target, method), keep=keep, save=save)
        except LabextError as error:
            raise error.with_hint(self._in_use()) from None

    def login(self, *, keep: bool, method: str | None = None, user: str | None = None) -> None:
        """Check what is known for the service in use; ask for it where it isn't accepted.

        Args:
            keep: keep what signs in in the keyring.
            method: the way to sign in.
            user: the e-mail address of the person for whom an app acts.
        """
        target = config.known(self.service)
        if target.profile is None and not target.secrets:  # signed out of what was typed
            target = replace(target, secrets=self._from_environment(target.base_url))
        self._sign_in(_by_method(target, method, user), keep=keep, save=None)

    def logout(self, *, kept: bool) -> None:
        """Forget in this session what signs in; with `kept` also what the keyring has of it."""
        target = config.sign_out(self.service)
        left = ""
        if secret_store.is_in_keyring(self.service, target.profile):
            left = " The keyring keeps what it has; `--yes` removes that too."
            if kept:
                for name in secret_store.NAMES[self.service]:
                    config.forget_secret(self.service, target.profile, name)
                left = " What the keyring had is removed."
        output.say(
            f"Signed out of {target.base_url}.{left} `%{self.service} login` signs in again."
        )

    def _in_use(self) -> str:
        """Return a sentence on the service that this session uses."""
        try:
            used = config.connection(self.service)
        except LabextError:
            return f"No {self.service} service is in use."
        profile = "" if used.profile is None else f" (profile {used.profile})"
        return f"`%{self.service}` still uses {used.base_url}{profile}."

    def _target(self, where: str, save: str | None, ca_bundle: Path | None) -> Connection:
        """Return how to reach what a line names: an address or a profile."""
        if "://" in where:
            return self._by_address(where, save, ca_bundle)
        if where not in config.profiles():
            secrets.refuse_value(where, self.service)
            if _LIKE_ADDRESS.search(where):
                return self._by_address(self._with_scheme(where), save, ca_bundle)
        target = config.connection(self.service, where)
        if save or ca_bundle:
            raise InputError(
                f"`--save` and `--ca-bundle` go with an address, and {where} is a profile.",
                f"Use the profile as it is: `%{self.service} connect {where}`.",
            )
        return target

    def _with_scheme(self, where: str) -> str:
        """Return an address that was typed without its scheme, with the one that is spoken there.

        Raises:
            SetupError: HTTPS is not spoken, or has to be typed; names the address to use.
        """
        from labext.transport.session import is_loopback

        secure = f"https://{where}"
        connect = f"%{self.service} connect"
        if self.service in config.SECURE:
            raise SetupError(
                f"There is no profile {where}, and an address begins with https://.",
                f"Write `{connect} {secure}`.",
            )
        config.clean_url(secure)
        try:
            spoken = speaks_tls(secure)
        except (OSError, UnicodeError):  # of a name that can't be one: UnicodeError
            if is_loopback(secure):
                return f"http://{where}"
            raise SetupError(
                f"There is no profile {where}, and no server answers at an address like this.",
                f"Check it; an address begins with a scheme: `{connect} http://{where}`.",
            ) from None
        if spoken:
            return secure
        if is_loopback(secure):
            return f"http://{where}"
        raise SetupError(
            f"{where} does not speak HTTPS: what is sent there could be read on the way.",
            f"If it may be, write `{connect} http://{where}`.",
        )

    def _by_address(self, where: str, save: str | None, ca_bundle: Path | None) -> Connection:
        """Return how to reach an address, with the secrets that belong to it if any are known."""
        secrets.refuse_value(where, self.service)
        typed = config.service_url(self.service, where)
        options = {} if ca_bundle is None else {"ca_bundle": str(_file(ca_bundle))}
        url = self.find_api(typed, options.get("ca_bundle", True))
        saved = None if save is None else self._saved(save)
        if saved is None:
            known = self._from_environment(url) or self._from_environment(typed)
            return Connection(self.service, save, url, known, options)
        if not _same(saved.base_url, url):
            raise InputError(
                f"The profile {save} is there already, for {saved.base_url}.",
                "Choose another name, or change the address in the profile's file.",
            )
        return replace(saved, options={**saved.options, **options})

    def _saved(self, name: str) -> Connection | None:
        """Return what a profile says of the service, if it is there and says anything."""
        if name not in config.profiles():
            return None
        try:
            return config.connection(self.service, name)
        except SetupError:
            return None  # a profile of other services

    def _from_environment(self, url: str) -> Mapping[str, str]:
        """Return the environment's secrets, unless it names another address for them."""
        if not _same(from_environment(self.service, "base_url") or url, url):
            return {}
        names = secret_store.NAMES[self.service]
        found = {name: from_environment(self.service, name) for name in names}
        known = {name: value for name, value in found.items() if value}
        secret_store.keep_masked(known)
        return known

    def _sign_in(self, target: Connection, *, keep: bool, save: str | None) -> None:
        """Have the service accept what is known, then use it and keep what is to be kept."""
        own = target.profile not in (None, SANDBOX)
        to_keep = f"`%{self.service} connect URL --save NAME --keep`"
        if keep and not own:
            raise InputError(
                "`--keep` keeps what signs in under the name of a profile of yours, and there is "
                "none.",
                f"Connect with {to_keep}.",
            )
        method = self._method(target)
        accepted, said, typed = self._accepted(target, method)
        if typed and own and method.lasting and not keep:
            keep = asking.agreed(f"Keep the {method.noun} in the keyring?")
        secrets = [name for name in method.asked if name in accepted.secrets]
        remark = ""
        if keep and not secrets:
            remark = f" It asks for no {method.noun}, so there is none to keep."
        elif keep and not _keep(accepted, secrets):
            remark = f" There is no keyring here: the {method.noun} is held for this session only."
        elif typed and target.profile is None and method.lasting:
            remark = f" {to_keep} keeps the {method.noun} for other sessions."
        if save is not None or (keep and _is_changed(accepted)):
            _save(accepted)
        _use(accepted)
        output.say(f"Connected to {accepted.base_url}: {said}.{remark}")

    def _method(self, target: Connection) -> Method:
        """Return the way that the target names, else the first for which all is known."""
        wanted = target.options.get("method")
        if wanted is None:
            known = (method for method in self.methods if method.is_known(target))
            return next(known, self.methods[0])
        named = next((method for method in self.methods if method.name == wanted), None)
        if named is None:
            raise InputError(
                f'There is no way to sign in to {self.service} called "{wanted}".',
                f"The ways are {', '.join(method.name for method in self.methods)}.",
            )
        return named

    def _accepted(self, target: Connection, method: Method) -> tuple[Connection, str, bool]:
        """Return the connection that the service has accepted, its words, and whether it was typed.

        It is asked without a secret first where none is known: whether it is there at all shows
        then.
        """
        known = method.is_known(target)
        try:
            return target, self.accepts(target if known else replace(target, secrets={})), False
        except (SignInError, AccessError) as refusal:
            if known and isinstance(refusal, AccessError):
                raise
            if known and (held := method.held_by(target)):
                step = f"{held} of the environment has it; change that, and run this line again."
                raise _advised(refusal, step) from None
            if known:
                output.say(f"The {method.noun} that was kept is not accepted.")
        asked = replace(target, secrets={**target.secrets, **method.ask(target.base_url)})
        try:
            return asked, self.accepts(asked), True
        except SignInError as refusal:
            step = f"Run this line again, and give another {method.noun}."
            raise _advised(refusal, step) from None


def _advised(refusal: LabextError, next_step: str) -> LabextError:
    """Return a refusal with the next step of whoever isn't connected yet."""
    told = {name: getattr(refusal, name) for name in ("status", "method", "path", "server")}
    return type(refusal)(refusal.what, next_step, **told)


def _by_method(target: Connection, method: str | None, user: str | None = None) -> Connection:
    """Return the target with a way to sign in that was asked for in place of its own."""
    if method is None and user is None:
        return target
    given = {"method": method or target.options.get("method"), "user": user}
    options = {**target.options, **given}
    return replace(target, options={name: value for name, value in options.items() if value})


def _keep(accepted: Connection, names: list[str]) -> bool:
    """Keep secrets under the profile's name; return False where there is no keyring."""
    profile = str(accepted.profile)
    kept = [
        config.save_secret(accepted.service, profile, name, accepted.secrets[name])
        for name in names
    ]
    return all(kept)


def _is_changed(accepted: Connection) -> bool:
    """Tell whether a profile's options differ from those in its file."""
    return accepted.options != config.connection(accepted.service, accepted.profile).options


def _save(accepted: Connection) -> None:
    """Write the profile; if that fails, forget the secrets of a profile that is not there."""
    name, service = str(accepted.profile), accepted.service
    try:
        config.save_profile(name, service, accepted.base_url, accepted.options)
    except LabextError:
        if name not in config.profiles():
            for each in secret_store.NAMES[service]:
                config.forget_secret(service, name, each)
        raise


def _use(accepted: Connection) -> None:
    """Choose the profile if it says all there is to know; else hold what was typed."""
    name, service = accepted.profile, accepted.service
    if name is not None and name in config.profiles():
        says = config.connection(service, name).options
        options = {k: value for k, value in accepted.options.items() if says.get(k) != value}
        config.choose_profile(service, name, options)
        if config.connection(service) == accepted:
            return
    config.use(accepted)


def speaks_tls(url: str) -> bool:
    """Tell whether the server at an address speaks TLS; nothing is sent to it but a greeting.

    Raises:
        OSError: it can't be reached.
    """
    parts = urlsplit(url)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    address = parts.hostname or "", parts.port or 443
    with socket.create_connection(address, _PATIENCE) as connection:
        try:
            context.wrap_socket(connection, server_hostname=parts.hostname).close()
        except (ssl.SSLError, OSError):
            return False
    return True


def _same(one: str, other: str) -> bool:
    return one.rstrip("/") == other.rstrip("/")


def _file(path: Path) -> Path:
    if not path.is_file():
        raise InputError(f"There is no file {path}.", "Give the path of a PEM file.")
    try:
        ssl.create_default_context(cafile=path)
    except OSError as error:  # an SSLError is one
        raise InputError(
            f"The file {path} holds no certificate.", "Give the path of a PEM file."
        ) from error
    return path.absolute()
