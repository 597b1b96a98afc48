"""Names of jobs and batches, and comparison of submissions."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import takewhile
from typing import Any

from labext import messages
from labext.errors import InputError
from labext.redaction import mask

INTERNAL_FIELDS = frozenset({"submit_method", "monomer_msa", "msa"})
"""Settings that only the service sets (JOBS-32)."""


def account_digest(address: str, api_key: str | None) -> str:
    """Return a local identifier of an account: 8 hexadecimal digits of a digest.

    The digest is truncated so that it can't be used to verify a guessed key.
    """
    return hashlib.sha256(f"{address}\n{api_key or ''}".encode()).hexdigest()[:8]


def canonical_json(settings: Any) -> str:
    """Return settings as canonical JSON."""
    return json.dumps(
        _normalize_number(settings), sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )


def submission_digest(type: str, settings: Any) -> str:
    """Return a SHA-256 digest of type and settings, in hexadecimal."""
    return hashlib.sha256(
        f"{type}\n{canonical_json(settings)}".encode("utf-8", "replace")
    ).hexdigest()


def stored_settings(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the settings of a job row without `INTERNAL_FIELDS`; None if missing or invalid."""
    settings = stored_record(row, "Settings")
    return None if settings is None else _user_settings(settings)


def stored_record(row: Mapping[str, Any], field: str) -> dict[str, Any] | None:
    """Return a field of a job row as a JSON object; None if missing or invalid."""
    value = row.get(field)
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def submission_difference(
    type: str, settings: Mapping[str, Any], row: Mapping[str, Any]
) -> str | None:
    """Describe how a job row differs from a submission; None if they are the same."""
    if row.get("Type") != type:
        return f"its type is {row.get('Type')}, not {type}"
    stored = stored_settings(row)
    if stored is None:
        return "its settings can't be read"
    return settings_difference(settings, stored)


def settings_difference(settings: Mapping[str, Any], stored: Mapping[str, Any]) -> str | None:
    """Describe how stored settings differ from those of a submission; None if they are the same.

    `INTERNAL_FIELDS` are ignored.
    """
    submitted, stored = _user_settings(settings), _user_settings(stored)
    differing = sorted(
        name
        for name in stored.keys() | submitted.keys()
        if name not in stored
        or name not in submitted
        or canonical_json(stored[name]) != canonical_json(submitted[name])
    )
    if not differing:
        return None
    return "; ".join(_describe_setting(name, stored, submitted) for name in differing[:3]) + (
        f" and {len(differing) - 3} more" if len(differing) > 3 else ""
    )


_MAX_VALUE_LENGTH = 40


def describe_values(stored: Any, submitted: Any) -> str:
    """Return `STORED, not SUBMITTED`, each shortened to 40 characters with the first difference."""
    texts = [mask(canonical_json(value)) for value in (stored, submitted)]
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(*texts, strict=False))
    common = sum(1 for _ in pairs)
    if common > 30:
        texts = [f"…{text[common - 10 :]}" for text in texts]
    return ", not ".join(messages.truncate(text, _MAX_VALUE_LENGTH) for text in texts)


def _user_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name not in INTERNAL_FIELDS}


def _describe_setting(name: str, stored: Mapping[str, Any], submitted: Mapping[str, Any]) -> str:
    if name not in submitted:
        value = mask(canonical_json(stored[name]))
        return f"it has {name}={messages.truncate(value, _MAX_VALUE_LENGTH)}"
    if name not in stored:
        return f"it has no {name}"
    return f"it has {name}={describe_values(stored[name], submitted[name])}"


