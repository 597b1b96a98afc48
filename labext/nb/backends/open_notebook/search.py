"""Requests to Open Notebook for search, questions and chats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from labext.actions import Action, parameter
from labext.errors import InputError, LabextError, NotFoundError, ServiceError, SetupError
from labext.nb import records
from labext.nb.backends import OnWords, Request, Steps
from labext.nb.backends.contract import search as contract
from labext.nb.backends.contract.models import GET_DEFAULTS
from labext.nb.backends.contract.notebooks import LIST_NOTEBOOKS
from labext.nb.backends.contract.search import DELETE_SESSION
from labext.nb.backends.open_notebook import mappers
from labext.nb.backends.open_notebook.extensions import InsightRequests
from labext.nb.backends.open_notebook.notebooks import NoteRequests, SourceRequests
from labext.nb.records import (
    CONTEXT,
    NOTEBOOK,
    SOURCE,
    Answer,
    AskEvent,
    Final,
    Hits,
    MessageContext,
    Query,
    Question,
    Record,
    Scope,
    build_record,
    drop_none,
)

FULL_CONTENT = "full content"

MAX_LOOKED_UP_MARKS = 30
"""The maximum number of citation marks of an answer that are looked up, a request each."""


class ChatRequests(SourceRequests, NoteRequests, InsightRequests, contract.ChatRequests):
    """The operations of the chat, where Open Notebook differs from the contract."""

    def sessions(self, notebook: str | None = None) -> Steps[list[Record]]:
        """List the sessions of a notebook, or of each notebook in turn."""
        notebook_ids: list[str | None] = [notebook]
        if notebook is None:
            notebook_ids = [*(yield from self._notebook_ids())]
        sessions: list[Record] = []
        for notebook_id in notebook_ids:
            try:
                sessions += yield from super().sessions(notebook_id)
            except NotFoundError:
                if notebook is not None:
                    raise
                # deleted meanwhile
        return sessions

    def session(self, session: str) -> Steps[Record]:
        """Return a session; the marks in its replies become citations."""
        record = yield from super().session(session)
        replies = [message for message in record["messages"] if message["type"] == "ai"]
        if record["notebook_id"] and any(mappers.marked_ids(_content(reply)) for reply in replies):
            titles: dict[str, str] = {}
            with suppress(LabextError):  # such as a notebook that was deleted meanwhile
                titles = yield from self._titles_in(record["notebook_id"])
            for reply in replies:
                citations = mappers.marked_citations(_content(reply), titles)
                reply["citations"] = [vars(citation) for citation in citations]
        return record

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
        titles = _context_titles(context.context)
        return replace(reply, citations=mappers.marked_citations(reply.text, titles))

    def context(
        self, session: str | None, notebook: str | None, scope: Scope, config: Any
    ) -> Steps[Record]:
        """Build the context that a model would get with a message."""
        within = notebook or (yield from self._notebook_of(str(session)))
        response = yield from self._build_context(within, scope, config)
        return build_record(
            CONTEXT, {**response, **records.require_mapping(response.get("context"), "the context")}
        )

    def _titles_in(self, notebook: str) -> Steps[dict[str, str]]:
        """Return the titles of a notebook's sources and notes, by identifier."""
        rows = (yield from self._source_rows(notebook)).values()
        sources = [self.parse_source(row, SOURCE) for row in rows]
        notes = yield from self.notes(notebook, contents=False)
        return {record["id"]: str(record["title"] or "") for record in (*sources, *notes)}

    def _notebook_ids(self) -> Steps[list[str]]:
        notebooks = self.parse_records(NOTEBOOK, (yield Request(LIST_NOTEBOOKS)), "notebooks")
        return [record["id"] for record in notebooks]

    def _notebook_of(self, session: str) -> Steps[str]:
        response = yield Request(contract.GET_SESSION, {"session": session})
        return mappers.require_identifier(response, "notebook_id", "the chat session")

    def _build_context(
        self, notebook: str, scope: Scope, config: Any = None
    ) -> Steps[Mapping[str, Any]]:
        if config is None:
            config = yield from self._context_config(notebook, scope)
        body = {"notebook_id": notebook, "context_config": config}
        response = yield Request(contract.BUILD_CONTEXT, json=body)
        return records.require_mapping(response, "the context")

    def _context_config(self, notebook: str, scope: Scope) -> Steps[dict[str, dict[str, str]]]:
        """List every source and note in the scope; the server omits those that are not listed."""
        sources: Iterable[str] = ()
        notes: Iterable[str] = ()
        if scope.includes("source"):
            sources = yield from self._source_rows(notebook)
        if scope.includes("note"):
            notes = [note["id"] for note in (yield from self.notes(notebook, contents=False))]
        return {
            "sources": {name: FULL_CONTENT for name in sources if scope.holds("source", name)},
            "notes": {name: FULL_CONTENT for name in notes if scope.holds("note", name)},
        }


