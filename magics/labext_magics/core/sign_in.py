"""Connect to a service and sign in, the same way for every magic."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from labext import config, messages
from labext.config import SANDBOX, Connection, Service, secret_store
from labext.config.secret_store import (
    PUBLIC_NAMES,
    environment_variable,
    from_environment,
    mask_secrets,
)
from labext.errors import AccessError, InputError, LabextError, SetupError, SignInError
from labext_magics.core import output, secrets


class NonInteractiveError(Exception):
    """There is nobody to ask: a notebook that runs by itself, a closed input."""


def prompt_secret(prompt: str) -> str:
    """Ask for a secret without an echo; NobodyError where that can't be done."""
    import getpass
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error", getpass.GetPassWarning)
        try:
            return _prompt(getpass.getpass, prompt)
        except getpass.GetPassWarning as error:
            raise NonInteractiveError from error


def prompt_text(prompt: str) -> str:
    """Ask for what may be seen; NobodyError where there is nobody."""
    return _prompt(input, prompt)


def confirm(question: str) -> bool:
    """Ask whether to do something; no where there is nobody, or the answer isn't yes."""
    try:
        return prompt_text(f"{question} [y/N] ").casefold() in ("y", "yes")
    except NonInteractiveError:
        return False


def _prompt(ask: Callable[[str], str], prompt: str) -> str:
    try:
        return ask(prompt).strip()
    except (NotImplementedError, EOFError, OSError) as error:
        raise NonInteractiveError from error


@dataclass(frozen=True)
class SignInMethod:
    """One way to sign in to a service.

    Attributes:
        service: which one.
        name: as the option `method` holds it.
        noun: what one signs in with.
        asked: what each of its secrets is called, by the name it has in the secret store.
        lasting: it is of use in another session; else nobody is asked whether to keep it.
        option: what chooses it on a line, if it isn't the first.
        source: where one is got, as a sentence, if that isn't plain.
        obtained: whether a connection has what obtains the secrets when they are needed.
    """

    service: Service
    name: str
    noun: str
    asked: Mapping[str, str]
    lasting: bool = True
    option: str = ""
    source: str = ""
    obtained: Callable[[Connection], bool] = lambda _: False

    def is_known(self, target: Connection) -> bool:
        """Return whether all that it needs is known, or can be obtained."""
        return all(name in target.secrets for name in self.asked) or self.obtained(target)

    def held_by(self, target: Connection) -> str:
        """Return the environment variables that contain all its secrets; else an empty text."""
        names = [environment_variable(self.service, name) for name in self.asked]
        given = {name: from_environment(self.service, name) for name in self.asked}
        same = all(value and target.secrets.get(name) == value for name, value in given.items())
        return " and ".join(names) if same else ""

    def ask(self, url: str) -> dict[str, str]:
        """Ask the user for what it needs.

        Raises:
            SetupError: there is nobody to ask, or nothing was answered.
        """
        typed: dict[str, str] = {}
        for name, noun in self.asked.items():
            ask = prompt_text if name in PUBLIC_NAMES else prompt_secret
            try:
                typed[name] = ask(f"{messages.capitalize_first(noun)} for {url}: ")
            except NonInteractiveError as nobody:
                raise self._unasked(url) from nobody
            if not typed[name]:
                raise SetupError(f"No {noun} was given.", "Run the line again and type it.")
        mask_secrets(typed)
        return typed

    def _unasked(self, url: str) -> SetupError:
        step = (
            f"Set {' and '.join(environment_variable(self.service, name) for name in self.asked)}"
        )
        if self.lasting:
            option = f" {self.option}" if self.option else ""
            step += (
                f", or keep the {self.noun} in the keyring: run `%{self.service} connect URL "
                f"--save NAME{option} --keep` once where you can type"
            )
        return SetupError(
            f"The service at {url} needs {messages.with_article(self.noun)}, and there is "
            "nobody here to "
            "ask for it.",
            f"{step}. {self.source}".rstrip(),
        )


_LIKE_ADDRESS = re.compile(r"[:/]|^localhost$|\.[A-Za-z]{2,}$")
"""A name with one of these is more likely an address without its scheme."""

