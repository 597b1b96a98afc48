"""The client of the notebook service: a group of methods for each kind of thing there."""

from labext.nb.answers import Answer, AskEvent, Citation, Final, Partial, Search, Strategy
from labext.nb.client import NotebookClient
from labext.nb.watching import Ingestion, SourceRow

__all__ = [
    "Answer",
    "AskEvent",
    "Citation",
    "Final",
    "Ingestion",
    "NotebookClient",
    "Partial",
    "Search",
    "SourceRow",
    "Strategy",
]
