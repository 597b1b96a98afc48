"""Configurable limits of the job service."""

from __future__ import annotations

from labext.sandbox.core.validation import YEAR_SECONDS, LimitDefinition, Limits
from labext.sandbox.jobs.tables import Limit

LIMITS = Limits(
    Limit,
    {
        "url_seconds": LimitDefinition(
            "validity of a presigned address in seconds", 15 * 60, 1, YEAR_SECONDS
        ),
        "flood_requests": LimitDefinition(
            "requests per account in 10 seconds, if the sandbox limits rates", 1000, 1, 10**9
        ),
        "job_seconds": LimitDefinition("time limit of a job in seconds", 15 * 60, 1, YEAR_SECONDS),
        "job_memory": LimitDefinition(
            "memory limit of a job's process in bytes", 2 << 30, 128 << 20, 1 << 50, size=True
        ),
        "upload_bytes": LimitDefinition(
            "size limit of an uploaded file in bytes", 1 << 30, 1, 1 << 50, size=True
        ),
        "max_running_per_account": LimitDefinition(
            "jobs of one account that run at the same time; 0 for no limit", 0, 0, 10**9
        ),
        "max_queued_per_account": LimitDefinition(
            "jobs of one account that wait in the queue; 0 for no limit", 0, 0, 10**9
        ),
        "storage_quota": LimitDefinition(
            "storage quota of a new account in bytes: uploaded files and archives",
            10 << 30,
            0,
            1 << 62,
            size=True,
        ),
    },
)

limit_value = LIMITS.value
change_limit = LIMITS.change
