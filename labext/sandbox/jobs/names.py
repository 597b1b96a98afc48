"""Validate the names of jobs, batches, files, folders and projects."""

from __future__ import annotations

import re
import unicodedata

from labext.redaction import mask

MAX_NAME_LENGTH = 100
MAX_FILE_NAME_BYTES = 255

_NAME = re.compile(r"[a-zA-Z0-9_-]+")
_PROJECT = re.compile(r"proj_[a-zA-Z0-9_-]{1,100}")


def quote_value(value: object, max_length: int = 60) -> str:
    """Return the repr of a value for a message, masked and truncated."""
    text = mask(repr(value))
    return text if len(text) <= max_length else f"{text[: max_length - 3]}..."


def is_name(value: str) -> bool:
    """Return whether `value` is a valid name of a job or a batch."""
    return len(value) <= MAX_NAME_LENGTH and _NAME.fullmatch(value) is not None


def name_error(field: str, value: str) -> str | None:
    """Return the error of an invalid job or batch name, or None (JOBS-22)."""
    if not value:
        return f"{field} is empty."
    if len(value) > MAX_NAME_LENGTH:
        return (
            f"{field} has {len(value)} characters; at most {MAX_NAME_LENGTH} are allowed: "
            f"{quote_value(value)}."
        )
    if _NAME.fullmatch(value) is None:
        return f"{field} may contain letters, digits, '_' and '-' only: {quote_value(value)}."
    return None


def project_error(value: str) -> str | None:
    """Return the error of an invalid project identifier, or None (JOBS-25)."""
    if _PROJECT.fullmatch(value) is None:
        return f"projectTag must have the form proj_<id>: {quote_value(value)}."
    return None


def file_name_error(field: str, value: str) -> str | None:
    """Return the error of an invalid file or folder name, or None."""
    if not value:
        return f"{field} is empty."
    if len(value.encode()) > MAX_FILE_NAME_BYTES:
        return f"{field} is longer than {MAX_FILE_NAME_BYTES} bytes: {quote_value(value)}."
    if value in (".", "..") or "/" in value or "\\" in value:
        return f"{field} must be a plain name without '/' or '\\': {quote_value(value)}."
    if any(unicodedata.category(char) in ("Cc", "Cs") for char in value):
        return f"{field} contains a control character: {quote_value(value)}."
    if value != value.strip():
        return f"{field} starts or ends with whitespace: {quote_value(value)}."
    return None
