"""Tables of the job service."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

import orjson
from sqlalchemy import (
    JSON,
    BigInteger,
    ColumnElement,
    ForeignKey,
    Index,
    String,
    Text,
    UniqueConstraint,
    event,
    func,
    select,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship

from labext.sandbox.core.database import cascading_key
from labext.sandbox.core.signing import hash_key
from labext.sandbox.jobs.names import is_name

IN_QUEUE, RUNNING, COMPLETE, STOPPED = "In Queue", "Running", "Complete", "Stopped"
"""The values of `JobStatus` (JOBS-59). `Stopped` covers failures, time limits, exhausted budgets
and jobs stopped by the user; `Reason` has the cause."""

AGGREGATING, AGGREGATION_FAILED = "Aggregating", "AggregationFailed"
"""The values of `batchStatus` besides Running, Complete and Stopped."""

ACTIVE_STATES = (IN_QUEUE, RUNNING)

BATCH, PIPELINE = "batch", "pipeline"
"""The `Type` of the parent of a batch, and of a pipeline."""


class Base(DeclarativeBase):
    """Declarative base of the job service's tables."""


class Organization(Base):
    """A group of accounts; its owners can see the jobs of all accounts.

    Attributes:
        budget: the limit of weighted hours of all accounts together; None for no limit.
    """

    __tablename__ = "jobs_organizations"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(200), unique=True)
    budget: Mapped[float | None]


class Account(Base):
    """An account with API keys.

    Attributes:
        owner: True if the account may see its organization's jobs.
        budget: the limit of weighted hours; None if only the organization's budget applies.
        storage_quota: the size limit in bytes of uploaded files and archives together.
        weight: its share of the starts of jobs, relative to other accounts.
        max_running, max_queued: limits of running and of queued jobs; None for those of all
            accounts, 0 for no limit.
    """

    __tablename__ = "jobs_accounts"
    # Ids are never reused, so a URL signed for one account is never valid for another.
    __table_args__ = ({"sqlite_autoincrement": True},)

    id: Mapped[int] = mapped_column(primary_key=True)
    organization_id: Mapped[int] = mapped_column(ForeignKey("jobs_organizations.id"), index=True)
    email: Mapped[str] = mapped_column(String(200), unique=True)
    owner: Mapped[bool] = mapped_column(default=False)
    budget: Mapped[float | None]
    gates: Mapped[list[str]] = mapped_column(JSON, default=list)
    storage_quota: Mapped[int] = mapped_column(BigInteger)
    weight: Mapped[float] = mapped_column(default=1.0, server_default="1")
    max_running: Mapped[int | None]
    max_queued: Mapped[int | None]

    organization: Mapped[Organization] = relationship()

    @property
    def queue_owner(self) -> str:
        """The owner of its tasks in the queue."""
        return f"jobs:{self.id}"


