"""Proofs that the backend's requests equal recorded ones."""

from open_notebook.proved.chats import CHATS
from open_notebook.proved.credentials import CREDENTIALS
from open_notebook.proved.extensions import EXTENSIONS
from open_notebook.proved.models import MODELS
from open_notebook.proved.notebooks import NOTEBOOKS
from open_notebook.proved.notes import NOTES
from open_notebook.proved.podcasts import PODCASTS
from open_notebook.proved.profiles import PROFILES
from open_notebook.proved.search import SEARCH
from open_notebook.proved.sources import SOURCES
from open_notebook.proved.status import STATUS
from open_notebook.proved.transformations import TRANSFORMATIONS

PROOFS = (
    *NOTEBOOKS,
    *SOURCES,
    *NOTES,
    *CHATS,
    *SEARCH,
    *MODELS,
    *CREDENTIALS,
    *TRANSFORMATIONS,
    *PROFILES,
    *PODCASTS,
    *STATUS,
    *EXTENSIONS,
)

__all__ = ["PROOFS"]
