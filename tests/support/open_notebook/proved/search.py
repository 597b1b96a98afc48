"""Proofs: search and questions."""

from __future__ import annotations

from labext.nb.records import HIT, Answer, Citation, Query, Question, Scope
from open_notebook.facts import recordings
from open_notebook.proof import derived, proof
from open_notebook.proved.ids import AI_NOTE, MODEL_ID, PAGE

QUESTION = "What yield do minipreps give?"

_EVERY_KIND = "search_sources search_notes"
_SIMPLE = recordings()["search.ask_simple"].answer["answer"]
_CITED = derived(
    "notes.get",
    request_line=f"GET /api/notes/{AI_NOTE}",
    answer=recordings()["notes.create_ai_no_title"].answer,
)
_ANSWER = Answer(_SIMPLE, (Citation(AI_NOTE, "A fake generated title"),), QUESTION)

SEARCH = (
    proof(
        "search",
        lambda d: d.search(Query("plasmid", Scope(), 5), "text"),
        "search.text",
        fields=HIT,
        missing="match page similarity transcript confidence",
        values={"id": AI_NOTE, "kind": "note", "relevance": 1.3919838666915894},
        unrecorded=_EVERY_KIND,
    ),
    proof(
        "search",
        lambda d: d.search(Query("plasmid miniprep yields", Scope(), 5, 0.1), "vector"),
        "search.vector",
        fields=HIT,
        missing="page relevance transcript confidence",
        # The best hit is first, since the backend sorts the hits.
        values={"id": AI_NOTE, "similarity": 0.5163977794943224},
        unrecorded=_EVERY_KIND,
    ),
    proof(
        "search",
        lambda d: d.search(Query("yield", Scope(include_sources=False)), "text"),
        "search.notes_only",
        fields=HIT,
        missing="match page similarity transcript confidence",
        values={"id": AI_NOTE},
        unrecorded="type search_notes",
    ),
    proof(
        "search",
        lambda d: d.search(Query("plasmid", Scope(sources=(PAGE,)), 5), "text"),
        derived("search.text", json={"query": "plasmid", "type": "text", "limit": 1000}),
        fields=HIT,
        missing="match page similarity transcript confidence",
        values={"id": PAGE},
        unrecorded=_EVERY_KIND,
    ),
    proof(
        "search",
        lambda d: d.search(Query("zzzqqq", Scope()), "text"),
        "search.no_hits",
        result=[],
        unrecorded=_EVERY_KIND,
    ),
    proof(
        "ask",
        lambda d: d.ask(Question(QUESTION, Scope(), model_override=MODEL_ID)),
        "search.ask_simple",
        _CITED,
        result=_ANSWER,
    ),
    proof(
        "ask",
        lambda d: d.ask(Question(QUESTION, Scope())),
        derived("models.defaults_put_partial", request_line="GET /api/models/defaults", json=None),
        "search.ask_simple",
        _CITED,
        result=_ANSWER,
    ),
    proof(
        "with_citations",
        lambda d: d.with_citations(Answer(_SIMPLE, (), QUESTION)),
        _CITED,
        result=_ANSWER,
    ),
    proof(
        "ask_stream",
        lambda d: d.ask_stream(Question(QUESTION, Scope(), model_override=MODEL_ID)),
        "search.ask_sse",
    ),
)
