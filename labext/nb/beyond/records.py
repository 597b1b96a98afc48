"""The records of what is beyond the contract; more on records in `labext.nb.records`."""

from __future__ import annotations

from collections.abc import Mapping

from labext.nb.records import Fields

_TIMES: Fields = {"created_at": "time", "updated_at": "time"}

WORDS: Mapping[str, tuple[str, ...]] = {
    "default_embedding_option": ("ask", "always", "never"),
    "auto_delete_files": ("yes", "no"),
}
"""The settings that take one of a few words, and these."""

COMMAND: Fields = {
    "job_id": "text",
    "status": "category",
    "subject": "text",
    "command": "category",
    "error_message": "text",
    "result": "json",
    "progress": "json",
    **_TIMES,
}
"""Something that the service does in the background; `subject` is what it is done with."""

COMMAND_KIND: Fields = {"command": "text", "app": "category"}
"""A command that the service knows."""

REBUILDING: Fields = {"job_id": "text", "total_items": "integer", "message": "text"}
REBUILD: Fields = {
    "job_id": "text",
    "status": "category",
    "processed": "integer",
    "total": "integer",
    "sources": "integer",
    "notes": "integer",
    "insights": "integer",
    "failed": "integer",
    "error_message": "text",
    "started_at": "time",
    "completed_at": "time",
}
"""How far vectors are computed again: how many things are through, and of which kinds."""

EMBEDDING: Fields = {
    "job_id": "text",
    "item_id": "text",
    "item_type": "category",
    "message": "text",
}
"""That vectors of one source or note are being computed."""

SOURCE_CHAT: Fields = {
    "id": "text",
    "title": "text",
    "source_id": "text",
    "model_override": "text",
    "message_count": "integer",
    **_TIMES,
}
"""A chat about one source."""
