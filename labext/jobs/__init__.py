"""The client for the job-submission service: tools, jobs, batches, results, files.

`client` has what a user holds; its methods hand on to one module each. Beneath them all are
`service` and `file_service`, a method for each request, whose answers `rows` and `answers` read.

- Tools: `catalogue`, `schema` (a tool's parameters), `settings` (the rules), `toolframes`.
- Submitting: `submission`; `identity` and `input_content` decide whether two submissions are the
  same, by their settings and by the content of the files that these name (`references`,
  `file_versions`). Pipelines: `pipelines` (checked), `pipeline_submission`. Batches: the package
  `batch`.
- Looking: `listing`, `job_filter`, `watching`, `lookup`; `usage`.
- Ending: `actions`. Uploads: `files`, `uploaded` (what was uploaded from this machine).
- Results: the package `results`.
"""

from labext.jobs.batch.submission import BatchSubmission
from labext.jobs.client import JobsClient
from labext.jobs.files import Upload
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
    "Upload",
    "cast",
]
