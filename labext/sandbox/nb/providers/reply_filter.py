"""Filter a streamed reply: without the model's reasoning and without the provider's key."""

from __future__ import annotations

import re

from labext.sandbox.nb.providers.servers import ProviderServer, remove_key

_BEGIN, _END = "<think>", "</think>"
_THINKING = re.compile(rf"(?s)\A\s*{_BEGIN}.*?{_END}\s*")
"""The reasoning that some models put before their answer."""


class ReplyFilter:
    """Collects the pieces of a reply, and returns the words that can be shown already."""

    def __init__(self, server: ProviderServer) -> None:
        self._server = server
        self._text = ""
        self._begun = False
        self._pending = ""

    def feed(self, piece: str) -> str:
        """Add a piece; return the words that it completes."""
        self._text += piece
        if self._begun:
            self._pending += piece
        elif not self._is_reasoning():
            self._pending = _THINKING.sub("", self._text).lstrip()
            self._begun = bool(self._pending)
        withheld = _common_end(self._pending, self._server.key or "")
        ready = self._pending[: len(self._pending) - withheld]
        self._pending = self._pending[len(ready) :]
        return remove_key(self._server, ready)

    def finish(self) -> str:
        """Return the whole reply."""
        return remove_key(self._server, _THINKING.sub("", self._text).strip())

    def _is_reasoning(self) -> bool:
        """Return whether the reply has only reasoning so far, or perhaps its beginning."""
        start = self._text.lstrip()
        return _BEGIN.startswith(start) or (start.startswith(_BEGIN) and _END not in start)


def _common_end(text: str, key: str) -> int:
    """Return the length of the end of a text that may be the beginning of the key."""
    longest = min(len(text), len(key) - 1)
    return next((n for n in range(longest, 0, -1) if key.startswith(text[-n:])), 0)
