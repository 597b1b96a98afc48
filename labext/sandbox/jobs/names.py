"""The names of jobs, batches, files and folders: what is allowed, said in one sentence."""

from __future__ import annotations

import re
import unicodedata

from labext.redaction import mask

LONGEST = 100
LONGEST_FILE = 255

_NAME = re.compile(r"[a-zA-Z0-9_-]+")
_PROJECT = re.compile(r"proj_[a-zA-Z0-9_-]{1,100}")


def shown(value: object, longest: int = 60) -> str:
    """Return the value as it is quoted in a sentence: masked, and cut where it is long."""
    text = mask(repr(value))
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def is_name(value: str) -> bool:
    """Whether `value` can be the name of a job or a batch."""
    return len(value) <= LONGEST and _NAME.fullmatch(value) is not None


def name_fault(field: str, value: str) -> str | None:
    """What is wrong with a job's or a batch's name (job service contract, Limits)."""
    if not value:
        return f"{field} is empty."
    if len(value) > LONGEST:
        return f"{field} has {len(value)} characters, and {LONGEST} are the most: {shown(value)}."
    if _NAME.fullmatch(value) is None:
        return f"{field} may hold letters, digits, '_' and '-' only: {shown(value)}."
    return None


def project_fault(value: str) -> str | None:
    """What is wrong with a project identifier (job service contract, Other records)."""
    if _PROJECT.fullmatch(value) is None:
        return f"projectTag has the form proj_<id>: {shown(value)}."
    return None


def file_fault(field: str, value: str) -> str | None:
    """What is wrong with the name of an uploaded file or of a folder: it is one plain name."""
    if not value:
        return f"{field} is empty."
    if len(value.encode()) > LONGEST_FILE:
        return f"{field} is longer than {LONGEST_FILE} bytes: {shown(value)}."
    if value in (".", "..") or "/" in value or "\\" in value:
        return f"{field} is one plain name, without '/' or '\\': {shown(value)}."
    if any(unicodedata.category(letter) in ("Cc", "Cs") for letter in value):
        return f"{field} holds a control character: {shown(value)}."
    if value != value.strip():
        return f"{field} begins or ends with a blank: {shown(value)}."
    return None
