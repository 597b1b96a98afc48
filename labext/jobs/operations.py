"""The job service's operations, and which of them may be sent twice.

Sources: job service contract, Endpoints; `validate-job` from real services, section jobs. A
submission is never repeated by the transport: `labext.jobs.submission` settles a lost answer by
looking the name up, since names are unique.
"""

from __future__ import annotations

from labext.transport import Operation, Repeat

TOOLS = Operation("list the tools", "GET", "tools", Repeat.ALWAYS, answer="json")
JOB = Operation("look at a job", "GET", "jobs", Repeat.ALWAYS, answer="json")
JOBS = Operation("list jobs", "GET", "jobs", Repeat.ALWAYS, answer="json")
VALIDATE = Operation("validate a job", "POST", "validate-job", Repeat.ALWAYS, answer="json")
SUBMIT = Operation(
    "submit a job",
    "POST",
    "submit-job",
    Repeat.UNSENT,
    find_out="Look whether `%jobs list` shows it; the same line again sends nothing twice.",
)
SUBMIT_BATCH = Operation(
    "submit a batch",
    "POST",
    "submit-batch",
    Repeat.UNSENT,
    find_out="Look whether `%jobs list` shows it; the same line again sends nothing twice.",
)
RESULT = Operation("ask for results", "POST", "result", Repeat.ALWAYS)
STOP = Operation("stop a job", "POST", "stop-job", Repeat.ALWAYS)
DELETE = Operation("delete a job", "DELETE", "delete-job", Repeat.DELETE)
UPLOAD = Operation("upload a file", "PUT", "upload/{filename}", Repeat.ALWAYS)
FILES = Operation("list files", "GET", "files", Repeat.ALWAYS, answer="json")
DELETE_FILE = Operation("delete a file", "DELETE", "delete-file", Repeat.DELETE)

BY_NAME = frozenset({JOB.name, RESULT.name, STOP.name, DELETE.name})
"""The operations on a job that is there, by its name."""
SUBMISSIONS = frozenset({SUBMIT.name, SUBMIT_BATCH.name, VALIDATE.name})
