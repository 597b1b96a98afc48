"""Backend for Open Notebook 1.14: overrides where it differs from the contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labext.nb.backends.contract import ContractBackend
from labext.nb.backends.open_notebook import mappers
from labext.nb.backends.open_notebook.extensions import ExtensionRequests
from labext.nb.backends.open_notebook.models import (
    CredentialRequests,
    ModelRequests,
    TransformationRequests,
)
from labext.nb.backends.open_notebook.notebooks import (
    NotebookRequests,
    NoteRequests,
    SourceRequests,
)
from labext.nb.backends.open_notebook.podcasts import PodcastRequests
from labext.nb.backends.open_notebook.search import SearchRequests
from labext.nb.records import Fields


class OpenNotebookBackend(
    ExtensionRequests,
    SearchRequests,
    NotebookRequests,
    SourceRequests,
    NoteRequests,
    TransformationRequests,
    ModelRequests,
    CredentialRequests,
    PodcastRequests,
    ContractBackend,
):
    """Requests to Open Notebook, a method per operation."""

    name = "open-notebook"

    def normalize(self, fields: Fields, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the data of one record with the contract's names of keys and values."""
        return mappers.normalize(fields, data)
