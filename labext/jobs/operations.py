"""The job service's operations, and which of them may be sent twice.

Sources: job service contract, Endpoints; `validate-job`, `cancelJob`, `cancelBatch`, `getFolders`
and `getPresignedUploadUrl` from real services, section jobs. A
submission is never repeated by the transport: `labext.jobs.submission` settles a lost answer by
looking the name up, since names are unique.
"""

from __future__ import annotations

from labext.transport import Operation, Repeat


def _submission(name: str, path: str) -> Operation:
    """A second one under the name would be refused, or be a second job: the name settles it."""
    return Operation(
        name,
        "POST",
        path,
        Repeat.UNSENT,
        find_out="Look whether `%jobs list` shows it; the same line again sends nothing twice.",
    )


TOOLS = Operation("list the tools", "GET", "tools", Repeat.ALWAYS, answer="json")
JOB = Operation("look at a job", "GET", "jobs", Repeat.ALWAYS, answer="json")
JOBS = Operation("list jobs", "GET", "jobs", Repeat.ALWAYS, answer="json")
VALIDATE = Operation("validate a job", "POST", "validate-job", Repeat.ALWAYS, answer="json")
SUBMIT = _submission("submit a job", "submit-job")
SUBMIT_BATCH = _submission("submit a batch", "submit-batch")
SUBMIT_PIPELINE = _submission("submit a pipeline", "submit-pipeline")
RUN_PIPELINE = _submission("run a pipeline", "run-pipeline")
RESULT = Operation("ask for results", "POST", "result", Repeat.ALWAYS)
STOP = Operation("stop a job", "POST", "stop-job", Repeat.ALWAYS)
CANCEL_JOB = Operation("stop a job", "POST", "cancelJob", Repeat.ALWAYS)  # as `stop-job`
CANCEL_BATCH = Operation("stop a batch", "POST", "cancelBatch", Repeat.ALWAYS)  # as `stop-job`
DELETE = Operation("delete a job", "DELETE", "delete-job", Repeat.DELETE)
UPLOAD = Operation("upload a file", "PUT", "upload/{filename}", Repeat.ALWAYS)
FILES = Operation("list files", "GET", "files", Repeat.ALWAYS, answer="json")
FOLDERS = Operation("list folders", "GET", "getFolders", Repeat.ALWAYS, answer="json")
PRESIGN = Operation(
    "ask for an address to upload to",
    "POST",
    "getPresignedUploadUrl",
    Repeat.ALWAYS,  # an address stores nothing; another one does no harm
    answer="json",
)
USAGE = Operation("read the usage", "GET", "usage-statistics", Repeat.ALWAYS, answer="json")
DELETE_FILE = Operation("delete a file", "DELETE", "delete-file", Repeat.DELETE)

BY_NAME = frozenset({JOB.name, RESULT.name, STOP.name, CANCEL_BATCH.name, DELETE.name})
"""The operations on a job that is there, by its name."""
PIPELINES = frozenset({SUBMIT_PIPELINE.name, RUN_PIPELINE.name})
SUBMISSIONS = frozenset({SUBMIT.name, SUBMIT_BATCH.name, VALIDATE.name}) | PIPELINES
