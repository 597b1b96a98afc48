"""The dialect of Open Notebook 1.14 (real services, section nb).

It is the contract's with other names, defaults and manners. What is here goes in place of what
would be answered 200 there and do something else; the rest is said as to a server of the contract.
"""

from __future__ import annotations

from labext.nb.dialects.contract import Contract
from labext.nb.dialects.open_notebook_beyond import BeyondCalls
from labext.nb.dialects.open_notebook_credentials import CredentialCalls
from labext.nb.dialects.open_notebook_models import ModelCalls
from labext.nb.dialects.open_notebook_notebooks import NotebookCalls
from labext.nb.dialects.open_notebook_notes import NoteCalls
from labext.nb.dialects.open_notebook_podcasts import PodcastCalls
from labext.nb.dialects.open_notebook_search import SearchCalls
from labext.nb.dialects.open_notebook_sources import SourceCalls
from labext.nb.dialects.open_notebook_transformations import TransformationCalls


class OpenNotebook(
    NotebookCalls,
    SourceCalls,
    NoteCalls,
    SearchCalls,
    TransformationCalls,
    ModelCalls,
    CredentialCalls,
    PodcastCalls,
    BeyondCalls,
    Contract,
):
    """What is said to Open Notebook; a method for each thing that is wanted of it."""

    name = "Open Notebook"
