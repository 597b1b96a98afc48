"""Names of jobs and batches, and the comparison of two submissions."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from labext import messages
from labext.errors import InputError
from labext.redaction import mask

INTERNAL_FIELDS = frozenset({"submit_method", "monomer_msa", "msa"})
"""Fields that the platform sets itself (JOBS-32)."""


def account_digest(address: str, api_key: str | None) -> str:
    """Return an identifier of an account on this machine: 8 hexadecimal digits of a digest.

    They are too few to verify a guess of the key.
    """
    return hashlib.sha256(f"{address}\n{api_key or ''}".encode()).hexdigest()[:8]


def canonical_json(settings: Any) -> str:
    """Return settings as canonical JSON."""
    return json.dumps(
        _normalize_number(settings), sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )


def submission_digest(type: str, settings: Any) -> str:
    """Return a digest of type and settings: 64 hexadecimal digits."""
    return hashlib.sha256(
        f"{type}\n{canonical_json(settings)}".encode("utf-8", "replace")
    ).hexdigest()


def stored_settings(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the settings of a job row without the platform's own fields.

    None if the row has none that can be read.
    """
    settings = stored_record(row, "Settings")
    return None if settings is None else _user_settings(settings)


def stored_record(row: Mapping[str, Any], field: str) -> dict[str, Any] | None:
    """Return a field of a job row that holds a JSON object; None if it can't be read."""
    value = row.get(field)
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return None
    return value if isinstance(value, dict) else None


def submission_difference(
    type: str, settings: Mapping[str, Any], row: Mapping[str, Any]
) -> str | None:
    """Return as a short text how a job row differs from a submission.

    Returns None if they are the same.
    """
    if row.get("Type") != type:
        return f"its type is {row.get('Type')}, not {type}"
    stored = stored_settings(row)
    if stored is None:
        return "its settings can't be read"
    return settings_difference(settings, stored)


def settings_difference(settings: Mapping[str, Any], stored: Mapping[str, Any]) -> str | None:
    """Return as a short text how stored settings differ from those of a submission.

    The platform's own fields don't count. Returns None if they are the same.
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


def shorten_json(value: Any) -> str:
    """Return a value as JSON, masked, and truncated."""
    text = mask(canonical_json(value))
    return text if len(text) <= 40 else f"{text[:39]}…"


def _user_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name not in INTERNAL_FIELDS}


def _describe_setting(name: str, stored: Mapping[str, Any], submitted: Mapping[str, Any]) -> str:
    if name not in submitted:
        return f"it has {name}={shorten_json(stored[name])}"
    if name not in stored:
        return f"it has no {name}"
    return f"its {name} is {shorten_json(stored[name])}, not {shorten_json(submitted[name])}"


def _normalize_number(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {str(key): _normalize_number(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_normalize_number(item) for item in value]
    return value


MAX_NAME_LENGTH = 100
"""The most characters a name may have."""

_NAME_PATTERN = re.compile(r"[a-zA-Z0-9_-]+")
_PART_PATTERN = re.compile(r"(?P<batch>.+)-part(?P<number>[1-9]\d*)of(?P<count>[1-9]\d*)")
_PROJECT_PATTERN = re.compile(r"proj_[^\s/]+")
_SHOWN = 3


def name_fault(name: object) -> str | None:
    """Return the fault of a name as a short text; None if it is valid."""
    if not isinstance(name, str):
        return "is not text"
    if not name:
        return "is empty"
    if len(name) > MAX_NAME_LENGTH:
        return f"has {len(name)} characters, at most {MAX_NAME_LENGTH} are allowed"
    if _NAME_PATTERN.fullmatch(name):
        return None
    strange = next(character for character in name if not _NAME_PATTERN.fullmatch(character))
    return "contains a space" if strange == " " else f"contains {strange!r}"


def check_name(name: object, noun: str = "job") -> str:
    """Return the name of a `noun` if it is valid.

    Raises:
        InputError: it is not.
    """
    wrong = name_fault(name)
    if wrong is not None or not isinstance(name, str):
        raise InputError(
            f"The {noun} name {messages.quote_value(name)} {wrong}.",
            f"Use 1 to {MAX_NAME_LENGTH} letters, digits, - and _.",
        )
    return name


def check_job_names(names: Sequence[str], stored_as: Sequence[str], batch: str) -> None:
    """Check the names of a batch's jobs, and the names that the service will give them.

    Args:
        names: the jobs' own names.
        stored_as: `<batch or part>-<job>` for each of them.
        batch: the batch's name, for the message.

    Raises:
        InputError: a name breaks the rule, is there twice, or gets too long.
    """
    bad = [(name, wrong) for name in names if (wrong := name_fault(name)) is not None]
    if bad:
        wrongs = messages.join_words(
            (f"{messages.quote_value(name)} {wrong}" for name, wrong in bad), _SHOWN
        )
        raise InputError(
            f"{messages.pluralize(len(bad), 'job name')} of {batch} can't be used: {wrongs}.",
            f"Use 1 to {MAX_NAME_LENGTH} letters, digits, - and _.",
        )
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        are = "is" if len(twice) == 1 else "are"
        raise InputError(
            f"{messages.pluralize(len(twice), 'job name')} of {batch} {are} "
            f"used more than once: {messages.join_words(twice, _SHOWN)}.",
            "Give each job a unique name.",
        )
    long = [name for name in stored_as if len(name) > MAX_NAME_LENGTH]
    if long:
        longest = max(long, key=len)
        others = f" ({len(long):,} of the jobs are too long)" if len(long) > 1 else ""
        raise InputError(
            f'A job is stored under its batch\'s name and its own, and "{longest}" has '
            f"{len(longest)} characters, at most {MAX_NAME_LENGTH} are allowed{others}.",
            f"Shorten the batch's name or the jobs' by {len(longest) - MAX_NAME_LENGTH}.",
        )


def check_project_tag(tag: str | None) -> str | None:
    """Return a project tag if it looks like one: `proj_<id>`.

    Raises:
        InputError: it doesn't.
    """
    if tag is not None and not _PROJECT_PATTERN.fullmatch(tag):
        raise InputError(
            f"{messages.quote_value(tag)} is not a project.",
            "Give its identifier from the web interface, such as proj_123.",
        )
    return tag


def generate_name(type: str, settings: Any, checksums: Mapping[str, str] | None = None) -> str:
    """Return a name for a submission that has none: the same for the same submission.

    Args:
        type: the tool.
        settings: the settings of the submission.
        checksums: of the content of the files that the settings name, by value.
    """
    prefix = re.sub(r"[^a-zA-Z0-9_-]+", "-", type)[: MAX_NAME_LENGTH - 9] or "job"
    whole = {"settings": settings, "contents": checksums} if checksums else settings
    return f"{prefix}-{submission_digest(type, whole)[:8]}"


def numbered_names(count: int) -> list[str]:
    """Return names for the jobs of a batch that have none: `1` to `count`, equally wide."""
    width = len(str(count))
    return [f"{number:0{width}d}" for number in range(1, count + 1)]


def part_name(batch: str, number: int, count: int) -> str:
    """Return the name of one part of a split batch; parts count from 1."""
    return f"{batch}-part{number}of{count}"


def parse_part_name(name: str) -> tuple[str, int, int] | None:
    """Parse a part's name into batch, number and count; None for any other name."""
    match = _PART_PATTERN.fullmatch(name)
    if match is None:
        return None
    number, count = int(match["number"]), int(match["count"])
    return (match["batch"], number, count) if number <= count else None


