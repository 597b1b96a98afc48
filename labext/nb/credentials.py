"""Client methods for the credentials of model providers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from labext import messages
from labext.actions import Action
from labext.config import clean_url, same_server
from labext.errors import InputError, LabextError
from labext.nb import views
from labext.nb.backends import Steps
from labext.nb.records import CREDENTIAL_OPTIONS, Record, drop_none
from labext.nb.resource import Names, Resource, build_changes, unique_names
from labext.redaction import register_secret

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")


class Credentials(Resource):
    """`nb.credentials`: API keys of model providers.

    The service never returns a key; keys passed to these methods are masked in all output of this
    process.
    """

    def list(self, provider: str | None = None) -> pd.DataFrame:
        """Return the credentials, for a provider or all; columns as `labext.nb.records.CREDENTIAL`.

        `decryption_error` is set if the service can no longer decrypt the key.
        """
        return views.credential_frame(self.iter(provider))

    def iter(self, provider: str | None = None) -> Iterator[Record]:
        """Yield the records of credentials, for a provider or all."""
        yield from self._run(self._backend.credentials(provider))

    def names(self, provider: str | None = None) -> Names:
        """Return the distinct names of credentials, for a provider or all."""
        return unique_names(self.iter(provider))

    def find(self, credential: str, provider: str | None = None) -> str:
        """Return a credential's identifier; credentials for the given provider take precedence."""
        return self._titles.find("credential", credential, provider)

    def by_provider(self, provider: str) -> pd.DataFrame:
        """Return the credentials for a provider; columns as `labext.nb.records.CREDENTIAL`."""
        return views.credential_frame(self._run(self._backend.credentials_of(provider)))

    def get(self, credential: str) -> Record:
        """Return one credential's record, without the key."""
        return self._run(self._backend.credential(self.find(credential)))

    def create(
        self,
        provider: str,
        name: str,
        api_key: str | None = None,
        base_url: str | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Record:
        """Store a credential; return its record.

        Args:
            provider: the provider: `openai`, `openai_compatible`, `ollama`, …
            name: the name.
            api_key: the key; None if the provider needs none.
            base_url: the provider's address; None for its default address.
            options: further fields by name, such as `num_ctx` of Ollama's models or `api_version`
                of Azure; see `labext.nb.records.CREDENTIAL_OPTIONS`.

        Raises:
            InputError: the service does not accept the provider or the address.
            SetupError: the service has no key to encrypt credentials.
            OutcomeUnknownError: the response was lost; it may have been stored.
        """
        key = None if api_key is None else _validate_key(api_key)
        body = {"provider": provider, "name": name}
        values = {"api_key": key, "base_url": base_url, **_validate_options(options)}
        body |= {name: value for name, value in drop_none(values).items() if value != ""}
        return self._run(self._backend.new_credential(body))

    def update(
        self,
        credential: str,
        name: str | None = None,
        api_key: str | None = None,
        base_url: str | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Record:
        """Update a credential and return its record; None leaves a field unchanged.

        An empty `api_key` deletes the key, an empty `base_url` restores the provider's default
        address; an empty value of `options` clears one. A key belongs to one server: a change of
        the server needs a new key, or an empty one.

        Raises:
            InputError: there are no changes, or the stored key would be sent to another server.
        """
        key = _validate_key(api_key) if api_key else api_key
        values = {"name": name, "api_key": key, "base_url": base_url, **_validate_options(options)}
        clearable = {"api_key", "base_url", *CREDENTIAL_OPTIONS}
        changed = build_changes("credential", values, clearable)
        identifier = self.find(credential)
        addresses = [
            value
            for name, value in values.items()
            if value is not None and (name == "base_url" or name.startswith("endpoint"))
        ]
        if addresses and key is None:
            # Not every service checks this itself.
            stored = self._run(self._backend.credential(identifier))
            for address in addresses:
                _check_same_server(stored, str(address))
        return self._run(self._backend.change_credential(identifier, changed))

    def delete(self, credential: str) -> Record:
        """Delete a credential and its models; return their number as `deleted_models`.

        Raises:
            InputError: one of the models is set in a default slot.
        """
        return self._run(self._backend.delete_credential(self.find(credential)))

    def test(self, credential: str) -> Record:
        """Test a credential with its provider; return `provider`, `success` and `message`."""
        return self._run_for(credential, self._backend.test_credential(self.find(credential)))

    def discover(self, credential: str) -> pd.DataFrame:
        """Return the models that a credential offers.

        The columns are those of `labext.nb.records.DISCOVERED_MODEL`.

        Raises:
            ServiceError: the provider does not respond.
        """
        steps = self._backend.discover_with(self.find(credential))
        return views.discovered_model_frame(self._run_for(credential, steps))

    def register_models(self, credential: str, models: Iterable[tuple[str, str]]) -> Record:
        """Add models of a credential; return the numbers `created` and `existing`.

        Args:
            credential: the credential.
            models: pairs of name and type: `llm`, `embedding`, `stt` or `tts`.

        Raises:
            InputError: there are no models.
        """
        pairs = [(name, type) for name, type in models]
        if not pairs:
            raise InputError(
                "No models were given.",
                "See {action} for its models.",
                action=Action.discover_models(credential),
            )
        steps = self._backend.register_models(self.find(credential), pairs)
        return self._run_for(credential, steps)

    def status(self) -> pd.DataFrame:
        """Return the key's location for each provider.

        The columns are those of `labext.nb.records.CREDENTIAL_STATUS`.

        `source` is `database`, `environment` (of the service) or `none`. The frame's
        `attrs["encryption_configured"]` is True if the service can encrypt keys.
        """
        status = self._run(self._backend.credential_status())
        frame = views.credential_status_frame(status["providers"])
        frame.attrs["encryption_configured"] = status["encryption_configured"]
        return frame

    def env_status(self) -> dict[str, bool]:
        """Return the providers, with True for those with a key in the service's environment."""
        return self._run(self._backend.environment_status())

    def _run_for(self, credential: str, steps: Steps[T]) -> T:
        """Send requests about a credential, whose name the actions of their errors get."""
        try:
            return self._run(steps)
        except LabextError as error:
            raise error.with_arguments(credential=credential) from None


def _check_same_server(stored: Record, base_url: str) -> None:
    """Check that a change of the address does not send the stored key to another server.

    An empty address is the provider's default address, which only the service knows.

    Raises:
        InputError: the key would be sent to another server.
    """
    options = stored["options"].items()
    endpoints = [value for name, value in options if name.startswith("endpoint")]
    before, after = stored["base_url"] or "", clean_url(base_url) if base_url else ""
    if stored["has_api_key"] is False or before == after:
        return
    if after and any(
        isinstance(address, str) and same_server(address, after)
        for address in filter(None, (before, *endpoints))
    ):
        return
    raise InputError(
        f"The stored key of {stored['name']} is for another server and is not sent to "
        f"{after or 'the default address'}.",
        "Give a key with the address: {action}; or clear the key: "
        f"{Action.clear_key(stored['name'])}.",
        action=Action.set_address_and_key(stored["name"]),
    )


def _validate_options(options: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the options if their names are known; raise InputError if an option does not exist."""
    for name in options or ():
        if name not in CREDENTIAL_OPTIONS:
            near = messages.did_you_mean(name, CREDENTIAL_OPTIONS)
            raise InputError(
                f"A credential has no option {messages.quote_value(name)}{near}.",
                f"The options are {', '.join(CREDENTIAL_OPTIONS)}.",
            )
    return options or {}


def _validate_key(api_key: str) -> str:
    """Return a key without surrounding whitespace, and register it for masking.

    Raises:
        InputError: the key is empty, or not a string. The message does not contain the value.
    """
    if not isinstance(api_key, str) or not api_key.strip():
        raise InputError("The key is empty.", "Give the provider's key, or omit it.")
    key = api_key.strip()
    register_secret(key)
    return key
