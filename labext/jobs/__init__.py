"""The client for the job-submission service: tools, jobs, batches, results, files."""

from labext.jobs.batch_submission import BatchSubmission
from labext.jobs.client import JobsClient
from labext.jobs.results import Results
from labext.jobs.schema import Parameter, Tool, cast
from labext.jobs.submission import Submission

__all__ = [
    "BatchSubmission",
    "JobsClient",
    "Parameter",
    "Results",
    "Submission",
    "Tool",
    "cast",
]
