"""Map Open Notebook's JSON to the records of every backend."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from labext.errors import InputError, ServiceError
from labext.nb import records
from labext.nb.error_messages import rewrite_reason
from labext.nb.records import SOURCE, SOURCE_DETAIL, STATUS, Fields, Record, build_record
from labext.nb.uploads import has_number_suffix


def with_timestamps(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data with `created_at` and `updated_at` in the format of the records."""
    return {
        **data,
        "created_at": parse_time(data.get("created")),
        "updated_at": parse_time(data.get("updated")),
    }


def parse_time(value: Any) -> str | None:
    """Convert a time such as `2026-11-20 13:23:23.76+00:00` to ISO 8601 in UTC, else None."""
    try:
        when = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    aware = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
    return aware.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_record(fields: Fields, answer: Any, what: str) -> Record:
    """Parse a record with an identifier and times."""
    return records.parse_record(
        fields, with_timestamps(records.require_mapping(answer, what)), what
    )


def parse_records(fields: Fields, answer: Any, what: str) -> list[Record]:
    """Parse a list of records."""
    return [parse_record(fields, item, what) for item in records.require_list(answer, what)]


UNTITLED = ("Processing...", "[no-title]")
"""Titles of a source that has not been read (yet), and of a page that has none."""


def source_record(answer: Any, fields: Fields = SOURCE) -> Record:
    """Return a source's record; one that has not been read is titled by its file or address."""
    data = records.require_mapping(answer, "the source")
    asset = data.get("asset")
    parts = asset if isinstance(asset, Mapping) else {}
    file, url = parts.get("file_path"), parts.get("url")
    topics = data.get("topics")
    title = data.get("title")
    file_name = _uploaded_name(file, title) if isinstance(file, str) else None
    more = {
        "title": (file_name or url) if title in UNTITLED else title,
        "topic": ", ".join(map(str, topics)) if isinstance(topics, list) else "",
        "status": _processing_status(data),
        "error": rewrite_reason(_processing_info(data).get("error")),
        "kind": "upload" if file else "link" if url else "text",
        "file_name": file_name,
        "url": url,
        "passages": data.get("embedded_chunks"),
    }
    return records.parse_record(fields, {**with_timestamps(data), **more}, "the source")


def _uploaded_name(path: str, title: Any) -> str:
    """Return the name of an uploaded file, without the number that the server has added to it.

    The name is known if the client sent it as the title.
    """
    stored = path.rpartition("/")[2]
    return title if isinstance(title, str) and has_number_suffix(stored, title) else stored


def listed_source_record(answer: Any) -> Record:
    """Return the record of a source in a list, in which `embedded_chunks` is always 0."""
    return {**source_record(answer), "passages": None}


def source_detail(answer: Any) -> Record:
    """Return the record of a source with its text."""
    return source_record(answer, SOURCE_DETAIL)


def source_status(answer: Any) -> Record:
    """Parse the processing status of a source."""
    data = records.require_mapping(answer, "the source's status")
    info = _processing_info(data)
    times = {name: parse_time(info.get(name)) for name in ("started_at", "completed_at")}
    return build_record(
        STATUS,
        {
            **data,
            **times,
            "status": _processing_status(data),
            "error": rewrite_reason(info.get("error")),
        },
    )


_SERVER_TYPES = {
    "llm": "language",
    "embedding": "embedding",
    "stt": "speech_to_text",
    "tts": "text_to_speech",
}
"""Model types: the contract's names and those of Open Notebook."""

_CLIENT_TYPES = {theirs: ours for ours, theirs in _SERVER_TYPES.items()}


def to_server_type(type: str) -> str:
    """Return Open Notebook's name of a model type."""
    return _SERVER_TYPES.get(type, type)


def from_server_type(type: Any) -> Any:
    """Return the contract's name of a model type; an unknown type is returned unchanged."""
    return _CLIENT_TYPES.get(type, type)


def forbid_clearing(changes: Mapping[str, Any], what: str, step: str) -> None:
    """Check that no field is cleared, since Open Notebook ignores null.

    Raises:
        InputError: a field is None.
    """
    for name, value in changes.items():
        if value is None:
            words = name.replace("_", " ")
            raise InputError(f"Open Notebook can't take {words} away from {what}.", step)


def require_identifier(answer: Any, name: str, what: str) -> str:
    """Return an identifier that the response must contain.

    Raises:
        ServiceError: the response has no such identifier.
    """
    identifier = records.require_mapping(answer, what).get(name)
    if isinstance(identifier, str) and identifier:
        return identifier
    raise ServiceError(f"The notebook service's answer about {what} names no {name}.")


def _processing_status(data: Mapping[str, Any]) -> Any:
    """Return the status; a source that no command ever processed counts as completed."""
    status = data.get("status")
    if status in (None, "unknown") and not data.get("command_id"):
        return "completed"
    return status


def _processing_info(data: Mapping[str, Any]) -> Mapping[str, Any]:
    info = data.get("processing_info")
    return info if isinstance(info, Mapping) else {}
