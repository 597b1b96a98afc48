"""Client methods for the credentials of model providers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from labext.config.profiles import clean_url, same_server
from labext.errors import InputError
from labext.nb.records import Record
from labext.nb.resource import Resource, build_changes, drop_none, unique_names
from labext.redaction import register_secret

if TYPE_CHECKING:
    import pandas as pd


class Credentials(Resource):
    """`nb.credentials`: what opens models' providers (contract, Endpoints: Credentials).

    A key goes to the service and never comes back; from then on it is masked wherever this
    process writes it.
    """

    def list(self, provider: str | None = None) -> pd.DataFrame:
        """Return the credentials, for a provider or all, a row each; columns `records.CREDENTIAL`.

        `decryption_error` tells of one whose key the service can't read any more.
        """
        from labext.nb.views import credential_frame

        return credential_frame(self.iter(provider))

    def iter(self, provider: str | None = None) -> Iterator[Record]:
        """Yield the records of credentials, for a provider or all."""
        yield from self._executor.run(self._backend.credentials(provider))

    def names(self, provider: str | None = None) -> Sequence[str]:
        """Return the names of credentials, each once."""
        return unique_names(self.iter(provider))

    def find(self, credential: str, provider: str | None = None) -> str:
        """Return a credential's identifier; those for a provider come first."""
        return self._titles.find("credential", credential, provider)

    def by_provider(self, provider: str) -> pd.DataFrame:
        """Return the credentials for a provider, a row each; columns as `records.CREDENTIAL`."""
        from labext.nb.views import credential_frame

        return credential_frame(self._executor.run(self._backend.credentials_of(provider)))

    def get(self, credential: str) -> Record:
        """Return one credential's record, which has no key in it."""
        return self._executor.run(self._backend.credential(self.find(credential)))

    def create(
        self,
        provider: str,
        name: str,
        api_key: str | None = None,
        base_url: str | None = None,
    ) -> Record:
        """Store a credential; return its record.

        Args:
            provider: who it is for: `openai`, `openai_compatible`, `ollama`, …
            name: what it is called.
            api_key: the key; None where the provider wants none.
            base_url: the provider's address; None for its usual one.

        Raises:
            InputError: the provider or the address is none that the service takes.
            SetupError: the service has nothing to encrypt keys with.
            OutcomeUnknownError: the answer was lost; it may have been stored.
        """
        key = None if api_key is None else _validate_key(api_key)
        body = {"provider": provider, "name": name}
        body |= drop_none({"api_key": key, "base_url": base_url})
        return self._executor.run(self._backend.new_credential(body))

    def update(
        self,
        credential: str,
        name: str | None = None,
        api_key: str | None = None,
        base_url: str | None = None,
    ) -> Record:
        """Change a credential; what is None stays. Return its record.

        An empty `api_key` takes the key away, an empty `base_url` is the provider's usual address
        again. A key is for the server that it was given for: with the address of another one it
        is given again, or taken away.

        Raises:
            InputError: nothing is to be changed, or the stored key would go to another server.
        """
        key = _validate_key(api_key) if api_key else api_key
        values = {"name": name, "api_key": key, "base_url": base_url}
        changed = build_changes("credential", values, {"api_key", "base_url"})
        identifier = self.find(credential)
        if base_url is not None and key is None:
            # Not every service looks at this by itself.
            _check_same_server(self._executor.run(self._backend.credential(identifier)), base_url)
        return self._executor.run(self._backend.change_credential(identifier, changed))

    def delete(self, credential: str) -> Record:
        """Delete a credential with the models that it opens; return how many: `deleted_models`.

        Raises:
            InputError: one of the models is in a default slot.
        """
        return self._executor.run(self._backend.delete_credential(self.find(credential)))

    def test(self, credential: str) -> Record:
        """Have the service ask the provider; return `provider`, `success` and `message`."""
        return self._executor.run(self._backend.test_credential(self.find(credential)))

    def discover(self, credential: str) -> pd.DataFrame:
        """Return the models that it opens, a row each; columns as `records.DISCOVERED`.

        Raises:
            ServiceError: the provider does not answer.
        """
        from labext.nb.views import discovered_model_frame

        return discovered_model_frame(
            self._executor.run(self._backend.discover_with(self.find(credential)))
        )

    def register_models(self, credential: str, models: Iterable[tuple[str, str]]) -> Record:
        """Add models that it opens; return how many were `created` and `existing`.

        Args:
            credential: which one.
            models: each one's name and type: `llm`, `embedding`, `stt` or `tts`.

        Raises:
            InputError: none is named.
        """
        pairs = [(name, type) for name, type in models]
        if not pairs:
            raise InputError("No model is named.", "See `%nb credentials discover` for its models.")
        return self._executor.run(self._backend.register_models(self.find(credential), pairs))

    def status(self) -> pd.DataFrame:
        """Return where each provider's key is, a row a provider; columns as `records.CONFIGURED`.

        `source` is `database`, `environment` (of the service) or `none`. Whether the service has
        something to encrypt keys with is in the frame's `attrs["encryption_configured"]`.
        """
        from labext.nb.views import credential_status_frame

        status = self._executor.run(self._backend.credential_status())
        frame = credential_status_frame(status["providers"])
        frame.attrs["encryption_configured"] = status["encryption_configured"]
        return frame

    def env_status(self) -> dict[str, bool]:
        """Return for each provider whether the service's own environment has a key for it."""
        return self._executor.run(self._backend.environment_status())


def _check_same_server(stored: Record, base_url: str) -> None:
    """See that a stored key is not sent to another server than it was given for.

    Where no address is given it is the provider's usual one, which only the service knows.

    Raises:
        InputError: it would be.
    """
    before = stored["base_url"] or ""
    after = clean_url(base_url) if base_url else ""
    if stored["has_api_key"] is False or before == after:
        return
    if before and after and same_server(before, after):
        return
    raise InputError(
        f"The key of {stored['name']} was given for another server, and "
        f"{after or 'the usual one'} does not get it.",
        "Give it along with the address: `%nb credentials edit NAME --base-url URL --new-key`; "
        "`--no-key` in its place takes it away.",
    )


def _validate_key(api_key: str) -> str:
    """Return a key without the blanks that pasting brings; from now on it is masked.

    Raises:
        InputError: it is empty, or no text. What was given is not told.
    """
    if not isinstance(api_key, str) or not api_key.strip():
        raise InputError("The key is empty.", "Give the provider's key, or none at all.")
    key = api_key.strip()
    register_secret(key)
    return key
