"""Connect to a service and sign in; shared by all magics."""

from __future__ import annotations

import os
import re
import socket
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
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

if TYPE_CHECKING:
    from labext_magics.core.dispatch import Call


class NonInteractiveError(Exception):
    """Input is not possible: the notebook runs unattended, or standard input is closed."""


def prompt_secret(prompt: str) -> str:
    """Prompt for a secret without echo.

    Raises:
        NonInteractiveError: input is not possible, or would be echoed.
    """
    import getpass
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error", getpass.GetPassWarning)
        try:
            return _prompt(getpass.getpass, prompt)
        except getpass.GetPassWarning as error:
            raise NonInteractiveError from error


def prompt_text(prompt: str) -> str:
    """Prompt for a visible value; raise NonInteractiveError if input is not possible."""
    return _prompt(input, prompt)


def confirm(question: str) -> bool:
    """Prompt for a confirmation; return False unless the user enters yes."""
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
    """A method to sign in to a service.

    Attributes:
        service: the service.
        name: the value of the option `method`.
        noun: the displayed name of the credential, such as "API key".
        labels: the displayed names of the secrets, by name in the secret store.
        is_permanent: True if the credential is worth storing; False if it expires soon.
        option: the option that selects the method on a line; empty for the default method.
        source: a sentence on where to get the credential; may be empty.
        can_fetch: function that returns True if a connection can fetch the secrets when needed.
    """

    service: Service
    name: str
    noun: str
    labels: Mapping[str, str]
    is_permanent: bool = True
    option: str = ""
    source: str = ""
    can_fetch: Callable[[Connection], bool] = lambda _: False

    def is_known(self, target: Connection) -> bool:
        """Return True if all required secrets are known or can be fetched."""
        return all(name in target.secrets for name in self.labels) or self.can_fetch(target)

    def environment_source(self, target: Connection) -> str:
        """Return the environment variables of the secrets; empty if a secret is from elsewhere."""
        names = [environment_variable(self.service, name) for name in self.labels]
        values = {name: from_environment(self.service, name) for name in self.labels}
        same = all(value and target.secrets.get(name) == value for name, value in values.items())
        return " and ".join(names) if same else ""

    def ask(self, url: str) -> dict[str, str]:
        """Prompt the user for the secrets.

        Raises:
            SetupError: input is not possible, or the input was empty.
        """
        typed: dict[str, str] = {}
        for name, noun in self.labels.items():
            ask = prompt_text if name in PUBLIC_NAMES else prompt_secret
            try:
                typed[name] = ask(f"{messages.capitalize_first(noun)} for {url}: ")
            except NonInteractiveError as unavailable:
                raise self._no_input_error(url) from unavailable
            if not typed[name]:
                raise SetupError(f"No {noun} was entered.", "Run the line again and enter it.")
        mask_secrets(typed)
        return typed

    def _no_input_error(self, url: str) -> SetupError:
        variables = (environment_variable(self.service, name) for name in self.labels)
        next_step = f"Set {' and '.join(variables)}"
        if self.is_permanent:
            option = f" {self.option}" if self.option else ""
            next_step += (
                f", or store the {self.noun} in the keyring: run `%{self.service} connect URL "
                f"--save NAME{option} --keep` once in an interactive session"
            )
        return SetupError(
            f"The service at {url} needs {messages.with_article(self.noun)}, but input is not "
            "possible here.",
            f"{next_step}. {self.source}".rstrip(),
        )


_LIKE_ADDRESS = re.compile(r"[:/]|^localhost$|\.[A-Za-z]{2,}$")
"""Matches names that are probably addresses without a scheme."""

CHECK_SECONDS = 15.0
"""Seconds that a service has to respond to the first request of a connection."""

TLS_PROBE_TIMEOUT = 5.0
"""Timeout in seconds for a server's TLS handshake."""


