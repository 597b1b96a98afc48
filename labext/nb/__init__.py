"""The client of the notebook service: notebooks, sources, notes, chat, search and answers."""

from labext.nb.client import NotebookClient

__all__ = ["NotebookClient"]
