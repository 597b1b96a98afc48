"""The client for the job-submission service: tools, jobs, batches, results, files.

`client` is what a user holds; its methods hand on to one module each. Beneath them all is
`service` and `file_service`, a method for each request, whose answers `rows` and `answers` read.

- Tools: `catalogue`, `schema` (a tool's parameters), `settings` (the rules), `toolframes`.
- Submitting: `submission`; `identity` tells whether two submissions are the same. Pipelines:
  `pipelines` (checked), `pipeline_submission`. Batches: the package `batch`.
- Looking: `listing`, `watching`, `lookup`; `usage`.
- Ending: `actions`. Uploads: `files`, `uploaded` (what is known of them here).
- Results: the package `results`.
"""

from labext.jobs.batch.submission import BatchSubmission
from labext.jobs.client import JobsClient
from labext.jobs.results.fetching import Results
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
