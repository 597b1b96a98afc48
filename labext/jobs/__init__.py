"""Client for the job service: tools, jobs, batches, pipelines, results and files."""

from labext.jobs.batch.submit_batch import BatchSubmission
from labext.jobs.client import JobsClient
from labext.jobs.results.results import Results
from labext.jobs.schema import Parameter, Tool, cast
from labext.jobs.submission import Submission
from labext.jobs.uploads import Upload

__all__ = [
    "BatchSubmission",
    "JobsClient",
    "Parameter",
    "Results",
    "Submission",
    "Tool",
    "Upload",
    "cast",
]
