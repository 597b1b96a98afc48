"""Requests to Open Notebook for chat sessions and messages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from labext.errors import NotFoundError
from labext.http.pagination import PageGuard
from labext.nb import records
from labext.nb.backends import OnWords, Request, Steps
from labext.nb.backends.contract import chat as contract
from labext.nb.backends.contract.notebooks import LIST_NOTEBOOKS as NOTEBOOKS
from labext.nb.backends.contract.notebooks import LIST_NOTES as NOTES
from labext.nb.backends.contract.notebooks import LIST_SOURCES as SOURCES
from labext.nb.backends.open_notebook import mappers
from labext.nb.records import (
    CONTEXT,
    Answer,
    Citation,
    MessageContext,
    Record,
    Scope,
    build_record,
)

FULL_CONTENT = "full content"
PAGE_SIZE = 100

_CITATION_MARK = re.compile(r"\[((?:source|note):[^\]\s]+)\]")


class ChatRequests(contract.ChatRequests):
    """The operations of the chat, where Open Notebook differs from the contract."""

    def sessions(self, notebook: str | None = None) -> Steps[list[Record]]:
        """List the sessions of a notebook, or of each notebook in turn."""
        notebook_ids = [notebook]
        if notebook is None:
            notebooks = yield Request(NOTEBOOKS)
            notebook_ids = [
                str(record["id"]) for record in records.require_list(notebooks, "notebooks")
            ]
        sessions: list[Record] = []
        for notebook_id in notebook_ids:
            try:
                sessions += yield from super().sessions(notebook_id)
            except NotFoundError:
                if notebook is not None:
                    raise
                # deleted meanwhile
        return sessions

    def message_context(self, session: str, scope: Scope) -> Steps[MessageContext]:
        """Build the context of a message; this server does not resolve identifiers itself."""
        notebook = yield from self._notebook_of(session)
        response = yield from self._build_context(notebook, scope)
        tokens = response.get("token_count")
        context = records.require_mapping(response.get("context"), "the context")
        return MessageContext(context, tokens if isinstance(tokens, int) else None)

    def execute(
        self,
        session: str,
        message: str,
        context: MessageContext,
        model_override: str | None,
        on_words: OnWords | None = None,
    ) -> Steps[Answer]:
        """Send a message with its context; the marks in the reply become citations."""
        del on_words  # this server does not stream replies
        reply = yield from super().execute(session, message, context, model_override)
        return replace(reply, citations=tuple(_marked_citations(reply.text, context.context)))

    def context(
        self, session: str | None, notebook: str | None, scope: Scope, config: Any
    ) -> Steps[Record]:
        """Build the context that a model would get with a message."""
        within = notebook or (yield from self._notebook_of(str(session)))
        response = yield from self._build_context(within, scope, config)
        return build_record(
            CONTEXT, {**response, **records.require_mapping(response.get("context"), "the context")}
        )

    def _notebook_of(self, session: str) -> Steps[str]:
        response = yield Request(contract.GET_SESSION, {"session": session})
        return mappers.require_identifier(response, "notebook_id", "the chat session")

    def _build_context(
        self, notebook: str, scope: Scope, config: Any = None
    ) -> Steps[Mapping[str, Any]]:
        if config is None:
            config = yield from _context_config(notebook, scope)
        body = {"notebook_id": notebook, "context_config": config}
        response = yield Request(contract.BUILD_CONTEXT, json=body)
        return records.require_mapping(response, "the context")


def _context_config(notebook: str, scope: Scope) -> Steps[dict[str, dict[str, str]]]:
    """List every source and note in the scope; the server omits those that are not listed."""
    sources: list[str] = []
    notes: list[str] = []
    if scope.includes("source"):
        sources = yield from _source_ids(notebook)
    if scope.includes("note"):
        response = yield Request(NOTES, params={"notebook_id": notebook})
        notes = [str(item["id"]) for item in records.require_list(response, "notes")]
    return {
        "sources": {
            identifier: FULL_CONTENT for identifier in sources if scope.holds("source", identifier)
        },
        "notes": {
            identifier: FULL_CONTENT for identifier in notes if scope.holds("note", identifier)
        },
    }


def _source_ids(notebook: str) -> Steps[list[str]]:
    identifiers: list[str] = []
    offset, guard = 0, PageGuard("The notebook service's list of sources")
    while True:
        params = {"notebook_id": notebook, "limit": PAGE_SIZE, "offset": offset}
        response = yield Request(SOURCES, params=params)
        page = [str(item["id"]) for item in records.require_list(response, "sources")]
        if not guard.add_page(page):
            return list(dict.fromkeys(identifiers))
        identifiers += page
        offset += len(page)
        guard.check_next()


def _marked_citations(text: str, context: Mapping[str, Any]) -> Iterator[Citation]:
    """Yield the citations of an answer that refer to its context; models invent identifiers."""
    titles = {
        str(item.get("id")): str(item.get("title") or "")
        for part in context.values()
        if isinstance(part, list)
        for item in part
        if isinstance(item, Mapping)
    }
    for identifier in dict.fromkeys(_CITATION_MARK.findall(text)):
        if identifier in titles:
            yield Citation(identifier, titles[identifier])
