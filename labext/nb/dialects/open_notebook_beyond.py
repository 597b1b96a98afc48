"""What Open Notebook has beyond the contract: settings, commands, insights, vectors, chats."""

from __future__ import annotations

from labext.nb.dialects.open_notebook_beyond_chats import SourceChatCalls
from labext.nb.dialects.open_notebook_beyond_commands import CommandCalls
from labext.nb.dialects.open_notebook_beyond_insights import InsightCalls


class BeyondCalls(CommandCalls, InsightCalls, SourceChatCalls):
    """All of it."""
