"""Insights and vectors, as Open Notebook is asked for them (its schema)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labext.errors import NotFoundError, ServiceError, SetupError
from labext.nb import records
from labext.nb.beyond.records import EMBEDDING, REBUILD, REBUILDING
from labext.nb.dialects import Request, Steps, contract_beyond
from labext.nb.dialects import open_notebook_told as told
from labext.nb.dialects.contract_models import DEFAULTS
from labext.nb.records import INSIGHT, NOTE, Record, made
from labext.transport import Operation, Repeat

ONE = Operation("look at an insight", "GET", "insights/{insight}", Repeat.ALWAYS, answer="json")
NEW = Operation(
    "make an insight",
    "POST",
    "sources/{source}/insights",
    Repeat.UNSENT,
    answer="json",
    find_out="See `%nb sources insights SOURCE` in a while: it may be on its way.",
)
DELETE = Operation("delete an insight", "DELETE", "insights/{insight}", Repeat.DELETE)
SAVE = Operation(
    "copy an insight into a note",
    "POST",
    "insights/{insight}/save-as-note",
    Repeat.UNSENT,
    answer="json",
    find_out="See `%nb notes` before you copy it again: it may be there already.",
)
EMBED = Operation(
    "compute vectors",
    "POST",
    "embed",
    Repeat.ALWAYS,  # those that there are already are replaced
    answer="json",
)
AGAIN = Operation(
    "compute vectors again",
    "POST",
    "embeddings/rebuild",
    Repeat.UNSENT,  # it may be hours of work, and a provider may charge for it
    answer="json",
    find_out="Look whether the service is busy before you do it again.",
)
STATUS_OF = Operation(
    "see how far vectors are computed",
    "GET",
    "embeddings/rebuild/{command}/status",
    Repeat.ALWAYS,
    answer="json",
)


class InsightCalls(contract_beyond.BeyondCalls):
    """The operations on single insights, and on vectors."""

    def insight(self, insight: str) -> Steps[Record]:
        """Look at one."""
        return told.thing(INSIGHT, (yield Request(ONE, {"insight": insight})), "the insight")

    def new_insight(self, source: str, transformation: str, model: str | None) -> Steps[str]:
        """Have an insight made, which comes later; return the command that makes it."""
        body = {"transformation_id": transformation}
        if model is not None:
            body["model_id"] = model
        answer = yield Request(NEW, {"source": source}, json=body)
        return told.identifier(answer, "command_id", "the insight")

    def delete_insight(self, insight: str) -> Steps[None]:
        """Delete one."""
        yield Request(DELETE, {"insight": insight})

    def save_insight(self, insight: str, notebook: str) -> Steps[Record]:
        """Copy one into a notebook; that server leaves open who has written the note: a model."""
        body = {"notebook_id": notebook}
        answer = yield Request(SAVE, {"insight": insight}, json=body)
        note = told.thing(NOTE, answer, "the note")
        if note["note_type"] is None:
            note = yield from self.change_note(note["id"], {"note_type": "ai"})
        return {**note, "notebook_id": notebook}

    def embed(self, item: str, kind: str) -> Steps[Record]:
        """Have vectors of a `source` or a `note` computed, in the background."""
        yield from _check_model()
        body = {"item_id": item, "item_type": kind, "async_processing": True}
        answer = records.mapping((yield Request(EMBED, json=body)), "the vectors")
        return made(EMBEDDING, {**answer, "job_id": answer.get("command_id")})

    def rebuild(self, mode: str, *, sources: bool, notes: bool, insights: bool) -> Steps[Record]:
        """Have vectors computed again."""
        yield from _check_model()
        body = {
            "mode": mode,
            "include_sources": sources,
            "include_notes": notes,
            "include_insights": insights,
        }
        answer = yield Request(AGAIN, json=body)
        job = told.identifier(answer, "command_id", "the vectors")
        return made(REBUILDING, {**answer, "job_id": job})

    def rebuild_status(self, job: str) -> Steps[Record]:
        """See how far that is.

        Raises:
            NotFoundError: there is no such job.
        """
        try:
            answer = yield Request(STATUS_OF, {"command": job})
        except ServiceError as error:
            if error.status != 500:
                raise
            raise NotFoundError(
                f"There is no job {job} that computes vectors.",
                "Give the one that `%nb embeddings rebuild` told.",
                status=error.status,
                server=error.server,
            ) from None
        return _rebuilt(records.mapping(answer, "the vectors"), job)


def _rebuilt(answer: Mapping[str, Any], job: str) -> Record:
    progress, stats = answer.get("progress"), answer.get("stats")
    times = {name: told.moment(answer.get(name)) for name in ("started_at", "completed_at")}
    if answer.get("status") not in ("completed", "failed", "canceled"):
        times["completed_at"] = None  # it tells when it was last touched
    return made(
        REBUILD,
        {
            **answer,
            **(progress if isinstance(progress, Mapping) else {}),
            **(stats if isinstance(stats, Mapping) else {}),
            **times,
            "job_id": job,
            "error_message": answer.get("error_message") or None,
        },
    )


def _check_model() -> Steps[None]:
    """See that there is a model for vectors: without one the work fails in the background.

    Raises:
        SetupError: there is none.
    """
    slots = records.mapping((yield Request(DEFAULTS)), "the default models")
    if not slots.get("default_embedding_model"):
        raise SetupError(
            "No model is set for vectors.",
            "Set one: `%nb models defaults --set embedding=NAME`.",
        )
