"""The service's limits that are no part of the contract; the database has the changed ones."""

from __future__ import annotations

from labext.sandbox.jobs.store import Limit
from labext.sandbox.limits import YEAR, Bounds, Limits

LIMITS = Limits(
    Limit,
    {
        "url_seconds": Bounds("seconds that a presigned address is valid", 15 * 60, 1, YEAR),
        "flood_requests": Bounds(
            "requests of one account in 10 seconds, with the sandbox's `--rate named`",
            1000,
            1,
            10**9,
        ),
        "job_seconds": Bounds("seconds that any job may run", 15 * 60, 1, YEAR),
        "job_memory": Bounds(
            "bytes of memory that a job's process may take", 2 << 30, 128 << 20, 1 << 50, size=True
        ),
        "upload_bytes": Bounds("bytes of one uploaded file", 1 << 30, 1, 1 << 50, size=True),
        "storage_quota": Bounds(
            "bytes of a new account's uploaded files and batches' archives",
            10 << 30,
            0,
            1 << 62,
            size=True,
        ),
    },
)

limit = LIMITS.value
change = LIMITS.change
