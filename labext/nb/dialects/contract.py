"""The dialect of the documented contract (contracts/notebook-service.md)."""

from __future__ import annotations

from typing import Any

from labext.nb import records
from labext.nb.dialects import Request, Steps
from labext.nb.dialects.contract_beyond import BeyondCalls
from labext.nb.dialects.contract_chat import ChatCalls
from labext.nb.dialects.contract_credentials import CredentialCalls
from labext.nb.dialects.contract_models import ModelCalls
from labext.nb.dialects.contract_notebooks import NotebookCalls
from labext.nb.dialects.contract_notes import NoteCalls
from labext.nb.dialects.contract_podcasts import PodcastCalls
from labext.nb.dialects.contract_profiles import ProfileCalls
from labext.nb.dialects.contract_search import SearchCalls
from labext.nb.dialects.contract_sources import SourceCalls
from labext.nb.dialects.contract_transformations import TransformationCalls
from labext.nb.records import Record
from labext.transport import Operation, Repeat

CONFIG = Operation("read the configuration", "GET", "config", Repeat.ALWAYS, answer="json")
AUTH = Operation("ask how to sign in", "GET", "auth/status", Repeat.ALWAYS, answer="json")


class Contract(
    BeyondCalls,
    NotebookCalls,
    SourceCalls,
    NoteCalls,
    ChatCalls,
    SearchCalls,
    TransformationCalls,
    ModelCalls,
    CredentialCalls,
    PodcastCalls,
    ProfileCalls,
):
    """What is said to a server of the contract; a method for each thing that is wanted of it."""

    name = "contract"

    def status(self) -> Steps[Record]:
        """Read what the routes tell that need no password (contract, Authentication rule 2)."""
        config: Any = yield Request(CONFIG)
        auth: Any = yield Request(AUTH)
        told = records.mapping(config, "its configuration")
        return {
            "version": told.get("version"),
            "database": told.get("dbStatus"),
            "password_needed": records.mapping(auth, "signing in").get("auth_enabled"),
        }