@dataclass(frozen=True)
class SignIn:
    """The sign-in procedure of a service.

    Attributes:
        service: the service; its magic has the same name.
        methods: the available methods; the first is the default.
        verify: function that sends a request and returns a short summary of the response. Without
            secrets it raises SignInError if the service requires them.
        find_api: function that returns the API's address for a typed address; the second argument
            is True, or the path of a CA bundle.
    """

    service: Service
    methods: tuple[SignInMethod, ...]
    verify: Callable[[Connection], str]
    find_api: Callable[[str, bool | str], str] = lambda url, _: url

    def connect(
        self,
        call: Call,  # noqa: ARG002 - every command gets a call
        *,
        where: str,
        save: str | None,
        keep: bool,
        ca_bundle: Path | None,
        **options: str | None,
    ) -> None:
        """Select a service for this session after it has accepted the credentials.

        After a failure nothing is saved, and the error names the service in use. `options` are
        options of the profile, as in `config.OPTIONS`; they override stored options. Without
        `method`, it is chosen by the available secrets.
        """
        secret_store.read_keyring_again()
        try:
            if save is not None:
                config.check_profile_name(save)
            target = _with_options(self._target(where, save, ca_bundle), options)
            self._sign_in(target, keep=keep, save=save)
        except LabextError as error:
            raise error.with_hint(self._in_use()) from None

    def login(self, call: Call, *, keep: bool, **options: str | None) -> None:  # noqa: ARG002
        """Check the known credentials of the service in use; prompt for new ones if rejected.

        Arguments as for `connect`.
        """
        secret_store.read_keyring_again()
        target = config.connection_with_secrets(self.service)
        if target.profile is None and not target.secrets:  # after a logout without a profile
            target = replace(target, secrets=self._from_environment(target.base_url))
        self._sign_in(_with_options(target, options), keep=keep, save=None)

    def logout(self, call: Call, *, yes: bool) -> None:
        """Close the client, and remove the credentials of this session; with `yes` stored ones."""
        call.session.forget(self.service)
        target = config.sign_out(self.service)
        note = ""
        if secret_store.is_in_keyring(self.service, target.profile):
            note = " The keyring entry is kept; `--yes` deletes it too."
            if yes:
                for name in secret_store.SECRET_NAMES[self.service]:
                    config.forget_secret(self.service, target.profile, name)
                note = " The keyring entry is deleted."
                if secret_store.is_in_keyring(self.service, target.profile):
                    note = " The keyring refused to delete its entry: delete it in its own program."
        output.print_message(
            f"Signed out of {target.base_url}.{note} `%{self.service} login` signs in again."
        )

    def _in_use(self) -> str:
        """Return a sentence that names the service in use."""
        try:
            used = config.connection(self.service)
        except LabextError:
            return f"No {self.service} service is in use."
        profile = "" if used.profile is None else f" (profile {used.profile})"
        return f"`%{self.service}` still uses {used.base_url}{profile}."

    def _target(self, where: str, save: str | None, ca_bundle: Path | None) -> Connection:
        """Return the connection for an address or a profile."""
        if "://" in where:
            return self._by_address(where, save, ca_bundle)
        if where not in config.profile_names():
            secrets.refuse_value(where, self.service)
            if _LIKE_ADDRESS.search(where):
                return self._by_address(self._with_scheme(where), save, ca_bundle)
        target = config.connection(self.service, where)
        if save or ca_bundle:
            raise InputError(
                f"`--save` and `--ca-bundle` need an address, but {where} is a profile.",
                f"Use the profile: `%{self.service} connect {where}`.",
            )
        return target

    def _with_scheme(self, where: str) -> str:
        """Add the scheme to an address without one, after probing the server.

        Raises:
            SetupError: the server does not support HTTPS or does not respond, or the scheme is
                required; the error suggests an address.
        """
        from labext.http.connection_pool import is_loopback

        secure = f"https://{where}"
        connect = f"%{self.service} connect"
        if self.service in config.HTTPS_ONLY:
            raise SetupError(
                f"There is no profile {where}, and an address starts with https://.",
                f"Write `{connect} {secure}`.",
            )
        config.clean_url(secure)
        try:
            supports_tls = speaks_tls(secure)
        except (OSError, UnicodeError):  # an invalid host name raises UnicodeError
            if is_loopback(secure):
                return f"http://{where}"
            raise SetupError(
                f"There is no profile {where}, and no server responds at that address.",
                f"Check the address; it starts with a scheme: `{connect} {secure}`.",
            ) from None
        if supports_tls:
            return secure
        if is_loopback(secure):
            return f"http://{where}"
        raise SetupError(
            f"{where} does not support HTTPS, so the connection would not be encrypted.",
            f"To connect anyway, write `{connect} http://{where}`.",
        )

    def _by_address(self, where: str, save: str | None, ca_bundle: Path | None) -> Connection:
        """Return the connection for an address, with its known secrets."""
        secrets.refuse_value(where, self.service)
        typed = config.service_url(self.service, where)
        options = {} if ca_bundle is None else {"ca_bundle": str(_display_path(ca_bundle))}
        url = self.find_api(typed, options.get("ca_bundle", True))
        saved = None if save is None else self._saved(save)
        if saved is None:
            environment = self._from_environment(url) or self._from_environment(typed)
            return Connection(self.service, save, url, environment, options)
        if not _is_same_target(saved.base_url, url):
            raise InputError(
                f"A profile {save} already exists, for {saved.base_url}.",
                "Choose another name, or change the address in the profile's file.",
            )
        return replace(saved, options={**saved.options, **options})

    def _saved(self, name: str) -> Connection | None:
        """Return the service's connection of a profile; None if it does not exist."""
        if name not in config.profile_names():
            return None
        try:
            return config.connection(self.service, name)
        except SetupError:
            return None  # the profile is for other services

    def _from_environment(self, url: str) -> Mapping[str, str]:
        """Return the environment's secrets, unless the environment sets another address."""
        if not _is_same_target(from_environment(self.service, "base_url") or url, url):
            return {}
        names = secret_store.SECRET_NAMES[self.service]
        values = {name: from_environment(self.service, name) for name in names}
        present = {name: value for name, value in values.items() if value}
        secret_store.mask_secrets(present)
        return present

    def _sign_in(self, target: Connection, *, keep: bool, save: str | None) -> None:
        """Sign in with the known or entered credentials, then select and save the connection."""
        is_named_profile = target.profile not in (None, SANDBOX)
        to_keep = f"`%{self.service} connect URL --save NAME --keep`"
        if keep and not is_named_profile:
            raise InputError(
                "`--keep` stores credentials for a profile, but no profile is in use.",
                f"Connect with {to_keep}.",
            )
        method = self._method(target)
        accepted, summary, typed = self._verify(target, method)
        if typed and is_named_profile and method.is_permanent and not keep:
            keep = confirm(f"Store the {method.noun} in the keyring?")
        secrets = [name for name in method.labels if name in accepted.secrets]
        note = ""
        if keep and not secrets:
            note = f" The service needs no {method.noun}, so none is stored."
        elif keep and not _store_secrets(accepted, secrets):
            note = f" No keyring is available, so the {method.noun} is kept for this session only."
        elif typed and target.profile is None and method.is_permanent:
            note = f" {to_keep} stores the {method.noun} for later sessions."
        if save is not None or (keep and _is_changed(accepted)):
            _save_profile(accepted)
        _select_profile(accepted)
        output.print_message(f"Connected to {accepted.base_url}: {summary}.{note}")

    def _method(self, target: Connection) -> SignInMethod:
        """Return the target's configured method, or the first one with known secrets."""
        requested = target.options.get("method")
        if requested is None:
            usable = (method for method in self.methods if method.is_known(target))
            return next(usable, self.methods[0])
        named = next((method for method in self.methods if method.name == requested), None)
        if named is None:
            raise InputError(
                f'{self.service} has no sign-in method "{requested}".',
                f"The methods are {', '.join(method.name for method in self.methods)}.",
            )
        return named

    def _verify(self, target: Connection, method: SignInMethod) -> tuple[Connection, str, bool]:
        """Return the accepted connection, a summary, and True if the secrets were typed.

        Without known secrets, the first request is sent without credentials to check that the
        service is reachable.
        """
        complete = method.is_known(target)
        try:
            return target, self._check(target if complete else replace(target, secrets={})), False
        except (SignInError, AccessError) as error:
            if complete and isinstance(error, AccessError):
                raise
            if complete and (variable := method.environment_source(target)):
                next_step = f"It is set by {variable}; change that, and run this line again."
                raise error.with_next_step(next_step) from None
            if complete:
                output.print_message(f"The stored {method.noun} is not accepted.")
        entered = replace(target, secrets={**target.secrets, **method.ask(target.base_url)})
        try:
            return entered, self._check(entered), True
        except SignInError as error:
            next_step = f"Run this line again, and enter another {method.noun}."
            raise error.with_next_step(next_step) from None

    def _check(self, target: Connection) -> str:
        """Return the summary of `verify`, with `CHECK_SECONDS` for the service to respond."""
        from labext.http.connection_pool import first_check

        options = {"max_response_seconds": f"{CHECK_SECONDS:g}", **target.options}
        token = first_check.set(CHECK_SECONDS)
        try:
            return self.verify(replace(target, options=options))
        finally:
            first_check.reset(token)


