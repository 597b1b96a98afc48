"""Client for the notebook service: notebooks, sources, chat, answers and podcasts."""

from labext.nb.client import NotebookClient
from labext.nb.polling import Ingestion, SourceRow
from labext.nb.records import (
    Answer,
    AskEvent,
    Citation,
    Final,
    Partial,
    Search,
    Strategy,
    Usage,
    Words,
)
from labext.nb.resource import ScopeOptions
from labext.nb.search import AskOptions, SearchOptions

__all__ = [
    "Answer",
    "AskEvent",
    "AskOptions",
    "Citation",
    "Final",
    "Ingestion",
    "NotebookClient",
    "Partial",
    "ScopeOptions",
    "Search",
    "SearchOptions",
    "SourceRow",
    "Strategy",
    "Usage",
    "Words",
]