TLS_PROBE_TIMEOUT = 5.0
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
    methods: tuple[SignInMethod, ...]
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
            self._sign_in(_with_method(target, method), keep=keep, save=save)
        except LabextError as error:
            raise error.with_hint(self._in_use()) from None

    def login(self, *, keep: bool, method: str | None = None, user: str | None = None) -> None:
        """Check what is known for the service in use; ask for it where it isn't accepted.

        Args:
            keep: keep what signs in in the keyring.
            method: the way to sign in.
            user: the e-mail address of the person for whom an app acts.
        """
        target = config.connection_with_secrets(self.service)
        if target.profile is None and not target.secrets:  # signed out of what was typed
            target = replace(target, secrets=self._from_environment(target.base_url))
        self._sign_in(_with_method(target, method, user), keep=keep, save=None)

    def logout(self, *, kept: bool) -> None:
        """Forget in this session what signs in; with `kept` also what the keyring has of it."""
        target = config.sign_out(self.service)
        left = ""
        if secret_store.is_in_keyring(self.service, target.profile):
            left = " The keyring keeps what it has; `--yes` removes that too."
            if kept:
                for name in secret_store.SECRET_NAMES[self.service]:
                    config.forget_secret(self.service, target.profile, name)
                left = " What the keyring had is removed."
        output.print_message(
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
        if where not in config.profile_names():
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
        from labext.http.connection_pool import is_loopback

        secure = f"https://{where}"
        connect = f"%{self.service} connect"
        if self.service in config.HTTPS_ONLY:
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
        options = {} if ca_bundle is None else {"ca_bundle": str(_display_path(ca_bundle))}
        url = self.find_api(typed, options.get("ca_bundle", True))
        saved = None if save is None else self._saved(save)
        if saved is None:
            known = self._from_environment(url) or self._from_environment(typed)
            return Connection(self.service, save, url, known, options)
        if not _is_same_target(saved.base_url, url):
            raise InputError(
                f"The profile {save} is there already, for {saved.base_url}.",
                "Choose another name, or change the address in the profile's file.",
            )
        return replace(saved, options={**saved.options, **options})

    def _saved(self, name: str) -> Connection | None:
        """Return what a profile says of the service, if it is there and says anything."""
        if name not in config.profile_names():
            return None
        try:
            return config.connection(self.service, name)
        except SetupError:
            return None  # a profile of other services

    def _from_environment(self, url: str) -> Mapping[str, str]:
        """Return the environment's secrets, unless it names another address for them."""
        if not _is_same_target(from_environment(self.service, "base_url") or url, url):
            return {}
        names = secret_store.SECRET_NAMES[self.service]
        found = {name: from_environment(self.service, name) for name in names}
        known = {name: value for name, value in found.items() if value}
        secret_store.mask_secrets(known)
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
            keep = confirm(f"Keep the {method.noun} in the keyring?")
        secrets = [name for name in method.asked if name in accepted.secrets]
        remark = ""
        if keep and not secrets:
            remark = f" It asks for no {method.noun}, so there is none to keep."
        elif keep and not _store_secrets(accepted, secrets):
            remark = f" There is no keyring here: the {method.noun} is held for this session only."
        elif typed and target.profile is None and method.lasting:
            remark = f" {to_keep} keeps the {method.noun} for other sessions."
        if save is not None or (keep and _is_changed(accepted)):
            _save_profile(accepted)
        _select_profile(accepted)
        output.print_message(f"Connected to {accepted.base_url}: {said}.{remark}")

    def _method(self, target: Connection) -> SignInMethod:
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

    def _accepted(self, target: Connection, method: SignInMethod) -> tuple[Connection, str, bool]:
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
                raise _with_next_step(refusal, step) from None
            if known:
                output.print_message(f"The {method.noun} that was kept is not accepted.")
        asked = replace(target, secrets={**target.secrets, **method.ask(target.base_url)})
        try:
            return asked, self.accepts(asked), True
        except SignInError as refusal:
            step = f"Run this line again, and give another {method.noun}."
            raise _with_next_step(refusal, step) from None


def _with_next_step(refusal: LabextError, next_step: str) -> LabextError:
    """Return a refusal with the next step of whoever isn't connected yet."""
    told = {name: getattr(refusal, name) for name in ("status", "method", "path", "server")}
    return type(refusal)(refusal.what, next_step, **told)


def _with_method(target: Connection, method: str | None, user: str | None = None) -> Connection:
    """Return the target with a way to sign in that was asked for in place of its own."""
    if method is None and user is None:
        return target
    given = {"method": method or target.options.get("method"), "user": user}
    options = {**target.options, **given}
    return replace(target, options={name: value for name, value in options.items() if value})


def _store_secrets(accepted: Connection, names: list[str]) -> bool:
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


def _save_profile(accepted: Connection) -> None:
    """Write the profile; if that fails, forget the secrets of a profile that is not there."""
    name, service = str(accepted.profile), accepted.service
    try:
        config.save_profile(name, service, accepted.base_url, accepted.options)
    except LabextError:
        if name not in config.profile_names():
            for each in secret_store.SECRET_NAMES[service]:
                config.forget_secret(service, name, each)
        raise


def _select_profile(accepted: Connection) -> None:
    """Choose the profile if it says all there is to know; else hold what was typed."""
    name, service = accepted.profile, accepted.service
    if name is not None and name in config.profile_names():
        says = config.connection(service, name).options
        options = {k: value for k, value in accepted.options.items() if says.get(k) != value}
        config.choose_profile(service, name, options)
        if config.connection(service) == accepted:
            return
    config.use_connection(accepted)


def speaks_tls(url: str) -> bool:
    """Tell whether the server at an address speaks TLS; nothing is sent to it but a greeting.

    Raises:
        OSError: it can't be reached.
    """
    parts = urlsplit(url)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    address = parts.hostname or "", parts.port or 443
    with socket.create_connection(address, TLS_PROBE_TIMEOUT) as connection:
        try:
            context.wrap_socket(connection, server_hostname=parts.hostname).close()
        except (ssl.SSLError, OSError):
            return False
    return True


def _is_same_target(one: str, other: str) -> bool:
    return one.rstrip("/") == other.rstrip("/")


def _display_path(path: Path) -> Path:
    if not path.is_file():
        raise InputError(f"There is no file {path}.", "Give the path of a PEM file.")
    try:
        ssl.create_default_context(cafile=path)
    except OSError as error:  # an SSLError is one
        raise InputError(
            f"The file {path} holds no certificate.", "Give the path of a PEM file."
        ) from error
    return path.absolute()
