"""Client for the notebook service: notebooks, sources, chat, answers and podcasts."""

from labext.nb.client import NotebookClient
from labext.nb.polling import Ingestion, SourceRow
from labext.nb.records import Answer, AskEvent, Citation, Final, Partial, Search, Strategy

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
