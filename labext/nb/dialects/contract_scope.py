"""What is looked at and by which models, by the contract's names (contract, Endpoints: Search)."""

from __future__ import annotations

from typing import Any

from labext.nb.scope import Question, Scope


def named(scope: Scope) -> dict[str, Any]:
    """Return the fields of a scope; a kind that does not count has no identifiers."""
    told: dict[str, Any] = {
        "include_sources": scope.includes("source"),
        "include_notes": scope.includes("note"),
    }
    if scope.sources is not None and told["include_sources"]:
        told["source_ids"] = list(scope.sources)
    if scope.notes is not None and told["include_notes"]:
        told["note_ids"] = list(scope.notes)
    return told


def asked(question: Question) -> dict[str, Any]:
    """Return the fields of a question; what was not chosen is left out."""
    chosen = {
        "limit": question.limit,
        "min_similarity": question.min_similarity,
        "model_override": question.model_override,
        "strategy_model": question.strategy_model,
        "answer_model": question.answer_model,
        "final_answer_model": question.final_answer_model,
    }
    told = {name: value for name, value in chosen.items() if value is not None}
    return {"question": question.text, **named(question.scope), **told}