def _with_options(target: Connection, requested: Mapping[str, str | None]) -> Connection:
    """Return the target with the requested options; a method drops the user of the stored one."""
    new = {name: value for name, value in requested.items() if value is not None}
    kept = {name: v for name, v in target.options.items() if "method" not in new or name != "user"}
    return replace(target, options={**kept, **new})


def _store_secrets(accepted: Connection, names: list[str]) -> bool:
    """Store secrets under the profile's name; return False if there is no keyring."""
    profile = str(accepted.profile)
    stored = [
        config.save_secret(accepted.service, profile, name, accepted.secrets[name])
        for name in names
    ]
    return all(stored)


def _is_changed(accepted: Connection) -> bool:
    """Return True if the options differ from the stored profile."""
    return accepted.options != config.connection(accepted.service, accepted.profile).options


def _save_profile(accepted: Connection) -> None:
    """Save the profile; on failure, remove the stored secrets of a new profile."""
    name, service = str(accepted.profile), accepted.service
    try:
        config.save_profile(name, service, accepted.base_url, accepted.options)
    except LabextError:
        if name not in config.profile_names():
            for secret in secret_store.SECRET_NAMES[service]:
                config.forget_secret(service, name, secret)
        raise


def _select_profile(accepted: Connection) -> None:
    """Select the profile if it describes the connection completely, or the connection itself."""
    name, service = accepted.profile, accepted.service
    if name is not None and name in config.profile_names():
        profile_options = config.connection(service, name).options
        options = {
            k: value for k, value in accepted.options.items() if profile_options.get(k) != value
        }
        config.choose_profile(service, name, options)
        if config.connection(service) == accepted:
            return
    config.use_connection(accepted)


def speaks_tls(url: str) -> bool:
    """Return True if the server supports TLS; only a TLS handshake is sent.

    Raises:
        OSError: the server is not reachable.
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
    if not os.path.isfile(path):  # unlike Path.is_file, False for a name that is too long
        raise InputError(f"There is no file {path}.", "Give the path of a PEM file.")
    try:
        ssl.create_default_context(cafile=path)
    except OSError as error:  # includes SSLError
        raise InputError(
            f"The file {path} contains no certificate.", "Give the path of a PEM file."
        ) from error
    return path.absolute()
