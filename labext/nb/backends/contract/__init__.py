"""Backend for servers that follow the notebook service's contract."""

from __future__ import annotations

from typing import Any

from labext.nb import records
from labext.nb.backends import Request, Steps, get
from labext.nb.backends.contract.extensions import ExtensionRequests
from labext.nb.backends.contract.models import (
    CredentialRequests,
    ModelRequests,
    TransformationRequests,
)
from labext.nb.backends.contract.notebooks import NotebookRequests, NoteRequests, SourceRequests
from labext.nb.backends.contract.podcasts import PodcastRequests, ProfileRequests
from labext.nb.backends.contract.search import ChatRequests, SearchRequests
from labext.nb.records import Record

GET_CONFIG = get("read the configuration", "config")
GET_AUTH_STATUS = get("read the sign-in method", "auth/status")


class ContractBackend(
    ExtensionRequests,
    NotebookRequests,
    SourceRequests,
    NoteRequests,
    ChatRequests,
    SearchRequests,
    TransformationRequests,
    ModelRequests,
    CredentialRequests,
    PodcastRequests,
    ProfileRequests,
):
    """Requests to a server that follows the contract, a method per operation."""

    name = "contract"

    def status(self) -> Steps[Record]:
        """Return the public status of the server (NB-1)."""
        config: Any = yield Request(GET_CONFIG)
        auth: Any = yield Request(GET_AUTH_STATUS)
        data = records.require_mapping(config, "its configuration")
        return {
            "version": data.get("version"),
            "database": data.get("dbStatus"),
            "password_needed": records.require_mapping(auth, "signing in").get("auth_enabled"),
        }