def strip_batch_name(name: str, batch: str) -> str:
    """Return a batch's job's own name: the stored one without the batch's."""
    return name.removeprefix(f"{batch}-")


_INVALID_CHARACTER = re.compile(r"[^a-zA-Z0-9_-]")
_DIGEST_LENGTH = 6  # of a digest: a million names that are adapted to the same are told apart


def adapt_names(originals: Sequence[str], room: int = MAX_NAME_LENGTH) -> list[str]:
    """Return a valid name (`name_fault`) for each original, in the same order.

    A valid name is kept. In any other, each invalid character becomes `-`, and the name is cut to
    its maximum length. If that results in a name that another original has too, the first digits of
    the original's digest are appended: they do not depend on the order of the rows.

    Args:
        originals: the names; the same name twice results in the same name twice.
        room: maximum length of a name.
    """
    adapted = {name: _replace_invalid(name, room) for name in originals}
    times = Counter(adapted.values())
    return [
        name_part
        if name_part == name or times[name_part] == 1
        else _with_digest(name, name_part, room)
        for name, name_part in ((name, adapted[name]) for name in originals)
    ]


def find_adapted_name(original: str, among: Collection[str], room: int) -> str:
    """Return the job name that an original was adapted to, by the naming rule alone.

    It is the original itself, its adapted form, or that with the digest's digits; if none of them
    is among the jobs' names, the adapted form.
    """
    adapted = _replace_invalid(original, room)
    candidates = (original, adapted, _with_digest(original, adapted, room))
    return next((name for name in candidates if name in among), adapted)


def _replace_invalid(name: str, room: int) -> str:
    return _INVALID_CHARACTER.sub("-", name)[:room]


def _with_digest(name: str, adapted: str, room: int) -> str:
    digits = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:_DIGEST_LENGTH]
    return f"{adapted[: room - _DIGEST_LENGTH - 1]}-{digits}"


def adapted_names_message(originals: Mapping[str, str]) -> str:
    """Return a sentence that lists the adapted names; empty if there are none.

    Args:
        originals: the originals by the jobs' own names, of those that differ.
    """
    if not originals:
        return ""
    were = "name was" if len(originals) == 1 else "names were"
    pairs = [f"{messages.quote_value(original)} is {job}" for job, original in originals.items()]
    return f"{len(originals):,} {were} adapted: {messages.join_words(pairs, _SHOWN)}."
