"""Parse job records and read their state, kind and outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from labext.actions import Action
from labext.errors import NotFoundError, ServiceError
from labext.jobs.identity import stored_settings, submission_digest
from labext.progress import Outcome

if TYPE_CHECKING:
    import pandas as pd

    from labext.frames.conversion import Column

JobRecord = dict[str, Any]

_OUTCOMES = {
    "Complete": Outcome.COMPLETE,
    "Failed": Outcome.FAILED,
    "Stopped": Outcome.STOPPED,
    "Deleted": Outcome.STOPPED,
}
_BATCH_OUTCOMES = {
    "Complete": Outcome.COMPLETE,
    "AggregationFailed": Outcome.FAILED,
    "Stopped": Outcome.STOPPED,
    "Deleted": Outcome.STOPPED,
}
REASON_FIELDS = (
    "AggregationError",
    "Reason",
    "reason",
    "StatusReason",
    "Error",
    "error",
    "Message",
)


class Page(NamedTuple):
    """One page of a list: rows, continuation key (empty at the end), number of jobs by state."""

    rows: list[JobRecord]
    start_key: str
    statuses: dict[str, int]


class Presigned(str):
    """A presigned URL whose `repr` hides the query string."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(self.partition("?")[0] + ("?•••" if "?" in self else ""))


def job_columns() -> list[Column]:
    """Return the columns of a frame of job rows."""
    from labext.frames.conversion import make_columns

    return make_columns(
        JobName="text",
        Type="category",
        JobStatus="category",
        batchStatus="category",
        Created="time",
        Started="time",
        Completed="time",
        WeightedHours="number",
        Settings="json",
        Score="json",
        AggregationError="text",
    )


def jobs_frame(rows: Iterable[JobRecord]) -> pd.DataFrame:
    """Return rows as a typed DataFrame, without the fields `resultUrl` and `statuses`."""
    from labext.frames import conversion

    frame = conversion.records_to_frame(rows, job_columns())
    return frame.drop(columns=["resultUrl", "statuses"], errors="ignore")


def parse_record(answer: Any, name: str) -> JobRecord:
    """Return the row in the response to a query by name, with the number of jobs by state."""
    bare = isinstance(answer, Mapping) and "JobName" in answer
    rows = [answer] if bare else _find_rows(answer) if answer else []
    if rows is None:
        raise ServiceError(f"The service returned an invalid response about {name}.")
    # A service that ignores the query by name returns a list of other jobs.
    row = next((row for row in rows if row.get("JobName", name) == name), None)
    if row is None:
        raise unknown_name_error(name)
    row = dict(row)
    if not bare and isinstance(answer, Mapping) and isinstance(answer.get("statuses"), Mapping):
        row.setdefault("statuses", answer["statuses"])
    if isinstance(row.get("resultUrl"), str):
        row["resultUrl"] = Presigned(row["resultUrl"])
    return row


def parse_page(answer: Any) -> Page:
    """Return the page in the response to a list query."""
    rows = (
        [dict(answer)]
        if isinstance(answer, Mapping) and "JobName" in answer
        else _find_rows(answer)
    )
    if rows is None:
        raise ServiceError("The service returned an invalid list of jobs.")
    if not isinstance(answer, Mapping):
        return Page(rows, "", {})
    key = answer.get("startKey")
    return Page(rows, "" if key is None else str(key), parse_tally(answer.get("statuses")))


def _find_rows(answer: Any) -> list[JobRecord] | None:
    if isinstance(answer, Mapping):
        if isinstance(answer.get("jobs"), list):
            answer = answer["jobs"]
        elif set(answer) <= {"statuses", "startKey"} and answer:
            return []
        else:
            answer = [answer[key] for key in sorted(filter(str.isdecimal, answer), key=int)]
            if not answer:
                return None
    if isinstance(answer, list) and all(isinstance(row, dict) for row in answer):
        return answer
    return None


def unknown_name_error(name: str, suggestion: str = "") -> NotFoundError:
    """Return the error for an unknown name; `suggestion` is appended to the message."""
    return NotFoundError(
        f'No job, batch or pipeline is called "{name}"{suggestion}.', action=Action.list_jobs()
    )


def is_batch(row: Mapping[str, Any]) -> bool:
    """Return whether a row is a batch: its type is `batch`, or it has a `batchStatus`.

    `statuses` is no criterion: the row of a single job may have it too.
    """
    return row.get("Type") == "batch" or bool(row.get("batchStatus"))


def is_pipeline(row: Mapping[str, Any]) -> bool:
    """Return whether a row is a pipeline: its type is `pipeline`, and it has no `batchStatus`."""
    return str(row.get("Type")).casefold() == "pipeline" and not is_batch(row)


def is_parent(row: Mapping[str, Any]) -> bool:
    """Return whether a row is a batch or a pipeline."""
    return is_batch(row) or is_pipeline(row)


def kind(row: Mapping[str, Any]) -> str:
    """Return the kind of a row: `batch`, `pipeline` or `job`."""
    return "batch" if is_batch(row) else "pipeline" if is_pipeline(row) else "job"


def phase(row: Mapping[str, Any]) -> str:
    """Return the state of a job, a batch or a pipeline as the service returns it.

    The state of a batch is its `batchStatus`, because its results may not be available yet when
    all of its jobs are `Complete`. `Deleted` takes precedence.
    """
    if row.get("JobStatus") == "Deleted":
        return "Deleted"
    state = row.get("batchStatus") if is_batch(row) else row.get("JobStatus")
    return str(state) if state else "unknown"


def outcome(row: Mapping[str, Any]) -> Outcome | None:
    """Return the outcome of a job or batch; None while it is active or if its state is unknown."""
    return (_BATCH_OUTCOMES if is_batch(row) else _OUTCOMES).get(phase(row))


def stage(row: Mapping[str, Any]) -> str:
    """Return the current stage of a pipeline, such as "2 of 3: Scoring PDB"; empty if unknown."""
    text = row.get("Stage")
    return text.strip() if is_pipeline(row) and isinstance(text, str) else ""


def reason(row: Mapping[str, Any]) -> str:
    """Return the service's reason for a failure or a stop; empty if unknown."""
    return next((str(row[key]) for key in REASON_FIELDS if row.get(key)), "")


def parse_tally(statuses: Any) -> dict[str, int]:
    """Return the number of jobs by state, without states of 0 jobs; empty if invalid."""
    if not isinstance(statuses, Mapping):
        return {}
    counts = {
        str(state): int(count)
        for state, count in statuses.items()
        if isinstance(count, int) or (isinstance(count, float) and count.is_integer())
    }
    return {state: count for state, count in counts.items() if count > 0}


def count_states(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return the number of rows by state."""
    return dict(Counter(str(row.get("JobStatus") or "unknown") for row in rows))


def run_fields(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields that identify one run of a job: name, type, digest of settings, times."""
    return {
        "name": row.get("JobName"),
        "type": row.get("Type"),
        "settings": submission_digest(str(row.get("Type")), stored_settings(row)),
        "created": row.get("Created"),
        "completed": row.get("Completed"),
    }
