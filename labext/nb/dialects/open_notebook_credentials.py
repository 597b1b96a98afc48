"""Credentials, as Open Notebook is asked for them (real services, section nb)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from labext.nb import records
from labext.nb.dialects import Request, Steps
from labext.nb.dialects import contract_credentials as contract
from labext.nb.dialects import open_notebook_told as told
from labext.nb.dialects.open_notebook_models import discovered
from labext.nb.records import CREDENTIAL, REGISTERED, Record, made


class CredentialCalls(contract.CredentialCalls):
    """The operations on credentials, where that server's differ."""

    def credentials(self, provider: str | None = None) -> Steps[list[Record]]:
        """List those for a provider, or all."""
        answer = yield Request(contract.LIST, params={"provider": provider})
        return told.things(CREDENTIAL, answer, "credentials")

    def credentials_of(self, provider: str) -> Steps[list[Record]]:
        """List those for a provider."""
        answer = yield Request(contract.BY_PROVIDER, {"provider": provider})
        return told.things(CREDENTIAL, answer, "credentials")

    def credential(self, credential: str) -> Steps[Record]:
        """Look at one."""
        return _credential((yield Request(contract.ONE, {"credential": credential})))

    def new_credential(self, given: Mapping[str, Any]) -> Steps[Record]:
        """Store one."""
        return _credential((yield Request(contract.NEW, json=dict(given))))

    def change_credential(self, credential: str, changes: Mapping[str, Any]) -> Steps[Record]:
        """Change fields; a key or an address can't be taken away, only exchanged."""
        told.check_kept(changes, "the credential", "Delete it, and store another.")
        path = {"credential": credential}
        return _credential((yield Request(contract.CHANGE, path, json=dict(changes))))

    def discover_with(self, credential: str) -> Steps[list[Record]]:
        """List the models that it opens."""
        answer = yield Request(contract.DISCOVER, {"credential": credential}, patient=True)
        return discovered(records.mapping(answer, "models on offer").get("discovered"))

    def register_models(self, credential: str, models: Sequence[tuple[str, str]]) -> Steps[Record]:
        """Add models that it opens; each names its provider, which is the credential's."""
        provider = (yield from self.credential(credential))["provider"]
        body = {
            "models": [
                {"name": name, "provider": provider, "model_type": told.type_there(type)}
                for name, type in models
            ]
        }
        answer = yield Request(contract.REGISTER, {"credential": credential}, json=body)
        return made(REGISTERED, records.mapping(answer, "the models"))


def _credential(answer: Any) -> Record:
    return told.thing(CREDENTIAL, answer, "the credential")
