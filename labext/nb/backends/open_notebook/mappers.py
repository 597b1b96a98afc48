"""Map Open Notebook's JSON to the records, and its failures to errors."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

from labext.actions import Action
from labext.errors import InputError, LabextError, NotFoundError, ServiceError
from labext.nb import records
from labext.nb.backends import Request, Steps
from labext.nb.backends.contract import GET_CONFIG
from labext.nb.error_messages import rewrite_reason
from labext.nb.records import (
    DISCOVERED_MODEL,
    EPISODE,
    EPISODE_DETAIL,
    EPISODE_PROFILE,
    MODEL,
    MODEL_COUNT,
    PROVIDER,
    SOURCE,
    SOURCE_DETAIL,
    STATUS,
    Citation,
    Fields,
    has_number_suffix,
)
from labext.nb.references import CITATION_MARK, mark_ids

ONLINE = "online"

T = TypeVar("T")


def check_database() -> Steps[None]:
    """Check that the database is online; raise ServiceError if the database is not online."""
    config: Any = records.require_mapping((yield Request(GET_CONFIG)), "its configuration")
    state = config.get("dbStatus")
    if isinstance(state, str) and state.casefold() != ONLINE:
        raise ServiceError(
            f"The notebook service is running, but its database is {state}.",
            "Start the database, or ask the administrator of the service; see {action}.",
            action=Action.show_service(),
        )


def check_database_on_failure(steps: Steps[T]) -> Steps[T]:
    """Run `steps`; if a record is missing or the server fails, check the database.

    Raises:
        ServiceError: the database is not online.
        LabextError: the error of `steps`.
    """
    try:
        return (yield from steps)
    except LabextError as error:
        failed = isinstance(error, ServiceError) and (error.status or 0) >= 500
        if failed or isinstance(error, NotFoundError):
            yield from check_database()
        raise


def normalize(fields: Fields, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record's data with the contract's names of keys and values."""
    created, updated = parse_time(data.get("created")), parse_time(data.get("updated"))
    data = {**data, "created_at": created, "updated_at": updated}
    if fields is SOURCE or fields is SOURCE_DETAIL:
        return data | _source_fields(data)
    if fields is STATUS:
        info = _processing_info(data)
        return data | {
            "started_at": parse_time(info.get("started_at")),
            "completed_at": parse_time(info.get("completed_at")),
            "status": _processing_status(data),
            "error": rewrite_reason(info.get("error")),
        }
    if fields is EPISODE or fields is EPISODE_DETAIL:
        return data | {
            "speaker_profiles": _as_list(data.get("speaker_profile")),
            "error_message": rewrite_reason(data.get("error_message")),
        }
    if fields is EPISODE_PROFILE:
        return data | {"speaker_profile_ids": _as_list(data.get("speaker_config"))}
    return data | _type_fields(fields, data)


def _type_fields(fields: Fields, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that name types of models."""
    if fields is MODEL:
        return {"type": from_server_type(data.get("type"))}
    if fields is DISCOVERED_MODEL:
        return {"model_type": from_server_type(data.get("model_type"))}
    if fields is PROVIDER:
        return {
            "types": [from_server_type(type) for type in records.string_items(data.get("types"))]
        }
    if fields is MODEL_COUNT:
        counts = records.require_mapping(data.get("counts") or {}, "the provider's models")
        return {"counts": {from_server_type(type): count for type, count in counts.items()}}
    return {}


def _as_list(value: Any) -> list[Any]:
    return [value] if value else []


def parse_time(value: Any) -> str | None:
    """Convert a time such as `2026-11-20 13:23:23.76+00:00` to ISO 8601 in UTC, else None."""
    try:
        when = datetime.fromisoformat(str(value))
        aware = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
        in_utc = aware.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return in_utc.isoformat(timespec="milliseconds").replace("+00:00", "Z")


UNTITLED = ("Processing...", "[no-title]")
"""Titles of a source that has not been read (yet), and of a page that has none."""


def _source_fields(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a source; one that has not been read is titled by its file or URL."""
    asset = data.get("asset")
    parts = asset if isinstance(asset, Mapping) else {}
    file, url = parts.get("file_path"), parts.get("url")
    topics = data.get("topics")
    title = data.get("title")
    file_name = file.rpartition("/")[2] if isinstance(file, str) else None
    sent_name = str(title).rpartition("/")[2]  # the title of an uploaded file may have folders
    if file_name and has_number_suffix(file_name, sent_name):
        file_name = sent_name  # without the number that the server has added
    return {
        "title": (file_name or url) if title in UNTITLED else title,
        "topic": ", ".join(map(str, topics)) if isinstance(topics, list) else "",
        "status": _processing_status(data),
        "error": rewrite_reason(_processing_info(data).get("error")),
        "kind": "upload" if file else "link" if url else "text",
        "file_name": file_name,
        "url": url,
        "passages": data.get("embedded_chunks"),
    }


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
    return _CLIENT_TYPES.get(type, type) if isinstance(type, str) else type


def forbid_clearing(changes: Mapping[str, Any], noun: str, step: str) -> None:
    """Check that no field is cleared, since Open Notebook ignores null, else raise InputError."""
    for name, value in changes.items():
        if value is None:
            words = name.replace("_", " ")
            raise InputError(f"Open Notebook can't clear the {words} of {noun}.", step)


def marked_ids(text: str) -> list[str]:
    """Return the identifiers in the citation marks of a model's answer, each once."""
    marks = CITATION_MARK.finditer(text)
    return list(dict.fromkeys(identifier for mark in marks for identifier in mark_ids(mark)))


def marked_citations(text: str, titles: Mapping[str, str]) -> tuple[Citation, ...]:
    """Return the citations of an answer that have a title; models invent identifiers too."""
    return tuple(
        Citation(identifier, titles[identifier])
        for identifier in marked_ids(text)
        if identifier in titles
    )


def require_identifier(response: Any, name: str, noun: str) -> str:
    """Return an identifier that the response must contain.

    Raises:
        ServiceError: the response has no such identifier.
    """
    identifier = records.require_mapping(response, noun).get(name)
    if isinstance(identifier, str) and identifier:
        return identifier
    raise ServiceError(f"The notebook service's response about {noun} has no {name}.")


def _processing_status(data: Mapping[str, Any]) -> Any:
    """Return the status; a source that no command ever processed counts as completed."""
    status = data.get("status")
    if status in (None, "unknown") and not data.get("command_id"):
        return "completed"
    return status


def _processing_info(data: Mapping[str, Any]) -> Mapping[str, Any]:
    info = data.get("processing_info")
    return info if isinstance(info, Mapping) else {}
