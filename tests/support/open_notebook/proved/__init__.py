"""Each request of the backend, held against the recording that it should have made."""

from open_notebook.proved.beyond import BEYOND
from open_notebook.proved.chats import CHATS
from open_notebook.proved.credentials import CREDENTIALS
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
    *BEYOND,
)

__all__ = ["PROOFS"]
