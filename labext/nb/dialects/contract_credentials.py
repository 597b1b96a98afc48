"""Credentials, as the contract's server is asked for them (contract, Endpoints: Credentials)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from labext.nb import records
from labext.nb.dialects import Request, Steps
from labext.nb.dialects.contract_models import discovered
from labext.nb.records import (
    CONFIGURED,
    CREDENTIAL,
    DELETED_CREDENTIAL,
    REGISTERED,
    TESTED,
    Fields,
    Record,
    made,
)
from labext.transport import Operation, Repeat

LIST = Operation("list credentials", "GET", "credentials", Repeat.ALWAYS, answer="json")
BY_PROVIDER = Operation(
    "list credentials of a provider",
    "GET",
    "credentials/by-provider/{provider}",
    Repeat.ALWAYS,
    answer="json",
)
STATUS = Operation(
    "see which providers have credentials",
    "GET",
    "credentials/status",
    Repeat.ALWAYS,
    answer="json",
)
ENV_STATUS = Operation(
    "see which providers have keys in the service's environment",
    "GET",
    "credentials/env-status",
    Repeat.ALWAYS,
    answer="json",
)
NEW = Operation(
    "store a credential",
    "POST",
    "credentials",
    Repeat.UNSENT,
    answer="json",
    find_out="See `%nb credentials` before you store it again: it may be there already.",
)
ONE = Operation(
    "look at a credential", "GET", "credentials/{credential}", Repeat.ALWAYS, answer="json"
)
CHANGE = Operation(
    "change a credential", "PUT", "credentials/{credential}", Repeat.ALWAYS, answer="json"
)
DELETE = Operation("delete a credential", "DELETE", "credentials/{credential}", Repeat.DELETE)
TEST = Operation(
    "test a credential", "POST", "credentials/{credential}/test", Repeat.ALWAYS, answer="json"
)
DISCOVER = Operation(
    "list the models that a credential opens",
    "POST",
    "credentials/{credential}/discover",
    Repeat.ALWAYS,
    answer="json",
)
REGISTER = Operation(
    "register a credential's models",
    "POST",
    "credentials/{credential}/register-models",
    Repeat.UNSENT,  # a second time none would be new
    answer="json",
    find_out="Do it again: what is there already stays as it is.",
)


class CredentialCalls:
    """The eleven operations on credentials; no answer has a key in it."""

    def credentials(self, provider: str | None = None) -> Steps[list[Record]]:
        """List those for a provider, or all."""
        answer = yield Request(LIST, params={"provider": provider})
        return records.things(CREDENTIAL, answer, "credentials")

    def credentials_of(self, provider: str) -> Steps[list[Record]]:
        """List those for a provider."""
        answer = yield Request(BY_PROVIDER, {"provider": provider})
        return records.things(CREDENTIAL, answer, "credentials")

    def credential(self, credential: str) -> Steps[Record]:
        """Look at one."""
        answer = yield Request(ONE, {"credential": credential})
        return _credential(answer)

    def new_credential(self, given: Mapping[str, Any]) -> Steps[Record]:
        """Store one of `provider`, `name` and, if given, `api_key` and `base_url`."""
        answer = yield Request(NEW, json=dict(given))
        return _credential(answer)

    def change_credential(self, credential: str, changes: Mapping[str, Any]) -> Steps[Record]:
        """Change fields; None takes the key or the address away, what is not named stays."""
        answer = yield Request(CHANGE, {"credential": credential}, json=dict(changes))
        return _credential(answer)

    def delete_credential(self, credential: str) -> Steps[Record]:
        """Delete one, and the models that it opens."""
        answer = yield Request(DELETE, {"credential": credential})
        # A repeat of a deletion whose answer was lost finds nothing: it can't tell the count.
        told = records.mapping(answer, "the deletion") if answer is not None else {}
        return made(DELETED_CREDENTIAL, {**told, "id": credential})

    def test_credential(self, credential: str) -> Steps[Record]:
        """Have the service ask the provider with it; a failure is an answer too."""
        answer = yield Request(TEST, {"credential": credential}, patient=True)
        fields: Fields = {"provider": "category", **TESTED}
        return made(fields, records.mapping(answer, "the credential's test"))

    def discover_with(self, credential: str) -> Steps[list[Record]]:
        """List the models that it opens."""
        answer = yield Request(DISCOVER, {"credential": credential}, patient=True)
        told = records.mapping(answer, "models on offer")
        return discovered(told.get("discovered"))

    def register_models(self, credential: str, models: Sequence[tuple[str, str]]) -> Steps[Record]:
        """Add models by name and type, which it opens; those that are there stay."""
        body = {"models": [{"name": name, "model_type": type} for name, type in models]}
        answer = yield Request(REGISTER, {"credential": credential}, json=body)
        return made(REGISTERED, records.mapping(answer, "the models"))

    def credential_status(self) -> Steps[Record]:
        """Tell for each provider where its key is, and whether the service can encrypt keys."""
        told = records.mapping((yield Request(STATUS)), "credentials")
        configured = records.mapping(told.get("configured") or {}, "credentials")
        source = records.mapping(told.get("source") or {}, "credentials")
        return {
            "providers": [
                made(CONFIGURED, {"provider": p, "configured": there, "source": source.get(p)})
                for p, there in configured.items()
            ],
            "encryption_configured": told.get("encryption_configured"),
        }

    def environment_status(self) -> Steps[dict[str, bool]]:
        """Tell for each provider whether the service's environment has a key for it."""
        told = records.mapping((yield Request(ENV_STATUS)), "the service's environment")
        return {str(provider): bool(there) for provider, there in told.items()}


def _credential(answer: Any) -> Record:
    return records.thing(CREDENTIAL, answer, "the credential")
