"""Which files of fetched results are which job's.

A batch's archive has a folder for each job, by its own name or by the one it is stored under, and
metrics of all beside them (real services, section jobs); a single job's has its files alone.
"""

from __future__ import annotations

from collections.abc import Iterable

from labext.jobs import names

STRUCTURES = (".pdb", ".cif", ".mmcif", ".ent", ".sdf")
"""How the names of files with structures end."""


def by_job(paths: Iterable[str], jobs: Iterable[str], of: str) -> dict[str, list[str]]:
    """Return each job's files, by the name it is stored under.

    Args:
        paths: of the files, in the results folder.
        jobs: the names that the jobs are stored under.
        of: what was fetched: the one job itself, or a batch, a split batch or a pipeline.
    """
    found: dict[str, list[str]] = {job: [] for job in jobs}
    if list(found) == [of]:
        return {of: list(paths)}
    known = {name: job for job in found for name in (job, own_name(job, of))}
    for path in paths:
        # An archive may have one folder of the batch's name around all.
        for folder in path.split("/")[:-1][:2]:
            if folder in known:
                found[known[folder]].append(path)
                break
    return found


def folder_of(path: str, job: str, of: str) -> str:
    """Return the path of the job's folder that one of its files lies in; empty for the whole's."""
    above = path.split("/")[:-1]
    for depth, folder in enumerate(above[:2]):
        if folder in (job, own_name(job, of)):
            return "/".join(above[: depth + 1])
    return ""


def own_name(job: str, of: str) -> str:
    """Return a job's own name, without the batch's or that of a part of it."""
    if not job.startswith(f"{of}-"):
        return job
    rest = job.removeprefix(f"{of}-")
    part, _, own = rest.partition("-")
    return own if own and names.parse_part(f"{of}-{part}") is not None else rest


def is_structure(path: str) -> bool:
    """Say whether a file holds a structure, by its name."""
    return path.lower().endswith(STRUCTURES)