def _content(message: Record) -> str:
    return str(message["content"] or "")


def _context_titles(context: Mapping[str, Any]) -> dict[str, str]:
    """Return the titles of the sources and notes in a context, by identifier."""
    return {
        str(item.get("id")): str(item.get("title") or "")
        for part in context.values()
        if isinstance(part, list)
        for item in part
        if isinstance(item, Mapping)
    }


MAX_HITS = 1000
"""The maximum number of hits per request."""

MAX_LOOKED_UP_INSIGHTS = 100
"""The maximum number of insights found whose sources are looked up, a request each."""

MAX_CONTEXT_ITEMS = 10
"""The maximum number of sources and notes in the context of a restricted question."""

NO_MATCH_ANSWER = "No processed source or note in the scope matches the question."
"""The answer if there is no context for a model."""

_SESSION_TITLE = "A question"
"""The title of the temporary session for one question."""


class SearchRequests(ChatRequests, contract.SearchRequests):
    """The operations of search, where Open Notebook differs from the contract."""

    def search(self, query: Query, search_type: str) -> Steps[Hits]:
        """Search for passages; the scope, the sorting and `hybrid` are applied by the client."""
        _check_options(query)
        if search_type == "hybrid":
            return (yield from contract.search_both(self.search, query))
        scope = query.scope
        narrow = scope.sources is not None or scope.notes is not None
        limits = {
            "limit": MAX_HITS if narrow else query.limit,
            "minimum_score": query.min_similarity if search_type == "vector" else None,
        }
        body = {
            "query": query.text,
            "type": search_type,
            "search_sources": scope.includes("source"),
            "search_notes": scope.includes("note"),
            **drop_none(limits),
        }
        response = yield Request(contract.SEARCH, json=body, patient=True)
        data = records.require_mapping(response, "the search").get("results")
        hits = [contract.hit_record(item) for item in records.require_list(data, "what was found")]
        best = sorted(hits, key=_score, reverse=True)
        if narrow:
            best = yield from self._hits_in_scope(best, query)
        return Hits(best[: query.limit or None])

    def _hits_in_scope(self, hits: Iterable[Record], query: Query) -> Steps[list[Record]]:
        """Return the first hits in a scope, those of insights as hits of their sources.

        The server reports insights found by words without their sources.
        """
        matches: dict[tuple[str, str | None], Record] = {}
        lookups = 0
        for hit in hits:
            if len(matches) == query.limit:
                break
            found = hit
            if hit["kind"] == "source_insight":
                lookups += 1
                if lookups > MAX_LOOKED_UP_INSIGHTS:
                    continue
                try:
                    source = (yield from self.insight(hit["id"]))["source_id"]
                except NotFoundError:
                    continue  # deleted meanwhile
                found = {**hit, "id": source, "kind": "source"}
            if query.scope.holds(found["kind"], found["id"]):
                matches.setdefault((found["id"], found["match"]), found)
        return [*matches.values()]

    def ask(self, question: Question) -> Steps[Answer]:
        """Ask a question and wait for the answer; a restricted scope is answered by a chat."""
        request = yield from self.ask_stream(question)
        if isinstance(request, Answer):
            return request
        response = yield Request(contract.ASK, json=request.json, patient=True)
        data = records.require_mapping(response, "the question")
        answer = contract.build_answer(data, data.get("answer"), question.text)
        return (yield from self.with_citations(_require_text(answer)))

    def ask_stream(self, question: Question) -> Steps[Request | Answer]:
        """Return the request of the stream, or the answer itself for a restricted scope."""
        _check_options(question)
        if _is_restricted(question.scope):
            return (yield from self._ask_about(question))
        body = yield from self._question_body(question)
        return Request(contract.STREAM_ANSWER, json=body)

    def parse_event(self, data: Any, question: str) -> AskEvent | None:
        """Parse an event of the stream; an empty final answer is an error."""
        event = contract.SearchRequests.parse_event(self, data, question)
        if isinstance(event, Final):
            _require_text(event.answer)
        return event

    def with_citations(self, answer: Answer) -> Steps[Answer]:
        """Return an answer with citations of the marked records that exist.

        The server does not report the passages that a model was given. Models also copy the
        `insight:` marks of its prompts, which are no identifiers.
        """
        titles: dict[str, str] = {}
        marked = mappers.marked_ids(answer.text)
        possible = [name for name in marked if not name.startswith("insight:")]
        for identifier in possible[:MAX_LOOKED_UP_MARKS]:
            with suppress(LabextError):
                titles[identifier] = yield from self._title(identifier)
        return replace(answer, citations=mappers.marked_citations(answer.text, titles))

    def _title(self, identifier: str) -> Steps[str]:
        kind = identifier.partition(":")[0]
        if kind == "source":
            record = yield from self.source(identifier)
        elif kind == "note":
            record = yield from self.note(identifier)
        else:
            record = yield from self.insight(identifier)
        return str(record.get("title") or record.get("insight_type") or "")

    def _question_body(self, question: Question) -> Steps[dict[str, Any]]:
        """Return the request fields of a question; the server requires all three models."""
        models = {
            name: getattr(question, name) or question.model_override
            for name in ("strategy_model", "answer_model", "final_answer_model")
        }
        if not all(models.values()):
            default = yield from _default_model()
            models = {name: model or default for name, model in models.items()}
        return {"question": question.text, **models}

    def _ask_about(self, question: Question) -> Steps[Answer]:
        """Answer a question with a restricted scope, which the server's `ask` does not support.

        The best matches become the context of a temporary chat session.
        """
        scope = question.scope
        query = Query(question.text, scope, question.limit, question.min_similarity)
        hits = yield from self.search(query, "hybrid")
        config = _matching_context(scope, hits)
        if not any(config.values()):
            return Answer(NO_MATCH_ANSWER, (), question.text, note=hits.note)
        notebooks = yield from self._notebook_ids()
        if not notebooks:
            raise InputError(
                "This server answers about some of its sources by a chat, and a chat needs a "
                "notebook.",
                "Create one: {action}.",
                action=Action.create_notebook(),
            )
        notebook = notebooks[0]
        session = (yield from self.new_session(notebook, _SESSION_TITLE, None))["id"]
        try:
            data = yield from self._build_context(notebook, scope, config)
            context = MessageContext(records.require_mapping(data.get("context"), "the context"))
            model = question.model_override or question.final_answer_model
            response = yield from self.execute(session, question.text, context, model)
        except (LabextError, KeyboardInterrupt):
            yield from _delete_session(session)
            raise
        yield from _delete_session(session)
        return replace(response, note=hits.note)


