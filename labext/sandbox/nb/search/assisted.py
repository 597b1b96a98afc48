"""Search with the help of a language model: rewrite the query, and rerank the passages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from labext.sandbox.nb.providers.chat import parse_json
from labext.sandbox.nb.search.ranking import Hit
from labext.sandbox.nb.text import segmentation

AskModel = Callable[[Sequence[Mapping[str, str]]], str]
"""Takes the messages of a conversation and returns a model's reply."""

MAX_QUERIES = 3
"""Maximum number of queries that a model adds."""

MAX_RERANKED = 30
"""Maximum number of passages that a model ranks."""

_MAX_QUERY_LENGTH = 500
_MAX_PASSAGE_LENGTH = 700
_FUSION_CONSTANT = 60
"""The constant of reciprocal rank fusion (Cormack et al. 2009)."""


def rewrite_query(ask: AskModel, query: str) -> list[str]:
    """Return a query and a model's rephrasings of it; invalid rephrasings are omitted."""
    prompt = (
        "A knowledge base of research material is searched for:\n\n"
        f"{query}\n\n"
        f"Write 1 to {MAX_QUERIES} queries that find the same in other words: synonyms, technical "
        "terms, and names that the material may use. Answer with a JSON array of strings alone."
    )
    others = (
        " ".join(segmentation.encodable(item).split())[:_MAX_QUERY_LENGTH]
        for item in next(parse_json(ask_once(ask, prompt), "["), [])
        if isinstance(item, str)
    )
    return [*dict.fromkeys([query, *filter(None, others)])][: MAX_QUERIES + 1]


def merge_hits(rankings: Sequence[Sequence[Hit]], limit: int) -> list[Hit]:
    """Merge the hits of several queries by reciprocal rank fusion, the best first."""
    hits: dict[int, Hit] = {}
    scores: dict[int, float] = {}
    for ranking in rankings:
        for place, hit in enumerate(ranking, 1):
            hits.setdefault(hit.passage_id, hit)
            scores[hit.passage_id] = scores.get(hit.passage_id, 0.0) + 1 / (
                _FUSION_CONSTANT + place
            )
    return sorted(hits.values(), key=lambda hit: -scores[hit.passage_id])[:limit]


def rerank(ask: AskModel, query: str, hits: Sequence[Hit]) -> list[Hit]:
    """Return the passages in a model's order, those that it does not name last."""
    ranked = hits[:MAX_RERANKED]
    if len(ranked) < 2:
        return [*hits]
    texts = ((hit, hit.text[:_MAX_PASSAGE_LENGTH]) for hit in ranked)
    passages = "\n\n".join(
        "\n".join([f"Passage {number}: {hit.title}", *filter(None, (hit.heading, text))])
        for number, (hit, text) in enumerate(texts, 1)
    )
    prompt = (
        f"A search for\n\n{query}\n\nfound these passages:\n\n{passages}\n\n"
        "Order them by how well they answer it, the best first. Answer with a JSON array of the "
        "numbers of the passages alone, without those that have nothing to do with it."
    )
    numbers = [
        item - 1
        for item in next(parse_json(ask_once(ask, prompt), "["), [])
        if isinstance(item, int) and not isinstance(item, bool) and 0 < item <= len(ranked)
    ]
    return [hits[place] for place in dict.fromkeys([*numbers, *range(len(hits))])]


def ask_once(ask: AskModel, prompt: str) -> str:
    """Return a model's reply to a prompt."""
    return ask([{"role": "user", "content": prompt}])