class Key(Base):
    """An API key of an account; only its SHA-256 is stored."""

    __tablename__ = "jobs_keys"
    __table_args__ = (UniqueConstraint("account_id", "name"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    account_id: Mapped[int] = cascading_key("jobs_accounts.id")
    name: Mapped[str] = mapped_column(String(100))
    hash: Mapped[str] = mapped_column(String(64), unique=True)
    created: Mapped[str] = mapped_column(String(24))

    @classmethod
    def create(cls, account: Account, name: str, key: str) -> Key:
        """Return a new key of an account."""
        now = current_timestamp()
        return cls(account_id=account.id, name=name, hash=hash_key(key), created=now)


class Usage(Base):
    """Usage of a tool by an account, including deleted jobs."""

    __tablename__ = "jobs_usage"

    account_id: Mapped[int] = cascading_key("jobs_accounts.id", primary_key=True)
    tool: Mapped[str] = mapped_column(String(100), primary_key=True)
    jobs: Mapped[int] = mapped_column(default=0)
    weighted_hours: Mapped[float] = mapped_column(default=0.0)


class SavedPipeline(Base):
    """A saved pipeline, which the accounts of an organization run by name."""

    __tablename__ = "jobs_saved_pipelines"
    __table_args__ = (UniqueConstraint("organization_id", "name"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    organization_id: Mapped[int] = cascading_key("jobs_organizations.id")
    name: Mapped[str] = mapped_column(String(100))
    stages: Mapped[list[Any]] = mapped_column(JSON)
    created: Mapped[str] = mapped_column(String(24))


class Job(Base):
    """A job, or the parent of the jobs of a batch or a pipeline.

    Attributes:
        name: unique within the account; `<batch>-<job>` for a job of a batch,
            `<pipeline>-stage<k>-<tool>` for a job of a pipeline.
        type: the tool, `batch` or `pipeline`.
        tool: the tool; for a batch, the tool of all its jobs; for a pipeline, `pipeline`.
        stage: the stage of a pipeline's job, from 1; for a pipeline, the last started stage.
        batch_status, aggregation_error: set for batches only.
        budget: the limit of weighted hours of all jobs of a batch together.
        bytes: the size of a parent's archive.
        record: the job row as JSON, updated with every flush (JOBS-72).
    """

    __tablename__ = "jobs_jobs"
    __table_args__ = (
        UniqueConstraint("account_id", "name"),
        Index("jobs_jobs_all", "account_id", "id"),
        Index("jobs_jobs_top", "account_id", "parent_id", "id"),
        Index("jobs_jobs_tally", "account_id", "parent_id", "status"),
        Index("jobs_jobs_batch", "parent_id", "status"),
        # Ids are never reused, so a presigned URL never gives access to another job's results.
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("jobs_accounts.id"))
    parent_id: Mapped[int | None] = mapped_column(ForeignKey("jobs_jobs.id"))
    name: Mapped[str] = mapped_column(String(100))
    type: Mapped[str] = mapped_column(String(100))
    tool: Mapped[str] = mapped_column(String(100))
    status: Mapped[str] = mapped_column(String(20))
    created: Mapped[str] = mapped_column(String(24))
    started: Mapped[str | None] = mapped_column(String(24))
    completed: Mapped[str | None] = mapped_column(String(24))
    settings: Mapped[str] = mapped_column(Text)
    score: Mapped[str | None] = mapped_column(Text)
    weighted_hours: Mapped[float | None]
    batch_status: Mapped[str | None] = mapped_column(String(20))
    aggregation_error: Mapped[str | None] = mapped_column(Text)
    reason: Mapped[str | None] = mapped_column(Text)
    project_tag: Mapped[str | None] = mapped_column(String(200))
    budget: Mapped[float | None]
    stage: Mapped[int | None]
    bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    record: Mapped[str] = mapped_column(Text)

    account: Mapped[Account] = relationship()
    parent: Mapped[Job | None] = relationship(remote_side=[id])

    @property
    def is_batch(self) -> bool:
        """True for the parent of a batch."""
        return self.batch_status is not None

    @property
    def is_parent(self) -> bool:
        """True for the parent of a batch or a pipeline, which runs no tool itself."""
        return self.type in (BATCH, PIPELINE)

    @property
    def state(self) -> str:
        """The state of the job: `batchStatus` for a batch, else `JobStatus`."""
        return self.batch_status or self.status

    @property
    def stage_text(self) -> str | None:
        """The last started stage of a pipeline as text, such as `2 of 3: Scoring PDB`."""
        if self.type != PIPELINE or self.stage is None:
            return None
        stages = orjson.loads(self.settings)["stages"]
        return f"{self.stage} of {len(stages)}: {stages[self.stage - 1]['task']}"


RECORD_FIELDS = {
    "JobName": "name",
    "Type": "type",
    "JobStatus": "status",
    "batchStatus": "batch_status",
    "Stage": "stage_text",
    "Created": "created",
    "Started": "started",
    "Completed": "completed",
    "WeightedHours": "weighted_hours",
    "Settings": "settings",
    "Score": "score",
    "AggregationError": "aggregation_error",
    "Reason": "reason",
    "ProjectTag": "project_tag",
}
"""The fields of a job row with the attributes of `Job` (JOBS-72)."""


def job_record(job: Job) -> dict[str, Any]:
    """Return the job row; fields that do not apply are absent, never null (JOBS-72)."""
    fields = ((name, getattr(job, attribute)) for name, attribute in RECORD_FIELDS.items())
    return {name: value for name, value in fields if value is not None}


@event.listens_for(Job, "before_insert")
@event.listens_for(Job, "before_update")
def _update_record(_mapper: object, _connection: object, job: Job) -> None:
    job.record = orjson.dumps(job_record(job)).decode()


class UploadedFile(Base):
    """An uploaded file of an account; see `job_files.upload_path`."""

    __tablename__ = "jobs_files"
    __table_args__ = (
        UniqueConstraint("account_id", "folder", "name"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("jobs_accounts.id"))
    folder: Mapped[str] = mapped_column(String(255), default="")
    name: Mapped[str] = mapped_column(String(255))
    bytes: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str | None] = mapped_column(String(64))
    created: Mapped[str] = mapped_column(String(24))


class Seeded(Base):
    """Name of initial data that was created once; removed data is not created again."""

    __tablename__ = "jobs_seeded"

    name: Mapped[str] = mapped_column(String(200), primary_key=True)


class Limit(Base):
    """A limit changed by an administrator; `limits` defines all of them."""

    __tablename__ = "jobs_limits"

    name: Mapped[str] = mapped_column(String(100), primary_key=True)
    value: Mapped[int] = mapped_column(BigInteger)


def current_timestamp() -> str:
    """Return the current time in the format of the service: `2026-03-01T12:00:00.000Z`."""
    return format_timestamp(time.time())


def format_timestamp(seconds: float) -> str:
    """Return a time, in seconds since the epoch, in the format of the service."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def find_job(session: Session, account_id: int, name: str) -> Job | None:
    """Return the account's job with this name, or None."""
    if not is_name(name):  # PostgreSQL refuses strings with NUL characters
        return None
    return session.scalars(
        select(Job).where(Job.account_id == account_id, Job.name == name)
    ).one_or_none()


def count_by_state(session: Session, *selection: ColumnElement[bool]) -> dict[str, int]:
    """Return the number of selected jobs in each state."""
    rows = session.execute(
        select(Job.status, func.count()).where(*selection).group_by(Job.status)
    ).all()
    return tally({row[0]: row[1] for row in rows})


def tally(counts: dict[str, int]) -> dict[str, int]:
    """Return the number of jobs in each state; states missing in `counts` have 0."""
    return {COMPLETE: 0, RUNNING: 0, IN_QUEUE: 0, STOPPED: 0} | counts


def used_storage(session: Session, account_id: int) -> int:
    """Return the bytes of an account's uploaded files and archives."""
    files = select(func.coalesce(func.sum(UploadedFile.bytes), 0)).where(
        UploadedFile.account_id == account_id
    )
    archives = select(func.coalesce(func.sum(Job.bytes), 0)).where(Job.account_id == account_id)
    return int(session.scalar(files) or 0) + int(session.scalar(archives) or 0)
