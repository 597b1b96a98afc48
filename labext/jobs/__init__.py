"""The client for the job-submission service: tools, jobs, batches, results, files.

`client` is what a user holds; its methods hand on to one module each. Beneath them all is
`service`, a method for each request, whose answers `rows` reads.

- Tools: `catalogue`, `schema` (a tool's parameters), `settings` (the rules), `toolframes`.
- Submitting: `submission`, and for batches `planning` (out of `batches` or `tables`), `journal`,
  `batch_submission`. `identity` tells whether two submissions are the same.
- Looking: `listing`, `watching`; `lookup`, `parts` and `folding` see a split batch as one.
- Results: `results`, `obtaining` (from the service), `archives` (checked), `merging` (of parts),
  `placing` (into the user's folder), `manifest`.
"""

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