def _normalize_number(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {str(key): _normalize_number(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_normalize_number(item) for item in value]
    return value


MAX_NAME_LENGTH = 100
"""Maximum length of a name."""

_NAME_PATTERN = re.compile(r"[a-zA-Z0-9_-]+")
MAX_PARTS = 9999
"""Maximum number of parts of a batch; a name with a larger number is not that of a part."""

_PART_PATTERN = re.compile(
    r"(?P<batch>.+)-part(?P<number>[1-9][0-9]{0,3})of(?P<count>[1-9][0-9]{0,3})"
)
_PROJECT_PATTERN = re.compile(r"proj_[^\s/]+")
_SHOWN = 3


def name_fault(name: object) -> str | None:
    """Return the fault of a name as the end of a sentence; None if it is valid."""
    if not isinstance(name, str):
        return "is not text"
    if not name:
        return "is empty"
    if len(name) > MAX_NAME_LENGTH:
        return f"has {len(name)} characters, at most {MAX_NAME_LENGTH} are allowed"
    if _NAME_PATTERN.fullmatch(name):
        return None
    invalid = next(character for character in name if not _NAME_PATTERN.fullmatch(character))
    return "contains a space" if invalid == " " else f"contains {invalid!r}"


def name_text(value: object) -> str:
    """Return a name in a column as text.

    A float that is a whole number is written without a fraction: pandas reads a column of integers
    with empty cells as floats.
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value)


def check_name(name: object, noun: str = "job") -> str:
    """Return a name if it is valid; `noun` is the kind of object, for the message."""
    fault = name_fault(name)
    if fault is not None or not isinstance(name, str):
        raise InputError(
            f"The {noun} name {messages.quote_value(name)} {fault}.",
            f"Use 1 to {MAX_NAME_LENGTH} letters, digits, - and _.",
        )
    return name


def check_text(noun: str, value: object) -> None:
    """Raise InputError if a value is not text; `noun` names it in the message."""
    if not isinstance(value, str):
        kind = messages.with_article(type(value).__name__)
        raise InputError(f"The {noun} is {kind}, not text.", "Give one text.")


def check_job_names(names: Sequence[str], stored_as: Sequence[str], batch: str) -> None:
    """Check the names of the jobs of a batch, and their full names `<batch or part>-<job>`."""
    invalid = [(name, fault) for name in names if (fault := name_fault(name)) is not None]
    if invalid:
        verb = "is" if len(invalid) == 1 else "are"
        faults = messages.join_words(
            (f"{messages.quote_value(name)} {fault}" for name, fault in invalid), _SHOWN
        )
        raise InputError(
            f"{messages.pluralize(len(invalid), 'job name')} of {batch} {verb} invalid: {faults}.",
            f"Use 1 to {MAX_NAME_LENGTH} letters, digits, - and _.",
        )
    duplicates = [name for name, times in Counter(names).items() if times > 1]
    if duplicates:
        verb = "is" if len(duplicates) == 1 else "are"
        raise InputError(
            f"{messages.pluralize(len(duplicates), 'job name')} of {batch} {verb} "
            f"used more than once: {messages.join_words(duplicates, _SHOWN)}.",
            "Give each job a unique name.",
        )
    folded = Counter(name.lower() for name in names)
    if alike := [name for name in names if folded[name.lower()] > 1]:
        raise InputError(
            f"{len(alike):,} job names of {batch} differ only in case: "
            f"{messages.join_words(alike, _SHOWN)}.",
            "Rename them: some computers can't store the results of both.",
        )
    too_long = [name for name in stored_as if len(name) > MAX_NAME_LENGTH]
    if too_long:
        longest = max(too_long, key=len)
        count = f" ({len(too_long):,} names are too long)" if len(too_long) > 1 else ""
        raise InputError(
            f'The full name of a job includes the name of its batch, and "{longest}" has '
            f"{len(longest)} characters, at most {MAX_NAME_LENGTH} are allowed{count}.",
            f"Shorten the name of the batch or the job by {len(longest) - MAX_NAME_LENGTH}.",
        )


def check_project_tag(tag: str | None) -> str | None:
    """Return a project tag if it has the form `proj_<id>`."""
    if tag is not None and not (isinstance(tag, str) and _PROJECT_PATTERN.fullmatch(tag)):
        raise InputError(
            f"{messages.quote_value(tag)} is not a project identifier.",
            "Copy it from the web interface; it looks like proj_123.",
        )
    return tag


def generate_name(type: str, settings: Any, checksums: Mapping[str, str] | None = None) -> str:
    """Generate a name from the content of a submission.

    `checksums` are those of the files that the settings name, by setting value.
    """
    prefix = re.sub(r"[^a-zA-Z0-9_-]+", "-", type)[: MAX_NAME_LENGTH - 9] or "job"
    content = {"settings": settings, "contents": checksums} if checksums else settings
    return f"{prefix}-{submission_digest(type, content)[:8]}"


def numbered_names(count: int) -> list[str]:
    """Return the names `1` to `count`, padded with zeros to equal length."""
    width = len(str(count))
    return [f"{number:0{width}d}" for number in range(1, count + 1)]


def part_name(batch: str, number: int, count: int) -> str:
    """Return the name of one part of a split batch; parts are numbered from 1."""
    return f"{batch}-part{number}of{count}"


def part_names(batch: str, count: int) -> tuple[str, ...]:
    """Return the names of all parts of a split batch."""
    return tuple(part_name(batch, number, count) for number in range(1, count + 1))


def parse_part_name(name: str) -> tuple[str, int, int] | None:
    """Parse the name of a part into batch, number and count; None for any other name."""
    match = _PART_PATTERN.fullmatch(name)
    if match is None:
        return None
    number, count = int(match["number"]), int(match["count"])
    return (match["batch"], number, count) if number <= count else None


def strip_batch_name(name: str, batch: str) -> str:
    """Return the name of a job without the prefix `<batch>-`."""
    return name.removeprefix(f"{batch}-")


_INVALID_CHARACTER = re.compile(r"[^a-zA-Z0-9_-]")
_DIGEST_LENGTH = 6  # hexadecimal digits that distinguish names with the same adapted form


def adapt_names(originals: Sequence[str], max_length: int = MAX_NAME_LENGTH) -> list[str]:
    """Return a valid name (`name_fault`) for each original, in the same order.

    Valid names are kept, unless they differ only in case. In others, invalid characters are
    replaced by `-`, and the name is truncated. If the result is not unique, ignoring case, digits
    of a digest of the original are appended; they do not depend on the order of the rows. Equal
    names have equal results.
    """
    adapted = {name: _replace_invalid(name, max_length) for name in originals}
    counts = Counter(name.lower() for name in adapted.values())
    valid = Counter(name.lower() for name in adapted if adapted[name] == name)
    return [
        adapted[name]
        if (valid if adapted[name] == name else counts)[adapted[name].lower()] == 1
        else _with_digest(name, adapted[name], max_length)
        for name in originals
    ]


def find_adapted_name(original: str, names: Collection[str], max_length: int) -> str | None:
    """Return the job name to which an original name was adapted.

    The first of these that is in `names`: the original, its adapted form with a digest, and the
    adapted form, which may be the name of another job. None if none is.
    """
    adapted = _replace_invalid(original, max_length)
    candidates = (original, _with_digest(original, adapted, max_length), adapted)
    return next((name for name in candidates if name in names), None)


def _replace_invalid(name: str, max_length: int) -> str:
    return _INVALID_CHARACTER.sub("-", name)[:max_length]


def _with_digest(name: str, adapted: str, max_length: int) -> str:
    digits = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:_DIGEST_LENGTH]
    return f"{adapted[: max_length - _DIGEST_LENGTH - 1]}-{digits}"


def adapted_names_message(originals: Mapping[str, str]) -> str:
    """Return a sentence that lists the adapted names, given with their originals; empty if none."""
    if not originals:
        return ""
    were = "name was" if len(originals) == 1 else "names were"
    pairs = [f"{messages.quote_value(original)} is {job}" for job, original in originals.items()]
    return f"{len(originals):,} {were} adapted: {messages.join_words(pairs, _SHOWN)}."
