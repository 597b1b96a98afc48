"""Sources, as the contract's server is asked for them (contract, Endpoints: Sources)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labext.errors import InputError, NotFoundError, OutcomeUnknownError
from labext.nb import records
from labext.nb.dialects import Request, Steps
from labext.nb.records import INSIGHT, SOURCE, STATUS, WHOLE_SOURCE, Fields, Record, made
from labext.transport import Operation, Repeat

_SEE = "See `%nb sources` before you add it again: it may be there already."

LIST = Operation("list sources", "GET", "sources", Repeat.ALWAYS, answer="json")
ADD = Operation("add a source", "POST", "sources", Repeat.UNSENT, answer="json", find_out=_SEE)
ADD_JSON = Operation(
    "add a source", "POST", "sources/json", Repeat.UNSENT, answer="json", find_out=_SEE
)
ONE = Operation("look at a source", "GET", "sources/{source}", Repeat.ALWAYS, answer="json")
STATUS_OF = Operation(
    "see how a source is processed",
    "GET",
    "sources/{source}/status",
    Repeat.ALWAYS,
    answer="json",
)
CHANGE = Operation("change a source", "PUT", "sources/{source}", Repeat.ALWAYS, answer="json")
DELETE = Operation("delete a source", "DELETE", "sources/{source}", Repeat.DELETE)
ORIGINAL = Operation("download a source", "GET", "sources/{source}/download", Repeat.ALWAYS)
HAS_ORIGINAL = Operation(
    "look for a source's file", "HEAD", "sources/{source}/download", Repeat.ALWAYS
)
RETRY = Operation(
    "process a source again",
    "POST",
    "sources/{source}/retry",
    Repeat.UNSENT,
    answer="json",
    find_out="See `%nb sources`: it is processed again, or still failed.",
)
INSIGHTS = Operation(
    "list a source's insights", "GET", "sources/{source}/insights", Repeat.ALWAYS, answer="json"
)

_ELSEWHERE = frozenset({404, 405, 415, 422})
"""What a server says to JSON at an address where it takes forms alone."""


class SourceCalls:
    """The eleven operations on sources."""

    PAGE = 1000
    """Sources asked for in one page."""

    def sources(
        self, notebook: str | None, limit: int, offset: int, order_by: str | None
    ) -> Steps[list[Record]]:
        """List a page of sources, of a notebook or all."""
        answer = yield Request(
            LIST,
            params={
                "notebook_id": notebook,
                "limit": limit,
                "offset": offset,
                "order_by": order_by,
            },
        )
        return [_source(each) for each in records.several(answer, "sources")]

    def source(self, source: str) -> Steps[Record]:
        """Look at one, with its text."""
        answer = yield Request(ONE, {"source": source})
        return _whole(answer)

    def add_file(
        self,
        path: Path,
        *,
        notebook: str | None,
        title: str | None,
        topic: str | None,
        process_async: bool,
    ) -> Steps[Record]:
        """Send a file; what is to be done with it at once may take the service long."""
        answer = yield Request(
            ADD,
            form={
                "notebook_id": notebook,
                "title": title,
                "topic": topic,
                "process_async": process_async,
            },
            files={"file": path},
            patient=True,
        )
        return _whole(answer)

    def add_url(self, url: str, **given: Any) -> Steps[Record]:
        """Name a page to be fetched; `given` as for `add_file`."""
        return self._add_json({"url": url}, **given)

    def add_text(self, text: str, **given: Any) -> Steps[Record]:
        """Send a text; `given` as for `add_file`."""
        return self._add_json({"text": text}, **given)

    def source_status(self, source: str) -> Steps[Record]:
        """See how far a source's processing is."""
        answer = yield Request(STATUS_OF, {"source": source})
        return made(STATUS, records.mapping(answer, "the source's status"))

    def sources_awaiting_vectors(self) -> Steps[list[Record]]:
        """Return processed sources whose vectors are missing: none, as processing makes them."""
        yield from ()
        return []

    def change_source(self, source: str, changes: Mapping[str, Any]) -> Steps[Record]:
        """Change `title` or `topic`; what is not among them stays."""
        answer = yield Request(CHANGE, {"source": source}, json=dict(changes))
        return _whole(answer)

    def delete_source(self, source: str) -> Steps[None]:
        """Delete one, in every notebook."""
        yield Request(DELETE, {"source": source})

    def original(self, source: str) -> Request:
        """Return the request whose answer is the uploaded file."""
        return Request(ORIGINAL, {"source": source})

    def has_original(self, source: str) -> Steps[bool]:
        """Tell whether there is such a source and it has a file."""
        try:
            yield Request(HAS_ORIGINAL, {"source": source})
        except NotFoundError:
            return False
        return True

    def retry_source(self, source: str) -> Steps[Record]:
        """Process a failed one again; a lost answer is settled by what has become of it."""
        try:
            answer = yield Request(RETRY, {"source": source})
        except OutcomeUnknownError as unknown:
            answer = yield Request(ONE, {"source": source})
            record = _whole(answer)
            if record["status"] == "failed":  # not taken up, or taken up and failed again
                raise unknown from None
            return record
        return _whole(answer)

    def insights(self, source: str) -> Steps[list[Record]]:
        """List what models have made of a source."""
        answer = yield Request(INSIGHTS, {"source": source})
        return [
            made(INSIGHT, {"source_id": source, **each})
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
        named = {"notebook_id": notebook, "title": title, "topic": topic}
        body: dict[str, Any] = {**what, "process_async": process_async}
        body |= {name: value for name, value in named.items() if value is not None}
        try:
            answer = yield Request(ADD, json=body, patient=not process_async)
        except InputError as error:
            if error.status not in _ELSEWHERE:
                raise
            answer = yield Request(ADD_JSON, json=body, patient=not process_async)
        return _whole(answer)


def _whole(answer: Any) -> Record:
    """Return the record of a source that is answered alone."""
    return _source(records.mapping(answer, "the source"), WHOLE_SOURCE)


def _source(answer: Mapping[str, Any], fields: Fields = SOURCE) -> Record:
    asset = answer.get("asset")
    told = asset if isinstance(asset, Mapping) else {}
    file = told.get("file_path")
    named = file.rpartition("/")[2] if isinstance(file, str) else None
    return records.thing(
        fields, {**answer, "file_name": named, "url": told.get("url")}, "the source"
    )
