"""Client for the notebook service: notebooks, sources, chat, answers and podcasts."""

from labext.nb.client import NotebookClient
from labext.nb.evaluation import Evaluation
from labext.nb.export import Export
from labext.nb.insights import PendingInsight
from labext.nb.podcasts import EpisodeProfileFields
from labext.nb.polling import Ingestion, SourceRow
from labext.nb.questions import ExpectedAnswer
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
from labext.nb.references import Reference
from labext.nb.resource import ScopeOptions
from labext.nb.search import AskOptions, SearchOptions
from labext.nb.uploads import ExistingSource

__all__ = [
    "Answer",
    "AskEvent",
    "AskOptions",
    "Citation",
    "EpisodeProfileFields",
    "Evaluation",
    "ExistingSource",
    "ExpectedAnswer",
    "Export",
    "Final",
    "Ingestion",
    "NotebookClient",
    "Partial",
    "PendingInsight",
    "Reference",
    "ScopeOptions",
    "Search",
    "SearchOptions",
    "SourceRow",
    "Strategy",
    "Usage",
    "Words",
]
