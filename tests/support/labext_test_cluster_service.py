"""A service whose tasks run on a cluster, as one or several processes that can be killed.

Of several processes on a PostgreSQL database, the first one hands the tasks to the workers.
The database counts how often each task has ended, in the transaction that ends it.
"""

from __future__ import annotations

import logging
import signal
import threading
from pathlib import Path

import labext_test_warm
import short_intervals
from cluster import environment
from labext_test_warm import ForkedProcess
from sqlalchemy import String
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from labext.sandbox.core.database import CoreBase, Database
from labext.sandbox.core.executors.cluster.dask_executor import DaskExecutor
from labext.sandbox.core.executors.leftover_tasks import CLAIMANT_PREFIX
from labext.sandbox.core.executors.supervisor import Supervisor
from labext.sandbox.core.executors.task_process import adopt_orphans
from labext.sandbox.core.executors.worker_states import WorkersFile
from labext.sandbox.core.queue import Queue, QueueNotifications, Task, TaskKind, TaskOutcome


class Base(DeclarativeBase):
    pass


class Ended(Base):
    """How often a task has ended, and how the last time."""

    __tablename__ = "ended"

    key: Mapped[str] = mapped_column(String(100), primary_key=True)
    times: Mapped[int] = mapped_column(default=0)
    outcome: Mapped[str] = mapped_column(default="")
    attempt: Mapped[int] = mapped_column(default=0)


def _count(session: Session, task: Task, outcome: TaskOutcome) -> None:
    row = session.get(Ended, task.key)
    if row is None:
        row = Ended(key=task.key, times=0)
        session.add(row)
    row.times += 1
    row.outcome = f"{outcome.outcome} {outcome.reason}".strip()
    row.attempt = task.attempt


def create_queue(folder: Path, url: str = "") -> tuple[Database, Queue]:
    """Return the database and the queue of the service in a folder."""
    database = Database(url) if url else Database.at(folder / "service.sqlite")
    database.create(CoreBase.metadata, Base.metadata)
    kind = TaskKind(
        "run",
        "labext_test_entries:count_runs",
        on_end=_count,
        work=lambda task: folder / "work" / task.key,
        inputs=lambda _task: [],
    )
    return database, Queue([kind])


def start_service(folder: Path, address: str, url: str = "", process: str = "") -> ForkedProcess:
    """Start the service, or one of its processes."""
    arguments = [str(folder), address, url, process]
    return labext_test_warm.shared.run(__name__, arguments, environment(), folder / "service.log")


def main(path: str, address: str, url: str = "", process: str = "") -> None:
    """Serve until SIGTERM; as the process with a number, if there are several."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    folder = Path(path)
    short_intervals.use_if_requested()
    adopt_orphans()
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda _number, _frame: stopped.set())
    database, queue = create_queue(folder, url)
    remote = DaskExecutor(address, None, "service") if process in ("", "0") else None
    claimant = f"{CLAIMANT_PREFIX}{process}" if process else ""
    supervisor = Supervisor(
        database,
        queue,
        folder / "tasks" / claimant,
        workers=1,
        adopts=True,
        remote=remote,
        workers_file=WorkersFile(folder / "workers.json"),
        claimant=claimant,
    )
    if database.is_postgresql:
        QueueNotifications(url, queue).start()
    supervisor.start()
    while not stopped.wait(0.2):
        pass
    supervisor.stop()
    database.close()