def _matching_context(scope: Scope, hits: Hits) -> dict[str, dict[str, str]]:
    """Return a context with the best matches in the scope, or else the named records."""
    best = [str(hit["id"]) for hit in hits]
    best = best or [*(scope.sources or ()), *(scope.notes or ())]
    config: dict[str, dict[str, str]] = {"sources": {}, "notes": {}}
    for identifier in [*dict.fromkeys(best)][:MAX_CONTEXT_ITEMS]:
        config["notes" if identifier.startswith("note:") else "sources"][identifier] = FULL_CONTENT
    return config


def _require_text(answer: Answer) -> Answer:
    """Return an answer; raise ServiceError if it is empty."""
    if answer.text.strip():
        return answer
    raise ServiceError(
        "There is no answer: the model planned no search, or wrote nothing.",
        "Rephrase the question, or use another model: {action}.",
        action=Action.list_models("llm"),
    )


def _delete_session(session: str) -> Steps[None]:
    """Delete the temporary session of a question, ignoring errors."""
    with suppress(LabextError):
        yield Request(DELETE_SESSION, {"session": session})


def _is_restricted(scope: Scope) -> bool:
    """Return True if the scope excludes any source or note."""
    everything = scope.includes("source") and scope.includes("note")
    return not everything or scope.sources is not None or scope.notes is not None


def _check_options(query: Query) -> None:
    """Refuse options that the server does not have.

    Raises:
        InputError: the query is to be rewritten or its passages reranked, or a question is to be
            searched for unchanged.
    """
    if query.rerank or (
        query.rewrite is not None and query.rewrite is not isinstance(query, Question)
    ):
        raise InputError(
            "Open Notebook plans the searches of a question by its model, rewrites no other "
            "searches and reranks no passages.",
            f"Leave out {parameter('rewrite')} and {parameter('rerank')}.",
        )


def _score(hit: Record) -> float:
    return float(hit["similarity"] or hit["relevance"] or 0.0)


def _default_model() -> Steps[str]:
    slots = records.require_mapping((yield Request(GET_DEFAULTS)), "the default models")
    model = slots.get("default_chat_model")
    if not model:
        raise SetupError(
            "No model is set for chat, and a question needs one.",
            "Set one: {action}.",
            action=Action.set_model("chat"),
        )
    return str(model)
