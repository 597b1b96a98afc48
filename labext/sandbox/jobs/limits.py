"""Configurable limits of the job service."""

from __future__ import annotations

from labext.sandbox.core.validation import YEAR_SECONDS, LimitDefinition, Limits
from labext.sandbox.jobs.tables import Limit

LIMITS = Limits(
    Limit,
    {
        "url_seconds": LimitDefinition(
            "seconds that a presigned address is valid", 15 * 60, 1, YEAR_SECONDS
        ),
        "flood_requests": LimitDefinition(
            "requests of one account in 10 seconds, if the sandbox limits rates",
            1000,
            1,
            10**9,
        ),
        "job_seconds": LimitDefinition("seconds that any job may run", 15 * 60, 1, YEAR_SECONDS),
        "job_memory": LimitDefinition(
            "bytes of memory that a job's process may take", 2 << 30, 128 << 20, 1 << 50, size=True
        ),
        "upload_bytes": LimitDefinition(
            "bytes of one uploaded file", 1 << 30, 1, 1 << 50, size=True
        ),
        "storage_quota": LimitDefinition(
            "bytes of a new account's uploaded files and batches' archives",
            10 << 30,
            0,
            1 << 62,
            size=True,
        ),
    },
)

limit_value = LIMITS.value
change_limit = LIMITS.change
