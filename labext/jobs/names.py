"""The names of jobs, batches and the parts of a split batch.

The rule is the job service contract's (`/submit-job`, and Limits): letters, digits, `_` and `-`,
1 to 100 characters, unique. A batch's jobs are stored as `<batch>-<job>`, so the rule holds for
that name too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from labext import wording
from labext.errors import InputError
from labext.jobs.identity import digest

LONGEST = 100
"""The most characters a name may have."""

_ALLOWED = re.compile(r"[a-zA-Z0-9_-]+")
_PART = re.compile(r"(?P<batch>.+)-part(?P<number>[1-9]\d*)of(?P<count>[1-9]\d*)")
_PROJECT = re.compile(r"proj_[^\s/]+")
_SHOWN = 3


def fault(name: object) -> str | None:
    """Say in a few words what is wrong with a name; None where it keeps the rule."""
    if not isinstance(name, str):
        return "is not text"
    if not name:
        return "is empty"
    if len(name) > LONGEST:
        return f"has {len(name)} characters, {LONGEST} is the most"
    if _ALLOWED.fullmatch(name):
        return None
    strange = next(character for character in name if not _ALLOWED.fullmatch(character))
    return "has a space in it" if strange == " " else f"has {strange!r} in it"


def check(name: object, what: str = "job") -> str:
    """Return the name of a `what` if it keeps the rule.

    Raises:
        InputError: it doesn't.
    """
    wrong = fault(name)
    if wrong is not None or not isinstance(name, str):
        raise InputError(
            f"The {what} name {wording.shown(name)} {wrong}.",
            f"Use letters, digits, - and _ only, 1 to {LONGEST} of them.",
        )
    return name


def check_jobs(names: Sequence[str], stored_as: Sequence[str], batch: str) -> None:
    """Check the names of a batch's jobs, and the names that the service will give them.

    Args:
        names: the jobs' own names.
        stored_as: `<batch or part>-<job>` for each of them.
        batch: the batch's name, for the message.

    Raises:
        InputError: a name breaks the rule, is there twice, or gets too long.
    """
    bad = [(name, wrong) for name in names if (wrong := fault(name)) is not None]
    if bad:
        wrongs = wording.listed((f"{wording.shown(name)} {wrong}" for name, wrong in bad), _SHOWN)
        raise InputError(
            f"{wording.count(len(bad), 'job name')} of {batch} can't be used: {wrongs}.",
            f"Use letters, digits, - and _ only, 1 to {LONGEST} of them.",
        )
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        are = "is" if len(twice) == 1 else "are"
        raise InputError(
            f"{wording.count(len(twice), 'job name')} of {batch} {are} "
            f"there more than once: {wording.listed(twice, _SHOWN)}.",
            "Give each job a name of its own.",
        )
    long = [name for name in stored_as if len(name) > LONGEST]
    if long:
        longest = max(long, key=len)
        others = f" ({len(long):,} of the jobs are too long)" if len(long) > 1 else ""
        raise InputError(
            f'A job is stored under its batch\'s name and its own, and "{longest}" has '
            f"{len(longest)} characters, {LONGEST} is the most{others}.",
            f"Shorten the batch's name or the jobs' by {len(longest) - LONGEST}.",
        )


def check_project(tag: str | None) -> str | None:
    """Return a project tag if it looks like one: `proj_<id>` (job service contract).

    Raises:
        InputError: it doesn't.
    """
    if tag is not None and not _PROJECT.fullmatch(tag):
        raise InputError(
            f"{wording.shown(tag)} is no project.",
            "A project is named proj_… in the web interface.",
        )
    return tag


def made_up(type: str, settings: Any, checksums: Mapping[str, str] | None = None) -> str:
    """Return a name for a submission that has none: the same for the same submission.

    Args:
        type: the tool.
        settings: what is submitted.
        checksums: of the content of the files that the settings name, by value.
    """
    kept = re.sub(r"[^a-zA-Z0-9_-]+", "-", type)[: LONGEST - 9] or "job"
    whole = {"settings": settings, "contents": checksums} if checksums else settings
    return f"{kept}-{digest(type, whole)[:8]}"


def numbered(count: int) -> list[str]:
    """Return names for the jobs of a batch that have none: `1` to `count`, equally wide."""
    width = len(str(count))
    return [f"{number:0{width}d}" for number in range(1, count + 1)]


def part(batch: str, number: int, count: int) -> str:
    """Return the name of one part of a split batch; parts count from 1."""
    return f"{batch}-part{number}of{count}"


def parse_part(name: str) -> tuple[str, int, int] | None:
    """Take a part's name apart into batch, number and count; None for any other name."""
    found = _PART.fullmatch(name)
    if found is None:
        return None
    number, count = int(found["number"]), int(found["count"])
    return (found["batch"], number, count) if number <= count else None


def own(name: str, batch: str) -> str:
    """Return a batch's job's own name: the stored one without the batch's."""
    return name.removeprefix(f"{batch}-")
