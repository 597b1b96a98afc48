"""Client for the job service at one address, with one key."""

from __future__ import annotations

from labext.jobs.client.logs import LogMethods
from labext.jobs.client.pipelines import PipelineMethods

__all__ = ["JobsClient"]


class JobsClient(PipelineMethods, LogMethods):
    """A client for the job service at one address, with one key.

    Every method queries the service. Failures raise a `LabextError` with a message and a next step.
    A batch of more than 100 jobs is sent in parts and shown as one batch.

    Args:
        base_url: base URL of the service, usually ending in `/api/`.
        api_key: key sent as `x-api-key` with every request.
        rate: rate limit; `Rate(None)` follows only the service's headers, None disables it.
        verify: True, or the path of a CA bundle.
        timeout: seconds to connect, and between two bytes of a response; one number for both.
        limits: maximum size and duration of a response; by default 256 MiB and 300 seconds.

    Raises:
        InputError: the address or the timeout is invalid.
        SetupError: the CA bundle does not exist.
    """
