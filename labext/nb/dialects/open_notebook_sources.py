"""Sources, as Open Notebook is asked for them (real services, section nb)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from labext.errors import OutcomeUnknownError
from labext.nb import records
from labext.nb.dialects import Request, Steps
from labext.nb.dialects import contract_sources as contract
from labext.nb.dialects import open_notebook_told as told
from labext.nb.dialects.contract_models import DEFAULTS
from labext.nb.dialects.contract_transformations import LIST as TRANSFORMATIONS
from labext.nb.records import INSIGHT, Record, made

VECTOR_TIMEOUT = timedelta(minutes=1)
"""How long vectors are waited for after a source was processed: computing them may have failed."""


class SourceCalls(contract.SourceCalls):
    """The operations on sources, where that server's differ."""

    PAGE = 100
    """More in one page is refused."""

    def sources(
        self, notebook: str | None, limit: int, offset: int, order_by: str | None
    ) -> Steps[list[Record]]:
        """List a page of sources; the order is two parameters of its own names."""
        params = {"notebook_id": notebook, "limit": limit, "offset": offset, **_order(order_by)}
        answer = yield Request(contract.LIST, params=params)
        return [told.listed_source(each) for each in records.several(answer, "sources")]

    def source(self, source: str) -> Steps[Record]:
        """Look at one, with its text."""
        answer = yield Request(contract.ONE, {"source": source})
        return told.whole_source(answer)

    def add_file(
        self,
        path: Path,
        *,
        notebook: str | None,
        title: str | None,
        topic: str | None,
        process_async: bool,
    ) -> Steps[Record]:
        """Upload a file, and have it embedded and transformed as on a server of the contract.

        Its name is sent as the title: that server renames a file whose name is taken anywhere on
        it, and would take the new name for the title too.
        """
        made_of = yield from self._making()
        form = {
            "type": "upload",
            "notebook_id": notebook,
            "title": title or path.name,
            "async_processing": process_async,
            "embed": made_of["embed"],
            "transformations": json.dumps(made_of["transformations"]),
        }
        answer = yield Request(contract.ADD, form=form, files={"file": path}, patient=True)
        made_from = {"kind": "upload", "file_name": path.name}
        return (yield from self._topical(_from(answer, made_from), topic))

    def source_status(self, source: str) -> Steps[Record]:
        """See how far a source's processing is."""
        answer = yield Request(contract.STATUS_OF, {"source": source})
        return told.status(answer)

    def sources_awaiting_vectors(self) -> Steps[list[Record]]:
        """Return processed sources whose vectors are still being computed.

        That server computes them after the processing, in a task whose state it does not report.
        A source without vectors counts for `VECTOR_TIMEOUT` after its last change, if there is an
        embedding model; of more than a page of sources, those that changed last are looked at.
        """
        slots = records.mapping((yield Request(DEFAULTS)), "the default models")
        if not slots.get("default_embedding_model"):
            return []
        params = {"limit": self.PAGE, "offset": 0, **_order("updated_at")}
        answer = yield Request(contract.LIST, params=params)
        rows = records.several(answer, "sources")
        found = [told.listed_source(each) for each in rows if not each.get("embedded")]
        return [each for each in found if each["status"] == "completed" and _is_recent(each)]

    def change_source(self, source: str, changes: Mapping[str, Any]) -> Steps[Record]:
        """Change `title` or `topic`, which is a list there."""
        body = {"title": changes["title"]} if "title" in changes else {}
        if "topic" in changes:
            body |= {"topics": _topics(changes["topic"])}
        answer = yield Request(contract.CHANGE, {"source": source}, json=body)
        return told.whole_source(answer)

    def retry_source(self, source: str) -> Steps[Record]:
        """Process a failed one again; a lost answer is settled by what has become of it."""
        try:
            answer = yield Request(contract.RETRY, {"source": source})
        except OutcomeUnknownError as unknown:
            answer = yield Request(contract.ONE, {"source": source})
            if told.whole_source(answer)["status"] == "failed":
                raise unknown from None
        return told.whole_source(answer)

    def insights(self, source: str) -> Steps[list[Record]]:
        """List what models have made of a source."""
        answer = yield Request(contract.INSIGHTS, {"source": source})
        return [
            made(INSIGHT, {"source_id": source, **told.dated(each)})
            for each in records.several(answer, "insights")
        ]

    def _add_json(
        self,
        what: Mapping[str, str],
        *,
        notebook: str | None,
        title: str | None,
        topic: str | None,
        process_async: bool,
    ) -> Steps[Record]:
        made_of = yield from self._making()
        kind, content = ("link", "url") if "url" in what else ("text", "content")
        named = {"notebook_id": notebook, "title": title}
        body = {
            "type": kind,
            content: next(iter(what.values())),
            "async_processing": process_async,
            **made_of,
            **{name: value for name, value in named.items() if value is not None},
        }
        answer = yield Request(contract.ADD_JSON, json=body, patient=not process_async)
        made_from = {"kind": "link", "url": what["url"]} if "url" in what else {}
        return (yield from self._topical(_from(answer, made_from), topic))

    def _making(self) -> Steps[dict[str, Any]]:
        """Return what is to be made of a new source, which that server does only if it is told.

        Vectors, if there is an embedding model, and the insights of every transformation that is
        applied by default, if there is a model for them: without one the source would fail.
        """
        slots = records.mapping((yield Request(DEFAULTS)), "the default models")
        every = records.several((yield Request(TRANSFORMATIONS)), "transformations")
        writer = slots.get("default_transformation_model") or slots.get("default_chat_model")
        applied = [
            str(each["id"])
            for each in every
            if each.get("apply_default") and (writer or each.get("model_id"))
        ]
        return {
            "embed": bool(slots.get("default_embedding_model")),
            "transformations": applied,
        }

    def _topical(self, record: Record, topic: str | None) -> Steps[Record]:
        """Give a new source its topics, for which making it has no place."""
        if not topic:
            return record
        path, body = {"source": record["id"]}, {"topics": _topics(topic)}
        answer = yield Request(contract.CHANGE, path, json=body)
        return {**record, "topic": told.whole_source(answer)["topic"]}


def _from(answer: Any, made_from: Mapping[str, str]) -> Record:
    """Return a new source's record; of what it is made that server tells only later."""
    record = told.whole_source(answer)
    if not (record["file_name"] or record["url"]):
        record |= made_from
    return {**record, "title": record["title"] or record["file_name"] or record["url"]}


def _topics(topic: str | None) -> list[str]:
    return [each.strip() for each in (topic or "").split(",") if each.strip()]


def _is_recent(source: Record) -> bool:
    changed = source["updated_at"]
    if changed is None:
        return False
    return abs(datetime.now(UTC) - datetime.fromisoformat(changed)) < VECTOR_TIMEOUT


def _order(order_by: str | None) -> dict[str, str]:
    if order_by is None:
        return {}
    field, _, way = order_by.strip().partition(" ")
    field = {"updated_at": "updated", "created_at": "created"}.get(field, field)
    return {
        "sort_by": field,
        "sort_order": way.strip() or ("asc" if field == "title" else "desc"),
    }
