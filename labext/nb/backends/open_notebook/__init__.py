"""Backend for Open Notebook 1.14: overrides where it differs from the contract."""

from __future__ import annotations

from labext.nb.backends.contract import ContractBackend
from labext.nb.backends.open_notebook.extensions import ExtensionRequests
from labext.nb.backends.open_notebook.models import CredentialRequests, ModelRequests
from labext.nb.backends.open_notebook.notebooks import (
    NotebookRequests,
    NoteRequests,
    SourceRequests,
)
from labext.nb.backends.open_notebook.podcasts import PodcastRequests
from labext.nb.backends.open_notebook.search import SearchRequests
from labext.nb.backends.open_notebook.transformations import TransformationRequests


class OpenNotebookBackend(
    NotebookRequests,
    SourceRequests,
    NoteRequests,
    SearchRequests,
    TransformationRequests,
    ModelRequests,
    CredentialRequests,
    PodcastRequests,
    ExtensionRequests,
    ContractBackend,
):
    """Requests to Open Notebook, a method per operation."""

    name = "open-notebook"
