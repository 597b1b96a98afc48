"""Proofs: search and questions."""

from __future__ import annotations

from labext.nb.records import HIT, Answer, Question, Scope
from open_notebook.facts import recordings
from open_notebook.proof import derived, proof
from open_notebook.proved.ids import AI_NOTE, MODEL_ID, PAGE

QUESTION = "What yield do minipreps give?"

_EVERY_KIND = "search_sources search_notes"
_SIMPLE = recordings()["search.ask_simple"].answer["answer"]

SEARCH = (
    proof(
        "search",
        lambda d: d.search("plasmid", "text", Scope(), 5, None),
        "search.text",
        fields=HIT,
        untold="match page similarity",
        holds={"id": AI_NOTE, "kind": "note", "relevance": 1.3919838666915894},
        schema=_EVERY_KIND,
    ),
    proof(
        "search",
        lambda d: d.search("plasmid miniprep yields", "vector", Scope(), 5, 0.1),
        "search.vector",
        fields=HIT,
        untold="page relevance",
        # The best comes first, whatever the server's order.
        holds={"id": AI_NOTE, "similarity": 0.5163977794943224},
        schema=_EVERY_KIND,
    ),
    proof(
        "search",
        lambda d: d.search("yield", "text", Scope(include_sources=False), None, None),
        "search.notes_only",
        fields=HIT,
        untold="match page similarity",
        holds={"id": AI_NOTE},
        schema="type search_notes",
    ),
    proof(
        "search",
        lambda d: d.search("plasmid", "text", Scope(sources=(PAGE,)), 5, None),
        derived("search.text", json={"query": "plasmid", "type": "text", "limit": 1000}),
        fields=HIT,
        untold="match page similarity",
        holds={"id": PAGE},
        schema=_EVERY_KIND,
    ),
    proof(
        "search",
        lambda d: d.search("zzzqqq", "text", Scope(), None, None),
        "search.no_hits",
        result=[],
        schema=_EVERY_KIND,
    ),
    proof(
        "ask",
        lambda d: d.ask(Question(QUESTION, Scope(), model_override=MODEL_ID)),
        "search.ask_simple",
        result=Answer(_SIMPLE, (), QUESTION),
    ),
    proof(
        "ask",
        lambda d: d.ask(Question(QUESTION, Scope())),
        derived("models.defaults_put_partial", asks="GET /api/models/defaults", json=None),
        "search.ask_simple",
        result=Answer(_SIMPLE, (), QUESTION),
    ),
    proof(
        "ask_stream",
        lambda d: d.ask_stream(Question(QUESTION, Scope(), model_override=MODEL_ID)),
        "search.ask_sse",
    ),
)
