"""The job-submission service as a user of Python sees it; a module for each kind of method."""

from __future__ import annotations

from labext.jobs.client.ending import Ending
from labext.jobs.client.looking import Looking
from labext.jobs.client.pipelines import Pipelines
from labext.jobs.client.results import Fetching
from labext.jobs.client.submitting import Submitting
from labext.jobs.client.tools import Tools
from labext.jobs.client.uploads import Uploads
from labext.jobs.client.usage import Usages

__all__ = ["JobsClient"]


class JobsClient(Tools, Submitting, Pipelines, Looking, Fetching, Ending, Uploads, Usages):
    """A client for the job service at one address, with one key.

    Every method asks the service when it is called, and raises a `LabextError` that says what
    happened and what to do. A batch of more than 100 jobs is sent in parts and seen as one.

    Args:
        base_url: the service's address; the contract's ends in `/api/`.
        api_key: sent as `x-api-key` with every request.
        rate: the limit to keep; `Rate(None)` follows the service's headers only, None no limit.
        verify: True, or the path of a CA bundle.
        limits: bounds of a response; by default 256 MiB and 300 seconds.
    """
