"""Chat, as Open Notebook is asked for it (real services, section nb)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from labext.errors import NotFoundError
from labext.nb import records
from labext.nb.answers import Answer, Citation
from labext.nb.dialects import Request, Steps
from labext.nb.dialects import contract_chat as contract
from labext.nb.dialects import open_notebook_told as told
from labext.nb.dialects.contract_notebooks import LIST as NOTEBOOKS
from labext.nb.dialects.contract_notes import LIST as NOTES
from labext.nb.dialects.contract_sources import LIST as SOURCES
from labext.nb.records import CONTEXT, SESSION, Record, made
from labext.nb.scope import Prepared, Scope
from labext.transport.paging import PageGuard

FULL = "full content"
PAGE = 100

_MARK = re.compile(r"\[((?:source|note):[^\]\s]+)\]")


class ChatCalls(contract.ChatCalls):
    """The operations of the chat, where that server's differ."""

    def sessions(self, notebook: str | None = None) -> Steps[list[Record]]:
        """List the sessions of a notebook; of all, notebook by notebook."""
        within = [notebook]
        if notebook is None:
            every = yield Request(NOTEBOOKS)
            within = [str(each["id"]) for each in records.several(every, "notebooks")]
        found: list[Record] = []
        for each in within:
            try:
                answer = yield Request(contract.LIST, params={"notebook_id": each})
            except NotFoundError:
                if notebook is not None:
                    raise
                continue  # deleted meanwhile
            found += told.things(SESSION, answer, "chat sessions")
        return found

    def session(self, session: str) -> Steps[Record]:
        """Look at one, with its messages."""
        answer = yield Request(contract.ONE, {"session": session})
        messages = records.several(answer.get("messages") or [], "the session's messages")
        record = _session(answer)
        record["messages"] = [contract.a_message(each) for each in messages]
        return record

    def new_session(
        self, notebook: str, title: str | None, model_override: str | None
    ) -> Steps[Record]:
        """Begin one."""
        named = {"title": title, "model_override": model_override}
        body = {"notebook_id": notebook}
        body |= {name: value for name, value in named.items() if value is not None}
        answer = yield Request(contract.NEW, json=body)
        return _session(answer)

    def change_session(self, session: str, changes: Mapping[str, Any]) -> Steps[Record]:
        """Change `title` or `model_override`."""
        answer = yield Request(contract.CHANGE, {"session": session}, json=dict(changes))
        return _session(answer)

    def prepared(self, session: str, scope: Scope) -> Steps[Prepared]:
        """Gather what goes with a message: what is merely named, the model would not get."""
        notebook = yield from self._notebook_of(session)
        answer = yield from self._gathered(notebook, scope)
        tokens = answer.get("token_count")
        context = records.mapping(answer.get("context"), "the context")
        return Prepared(context, tokens if isinstance(tokens, int) else None)

    def execute(
        self, session: str, message: str, prepared: Prepared, model_override: str | None
    ) -> Steps[Answer]:
        """Send a message with its context; the reply's marks are its citations."""
        steps = super().execute(session, message, prepared, model_override)
        reply = yield from steps
        return replace(reply, citations=tuple(_cited(reply.text, prepared.context)))

    def context(
        self, session: str | None, notebook: str | None, scope: Scope, config: Any
    ) -> Steps[Record]:
        """Build what a model would be given with a message."""
        within = notebook or (yield from self._notebook_of(str(session)))
        answer = yield from self._gathered(within, scope, config)
        return made(CONTEXT, {**answer, **records.mapping(answer.get("context"), "the context")})

    def _notebook_of(self, session: str) -> Steps[str]:
        answer = yield Request(contract.ONE, {"session": session})
        return told.identifier(answer, "notebook_id", "the chat session")

    def _gathered(
        self, notebook: str, scope: Scope, config: Any = None
    ) -> Steps[Mapping[str, Any]]:
        if config is None:
            config = yield from _chosen(notebook, scope)
        body = {"notebook_id": notebook, "context_config": config}
        answer = yield Request(contract.CONTEXT_OF, json=body)
        return records.mapping(answer, "the context")


def _chosen(notebook: str, scope: Scope) -> Steps[dict[str, dict[str, str]]]:
    """Name every source and note of a notebook that counts: with what is not named, none comes."""
    sources: list[str] = []
    notes: list[str] = []
    if scope.includes("source"):
        sources = yield from _sources_of(notebook)
    if scope.includes("note"):
        answer = yield Request(NOTES, params={"notebook_id": notebook})
        notes = [str(each["id"]) for each in records.several(answer, "notes")]
    return {
        "sources": {each: FULL for each in sources if scope.holds("source", each)},
        "notes": {each: FULL for each in notes if scope.holds("note", each)},
    }


def _sources_of(notebook: str) -> Steps[list[str]]:
    found: list[str] = []
    offset, guard = 0, PageGuard("The notebook service's list of sources")
    while True:
        params = {"notebook_id": notebook, "limit": PAGE, "offset": offset}
        answer = yield Request(SOURCES, params=params)
        page = [str(each["id"]) for each in records.several(answer, "sources")]
        if not guard.new(page):
            return list(dict.fromkeys(found))
        found += page
        offset += len(page)
        guard.go_on()


def _cited(text: str, context: Mapping[str, Any]) -> Iterator[Citation]:
    """Yield what an answer marks and was given; a model makes up identifiers too."""
    given = {
        str(each.get("id")): str(each.get("title") or "")
        for part in context.values()
        if isinstance(part, list)
        for each in part
        if isinstance(each, Mapping)
    }
    for identifier in dict.fromkeys(_MARK.findall(text)):
        if identifier in given:
            yield Citation(identifier, given[identifier])


def _session(answer: Any) -> Record:
    return told.thing(SESSION, answer, "the chat session")
