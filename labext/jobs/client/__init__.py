"""Client for the job service at one address, with one key."""

from __future__ import annotations

from labext.jobs.client.base import ToolMethods, UploadMethods, UsageMethods
from labext.jobs.client.cancel import CancelMethods
from labext.jobs.client.logs import LogMethods
from labext.jobs.client.submit import PipelineMethods, SubmitMethods

__all__ = ["JobsClient"]


class JobsClient(
    ToolMethods,
    PipelineMethods,
    SubmitMethods,
    LogMethods,
    CancelMethods,
    UploadMethods,
    UsageMethods,
):
    """A client for the job service at one address, with one key.

    Every method queries the service when it is called. On failure it raises a `LabextError` with a
    message and a next step. A batch of more than 100 jobs is sent in parts and shown as one.

    Args:
        base_url: the service's address; the contract's ends in `/api/`.
        api_key: sent as `x-api-key` with every request.
        rate: the rate limit; `Rate(None)` follows the service's headers only, None disables it.
        verify: True, or the path of a CA bundle.
        limits: bounds of a response; by default 256 MiB and 300 seconds.
    """
